"""What the benchmarks of comparisons share: pools of repeats as files, shares with intervals."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import report

from deadbeat.compare.aa import draw, draw_sessions, read_pool, verdicts
from deadbeat.compare.decide import Options
from deadbeat.kinds.study.statistics import wilson

POOLS = Path(__file__).parents[1] / "tests/pools/aa"
#: How much larger every ratio is made where power is asked for.
EFFECTS = (0.1, 0.2, 0.5)


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


def measure(path: Path, comparisons: int, *, options_of: Callable[..., Options], what: str) -> None:
    """False alarms and power on a pool of repeated commands.

    Args:
        options_of: The options of its kind, with changes.
        what: What an effect makes later.
    """
    # Ungated: without --aa a measured comparison decides nothing, and so raises no alarm either.
    pool, label = read_pool(path), path.stem
    options = options_of(ungated=True)
    about = {"sessions": len(pool.sides), "note": pool.circumstances["note"]}
    began = time.perf_counter()
    found = verdicts(pool, comparisons=comparisons, seed=1, options=options)
    report(f"{label}: one comparison", "<= 1 s",
           round((time.perf_counter() - began) / comparisons, 4), "s", about)  # fmt: skip
    share(f"{label}: false alarms, by run", "<= 0.05", found.different, comparisons,
          verdicts=dict(found.verdicts))  # fmt: skip
    for metric in pool.metrics:
        alone = options_of(metrics=(metric,), ungated=True)
        found = verdicts(pool, comparisons=comparisons, seed=2, options=alone)
        share(f"{label}: false alarms, {metric} alone", "<= 0.05", found.different, comparisons)
    bare = options_of(gate_off=True, minimum_effect=1e-9, minimum_miss=1e-9)
    found = verdicts(pool, comparisons=comparisons, seed=3, options=bare)
    share(f"{label}: false alarms, by run, gate and minimum off", "<= 0.05", found.different,
          comparisons)  # fmt: skip
    for drawing, words in ((draw, "by run"), (draw_sessions, "whole sessions")):
        for repeats in range(min(4, len(pool.sides) - 1)):
            found = verdicts(
                pool,
                comparisons=comparisons,
                seed=4,
                options=options,
                repeats=repeats,
                drawing=drawing,
            )
            share(
                f"{label}: false alarms, {words}, {repeats} --aa",
                "<= 0.05",
                found.different,
                comparisons,
                ordered_pairs=len(pool.sides) * (len(pool.sides) - 1),
            )
    for effect in EFFECTS:
        for repeats in (0, 2):
            worse = verdicts(
                pool,
                comparisons=comparisons // 4,
                seed=5,
                options=options,
                effect=lambda cell, e=effect: e,
                repeats=repeats,
            )
            share(
                f"{label}: power, every {what} {effect:.0%} later, {repeats} --aa",
                "reported",
                worse.verdicts.get("worse", 0),
                comparisons // 4,
            )
