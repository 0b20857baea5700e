"""False alarms and power of comparisons, in every world of `worlds`.

    bench/bench_compare.py [--comparisons 400] [--only TEXT]
    bench/bench_compare.py --without RULE          the same with one rule of the decision off
    bench/bench_compare.py --record FILE RUN...    write a pool of repeats of one command, and stop

Record on a quiet machine: the same campaign (--programs-from), matrix or load test as often as can
be, whole sessions apart.
"""

from __future__ import annotations

import argparse
import json
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve
from common import asked, report
from helpers.aa import Pool, RunFigure, Side, pool_to_plain
from helpers.judges import compare_sides, options_of
from worlds import World, worlds

from deadbeat.base.model.comparison import Lineup
from deadbeat.base.model.observations import Observations
from deadbeat.base.stats.proportions import wilson
from deadbeat.base.store.files import FORMAT, atomic_write, tool_version
from deadbeat.base.verdicts import engine, pairs, words
from deadbeat.base.verdicts.engine import CompareOptions
from deadbeat.cli.compare.results import all_found

Change = Callable[[], None]


def _set(module: Any, name: str, value: Any) -> Change:
    return lambda: setattr(module, name, value)


def _bonferroni(parts: Any, p_holm: Any, options: Any) -> Any:
    """Every metric at the level divided by their number."""
    many = max(1, sum(part.enough for part in parts))
    return tuple(engine._metric(q, p, options, many) for q, p in zip(parts, p_holm, strict=True))


def _each_alone(parts: Any, p_holm: Any, options: Any) -> Any:
    """Every metric at the whole level."""
    return tuple(engine._metric(q, p, options, 1) for q, p in zip(parts, p_holm, strict=True))


_METRICS, _HOLM = engine._metrics, engine.holm


def _raw(parts: Any) -> list[float]:
    return [part.effect.p if part.effect else 1.0 for part in parts]


def _metrics_uncorrected(parts: Any, p_holm: Any, options: Any) -> Any:
    """Chance is corrected over cells alone."""
    return _METRICS(parts, _raw(parts), options)


def _cells_uncorrected() -> None:
    """Chance is corrected over metrics alone."""
    engine._metrics = lambda parts, p_holm, options: _METRICS(parts, _HOLM(_raw(parts)), options)
    engine.holm = list


#: Rule -> what leaves it out; `_options` does what has to do with options.
RULES: Mapping[str, Change] = {
    "gate": _set(pairs.Drift, "at", lambda self, level: 0.0),
    "minimum": lambda: None,
    "own-gates": lambda: None,
    "variances-that-lean": _set(pairs, "common_spread", lambda samples: None),
    "correction": _set(engine, "holm", list),
    "correction-of-metrics": _set(engine, "_metrics", _metrics_uncorrected),
    "correction-of-cells": _cells_uncorrected,
    "step-up": _set(engine, "_metrics", _bonferroni),
    "gates-for-all-metrics": _set(engine, "_metrics", _each_alone),
    "six-that-differ": _set(engine, "DIFFERING_MIN", 0),
    "cut-off": _set(engine, "cut_off", lambda effect, slack, weights: effect),
    "lost": _set(engine, "_hidden", lambda *_: engine._Hidden()),
    "leaning": _set(words, "_leans_worse", lambda metric: False),
    "guess": _set(pairs, "_guess", lambda sample, results, *, ungated: pairs.Gate(
        basis="", whole=pairs.STILL, cells=(pairs.STILL,) * len(sample.cells))),
}  # fmt: skip


def _options(world: World, without: str) -> CompareOptions:
    minimum = 1e-9 if without == "minimum" else None
    found = options_of(
        world.kind,
        world.metrics,
        minimum=minimum,
        simulated=world.simulated,
        ungated=world.ungated,
    )
    return evolve(found, cells_alike=True) if without == "own-gates" else found


def measure(comparisons: int, *, only: str, without: str) -> None:
    """Report how many comparisons of each world give the verdicts that it counts."""
    RULES.get(without, lambda: None)()
    label = f", without {without}" if without else ""
    for world in worlds():
        if only not in f"{world.asks}: {world.name}":
            continue
        options, counted = _options(world, without), 0
        random = np.random.default_rng(zlib.crc32(world.name.encode()))
        began = time.perf_counter()
        for _ in range(comparisons):
            baseline, other, repeats = world.draw(random)
            every = (baseline, other, *repeats)
            planned = {run.cell for side in every for run in side.runs.values()}
            found = compare_sides(baseline, other, repeats, options=options, planned=planned)
            counted += found.verdict in world.counts
        low, high = wilson(counted, comparisons)
        report(
            f"{world.asks}: {world.name}{label}",
            {"false alarms": "<= 0.05", "power": "reported"}.get(world.asks, "reported"),
            round(counted / comparisons, 4),
            "share",
            {
                "interval": [round(low, 4), round(high, 4)],
                "n": comparisons,
                "seconds": round((time.perf_counter() - began) / comparisons, 4),
            },
        )


def record(file: Path, paths: list[Path], note: str) -> None:
    """Write the pool of the results in ``paths``, of any kind; refuses what cannot be compared."""
    kind, folders = all_found(Path("runs"), [str(path) for path in paths])
    first, *rest = map(kind.read, folders)
    tables = kind.align(Lineup(subjects=(first,), repeats=tuple(rest))).tables
    known = ("soc", "kernel", "preemption", "governor", "toolchain")
    circumstances = {key: first.platform.get(key) for key in known} | {
        "settings": dict(first.settings),
        "created_at": [subject.created_at for subject in (first, *rest)],
        "left_out": [subject.stored - subject.counted for subject in (first, *rest)],
        "note": note,
    }
    write(file, [side_of(table) for table in tables], circumstances)


def side_of(table: Observations) -> Side:
    """A table as plain figures."""
    runs: dict[str, RunFigure] = {}
    for row in table.rows:
        at = None if row.at is None else int(row.at * 1e9)
        empty = RunFigure(cell=row.cell, block=row.block, values={}, at_ns=at)
        known = runs.get(row.run, empty)
        runs[row.run] = evolve(
            known,
            values={**known.values, row.metric: row.value},
            hidden={**known.hidden, row.metric: row.slack},
            lost=row.censored,
        )
    return Side(name=table.name, runs=runs)


def write(file: Path, sides: list[Side], circumstances: dict[str, Any]) -> None:
    """A pool as JSON with a line for each session: it has thousands of numbers."""
    metrics = tuple(
        dict.fromkeys(m for side in sides for run in side.runs.values() for m in run.values)
    )
    plain = pool_to_plain(Pool(sides=tuple(sides), circumstances=circumstances, metrics=metrics))
    plain |= {"format": FORMAT, "tool": tool_version()}
    own = plain.pop("sides")
    lines = [f"{json.dumps(key)}: {json.dumps(value)}," for key, value in sorted(plain.items())]
    rows = [f"  {json.dumps(name)}: {json.dumps(runs)}" for name, runs in own.items()]
    file.parent.mkdir(parents=True, exist_ok=True)
    text = "{\n" + "\n".join(lines) + '\n"sides": {\n' + ",\n".join(rows) + "\n}\n}\n"
    atomic_write(file, text.encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=400)
    parser.add_argument("--only", default="", metavar="TEXT", help="worlds with this in their name")
    parser.add_argument("--without", default="", choices=["", *RULES], help="leave out a rule")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write a pool and stop")
    parser.add_argument("--note", default="", help="what else was going on while it was recorded")
    parser.add_argument("runs", type=Path, nargs="*", help="results of a pool (--record)")
    quick, words = asked()
    options = parser.parse_args(["--comparisons=1", "--only=vm, by run"] if quick else words)
    if options.record:
        record(options.record, options.runs, options.note)
    else:
        measure(options.comparisons, only=options.only, without=options.without)


if __name__ == "__main__":
    main()
