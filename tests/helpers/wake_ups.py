"""What the runtime's prober writes, made by hand."""

from collections.abc import Iterable
from typing import Any

from deadbeat.base.model.histogram import bucket_of


def counted(values: Iterable[int]) -> dict[str, Any]:
    seen = list(values)
    buckets = sorted({bucket_of(value) for value in seen})
    return {
        "min_ns": min(seen, default=-1),
        "max_ns": max(seen, default=-1),
        "sum_ns": sum(seen),
        "counts": [[b, sum(bucket_of(value) == b for value in seen)] for b in buckets],
    }


def cpu(**changes: Any) -> dict[str, Any]:
    """Four wake-ups a millisecond apart; the third was 2.5 ms late, and two were missed."""
    plain = {
        "cpu": 3,
        "thread": 77,
        "expected": 6,
        "cycles": 4,
        "missed": 2,
        "early": 0,
        "start_ns": 10**9,
        "end_ns": 10**9 + 5 * 10**6,
        "policy": "fifo",
        "priority": 90,
        "placed": 3,
        "voluntary": 4,
        "involuntary": 1,
        "cpu_ns": 12_000,
        "clock_cost_ps": 20_000,
        "raw": counted([2000, 3000, 2_500_000, 2500]),
        "omitted": counted([1_500_000, 500_000]),
        "worst": [[2_000_000, 2_500_000, 2], [1_000_000, 3000, 0]],
        "block_periods": 1,
        "blocks": [2000, 3000, 2_500_000, 1_500_000, 500_000, 2500],
    }
    return plain | changes


def result(*cpus: dict[str, Any], **changes: Any) -> dict[str, Any]:
    plain = {"version": 1, "interval_ns": 10**6, "stopped": False, "held": "held"}
    return plain | {"cpus": list(cpus)} | changes
