"""What the benchmarks of comparisons share: pools of repeats as files, shares with intervals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from common import report

from deadbeat.studies.statistics import wilson

POOLS = Path(__file__).parents[1] / "tests/pools/aa"


def compact(plain: dict[str, Any]) -> str:
    """JSON with a line for each session: a pool has thousands of numbers."""
    sides = plain.pop("sides")
    lines = [f"{json.dumps(key)}: {json.dumps(value)}," for key, value in sorted(plain.items())]
    rows = [f"  {json.dumps(name)}: {json.dumps(runs)}" for name, runs in sides.items()]
    return "{\n" + "\n".join(lines) + '\n"sides": {\n' + ",\n".join(rows) + "\n}\n}\n"


def share(name: str, goal: str, yes: int, total: int, **extra: object) -> None:
    low, high = wilson(yes, total)
    interval = [round(low, 4), round(high, 4)]
    report(name, goal, round(yes / total, 4), "share", {"interval": interval, "n": total, **extra})
