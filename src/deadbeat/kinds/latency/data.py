"""What pictures of latencies share: names and order of loads, bins, and curves with intervals."""

from __future__ import annotations

from collections.abc import Iterable

from deadbeat.model.latency import PROFILES, LoadPoint
from deadbeat.model.latency_summary import CellSummary, LatencyRow, Quantity
from deadbeat.report.times import seconds_text, time_text

#: What a made-up machine has for a kernel.
_NO_KERNEL = "none"
#: What latencies are drawn in, in ns.
US = 1_000.0
LATENCY = "wake-up latency (µs)"

#: Quantities in words.
QUANTITY_WORDS = {
    "min": "minimum",
    "mean": "mean",
    "p50": "median",
    "p90": "90 %",
    "p99": "99 %",
    "p99.9": "99.9 %",
    "p99.99": "99.99 %",
    "max": "maximum",
    "max_of_a_run": "maximum of one run",
}


def load_words(load: LoadPoint) -> str:
    """``idle``, ``cpu 25 %``: as it stands on axes and in tables."""
    return "idle" if load.percent == 0 else f"{load.profile} {load.percent} %"


def load_order(load: LoadPoint) -> tuple[int, int]:
    """Idle first, then CPU load ascending, then the other profiles."""
    known = PROFILES.index(load.profile) if load.profile in PROFILES else len(PROFILES)
    return (-1 if load.percent == 0 else known, load.percent)


def loads_of(cells: Iterable[CellSummary]) -> list[LoadPoint]:
    """Loads that occur, in order."""
    return sorted({cell.load for cell in cells}, key=load_order)


def engines_of(cells: Iterable[CellSummary]) -> list[str]:
    """Engines that occur, by name."""
    return sorted({cell.engine for cell in cells})


def kernel_text(kernel: object) -> str:
    """``kernel 6.12.1-rt``; that there is none, or that nobody knows."""
    if kernel == _NO_KERNEL:
        return "no kernel: made up"
    return f"kernel {kernel}" if kernel else "kernel not recorded"


def rests_on(row: LatencyRow) -> str:
    """How much was measured: ``60,000 wake-ups, 6 runs, 12 s``."""
    runs = f"{len(row.runs)} run{'' if len(row.runs) == 1 else 's'}"
    return f"{row.cycles:,} wake-ups, {runs}, {seconds_text(row.hours * 3600)}"


def interval_text(quantity: Quantity) -> str:
    """``31 µs [28 µs, 35 µs]``; an end that cannot be bounded says so."""
    value = time_text(quantity.value_ns)
    if quantity.low_ns is None and quantity.high_ns is None:
        many = quantity.value_ns is not None and quantity.name not in ("min", "max")
        return f"{value} (cannot be bounded)" if many else value
    low = "not bounded" if quantity.low_ns is None else time_text(quantity.low_ns)
    high = "not bounded" if quantity.high_ns is None else time_text(quantity.high_ns)
    return f"{value} [{low}, {high}]"
