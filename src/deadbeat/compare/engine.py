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
from typing import TypeVar

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from deadbeat.compare.gate import STILL, Drift, Gate, gate_of
from deadbeat.compare.pairs import MeanDifference, PairedRuns, by_cell, cut_off, if_rare, over_cells
from deadbeat.compare.words import cell_text, needs, overall
from deadbeat.model.comparison import (
    CellComparison,
    ComparedEffect,
    Comparison,
    MetricComparison,
    Vocabulary,
)
from deadbeat.model.observations import Floats, Metric, Observations
from deadbeat.stats.intervals import t_quantile
from deadbeat.stats.multiple import holm

#: Chance of any false ``better`` or ``worse`` where nothing differs: half of it for the metrics
#: over all cells, half for single cells.
FALSE_ALARMS = 0.05
#: The same for what sessions differ by: of the gates over all cells, and of single cells.
GATE_LEVEL, CELL_GATE_LEVEL = 0.04, 0.01
#: Of an equality, which is shown for each metric and cell by itself.
EQUAL_LEVEL = 0.05
#: Power for which a smallest effect is stated.
POWER = 0.8
#: Fewer runs than this that differ at all say nothing on how much runs differ.
DIFFERING_MIN = 6
_CELLS_NAMED = 3
C = TypeVar("C", bound=ComparedEffect)


@frozen(kw_only=True)
class CompareOptions:
    """What is asked of a comparison.

    Attributes:
        metrics: Those compared, each with the smallest effect that matters.
        words: For what is compared.
        lacking_max: Share of the runs of one side that the other may lack.
        lost_max: Share of events that one side may lose more of than the other.
        cells_alike: Sessions move all cells alike, as points of one grid; else a cell may drift
            more than the others.
        simulated: No side ran on a machine: then there are no sessions that could drift.
        ungated: Decide what was measured without repeats of the baseline too, as if sessions did
            not differ.
    """

    metrics: tuple[Metric, ...]
    words: Vocabulary
    lacking_max: float = 0.1
    lost_max: float = 0.005
    cells_alike: bool = False
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
        _Part.of(PairedRuns.of(metric, [baseline, *repeats, other]), options)
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


def _hidden(sample: PairedRuns, chosen: NDArray[np.bool_], options: CompareOptions) -> _Hidden:
    """What averages do not know because it never ended, or has no result (survivorship; A. Wald,
    "A method of estimating plane vulnerability based on damage of survivors", 1943)."""
    words = options.words
    known = sample.repeats or options.simulated or options.ungated
    ran = np.stack([sample.ran[:-1].any(axis=0), sample.ran[-1]])[:, chosen]
    cell = sample.cell[chosen]
    lost = np.stack([sample.censored[:-1].min(axis=0), sample.censored[-1]])[:, chosen]
    doubts = ([] if known else [words.no_repeats]) + ([sample.doubt] if sample.doubt else [])
    lines: list[list[str]] = [list(doubts), list(doubts)]
    for side, (mine, theirs) in enumerate(((0, 1), (1, 0))):
        name, beside = ("the other", "the baseline") if side == 0 else ("the baseline", "the other")
        had = ran[mine] & (lost[mine] < 1)
        gone = sorted(set(cell[had]) - set(cell[had & ran[theirs] & (lost[theirs] < 1)]))
        lacking = int((had & ~ran[theirs]).sum())
        if gone:
            names = "; ".join(cell_text(sample.cells[n]) for n in gone[:_CELLS_NAMED])
            more = "; ..." if len(gone) > _CELLS_NAMED else ""
            lines[side].append(
                f"{len(gone)} of {len(set(cell[had]))} cells of {beside} have no result in {name}"
                f" ({names}{more})"
            )
        elif lacking > options.lacking_max * had.sum():
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

    sample: PairedRuns
    chosen: NDArray[np.bool_]
    hidden: _Hidden
    gate: Gate
    difference: Floats
    hidden_cells: tuple[_Hidden, ...]
    whole: MeanDifference | None = None
    cells: tuple[MeanDifference | None, ...] = ()

    @classmethod
    def of(cls, sample: PairedRuns, options: CompareOptions) -> _Part:
        difference = np.asarray(sample.values[-1] - sample.before)
        chosen = np.isfinite(difference)
        hidden = _hidden(sample, np.ones(len(sample.cell), dtype=np.bool_), options)
        gate = gate_of(
            sample,
            results=options.words.results,
            simulated=options.simulated,
            ungated=options.ungated,
            alike=options.cells_alike,
        )
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
        differences = difference[chosen]
        whole = over_cells(differences, cell, sample.block[chosen])
        whole = cut_off(whole, slack[chosen], 1.0 / np.bincount(cell)[cell])
        present = np.unique(cell)
        values = [differences[cell == n] for n in present]
        effects = [
            cut_off(effect, slack[chosen][cell == n], np.ones(len(own)))
            for n, own, effect in zip(present, values, by_cell(values), strict=True)
        ]
        if sample.metric.rare:
            whole = if_rare(whole, differences)
            effects = [if_rare(each, own) for each, own in zip(effects, values, strict=True)]
        found = dict(zip(map(int, present), effects, strict=True))
        return evolve(
            part, whole=whole, cells=tuple(found.get(n) for n in range(len(sample.cells)))
        )

    def values(self, cell: int | None = None) -> Floats:
        """Differences, of one cell or of all."""
        mine = self.chosen if cell is None else self.chosen & (self.sample.cell == cell)
        return np.asarray(self.difference[mine])

    def is_empty(self, cell: int) -> bool:
        """Whether no run of the cell is on both sides: of a cell with runs but without a value the
        metric does not tell, and what one side lost is told apart."""
        both = self.sample.ran[:-1].any(axis=0) & self.sample.ran[-1]
        return not bool((both & (self.sample.cell == cell)).any())

    def is_told(self, cell: int | None = None) -> bool:
        """Whether enough runs differ at all to say anything: identical jumps of one event more or
        less have no scatter, and look certain."""
        values = self.values(cell)
        if not len(values):
            return False
        return not self.sample.metric.rare or int(np.count_nonzero(values)) >= DIFFERING_MIN


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
    drift: Drift
    hidden: _Hidden

    @classmethod
    def of(cls, metric: Metric, drift: Drift | None, hidden: _Hidden, level: float) -> _Judge:
        return cls(
            margin=math.log1p(metric.minimum) if metric.log else metric.minimum,
            sign=-1 if metric.higher_is_better else 1,
            gate=None if drift is None else drift.at(level),
            # One-sided at 5 %, as the interval of 90 % beside it.
            alone=None if drift is None else drift.alone(2 * EQUAL_LEVEL),
            drift=drift or STILL,
            hidden=hidden,
        )

    def verdict(self, effect: MeanDifference, p_holm: float, level: float, *, told: bool) -> str:
        found = self._found(effect, p_holm, level) if told else "undecided"
        return found if self.hidden.allows(found) else "undecided"

    def _found(self, effect: MeanDifference, p_holm: float, level: float) -> str:
        if self.gate is None or self.alone is None:
            return "undecided"
        bar = max(self.margin, self.gate) + effect.hidden
        if p_holm <= level and abs(effect.mean) > bar:
            return "worse" if self.sign * effect.mean > 0 else "better"
        if abs(effect.mean) + self._half90(effect) < self.margin:
            return "equal"
        return "undecided"

    def no_worse(self, effect: MeanDifference) -> bool:
        if self.alone is None or self.hidden.worse:
            return False
        return self.sign * effect.mean + self._half90(effect) < self.margin

    def _half90(self, effect: MeanDifference) -> float:
        return max(effect.half(2 * EQUAL_LEVEL), self.alone or 0.0)

    def smallest(self, effect: MeanDifference, level: float) -> float:
        """Effect that is found with probability POWER: what it must exceed, and what the session
        and the runs of the next comparison may take off; may be inf."""
        if self.gate is None or effect.degrees < 1:
            return math.inf
        chance = t_quantile(1 - level / 2, effect.degrees) * effect.error
        return max(self.margin, self.gate, chance) + effect.hidden + max(
            t_quantile(POWER, effect.degrees) * effect.error,
            t_quantile(POWER, self.drift.degrees) * self.drift.own,
        )  # fmt: skip

    def judged(
        self,
        empty: C,
        sample: PairedRuns,
        mine: NDArray[np.bool_],
        effect: MeanDifference,
        *,
        p_holm: float,
        levels: tuple[float, float],
        told: bool,
    ) -> C:
        """``empty`` with what the runs ``mine`` say.

        Args:
            levels: Of ``p_holm``, and of the smallest effect that can be found.
        """
        low, high = _ends(sample, effect, sample.before[mine])
        smallest = self.smallest(effect, levels[1])
        return evolve(
            empty,
            effect=sample.shown(effect.mean),
            low=low,
            high=high,
            p=effect.p,
            p_holm=p_holm,
            smallest_effect=sample.known(smallest) if told else None,
            verdict=self.verdict(effect, p_holm, levels[0], told=told),
        )


def _metric(part: _Part, p_holm: float, options: CompareOptions, step: int) -> MetricComparison:
    """``step``: what the levels of the gates are divided by."""
    sample, whole, metric = part.sample, part.whole, part.sample.metric
    judge = _Judge.of(metric, part.gate.whole, part.hidden, GATE_LEVEL / step)
    corrected = iter(holm([effect.p for effect in part.cells if effect]))
    cells = tuple(
        _cell(part, number, next(corrected) if part.cells[number] else 1.0, options, step)
        for number in range(len(sample.cells))
        if part.cells[number] or part.is_empty(number)
    )
    told = part.is_told()
    known = judge.gate is not None and part.gate.whole is not None
    known &= part.gate.whole is not STILL or options.simulated
    empty = MetricComparison(
        metric=metric,
        minimum=metric.minimum,
        gate=sample.known(judge.gate or 0.0) if known else None,
        gate_basis=part.gate.basis,
        cells=cells,
        told=told,
        vote=told or (bool(np.isfinite(sample.values).any()) and (whole is None or _matters(part))),
        capped=part.hidden.lines,
    )
    if whole is None:
        return empty
    levels = (FALSE_ALARMS / 2, FALSE_ALARMS / 2 / len(options.metrics))
    found = judge.judged(empty, sample, part.chosen, whole, p_holm=p_holm, levels=levels, told=told)
    lacking = any(not cell.pairs for cell in cells)
    if found.verdict == "equal" and (lacking or any(map(_differs_in, cells))):
        found = evolve(found, verdict="undecided")  # on average only
    return evolve(found, no_worse=told and not lacking and judge.no_worse(whole))


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
    )
    if effect is None:
        return empty
    mine = part.chosen & (sample.cell == number)
    hidden, drift = part.hidden_cells[number], part.gate.cells[number]
    judge = _Judge.of(sample.metric, drift, hidden, CELL_GATE_LEVEL / step)
    sides = [float(side[mine].mean()) for side in (sample.before, sample.values[-1])]
    before, after = (math.exp(side) if sample.metric.log else side for side in sides)
    known = evolve(empty, pairs=int(mine.sum()), baseline=before, other=after, test="student")
    many = sum(1 for each in part.cells if each)
    levels = (options.cell_level, options.cell_level / many)
    return judge.judged(
        known, sample, mine, effect, p_holm=p_holm, levels=levels, told=part.is_told(number)
    )


def _ends(
    sample: PairedRuns, effect: MeanDifference, before: Floats
) -> tuple[float | None, float | None]:
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
