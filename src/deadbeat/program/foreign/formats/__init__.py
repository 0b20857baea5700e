"""Formats of traces: a module each, with a ``FORMAT``."""
