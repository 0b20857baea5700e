"""The A/A experiment: how often a comparison finds a difference where there is none, and where
there is a known one.

A pool holds repeats of the identical programs on one machine. A comparison without a difference is
drawn from it run by run: for every program, which repeat stands for which side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from attrs import evolve, field, frozen

from deadbeat.base.model.errors import DataError
from deadbeat.base.model.observations import Cell
from deadbeat.base.store.files import read_json

METRICS = ("slowdown", "delay_ratio", "deadline_miss_ratio")
#: Metrics that are compared as differences, which no factor makes larger.
DIFFERENCES = ("deadline_miss_ratio", "missed_ratio", "work_lost")
_HINT = "record it again: bench/bench_compare.py --record"
POOLS = Path(__file__).parents[1] / "pools/aa"
#: Names of pools of latency matrices and of load tests begin so; all others are of campaigns.
LATENCY_POOL, LOAD_POOL = "latency-", "load-"


@frozen(kw_only=True)
class RunFigure:
    """One run of a side; see `deadbeat.base.model.observations.Observation`.

    Attributes:
        lost: Share of its released jobs that did not finish; None: not known.
        starved: Tasks that were released but of which no job finished.
        hidden: Metric -> how much larger it may be than ``values`` has it, as a logarithm.
    """

    cell: Cell
    block: str
    values: Mapping[str, float | None]
    at_ns: int | None = None
    witness_ps: float | None = None
    lost: float | None = None
    starved: int = 0
    hidden: Mapping[str, float] = field(factory=dict)


@frozen(kw_only=True)
class Side:
    """A result as plain figures, by the name of the run."""

    name: str
    runs: Mapping[str, RunFigure] = field(repr=False)


@frozen(kw_only=True)
class Pool:
    """Repeats of the identical programs.

    Attributes:
        sides: One per repeat, oldest first.
        circumstances: Machine, kernel, when, and what else was going on.
        metrics: Of its runs.
    """

    sides: tuple[Side, ...]
    circumstances: Mapping[str, Any]
    metrics: tuple[str, ...] = METRICS


@frozen(kw_only=True)
class Rates:
    """Verdicts of a number of comparisons drawn from a pool."""

    comparisons: int
    verdicts: Mapping[str, int]

    @property
    def different(self) -> int:
        """Comparisons that called a difference."""
        return self.verdicts.get("worse", 0) + self.verdicts.get("better", 0)


def draw(pool: Pool, random: np.random.Generator, *, sides: int = 2) -> tuple[Side, ...]:
    """Sides drawn from ``pool``: for every program, distinct repeats in random order.

    Programs with fewer results than ``sides`` are left out.
    """
    found: list[dict[str, RunFigure]] = [{} for _ in range(sides)]
    for key in sorted({key for side in pool.sides for key in side.runs}):
        having = [side.runs[key] for side in pool.sides if key in side.runs]
        if len(having) >= sides:
            chosen = random.permutation(len(having))[:sides]
            for runs, index in zip(found, chosen, strict=True):
                runs[key] = having[index]
    return tuple(Side(name=f"drawn-{n + 1}", runs=runs) for n, runs in enumerate(found))


def draw_sessions(pool: Pool, random: np.random.Generator, *, sides: int = 2) -> tuple[Side, ...]:
    """Whole repeats in random order: with everything that the host did in each of them."""
    chosen = random.permutation(len(pool.sides))[:sides]
    return tuple(pool.sides[int(index)] for index in chosen)


def injected(side: Side, effect: Callable[[Cell], float]) -> Side:
    """The side with every ratio made larger by ``effect`` of its cell (0.05: by 5 %)."""
    return evolve(
        side,
        runs={
            key: evolve(run, values=_scaled(run.values, 1 + effect(run.cell)))
            for key, run in side.runs.items()
        },
    )


def _scaled(values: Mapping[str, float | None], factor: float) -> dict[str, float | None]:
    return {
        metric: value * factor if metric not in DIFFERENCES and value is not None else value
        for metric, value in values.items()
    }


def cells_of(pool: Pool) -> set[Cell]:
    """Every cell that any of its sessions has."""
    return {run.cell for side in pool.sides for run in side.runs.values()}


class Drawing(Protocol):
    """`draw` or `draw_sessions`."""

    def __call__(
        self, pool: Pool, random: np.random.Generator, *, sides: int = 2
    ) -> tuple[Side, ...]: ...


def verdicts(
    pool: Pool,
    *,
    comparisons: int,
    seed: int,
    judge: Callable[[Side, Side, Sequence[Side]], str],
    effect: Callable[[Cell], float] | None = None,
    repeats: int = 0,
    drawing: Drawing = draw,
) -> Rates:
    """Verdicts of comparisons drawn from ``pool``, with ``effect`` added to the second side.

    Args:
        judge: The verdict on a baseline, another side and repeats of the baseline.
        repeats: How many more sides are drawn to stand for repeats of the baseline (--aa).
        drawing: `draw` (run by run) or `draw_sessions`.
    """
    random = np.random.default_rng(seed)
    counts: dict[str, int] = {}
    for _ in range(comparisons):
        baseline, other, *rest = drawing(pool, random, sides=2 + repeats)
        if effect is not None:
            other = injected(other, effect)
        verdict = judge(baseline, other, rest)
        counts[verdict] = counts.get(verdict, 0) + 1
    return Rates(comparisons=comparisons, verdicts=counts)


def pool_to_plain(pool: Pool) -> dict[str, Any]:
    """As JSON values; what is common to all repeats is written once."""
    places: dict[str, list[Any]] = {}
    for side in pool.sides:
        for key, run in side.runs.items():
            cell = run.cell
            places[key] = [
                *(cell.group, cell.cores, cell.sync_share, cell.contended_ratio),
                *(cell.deadline_factor, run.block),
            ]
    return {
        "circumstances": dict(pool.circumstances),
        "metrics": list(pool.metrics),
        "programs": {key: places[key] for key in sorted(places)},
        "sides": {
            side.name: {
                key: [
                    *(_rounded(run.values.get(metric)) for metric in pool.metrics),
                    # To the microsecond: only the order matters.
                    None if run.at_ns is None else run.at_ns // 1000,
                    run.witness_ps,
                    *_hidden(run, pool.metrics),
                ]
                for key, run in sorted(side.runs.items())
            }
            for side in pool.sides
        },
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.7g}")


def _hidden(run: RunFigure, metrics: Sequence[str]) -> list[list[float]]:
    """One list more, of runs whose values are cut off."""
    found = [float(f"{run.hidden.get(metric, 0.0):.4g}") for metric in metrics]
    return [found] if any(found) else []


def read_pool(path: Path) -> Pool:
    """The pool in ``path``.

    Raises:
        DataError: Unreadable, damaged or of another format.
    """
    plain = read_json(path, what="pool", hint=_HINT)
    # Pools of before there were several kinds do not say which they are.
    metrics = tuple(plain.get("metrics", METRICS))
    try:
        return Pool(
            sides=tuple(
                Side(name=name, runs=_runs(runs, plain["programs"], metrics))
                for name, runs in plain["sides"].items()
            ),
            circumstances=plain["circumstances"],
            metrics=metrics,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"pool {path} is damaged: {error!r}", _HINT) from None


def _runs(
    rows: Mapping[str, Sequence[Any]], places: Mapping[str, Any], metrics: Sequence[str]
) -> dict[str, RunFigure]:
    found = {}
    count = len(metrics)
    for key, row in rows.items():
        values, (at_us, witness_ps, *cut) = row[:count], row[count:]
        *place, block = places[key]
        found[key] = RunFigure(
            cell=Cell(*place),
            block=block,
            values=dict(zip(metrics, values, strict=True)),
            at_ns=None if at_us is None else at_us * 1000,
            witness_ps=witness_ps,
            # Pools of campaigns, and of before this was kept, have none.
            hidden=dict(zip(metrics, cut[0], strict=True)) if cut else {},
        )
    return found
