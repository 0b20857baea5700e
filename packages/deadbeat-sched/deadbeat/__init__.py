"""`deadbeat.sched`, the library of schedulability, installed without the rest of deadbeat."""
