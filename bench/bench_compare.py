"""Comparing campaigns: false alarms where nothing differs, power where something does, seconds.

Everything is drawn run by run from a recorded pool of repeats of identical programs. Record one:

    deadbeat profile --quick --name aa
    deadbeat profile --programs-from aa --name aa-again      (as often as there is time)
    bench/bench_compare.py --record tests/pools/aa/NAME.json runs/aa*
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from common import report
from pools import POOLS, compact, share

from deadbeat.compare.aa import (
    LATENCY_POOL,
    LOAD_POOL,
    Pool,
    draw_sessions,
    pool_to_plain,
    read_pool,
    verdicts,
)
from deadbeat.compare.campaigns import side_of
from deadbeat.compare.decide import Options
from deadbeat.compare.identity import platform_of, require_identical
from deadbeat.compare.sides import Cell
from deadbeat.kinds.contention.view import open_campaign
from deadbeat.model.comparison import METRICS
from deadbeat.store.files import FORMAT, atomic_write, tool_version

EFFECTS = (0.05, 0.1, 0.2)


def hot(cell: Cell) -> bool:
    """Where a kernel's locks differ: several cores, half or more SY, everything shared."""
    return cell.cores > 1 and cell.sync_share >= 0.5 and cell.contended_ratio == 1


def record(file: Path, paths: Sequence[Path], note: str) -> None:
    """Write the pool of the campaigns in ``paths``; refuses campaigns of other programs."""
    views = [open_campaign(path) for path in paths]
    for view in views[1:]:
        require_identical(views[0], view)
    platform = platform_of(views[0])
    known = ("soc", "kernel", "preemption", "governor", "toolchain")
    circumstances = {key: platform.get(key) for key in known}
    circumstances |= {
        "cpus": len(platform.get("cpus") or ()),
        "created_at": [view.summary.meta.get("created_at") for view in views],
        "note": note,
    }
    pool = Pool(sides=tuple(side_of(view) for view in views), circumstances=circumstances)
    file.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(file, compact({**pool_to_plain(pool), "format": FORMAT, "tool": tool_version()}))


def measure(path: Path, comparisons: int) -> None:
    # Ungated: without --aa a measured comparison decides nothing, and so raises no alarm either.
    pool, options, label = read_pool(path), Options(ungated=True), path.stem
    about = {"sessions": len(pool.sides), "note": pool.circumstances["note"]}
    began = time.perf_counter()
    found = verdicts(pool, comparisons=comparisons, seed=1, options=options)
    seconds = (time.perf_counter() - began) / comparisons
    report(f"{label}: one comparison", "<= 1 s", round(seconds, 4), "s", about)
    share(f"{label}: false alarms, by run", "<= 0.05", found.different, comparisons,
          verdicts=dict(found.verdicts))  # fmt: skip
    for metric in METRICS:
        alone = Options(metrics=(metric,), ungated=True)
        found = verdicts(pool, comparisons=comparisons, seed=2, options=alone)
        share(f"{label}: false alarms, {metric} alone", "<= 0.05", found.different, comparisons)
    bare = Options(gate_off=True, minimum_effect=1e-9, minimum_miss=1e-9)
    found = verdicts(pool, comparisons=comparisons, seed=6, options=bare)
    share(f"{label}: false alarms, by run, gate and minimum off", "<= 0.05", found.different,
          comparisons)  # fmt: skip
    repeated = verdicts(pool, comparisons=comparisons, seed=3, options=options, repeats=1)
    share(f"{label}: false alarms, with --aa", "<= 0.05", repeated.different, comparisons)
    for repeats in range(min(4, len(pool.sides) - 1)):
        whole = verdicts(
            pool,
            comparisons=comparisons // 2,
            seed=5,
            options=options,
            repeats=repeats,
            drawing=draw_sessions,
        )
        many = f"{repeats} --aa" if repeats else "no --aa"
        share(
            f"{label}: false alarms, whole sessions, {many}",
            "<= 0.05",
            whole.different,
            comparisons // 2,
            ordered_pairs=len(pool.sides) * (len(pool.sides) - 1),  # no more can be told apart
        )
    for where, everywhere in (("everywhere", True), ("in the contended cells", False)):
        for effect in EFFECTS:
            worse = verdicts(
                pool,
                comparisons=comparisons // 4,
                seed=4,
                options=options,
                effect=lambda cell, e=effect, all_=everywhere: e if all_ or hot(cell) else 0.0,
            )
            share(
                f"{label}: power, {effect:.0%} {where}",
                "reported",
                worse.verdicts.get("worse", 0),
                comparisons // 4,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=400)
    parser.add_argument("--record", type=Path, metavar="FILE", help="write a pool and stop")
    parser.add_argument("--note", default="", help="what else was going on while it was recorded")
    parser.add_argument("runs", type=Path, nargs="*", help="campaigns of a pool (--record)")
    options = parser.parse_args()
    if options.record:
        record(options.record, options.runs, options.note)
        return
    for path in sorted(POOLS.glob("*.json")):
        if not path.stem.startswith((LATENCY_POOL, LOAD_POOL)):
            measure(path, options.comparisons)


if __name__ == "__main__":
    main()
