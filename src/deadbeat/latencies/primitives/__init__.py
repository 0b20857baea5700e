"""The primitives that parallel real-time programs are made of, timed one by one."""
