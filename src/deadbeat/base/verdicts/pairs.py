"""Runs of several results paired for one metric: what their mean differences say, and how far
results differ where nothing differs (the A/A gate).

Runs of one result share a session: what the host did in that hour moves all of them, and no test on
the runs alone can tell that from an effect. Repeats of the baseline (A/A) show it. Without them the
gate is guessed from the stretches of time within the two results, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from deadbeat.base.model.observations import Cell, Floats, Metric, Observations
from deadbeat.base.model.words import count_of
from deadbeat.base.stats.intervals import Interval, t_cdf, t_quantile
from deadbeat.base.stats.multiple import common_spread, moderated
from deadbeat.base.stats.proportions import RareCounts
from deadbeat.base.verdicts.words import cell_text, some

#: A bound this many times a value, or this small a part of it, bounds nothing.
RATIO_MAX = 1000.0
#: Why changes that were measured in turns need no repeats of the baseline.
IN_TURNS = "measured in turns: the host drifts alike for both"
#: Fewer pairs of runs than this have no test.
PAIRS_MIN = 3


@frozen(kw_only=True, eq=False)
class PairedRuns:
    """One metric of all results: the baseline, its repeats, and last the other.

    Attributes:
        cells: The cells that baseline and other have, with runs or without.
        planned: [result, cell] whether the result was to have it.
        cell, block: [run] numbers.
        values: [result, run] on the scale of the differences; NaN where there is none.
        before: [run] mean of the baseline and its repeats.
        ran: [result, run] whether there is such a run.
        slack, censored, trials, burst: [result, run] as in `Observation`; ``censored`` is 1
            without value.
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
    trials: Floats
    burst: Floats
    at: Floats

    @classmethod
    def of(cls, metric: Metric, tables: Sequence[Observations]) -> PairedRuns:
        of = metric.name if metric.apart else ""
        both = set(tables[0].cells) & set(tables[-1].cells)
        rows = [{r.run: r for r in table.rows if r.metric == metric.name} for table in tables]
        place = {run: row for own in reversed(rows) for run, row in own.items()}
        unseen = {run for own in (rows[0], rows[-1]) for run, row in own.items() if not row.seen}
        both -= {place[run].cell for run in unseen} - {place[run].cell for run in {*place} - unseen}
        cells = tuple(sorted(cell for cell in both if cell.of == of))
        number = {cell: index for index, cell in enumerate(cells)}
        unwanted = tables[-1].unwanted | unseen
        runs = sorted(r for r in place if place[r].cell in number and r not in unwanted)
        blocks = sorted({place[run].block for run in runs})
        shape = (len(tables), len(runs))
        values, at, slack, trials, burst, censored = (
            np.full(shape, float(fill)) for fill in (np.nan, np.nan, 0, 0, 1, 1)
        )
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
                    trials[result, index] = row.trials
                    burst[result, index] = row.burst
        return cls(
            metric=metric,
            cells=cells,
            planned=np.array(
                [[cell in table.cells for cell in cells] for table in tables], dtype=bool
            ),
            doubt="" if len(tables) > 2 else tables[-1].doubts.get(metric.name, ""),
            repeats=tuple(table.name for table in tables[1:-1]),
            cell=np.array([number[place[run].cell] for run in runs], dtype=np.int64),
            block=np.array([blocks.index(place[run].block) for run in runs], dtype=np.int64),
            values=values,
            before=mean_known(values[:-1]),
            ran=ran,
            slack=slack,
            censored=censored,
            trials=trials,
            burst=burst,
            at=at[[0, -1]].mean(axis=0),
        )

    @property
    def difference(self) -> Floats:
        """[run] other less baseline; NaN where a side has none."""
        return np.asarray(self.values[-1] - self.before)

    def rates(self, mine: NDArray[np.bool_]) -> RareCounts | None:
        """Events of ``mine``, the baseline with its repeats; None: not known, or too few runs."""
        counts = np.nan_to_num(self.values) * self.trials
        events, squares, trials = (
            np.stack([each[:-1].sum(axis=0), each[-1]])[:, mine]
            for each in (counts, counts * self.burst, self.trials)
        )
        if trials.shape[1] < PAIRS_MIN or not trials.all():
            return None
        return RareCounts.over(events, trials, squares / np.maximum(events, 1))

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


@frozen(kw_only=True)
class MeanDifference:
    """A mean difference and what the runs say of it.

    Attributes:
        error, degrees: Standard error by Student's t, and its degrees of freedom.
        hidden: How far ``mean`` may be off because values are cut off.
        rates: What tells instead of Student's t.
    """

    mean: float
    error: float
    degrees: int
    hidden: float = 0.0
    bound: float | None = None
    rates: RareCounts | None = None

    @property
    def p(self) -> float:
        """Two-sided, of no difference."""
        if self.rates:
            return max(self.rates.p, self._student if self.rates.few else 0.0)
        return self._student

    @property
    def _student(self) -> float:
        left = max(abs(self.mean) - self.hidden, 0.0)
        if self.degrees < 1 or left == 0:
            return 1.0
        if self.error <= left * 1e-12:
            return 0.0
        return max(0.0, 2 * (1 - t_cdf(left / self.error, self.degrees)))

    def half(self, level: float) -> float:
        """Half the interval that misses the mean in ``level`` of cases."""
        few = self.rates is not None and self.rates.few
        if self.bound is not None and not few:
            return self.bound
        if self.degrees < 1:
            return math.inf
        return max(self._student_half(level), self.bound or 0.0)

    def _student_half(self, level: float) -> float:
        return t_quantile(1 - level / 2, self.degrees) * self.error + self.hidden

    @property
    def interval(self) -> Interval:
        """The 95 % interval; of few runs with counts the wider of both at each end."""
        if self.rates is None:
            return Interval(self.mean - self.half(0.05), self.mean + self.half(0.05))
        low, high = self.rates.interval
        if self.rates.few:
            half = self._student_half(0.05)
            low, high = min(low, self.mean - half), max(high, self.mean + half)
        return Interval(low, high)

    def among(self, times: int) -> MeanDifference:
        """The same from ``times`` as many runs that are like these."""
        rates, bound = self.rates, self.bound
        if rates:
            rates = evolve(rates, seen=rates.seen * times, of=rates.of * times)
            bound = max(abs(end - self.mean) for end in rates.interval)
        elif bound is not None:
            bound = 1 - (1 - bound) ** (1 / times)
        error, degrees = self.error / math.sqrt(times), (self.degrees + 1) * times - 1
        return evolve(self, error=error, degrees=degrees, rates=rates, bound=bound)

    @property
    def scatter(self) -> float:
        """Standard error, at least what chance alone makes of counts."""
        return max(self.error, self.rates.error) if self.rates else self.error


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
    """Difference in each cell; its variance leans on the others as far as they are alike."""
    spread = common_spread(values)
    most = sum(max(0, len(each) - 1) for each in values)
    found = []
    for own in values:
        error, degrees = math.inf, 0
        if len(own) > 1:
            variance, degrees = moderated(float(own.var(ddof=1)), len(own) - 1, spread, most)
            error = math.sqrt(variance / len(own))
        found.append(MeanDifference(mean=float(own.mean()), error=error, degrees=degrees))
    return found


def cut_off(effect: MeanDifference, slack: Floats, weights: Floats) -> MeanDifference:
    """With what values hide: it scatters too, evenly from 0 to the slack."""
    hidden = float((weights * slack).sum() / weights.sum())
    error = math.hypot(effect.error, hidden / math.sqrt(3 * len(slack)))
    return evolve(effect, error=error, hidden=hidden)


def if_rare(
    effect: MeanDifference, values: Floats, rates: RareCounts | None = None
) -> MeanDifference:
    """By the exact test where events were counted. Where no run differs: the exact bound on how
    many could (C. J. Clopper and E. S. Pearson).

    No run of n differing bounds the share that differ, and so the mean difference, by
    1 - 0.05**(1 / n): a run is one observation, however many events it has.
    """
    if rates and rates.seen.any():
        mean, error = rates.off, effect.error if rates.few else max(effect.error, rates.error)
        bound = max(abs(end - mean) for end in rates.interval)
        return evolve(effect, mean=mean, error=error, bound=bound, rates=rates)
    if np.any(values != 0) or effect.hidden:
        return effect
    return evolve(effect, bound=1 - 0.05 ** (1 / len(values)))


#: One cell in this number may drift so much that the pool says nothing of it.
_CELLS_APART = 8
#: Stretches of time that two results are cut into, and the runs each needs at least.
STRETCHES, STRETCH_RUNS = 8, 3
_HARDLY = "one repeat hardly shows the scatter of a single cell"


@frozen(kw_only=True)
class Drift:
    """How far the level of another session lies from the mean of the baseline's.

    Attributes:
        own: Standard deviation, from ``degrees`` repeats.
        pooled: The same of a single cell as if all drifted alike; 0: nothing is known.
        cells: Number of cells that share the pool.
    """

    own: float
    degrees: int
    pooled: float = 0.0
    pooled_degrees: int = 1
    cells: int = 1

    def at(self, level: float) -> float:
        """Bound that 1 - ``level`` of comparisons without a difference have all cells below.

        Cells drift by different amounts, and few repeats do not tell which of them are alike. The
        pooled bound (level divided by the number of cells, C. E. Bonferroni) holds where most
        drift alike, and is too low for the few that drift more; the own bound holds for each. Of
        the few in eight that can lie above the pool it is divided by their number alone.
        """
        some = max(1.0, self.cells / _CELLS_APART)
        return max(
            t_quantile(1 - level / some / 2, self.degrees) * self.own,
            t_quantile(1 - level / self.cells / 2, self.pooled_degrees) * self.pooled,
        )

    def alone(self, level: float) -> float:
        """The same bound for this one alone."""
        return evolve(self, cells=1).at(level)


@frozen(kw_only=True)
class Gate:
    """Attributes: ``whole``: over all cells; ``cells``: for each that a repeat has; None in either:
    not known."""

    basis: str
    whole: Drift | None = None
    cells: tuple[Drift | None, ...] = ()


STILL = Drift(own=0.0, degrees=1)


def gate_of(
    sample: PairedRuns, *, results: str, undisturbed: str, ungated: bool, alike: bool
) -> Gate:
    """From the repeats of the baseline."""
    many = len(sample.cells)
    if undisturbed and not sample.repeats:
        return Gate(basis=undisturbed, whole=STILL, cells=(STILL,) * many)
    if not sample.repeats:
        return _guess(sample, results, ungated=ungated)
    sessions = sample.values[:-1]
    full = [0, *(n for n in range(1, len(sessions)) if sample.planned[n].all())]
    pooled, degrees, whole = 0.0, 1, None
    levels = _levels(sample, sessions[full])
    known = np.isfinite(levels).all(axis=0)
    if len(full) > 1 and known.any():
        whole = Drift(own=_deviation(levels[:, known].mean(axis=1)), degrees=len(full) - 1)
        pooled, degrees = _pooled(levels[:, known])
    cells: list[Drift | None] = []
    for cell in range(many):
        some = [
            n for n in range(len(sessions)) if np.isfinite(sessions[n][sample.cell == cell]).any()
        ]
        own = _levels(sample, sessions[some])[:, cell] if len(some) > 1 else np.array([np.nan])
        if not np.isfinite(own).all() or (alike and whole is None):
            cells.append(None)
            continue
        cells.append(
            Drift(
                own=0.0 if alike and pooled else _deviation(own),
                degrees=len(some) - 1,
                pooled=pooled,
                pooled_degrees=degrees,
                cells=int(known.sum()) if pooled else 1,
            )
        )
    text = _lacking_text(sample)
    names = ", ".join(sample.repeats[n - 1] for n in full[1:])
    if ungated:
        whole, cells = whole or STILL, [drift or STILL for drift in cells]
    if whole is None:
        few = "A/A repeats have too few runs in common with the baseline"
        basis = f"not known over all cells: {text}" if text else few
        return Gate(basis=basis, cells=tuple(cells))
    hardly = "" if alike or len(sessions) > 2 else _HARDLY
    basis = f"A/A: {count_of(len(full) - 1, 'repeat')} of the baseline ({names})"
    basis = "; ".join(filter(None, [basis, text, hardly]))
    return Gate(basis=basis, whole=whole, cells=tuple(cells))


def _guess(sample: PairedRuns, results: str, *, ungated: bool) -> Gate:
    """From stretches of time within the two results: what differs between sessions is not in it."""
    difference = sample.difference
    known = np.isfinite(difference) & np.isfinite(sample.at)
    count = min(STRETCHES, int(known.sum()) // STRETCH_RUNS)
    if count < 3:
        still = STILL if ungated else None
        basis = "not known: too few runs, and no A/A repeat (--aa)"
        return Gate(basis=basis, whole=still, cells=(still,) * len(sample.cells))
    cell = sample.cell[known]
    counts = np.maximum(np.bincount(cell), 1)
    residual = difference[known] - (np.bincount(cell, difference[known]) / counts)[cell]
    ordered = np.array_split(residual[np.argsort(sample.at[known], kind="stable")], count)
    means = np.array([part.mean() for part in ordered])
    runs = float(np.mean([part.var(ddof=1) / len(part) for part in ordered]))
    own = math.sqrt(max(0.0, float(means.var(ddof=1)) - runs))
    drift = Drift(own=own, degrees=count - 1)
    basis = (
        f"guessed from {count} stretches of time within the two {results}: no A/A"
        " repeat was given (--aa), so what differs from one session to the next is not in it"
    )
    return Gate(basis=basis, whole=drift, cells=(drift,) * len(sample.cells))


def _levels(sample: PairedRuns, sessions: Floats) -> Floats:
    """[session, cell] means of the runs that all sessions have; NaN where a cell has none."""
    common = np.isfinite(sessions).all(axis=0)
    cell, many = sample.cell[common], len(sample.cells)
    counts = np.bincount(cell, minlength=many)
    sums = [np.bincount(cell, own[common], minlength=many) for own in sessions]
    return np.where(counts > 0, np.array(sums) / np.maximum(counts, 1), np.nan)


def _deviation(levels: Floats) -> float:
    """Deviation of a further session from the mean of these (normal prediction)."""
    return float(levels.std(ddof=1)) * math.sqrt(1 + 1 / len(levels))


def _pooled(levels: Floats) -> tuple[float, int]:
    """The deviation of a single cell as if all cells drifted alike, and its degrees of freedom.

    What averages out over the cells stays in full in one. The variance of a cell's level is that of
    the mean over the cells and that of a cell beside it, pooled over cells; degrees of freedom
    after F. E. Satterthwaite, Biometrics Bulletin 2, 1946, rounded down.
    """
    sessions, cells = levels.shape
    if cells < 2:
        return 0.0, 1
    many, mean = sessions - 1, levels.mean(axis=1)
    beside = levels - mean[:, None]
    beside = beside - beside.mean(axis=0)
    own = float((beside**2).sum()) / (many * (cells - 1)) * (1 - 1 / cells)
    shared = float(mean.var(ddof=1))
    if not own + shared:
        return 0.0, 1
    degrees = (own + shared) ** 2 / (own**2 / (many * (cells - 1)) + shared**2 / many)
    return math.sqrt((own + shared) * (1 + 1 / sessions)), max(1, math.floor(degrees))


def _lacking_text(sample: PairedRuns) -> str:
    """``aa lacks 4 of 5 cells (cpu:50 prober, ...)``; "" where no repeat lacks any."""
    parts = []
    for name, planned in zip(sample.repeats, sample.planned[1:], strict=False):
        lacking = [sample.cells[n] for n in np.flatnonzero(~planned)]
        if lacking:
            names = some([*map(cell_text, lacking)], most=2)
            parts.append(f"{name} lacks {len(lacking)} of {len(planned)} cells ({names})")
    return "; ".join(parts)
