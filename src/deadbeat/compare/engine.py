"""Two tables of observations: a verdict per cell, per metric and over all.

`compare_tables` is a function of the tables alone; docs/explanation/comparison.md gives the method,
and docs/decisions/0020-one-comparison.md what each rule does to false alarms and power.

A difference is called one when it is unlikely by chance, larger than the smallest that matters, and
larger than what sessions of the baseline differ by among themselves. ``equal`` is shown by two
one-sided tests (D. J. Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15, 1987).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from deadbeat.compare.words import needs, overall, place_text
from deadbeat.model.comparison import (
    CellComparison,
    Comparison,
    MetricComparison,
    Vocabulary,
)
from deadbeat.model.observations import Cell, Floats, Metric, Observations
from deadbeat.stats.bootstrap import t_cdf, t_quantile
from deadbeat.stats.permutation import common_spread, holm, moderated

#: Chance of any false ``better`` or ``worse`` where nothing differs: half of it for the metrics
#: over all cells, half for single cells.
FALSE_ALARMS = 0.05
#: Levels of the gates over all cells and of single cells. Together they exceed FALSE_ALARMS, since
#: a session that moves a cell moves their mean: simulated for 3 to 24 cells and 1 to 3 repeats,
#: sessions alone exceed one of them in 3.1 to 4.9 % of comparisons at the worst.
GATE_LEVEL, CELL_GATE_LEVEL = 0.04, 0.02
#: Of an equality, which is shown for each metric and cell by itself.
EQUAL_LEVEL = 0.05
#: Power for which a smallest effect is stated.
POWER = 0.8
#: Fewer runs than this that differ at all say nothing on how much runs differ.
DIFFERING_MIN = 6
#: Share of the runs of one side that the other may lack.
LACKING_MAX = 0.2
#: One cell in so many may drift so much more than the others that their pool says nothing of it.
_CELLS_APART = 8
#: A bound that is so many times a value, or so small a part of it, bounds nothing.
RATIO_MAX = 1000.0
#: Stretches of time that two results are cut into, and the runs each needs at least.
STRETCHES, STRETCH_RUNS = 8, 3
_CELLS_NAMED = 3


@frozen(kw_only=True)
class CompareOptions:
    """What is asked of a comparison.

    Attributes:
        metrics: Those compared, each with the smallest effect that matters.
        words: For what is compared.
        lost_max: Share of events that one side may lose more of than the other.
        simulated: No side ran on a machine: then there are no sessions that could drift.
        ungated: Decide what was measured without repeats of the baseline too, as if sessions did
            not differ.
    """

    metrics: tuple[Metric, ...]
    words: Vocabulary
    lost_max: float = 0.005
    simulated: bool = False
    ungated: bool = False

    @property
    def cell_level(self) -> float:
        """p_holm up to which a cell counts as different."""
        return FALSE_ALARMS / 2 / len(self.metrics)


def compare_tables(
    baseline: Observations,
    other: Observations,
    repeats: Sequence[Observations] = (),
    *,
    options: CompareOptions,
) -> Comparison:
    """Compares ``other`` with ``baseline``, metric by metric.

    Args:
        repeats: Further results of the baseline's command on its machine and kernel (A/A).
    """
    parts = [
        _Part.of(_Sample.of(metric, [baseline, *repeats, other]), options)
        for metric in options.metrics
    ]
    p_holm = holm([part.whole.p if part.whole else 1.0 for part in parts])
    metrics = _metrics(parts, p_holm, options)
    harm = [line for part in parts for line in part.hidden.worse]
    found = overall(metrics, harm=harm, words=options.words)
    return Comparison(
        baseline=baseline.name,
        other=other.name,
        metrics=metrics,
        verdict=found.verdict,
        reason=found.reason,
        needs=needs(metrics, options.words),
        rests_on=found.rests_on,
        undecided=tuple(metric.metric.name for metric in metrics if metric.verdict == "undecided"),
    )


# -- from tables to differences


@frozen(kw_only=True, eq=False)
class _Sample:
    """One metric of all results: the baseline, its repeats, and last the other.

    Attributes:
        cells: Those that baseline and other have, runs or not.
        cell, block: [run] numbers.
        values: [result, run] on the scale of the differences; NaN where there is none.
        before: [run] mean of the baseline and its repeats.
        ran: [result, run] whether there is such a run.
        slack, censored: [result, run] as in `Observation`; ``censored`` is 1 without a value.
        at: [run] mean time of both sides; NaN where it is not known.
    """

    metric: Metric
    cells: tuple[Cell, ...]
    repeats: tuple[str, ...]
    cell: NDArray[np.int64]
    block: NDArray[np.int64]
    values: Floats
    before: Floats
    ran: NDArray[np.bool_]
    slack: Floats
    censored: Floats
    at: Floats

    @classmethod
    def of(cls, metric: Metric, tables: Sequence[Observations]) -> _Sample:
        cells = tuple(sorted(set(tables[0].cells) & set(tables[-1].cells)))
        number = {cell: index for index, cell in enumerate(cells)}
        rows: list[dict[str, Any]] = []
        place: dict[str, tuple[Cell, str]] = {}
        for table in tables:
            found = table.of_metric(metric.name)
            rows.append({table.runs[row["run"]]: row for row in found})
            for row in found:
                key = (table.cells[row["cell"]], table.blocks[row["block"]])
                place.setdefault(table.runs[row["run"]], key)
        unwanted = tables[-1].unwanted
        runs = sorted(r for r, (cell, _) in place.items() if cell in number and r not in unwanted)
        blocks = sorted({place[run][1] for run in runs})
        shape = (len(tables), len(runs))
        values, slack, censored, at = (np.full(shape, f) for f in (np.nan, 0.0, 1.0, np.nan))
        ran = np.zeros(shape, dtype=np.bool_)
        for result, own in enumerate(rows):
            for index, run in enumerate(runs):
                row = own.get(run)
                if row is None:
                    continue
                ran[result, index], at[result, index] = True, row["at"]
                value = float(row["value"])
                if math.isfinite(value) and (value > 0 or not metric.log):
                    values[result, index] = math.log(value) if metric.log else value
                    slack[result, index] = row["slack"]
                    censored[result, index] = row["censored"]
        return cls(
            metric=metric,
            cells=cells,
            repeats=tuple(table.name for table in tables[1:-1]),
            cell=np.array([number[place[run][0]] for run in runs], dtype=np.int64),
            block=np.array([blocks.index(place[run][1]) for run in runs], dtype=np.int64),
            values=values,
            before=_mean_known(values[:-1]),
            ran=ran,
            slack=slack,
            censored=censored,
            at=at[[0, -1]].mean(axis=0),
        )

    def shown(self, difference: float) -> float:
        """A difference in the metric's scale: a ratio less 1, or a difference as it is."""
        return math.expm1(difference) if self.metric.log else difference

    def known(self, difference: float) -> float | None:
        """None where there is no bound, or one beyond any ratio that means something."""
        beyond = not math.isfinite(difference) or (
            self.metric.log and abs(difference) > math.log(RATIO_MAX)
        )
        return None if beyond else self.shown(difference)


def _mean_known(values: Floats) -> Floats:
    """Mean over the first axis of what is not NaN; NaN where nothing is."""
    known = np.isfinite(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


# -- estimates


@frozen(kw_only=True)
class _Effect:
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


def _over_cells(values: Floats, cell: NDArray[np.int64], unit: NDArray[np.int64]) -> _Effect:
    """The mean in which every cell counts once; runs of one block scatter together."""
    cells, cell = np.unique(cell, return_inverse=True)
    weights = 1.0 / (len(cells) * np.bincount(cell)[cell])
    _, unit = np.unique(unit, return_inverse=True)
    sums, masses = np.bincount(unit, weights * values), np.bincount(unit, weights)
    mean, units = float(sums.sum()), len(sums)
    square = float(((sums - masses * mean) ** 2).sum())
    error = math.sqrt(square * units / (units - 1)) if units > 1 else math.inf
    return _Effect(mean=mean, error=error, degrees=units - 1)


def _by_cell(values: Sequence[Floats]) -> list[_Effect]:
    """Of each cell, its variance leaning on those of the others as far as they are alike."""
    spread = common_spread(values)
    most = sum(max(0, len(each) - 1) for each in values)
    found = []
    for own in values:
        if len(own) < 2:
            found.append(_Effect(mean=float(own.mean()), error=math.inf, degrees=0))
            continue
        variance, degrees = moderated(float(own.var(ddof=1)), len(own) - 1, spread, most)
        error = math.sqrt(variance / len(own))
        found.append(_Effect(mean=float(own.mean()), error=error, degrees=degrees))
    return found


def _cut_off(effect: _Effect, slack: Floats, weights: Floats) -> _Effect:
    """With what values hide: it scatters too, evenly from 0 to the slack."""
    hidden = float((weights * slack).sum() / weights.sum())
    error = math.hypot(effect.error, hidden / math.sqrt(3 * len(slack)))
    return evolve(effect, error=error, hidden=hidden)


# -- the gate: what sessions differ by where nothing differs


@frozen(kw_only=True)
class _Drift:
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
class _Gate:
    """Attributes: ``whole``: over all cells; ``cells``: of each that a repeat has; None of either:
    not known."""

    basis: str
    whole: _Drift | None = None
    cells: tuple[_Drift | None, ...] = ()


_STILL = _Drift(own=0.0, degrees=1)


def _gate(sample: _Sample, options: CompareOptions) -> _Gate:
    """From the repeats of the baseline."""
    many = len(sample.cells)
    if options.simulated:
        basis = "simulated: there is no host that could drift"
        return _Gate(basis=basis, whole=_STILL, cells=(_STILL,) * many)
    if not sample.repeats:
        return _guess(sample, options)
    sessions = sample.values[:-1]
    having = np.array(
        [[np.isfinite(own[sample.cell == cell]).any() for cell in range(many)] for own in sessions]
    )
    needed = having[0]
    full = [0, *(n for n in range(1, len(sessions)) if having[n][needed].all())]
    told = _lacking_text(sample, having)
    pooled, degrees, whole = 0.0, 1, None
    names = ", ".join(sample.repeats[n - 1] for n in full[1:])
    levels = _levels(sample, sessions[full], needed)
    if len(full) > 1 and levels.size:
        own = _deviation(levels.mean(axis=1))
        whole = _Drift(own=own, degrees=len(full) - 1)
        pooled, degrees = _pooled(levels)
    cells: list[_Drift | None] = []
    for cell in range(many):
        with_cell = [n for n in range(len(sessions)) if having[n][cell]]
        own_levels = _levels(sample, sessions[with_cell], np.arange(many) == cell)
        if len(with_cell) < 2 or not own_levels.size or not having[0][cell]:
            cells.append(None)
            continue
        drift = _Drift(own=_deviation(own_levels[:, 0]), degrees=len(with_cell) - 1)
        alike = evolve(drift, pooled=pooled, pooled_degrees=degrees, cells=int(needed.sum()))
        cells.append(alike if pooled else drift)
    if whole is None:
        few = "A/A repeats have too few runs in common with the baseline"
        basis = f"not known over all cells: {told}" if told else few
        return _Gate(basis=basis, cells=tuple(cells))
    count = f"{len(full) - 1} repeat{'s' if len(full) > 2 else ''}"
    hardly = "one repeat hardly tells the scatter of a single cell" if len(sessions) == 2 else ""
    basis = f"A/A: {count} of the baseline ({names})"
    return _Gate(
        basis="; ".join(filter(None, [basis, told, hardly])), whole=whole, cells=tuple(cells)
    )


def _guess(sample: _Sample, options: CompareOptions) -> _Gate:
    """From stretches of time within the two results: what differs between sessions is not in it."""
    difference = sample.values[-1] - sample.before
    known = np.isfinite(difference) & np.isfinite(sample.at)
    count = min(STRETCHES, int(known.sum()) // STRETCH_RUNS)
    if count < 3:
        still = _STILL if options.ungated else None
        basis = "not known: too few runs, and no A/A repeat (--aa)"
        return _Gate(basis=basis, whole=still, cells=(still,) * len(sample.cells))
    cell = sample.cell[known]
    counts = np.maximum(np.bincount(cell), 1)
    residual = difference[known] - (np.bincount(cell, difference[known]) / counts)[cell]
    ordered = residual[np.argsort(sample.at[known], kind="stable")]
    means = np.array([part.mean() for part in np.array_split(ordered, count)])
    drift = _Drift(own=float(means.std(ddof=1)), degrees=count - 1)
    basis = (
        f"guessed from {count} stretches of time within the two {options.words.results}: no A/A"
        " repeat was given (--aa), so what differs from one session to the next is not in it"
    )
    return _Gate(basis=basis, whole=drift, cells=(drift,) * len(sample.cells))


def _levels(sample: _Sample, sessions: Floats, cells: NDArray[np.bool_]) -> Floats:
    """[session, cell] means of the runs that all sessions have; empty where a cell has none."""
    common = np.isfinite(sessions).all(axis=0)
    chosen = [common & (sample.cell == cell) for cell in np.flatnonzero(cells)]
    if not chosen or not all(own.any() for own in chosen):
        return np.zeros((len(sessions), 0))
    return np.stack([sessions[:, own].mean(axis=1) for own in chosen], axis=1)


def _deviation(levels: Floats) -> float:
    """Of a further session from the mean of these (normal prediction)."""
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


def _lacking_text(sample: _Sample, having: NDArray[np.bool_]) -> str:
    """``aa lacks 4 of 5 cells (cpu:50 prober, ...)``; "" where no repeat lacks any."""
    told = []
    for name, own in zip(sample.repeats, having[1:], strict=True):
        lacking = [sample.cells[n] for n in np.flatnonzero(having[0] & ~own)]
        if lacking:
            some = ", ".join(place_text(cell) for cell in lacking[:2])
            more = ", ..." if len(lacking) > 2 else ""
            told.append(f"{name} lacks {len(lacking)} of {having[0].sum()} cells ({some}{more})")
    return "; ".join(told)


# -- what is lost


@frozen(kw_only=True)
class _Hidden:
    """Reasons why what is left of two sides does not show how they compare.

    Attributes:
        worse: The other may be worse than it looks: it is shown neither equal nor better.
        better: The baseline may be: the other is shown neither equal nor worse.
    """

    worse: tuple[str, ...] = ()
    better: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.worse, *self.better)))

    def allows(self, verdict: str) -> bool:
        against = {"worse": self.better, "better": self.worse, "equal": self.lines}
        return not against.get(verdict)


def _hidden(sample: _Sample, chosen: NDArray[np.bool_], options: CompareOptions) -> _Hidden:
    """What averages do not know because it never ended, or has no result (survivorship; A. Wald,
    "A method of estimating plane vulnerability based on damage of survivors", 1943)."""
    words = options.words
    known = sample.repeats or options.simulated or options.ungated
    ran = np.stack([sample.ran[:-1].any(axis=0), sample.ran[-1]])[:, chosen]
    cell = sample.cell[chosen]
    lost = np.stack([sample.censored[:-1].min(axis=0), sample.censored[-1]])[:, chosen]
    lines: list[list[str]] = [[] if known else [words.no_repeats] for _ in range(2)]
    for side, (mine, theirs) in enumerate(((0, 1), (1, 0))):
        name, beside = ("the other", "the baseline") if side == 0 else ("the baseline", "the other")
        had = ran[mine] & (lost[mine] < 1)
        gone = sorted(set(cell[had]) - set(cell[had & ran[theirs] & (lost[theirs] < 1)]))
        lacking = int((had & ~ran[theirs]).sum())
        if gone:
            names = "; ".join(place_text(sample.cells[n]) for n in gone[:_CELLS_NAMED])
            more = "; ..." if len(gone) > _CELLS_NAMED else ""
            lines[side].append(
                f"{len(gone)} of {len(set(cell[had]))} cells of {beside} have no result in {name}"
                f" ({names}{more})"
            )
        elif lacking > LACKING_MAX * had.sum():
            lines[side].append(
                f"{lacking} of the {had.sum()} {words.units} of {beside} have no result in {name}"
            )
    both = ran.all(axis=0)
    if sample.metric.log and both.any():
        excess = (lost[1] - lost[0])[both]
        cells = np.unique(cell[both])
        more_lost = float(np.mean([excess[cell[both] == n].mean() for n in cells]))
        if abs(more_lost) > options.lost_max:
            name = "the other" if more_lost > 0 else "the baseline"
            line = f"{100 * abs(more_lost):.1f} % more {words.lost} in {name}"
            lines[0 if more_lost > 0 else 1].append(line)
    return _Hidden(worse=tuple(lines[0]), better=tuple(lines[1]))


# -- verdicts


@frozen(kw_only=True, eq=False)
class _Part:
    """A metric before anything is corrected over metrics.

    Attributes:
        difference: [run] other less baseline; NaN where a side has none.
        chosen: [run] where both have one.
        hidden_cells, cells: By the number of the cell.
    """

    sample: _Sample
    chosen: NDArray[np.bool_]
    hidden: _Hidden
    gate: _Gate
    difference: Floats
    hidden_cells: tuple[_Hidden, ...]
    whole: _Effect | None = None
    cells: tuple[_Effect | None, ...] = ()

    @classmethod
    def of(cls, sample: _Sample, options: CompareOptions) -> _Part:
        difference = np.asarray(sample.values[-1] - sample.before)
        chosen = np.isfinite(difference)
        hidden = _hidden(sample, np.ones(len(sample.cell), dtype=np.bool_), options)
        gate = _gate(sample, options)
        part = cls(
            sample=sample,
            chosen=chosen,
            hidden=hidden,
            gate=gate,
            difference=difference,
            hidden_cells=tuple(
                _hidden(sample, sample.cell == n, options) for n in range(len(sample.cells))
            ),
        )
        if not chosen.any():
            return evolve(part, cells=(None,) * len(sample.cells))
        slack = np.maximum(sample.slack[:-1].max(axis=0), sample.slack[-1])
        cell = sample.cell[chosen]
        whole = _over_cells(difference[chosen], cell, sample.block[chosen])
        weights = 1.0 / np.bincount(cell)[cell]
        found: dict[int, _Effect] = {}
        present = np.unique(cell)
        values = [difference[chosen & (sample.cell == n)] for n in present]
        for n, effect in zip(present, _by_cell(values), strict=True):
            own = slack[chosen & (sample.cell == n)]
            found[int(n)] = _rare(_cut_off(effect, own, np.ones(len(own))), part.values(int(n)))
        return evolve(
            part,
            whole=_rare(_cut_off(whole, slack[chosen], weights), difference[chosen]),
            cells=tuple(found.get(n) for n in range(len(sample.cells))),
        )

    def values(self, cell: int | None = None) -> Floats:
        """Differences, of one cell or of all."""
        mine = self.chosen if cell is None else self.chosen & (self.sample.cell == cell)
        return np.asarray(self.difference[mine])

    def is_told(self, cell: int | None = None) -> bool:
        """Whether enough runs differ at all to say anything: identical jumps of one event more or
        less have no scatter, and look certain."""
        values = self.values(cell)
        if not len(values):
            return False
        return not self.sample.metric.rare or int(np.count_nonzero(values)) >= DIFFERING_MIN


def _rare(effect: _Effect, values: Floats) -> _Effect:
    """Where no run differs: the exact bound on how many could (C. J. Clopper and E. S. Pearson).

    No run of n differing bounds the share that differ, and so the mean difference, by
    1 - 0.05**(1 / n): a run is one observation, however many events it has.
    """
    if np.any(values != 0) or effect.hidden:
        return effect
    return evolve(effect, bound=1 - 0.05 ** (1 / len(values)))


def _metrics(
    parts: Sequence[_Part], p_holm: Sequence[float], options: CompareOptions
) -> tuple[MetricComparison, ...]:
    """With gates that hold for all metrics together.

    Sessions move metrics alike, or each by itself. Y. Hochberg's step-up (Biometrika 75, 1988): if
    all of k metrics exceed their gates at the level asked for, they differ; if all but one do at
    half of it; and so on to one at the k-th part of it. Metrics that cannot be told have no part.
    """
    many = max(1, sum(part.is_told() for part in parts))
    found: tuple[MetricComparison, ...] = ()
    for step in range(1, many + 1):
        found = tuple(
            _metric(part, p, options, step) for part, p in zip(parts, p_holm, strict=True)
        )
        differing = [
            each for each in found if _differs_in(each) or any(map(_differs_in, each.cells))
        ]
        if len(differing) > many - step:
            break
    return found


def _differs_in(item: MetricComparison | CellComparison) -> bool:
    return item.verdict in ("worse", "better")


@frozen(kw_only=True)
class _Judge:
    """Turns an effect into a verdict, on the scale of the differences.

    Attributes:
        gate: What a difference must exceed; None: not known.
        alone: The same where nothing else is asked at once: of an equality.
    """

    margin: float
    sign: int
    gate: float | None
    alone: float | None
    drift: _Drift
    hidden: _Hidden

    @classmethod
    def of(cls, metric: Metric, drift: _Drift | None, hidden: _Hidden, level: float) -> _Judge:
        return cls(
            margin=math.log1p(metric.minimum) if metric.log else metric.minimum,
            sign=-1 if metric.higher_is_better else 1,
            gate=None if drift is None else drift.at(level),
            # One-sided at 5 %, as the interval of 90 % beside it.
            alone=None if drift is None else drift.alone(2 * EQUAL_LEVEL),
            drift=drift or _STILL,
            hidden=hidden,
        )

    def verdict(self, effect: _Effect, p_holm: float, level: float, *, told: bool) -> str:
        found = self._found(effect, p_holm, level) if told else "undecided"
        return found if self.hidden.allows(found) else "undecided"

    def _found(self, effect: _Effect, p_holm: float, level: float) -> str:
        if self.gate is None or self.alone is None:
            return "undecided"
        bar = max(self.margin, self.gate) + effect.hidden
        if p_holm <= level and abs(effect.mean) > bar:
            return "worse" if self.sign * effect.mean > 0 else "better"
        if abs(effect.mean) + self._half90(effect) < self.margin:
            return "equal"
        return "undecided"

    def no_worse(self, effect: _Effect) -> bool:
        if self.alone is None or self.hidden.worse:
            return False
        return self.sign * effect.mean + self._half90(effect) < self.margin

    def _half90(self, effect: _Effect) -> float:
        return max(effect.half(2 * EQUAL_LEVEL), self.alone or 0.0)

    def smallest(self, effect: _Effect, level: float) -> float:
        """Effect that is found with probability POWER: what it must exceed, and what the session
        and the runs of the next comparison may take off; may be inf."""
        if self.gate is None or effect.degrees < 1:
            return math.inf
        chance = t_quantile(1 - level / 2, effect.degrees) * effect.error
        return max(self.margin, self.gate, chance) + effect.hidden + max(
            t_quantile(POWER, effect.degrees) * effect.error,
            t_quantile(POWER, self.drift.degrees) * self.drift.own,
        )  # fmt: skip


def _metric(part: _Part, p_holm: float, options: CompareOptions, step: int) -> MetricComparison:
    """``step``: what the levels of the gates are divided by."""
    sample, whole, metric = part.sample, part.whole, part.sample.metric
    judge = _Judge.of(metric, part.gate.whole, part.hidden, GATE_LEVEL / step)
    corrected = iter(holm([effect.p for effect in part.cells if effect]))
    cells = tuple(
        _cell(part, number, next(corrected) if part.cells[number] else 1.0, options, step)
        for number in range(len(sample.cells))
    )
    told = part.is_told()
    known = judge.gate is not None and part.gate.whole is not None
    known &= part.gate.whole is not _STILL or options.simulated
    empty = MetricComparison(
        metric=metric,
        effect=None,
        low=None,
        high=None,
        p=None,
        verdict="undecided",
        minimum=metric.minimum,
        gate=sample.known(judge.gate or 0.0) if known else None,
        gate_basis=part.gate.basis,
        cells=cells,
        told=False,
        vote=bool(np.isfinite(sample.values).any()),
        capped=part.hidden.lines,
    )
    if whole is None:
        return empty
    verdict = judge.verdict(whole, p_holm, FALSE_ALARMS / 2, told=told)
    lacking = any(not cell.pairs for cell in cells)
    if verdict == "equal" and (lacking or any(_differs_in(cell) for cell in cells)):
        verdict = "undecided"  # on average only
    low, high = _ends(sample, whole, sample.before[part.chosen])
    smallest = judge.smallest(whole, FALSE_ALARMS / 2 / len(options.metrics))
    return evolve(
        empty,
        effect=sample.shown(whole.mean),
        low=low,
        high=high,
        p=whole.p,
        p_holm=p_holm,
        verdict=verdict,
        smallest_effect=sample.known(smallest) if told else None,
        no_worse=told and not lacking and judge.no_worse(whole),
        told=told,
        vote=told or _matters(part),
    )


def _matters(part: _Part) -> bool:
    """Whether any single run differs by more than the minimum, or has a value on one side only."""
    sample = part.sample
    before, after = np.isfinite(sample.before), np.isfinite(sample.values[-1])
    one_sided = sample.ran[:-1].any(axis=0) & sample.ran[-1] & (before != after)
    return bool(one_sided.any() or np.abs(part.values()).max() > sample.metric.minimum)


def _cell(
    part: _Part, number: int, p_holm: float, options: CompareOptions, step: int
) -> CellComparison:
    sample, effect, place = part.sample, part.cells[number], part.sample.cells[number]
    empty = CellComparison(
        metric=sample.metric,
        cores=place.cores,
        sync_share=None if place.sync_share < 0 else place.sync_share,
        contended_ratio=None if place.contended_ratio < 0 else place.contended_ratio,
        deadline_factor=place.deadline_factor,
        group=place.group,
        pairs=0,
        baseline=None,
        other=None,
        effect=None,
        low=None,
        high=None,
        p=None,
        p_holm=None,
        smallest_effect=None,
        verdict="undecided",
    )
    if effect is None:
        return empty
    mine = sample.cell == number
    hidden, drift = part.hidden_cells[number], part.gate.cells[number]
    judge = _Judge.of(sample.metric, drift, hidden, CELL_GATE_LEVEL / step)
    mine &= part.chosen
    told = part.is_told(number)
    low, high = _ends(sample, effect, sample.before[mine])
    many = sum(1 for each in part.cells if each)
    smallest = judge.smallest(effect, options.cell_level / many)
    sides = [float(side[mine].mean()) for side in (sample.before, sample.values[-1])]
    before, after = (math.exp(side) if sample.metric.log else side for side in sides)
    return evolve(
        empty,
        pairs=int(mine.sum()),
        baseline=before,
        other=after,
        effect=sample.shown(effect.mean),
        low=low,
        high=high,
        p=effect.p,
        p_holm=p_holm,
        smallest_effect=sample.known(smallest) if told else None,
        verdict=judge.verdict(effect, p_holm, options.cell_level, told=told),
        test="student",
    )


def _ends(sample: _Sample, effect: _Effect, before: Floats) -> tuple[float | None, float | None]:
    """The interval; a difference of shares leads neither below 0 nor above 1."""
    half = effect.half(0.05)
    low, high = sample.known(effect.mean - half), sample.known(effect.mean + half)
    if not sample.metric.rare:
        return low, high
    level = float(before.mean())
    return (
        None if low is None else max(low, -level),
        None if high is None else min(high, 1.0 - level),
    )
