"""Slow, obviously right twins of what the package does fast; the tests compare them."""
