"""What every benchmark of this project shares: one line of JSON per figure, on stdout."""

from __future__ import annotations

import json
import resource
from collections.abc import Mapping
from pathlib import Path
from time import time
from typing import Any

from deadbeat.catalog import load_catalog
from deadbeat.executors.base import Costing
from deadbeat.executors.hardware import HardwareExecutor
from deadbeat.model.calibration import Calibration
from deadbeat.store.serial import read_calibration


def report(
    name: str, goal: str, measured: float, unit: str, extra: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Print one figure as a line of JSON, and return it.

    Args:
        name: What was measured, as in the table of goals.
        goal: What is wanted, in words, such as ``<= 10 s``.
        measured: The figure, in ``unit``.
        extra: What else a reader needs to judge it.
    """
    row = {"name": name, "goal": goal, "measured": measured, "unit": unit, **(extra or {})}
    print(json.dumps(row), flush=True)
    return row


def peak_bytes() -> int:
    """Largest resident memory of this process so far (Linux reports KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def cpu_seconds() -> float:
    """CPU time of this process and of the children it waited for."""
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


#: Left by bench_calibration.py for the benchmarks that run after it.
CALIBRATION = Path(__file__).parents[1] / "build" / "bench-calibration.json"
#: A calibration older than this says little of the state the host is in now.
FRESH_SECONDS = 1800


def bench_calibration(executor: HardwareExecutor) -> Calibration:
    """The calibration of bench_calibration.py if it is fresh, else one of the quick pool."""
    if CALIBRATION.exists() and time() - CALIBRATION.stat().st_mtime < FRESH_SECONDS:
        return read_calibration(CALIBRATION)
    return executor.calibrate(load_catalog(), Costing(pool="quick", seconds=20.0))
