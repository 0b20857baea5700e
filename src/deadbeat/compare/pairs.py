"""Runs of several results paired for one metric, and what their mean differences say."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from deadbeat.model.observations import Cell, Floats, Metric, Observations
from deadbeat.stats.intervals import t_cdf, t_quantile
from deadbeat.stats.multiple import common_spread, moderated

#: A bound that is so many times a value, or so small a part of it, bounds nothing.
RATIO_MAX = 1000.0


@frozen(kw_only=True, eq=False)
class PairedRuns:
    """One metric of all results: the baseline, its repeats, and last the other.

    Attributes:
        cells: Those that baseline and other have, runs or not.
        planned: [result, cell] whether the result was to have it.
        cell, block: [run] numbers.
        values: [result, run] on the scale of the differences; NaN where there is none.
        before: [run] mean of the baseline and its repeats.
        ran: [result, run] whether there is such a run.
        slack, censored: [result, run] as in `Observation`; ``censored`` is 1 without a value.
        doubt: Why repeats of the baseline are needed whatever else is known; "": they are not.
        at: [run] mean time of both sides; NaN where it is not known.
    """

    metric: Metric
    cells: tuple[Cell, ...]
    planned: NDArray[np.bool_]
    repeats: tuple[str, ...]
    doubt: str
    cell: NDArray[np.int64]
    block: NDArray[np.int64]
    values: Floats
    before: Floats
    ran: NDArray[np.bool_]
    slack: Floats
    censored: Floats
    at: Floats

    @classmethod
    def of(cls, metric: Metric, tables: Sequence[Observations]) -> PairedRuns:
        cells = tuple(sorted(set(tables[0].cells) & set(tables[-1].cells)))
        number = {cell: index for index, cell in enumerate(cells)}
        rows = [{r.run: r for r in table.rows if r.metric == metric.name} for table in tables]
        place = {run: row for own in reversed(rows) for run, row in own.items()}
        unwanted = tables[-1].unwanted
        runs = sorted(r for r in place if place[r].cell in number and r not in unwanted)
        blocks = sorted({place[run].block for run in runs})
        shape = (len(tables), len(runs))
        values, slack, censored, at = (np.full(shape, f) for f in (np.nan, 0.0, 1.0, np.nan))
        ran = np.zeros(shape, dtype=np.bool_)
        for result, own in enumerate(rows):
            for index, run in enumerate(runs):
                row = own.get(run)
                if row is None:
                    continue
                ran[result, index] = True
                at[result, index] = math.nan if row.at is None else row.at
                value = math.nan if row.value is None else row.value
                if math.isfinite(value) and (value > 0 or not metric.log):
                    values[result, index] = math.log(value) if metric.log else value
                    slack[result, index] = row.slack
                    censored[result, index] = row.censored
        return cls(
            metric=metric,
            cells=cells,
            planned=np.array([[cell in table.cells for cell in cells] for table in tables]),
            doubt="" if len(tables) > 2 else tables[-1].doubts.get(metric.name, ""),
            repeats=tuple(table.name for table in tables[1:-1]),
            cell=np.array([number[place[run].cell] for run in runs], dtype=np.int64),
            block=np.array([blocks.index(place[run].block) for run in runs], dtype=np.int64),
            values=values,
            before=mean_known(values[:-1]),
            ran=ran,
            slack=slack,
            censored=censored,
            at=at[[0, -1]].mean(axis=0),
        )

    @property
    def difference(self) -> Floats:
        """[run] other less baseline; NaN where a side has none."""
        return np.asarray(self.values[-1] - self.before)

    def shown(self, difference: float) -> float:
        """A difference in the metric's scale: a ratio less 1, or a difference as it is."""
        return math.expm1(difference) if self.metric.log else difference

    def known(self, difference: float) -> float | None:
        """None where there is no bound, or one beyond any ratio that means something."""
        beyond = not math.isfinite(difference) or (
            self.metric.log and abs(difference) > math.log(RATIO_MAX)
        )
        return None if beyond else self.shown(difference)


def mean_known(values: Floats) -> Floats:
    """Mean over the first axis of what is not NaN; NaN where nothing is."""
    known = np.isfinite(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


# -- estimates


@frozen(kw_only=True)
class MeanDifference:
    """A mean difference and what the runs say of it.

    Attributes:
        error, degrees: Standard error by Student's t, and its degrees of freedom.
        hidden: How far ``mean`` may be off because values are cut off.
        low90, high90: What an equivalence test at 5 % looks at.
    """

    mean: float
    error: float
    degrees: int
    hidden: float = 0.0
    bound: float | None = None

    @property
    def p(self) -> float:
        """Two-sided, of no difference."""
        left = max(abs(self.mean) - self.hidden, 0.0)
        if self.degrees < 1 or left == 0:
            return 1.0
        if self.error <= left * 1e-12:
            return 0.0
        return max(0.0, 2 * (1 - t_cdf(left / self.error, self.degrees)))

    def half(self, level: float) -> float:
        """Half the interval that misses the mean in ``level`` of cases."""
        if self.bound is not None:
            return self.bound
        if self.degrees < 1:
            return math.inf
        return t_quantile(1 - level / 2, self.degrees) * self.error + self.hidden


def over_cells(values: Floats, cell: NDArray[np.int64], unit: NDArray[np.int64]) -> MeanDifference:
    """The mean in which every cell counts once; runs of one block scatter together."""
    cells, cell = np.unique(cell, return_inverse=True)
    weights = 1.0 / (len(cells) * np.bincount(cell)[cell])
    _, unit = np.unique(unit, return_inverse=True)
    sums, masses = np.bincount(unit, weights * values), np.bincount(unit, weights)
    mean, units = float(sums.sum()), len(sums)
    square = float(((sums - masses * mean) ** 2).sum())
    error = math.sqrt(square * units / (units - 1)) if units > 1 else math.inf
    return MeanDifference(mean=mean, error=error, degrees=units - 1)


def by_cell(values: Sequence[Floats]) -> list[MeanDifference]:
    """Of each cell, its variance leaning on those of the others as far as they are alike."""
    spread = common_spread(values)
    most = sum(max(0, len(each) - 1) for each in values)
    found = []
    for own in values:
        if len(own) < 2:
            found.append(MeanDifference(mean=float(own.mean()), error=math.inf, degrees=0))
            continue
        variance, degrees = moderated(float(own.var(ddof=1)), len(own) - 1, spread, most)
        error = math.sqrt(variance / len(own))
        found.append(MeanDifference(mean=float(own.mean()), error=error, degrees=degrees))
    return found


def cut_off(effect: MeanDifference, slack: Floats, weights: Floats) -> MeanDifference:
    """With what values hide: it scatters too, evenly from 0 to the slack."""
    hidden = float((weights * slack).sum() / weights.sum())
    error = math.hypot(effect.error, hidden / math.sqrt(3 * len(slack)))
    return evolve(effect, error=error, hidden=hidden)


def if_rare(effect: MeanDifference, values: Floats) -> MeanDifference:
    """Where no run differs: the exact bound on how many could (C. J. Clopper and E. S. Pearson).

    No run of n differing bounds the share that differ, and so the mean difference, by
    1 - 0.05**(1 / n): a run is one observation, however many events it has.
    """
    if np.any(values != 0) or effect.hidden:
        return effect
    return evolve(effect, bound=1 - 0.05 ** (1 / len(values)))
