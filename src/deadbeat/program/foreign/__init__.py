"""Traces that others recorded, as recordings of a program."""
