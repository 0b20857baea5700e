"""Noise: gaps that a thread found which only looked at a clock, as other tools measured them."""
