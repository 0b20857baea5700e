"""What a comparison looks at: the runs of a campaign as plain figures, and pairs of them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from deadbeat.model.comparison import LATENCY_METRICS, LOAD_METRICS, METRICS

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_KNOWN = tuple(dict.fromkeys((*METRICS, *LATENCY_METRICS, *LOAD_METRICS)))
#: Shares of events that may be so rare that hardly a run has one.
MISSES = ("deadline_miss_ratio", "missed_ratio")
#: Fewer programs than this that differ at all say nothing on how much programs differ.
DIFFERING_MIN = 6
#: Metrics that are compared as differences; all others as ratios, by their logarithms.
DIFFERENCES = (*MISSES, "work_lost")
RATIOS = tuple(name for name in _KNOWN if name not in DIFFERENCES)


def _in_words(group: str) -> tuple[tuple[str | int, ...], str]:
    """Sorts ``2 threads`` before ``10 threads``."""
    parts = re.split(r"([0-9]+)", group)
    return tuple(int(part) if part.isdecimal() else part for part in parts), group


@frozen(order=True)
class Cell:
    """A point of the grid or a group; what does not apply is -1 (shares) or "" (group)."""

    group: str = field(order=_in_words)
    cores: int
    sync_share: float
    contended_ratio: float
    deadline_factor: float


@frozen(kw_only=True)
class RunFigure:
    """One run of a side.

    Attributes:
        cell: Where it counts.
        block: Runs of one block were measured next to each other and share what the host did then.
        values: Metric -> value; None where the run has none.
        at_ns: When it began (wall clock); None: not known.
        witness_ps: Median of its witnesses alone; None: it has none.
        lost: Share of its released jobs that did not finish; None: not known.
        starved: Tasks that were released but of which no job finished: no ratio knows of them.
        hidden: Metric -> how much larger it may be than ``values`` has it, as a logarithm: what an
            engine cuts off, and the width of a histogram's bucket; 0 where not named.
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
    """A campaign as a comparison sees it.

    Attributes:
        name: Of the campaign.
        runs: Its runs with a result, by the text of their key.
    """

    name: str
    runs: Mapping[str, RunFigure] = field(repr=False)


@frozen(kw_only=True, eq=False)
class Pairs:
    """Runs of the identical programs on both sides, for one metric.

    Attributes:
        cells: The cells that have a pair, in order.
        cell, block: Per pair, number of its cell and of its block.
        before, after: Values of the baseline and of the other side.
        difference: Logarithm of after / before, or after - before of DIFFERENCES.
        at_ns: When the pair was measured, mean of both sides; NaN where not known.
        hidden: How far the difference may be off because values are cut off.
    """

    metric: str
    cells: tuple[Cell, ...]
    cell: Integers
    block: Integers
    before: Floats
    after: Floats
    difference: Floats
    at_ns: Floats
    hidden: Floats

    @property
    def weights(self) -> Floats:
        """Every cell counts once, every pair of a cell alike."""
        counts = np.bincount(self.cell, minlength=len(self.cells))
        return np.asarray(1.0 / (len(self.cells) * counts[self.cell]), dtype=np.float64)

    @property
    def is_ratio(self) -> bool:
        return self.metric in RATIOS

    @property
    def may_be_rare(self) -> bool:
        """Whether runs may be alike because hardly anything happened in them."""
        return self.metric in MISSES


def value_of(run: RunFigure, metric: str) -> float | None:
    """The run's value of ``metric`` if it can be compared: finite, a ratio above 0; else None."""
    found = run.values.get(metric)
    if found is None or not math.isfinite(found) or (metric in RATIOS and found <= 0):
        return None
    return found


def pair_up(baseline: Side, other: Side, metric: str) -> Pairs:
    """Pairs of ``metric``: runs that have a value on both sides (`value_of`)."""
    if metric not in _KNOWN:
        raise ValueError(f"no such metric: {metric}")
    found = []
    for key in sorted(baseline.runs.keys() & other.runs.keys()):
        one, two = baseline.runs[key], other.runs[key]
        before, after = value_of(one, metric), value_of(two, metric)
        if before is None or after is None:
            continue
        hidden = max(one.hidden.get(metric, 0.0), two.hidden.get(metric, 0.0))
        at_ns = _middle(one.at_ns, two.at_ns)
        found.append((one.cell, one.block, before, after, at_ns, hidden))
    cells = tuple(sorted({row[0] for row in found}))
    blocks = sorted({row[1] for row in found})
    cell_number = {cell: index for index, cell in enumerate(cells)}
    block_number = {block: index for index, block in enumerate(blocks)}
    first, second = (np.array([row[n] for row in found], dtype=np.float64) for n in (2, 3))
    return Pairs(
        metric=metric,
        cells=cells,
        cell=np.array([cell_number[row[0]] for row in found], dtype=np.int64),
        block=np.array([block_number[row[1]] for row in found], dtype=np.int64),
        before=first,
        after=second,
        difference=np.log(second / first) if metric in RATIOS else second - first,
        at_ns=np.array([row[4] for row in found], dtype=np.float64),
        hidden=np.array([row[5] for row in found], dtype=np.float64),
    )


def _middle(a: int | None, b: int | None) -> float:
    return math.nan if a is None or b is None else a / 2 + b / 2


def log_witness_shift(baseline: Side, other: Side) -> float | None:
    """Median over the pairs of log(witness of the other / the baseline); None: they have none."""
    shifts = [
        math.log(two / one)
        for key in baseline.runs.keys() & other.runs.keys()
        if (one := baseline.runs[key].witness_ps) and (two := other.runs[key].witness_ps)
    ]
    return float(np.median(shifts)) if shifts else None


def common(sides: Sequence[Side]) -> tuple[Side, ...]:
    """The sides, reduced to the runs that all of them have."""
    keys = set.intersection(*(set(side.runs) for side in sides))
    return tuple(
        Side(name=side.name, runs={key: side.runs[key] for key in sorted(keys)}) for side in sides
    )
