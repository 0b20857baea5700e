"""Formats of other tools, a module each: its ``IMPORTER`` tells such a file by its structure, and
reads it (`deadbeat.latencies.latency.foreign`). Nothing else knows which there are.
"""
