"""Lengths of time as a person writes them."""

from __future__ import annotations


def time_text(value_ns: float | None) -> str:
    """Nanoseconds with three digits: 1234567 -> ``1.23 ms``."""
    if value_ns is None:
        return "–"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        # What three digits round up to the next unit belongs to it: 999.6 ns is 1 µs.
        if abs(value_ns) >= 0.9995 * size:
            shown = value_ns / size
            return f"{shown:,.0f} {unit}" if shown >= 999.5 else f"{shown:.3g} {unit}"
    return f"{value_ns:.0f} ns"


def us_text(value_ns: float | None) -> str:
    """Microseconds with one decimal, for columns of a table: ``2,465.3``."""
    return "–" if value_ns is None else f"{value_ns / 1e3:,.1f}"


def seconds_text(seconds: float) -> str:
    """``12 s``, ``5 min``, ``6 h``, ``2.5 days``."""
    for unit, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
