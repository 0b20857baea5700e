"""Slowdown and breakdown of whole task sets, from prices of sharing."""
