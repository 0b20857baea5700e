"""Calibrating the whole pool on all cores: how long, and what was refused. Leaves the calibration
in build/bench-calibration.json, where the other measurements of this folder find it."""

from __future__ import annotations

from itertools import pairwise
from time import perf_counter

from common import CALIBRATION, cpu_seconds, report

from deadbeat.catalog import load_catalog
from deadbeat.executors.base import Costing
from deadbeat.executors.hardware import HardwareExecutor
from deadbeat.store.serial import write_calibration

SECONDS = 100.0


def main() -> None:
    """Wall time: a calibration mostly sleeps."""
    executor, catalog = HardwareExecutor(lock_wait=600), load_catalog()
    began = perf_counter()
    calibration = executor.calibrate(catalog, Costing(pool="full", seconds=SECONDS))
    wall = perf_counter() - began
    executor.close()
    write_calibration(CALIBRATION, calibration)
    costs = [cost for found in calibration.costs.values() for cost in found]
    halves = sorted((c.repeat_high_ps - c.repeat_low_ps) / 2 / c.repeat_ps for c in costs)
    rejected = sum(c.rejected for c in costs)
    ns = sorted(
        found[0].first_ps
        for entry, found in calibration.costs.items()
        if catalog.fragments[entry.split("/")[0]].kind == "NS"
    )
    report(
        "calibrating the whole pool, all cores",
        "<= 120 s",
        round(wall, 1),
        "s",
        {
            "cores": len(executor.cpus),
            "entries": len(calibration.costs),
            "refused": calibration.refused,
            "interval_half_width_p50": round(halves[len(halves) // 2], 4),
            "interval_half_width_p95": round(halves[int(len(halves) * 0.95)], 4),
            "visits_rejected": round(rejected / (rejected + sum(c.samples for c in costs)), 3),
            "ns_from_ns": ns[0] // 1000,
            "ns_to_ns": ns[-1] // 1000,
            "ns_widest_gap": round(max(b / a for a, b in pairwise(ns)), 2),
            "cpu_s": round(cpu_seconds(), 1),
        },
    )


if __name__ == "__main__":
    main()
