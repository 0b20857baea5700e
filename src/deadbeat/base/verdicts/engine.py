"""Two tables of observations: a verdict per cell, per metric and over all.

`compare_tables` is a function of the tables alone; docs/explanation/comparison.md gives the method,
and docs/decisions/0020-one-comparison.md what each rule does to false alarms and power.

A difference is called one when it is unlikely by chance, larger than the smallest that matters, and
larger than what sessions of the baseline differ by among themselves. ``equal`` is shown by two
one-sided tests (D. J. Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15, 1987).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, TypeVar

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from deadbeat.base.model.comparison import (
    CellComparison,
    ComparedEffect,
    Comparison,
    MetricComparison,
    Vocabulary,
)
from deadbeat.base.model.observations import Cell, Floats, Metric, Observations
from deadbeat.base.stats.binomial import chi_squared_low
from deadbeat.base.stats.intervals import t_quantile
from deadbeat.base.stats.multiple import holm
from deadbeat.base.verdicts.pairs import (
    STILL,
    Drift,
    MeanDifference,
    PairedRuns,
    by_cell,
    cut_off,
    gate_of,
    if_rare,
    mean_known,
    over_cells,
)
from deadbeat.base.verdicts.words import cell_text, needs, overall, some

#: Chance of any false ``better`` or ``worse`` where nothing differs: half of it for the metrics
#: over all cells, half for single cells.
FALSE_ALARMS = 0.05
#: The same for differences between sessions: at the gates over all cells, and of single cells.
GATE_LEVEL, CELL_GATE_LEVEL = 0.04, 0.01
#: Level of an equality, which is shown for each metric and cell by itself.
EQUAL_LEVEL = 0.05
#: Power for which a smallest effect is stated.
POWER = 0.8
#: Times as many runs that are looked at.
TIMES = (2, 3, 4, 6, 8, 10, 15, 20, 30, 50, 70, 100, 200, 300, 500, 1000)
#: Fewer runs than this that differ at all say nothing on how much runs differ.
DIFFERING_MIN = 6
C = TypeVar("C", bound=ComparedEffect)


@frozen(kw_only=True)
class CompareOptions:
    """What is asked of a comparison.

    Attributes:
        metrics: Metrics to compare, each with the smallest effect that matters.
        lacking_max: Share of the runs of one side that the other may lack.
        lost_max: Share of events that one side may lose more of than the other.
        cells_alike: Sessions move all cells alike, as points of one grid; else a cell may drift
            more than the others.
        undisturbed: Why nothing disturbed any side, so that no sessions could drift; "": something
            may have.
        ungated: Decide what was measured without repeats of the baseline too, as if sessions did
            not differ.
        changes: The others are this many changes that were measured in turns with the baseline, and
            share the false alarms; 0: another session. Of changes cells alone are judged, of all
            metrics together; fewer misses matter however few they are.
    """

    metrics: tuple[Metric, ...]
    words: Vocabulary
    lacking_max: float = 0.1
    lost_max: float = 0.005
    cells_alike: bool = False
    undisturbed: str = ""
    ungated: bool = False
    changes: int = 0

    @property
    def cell_level(self) -> float:
        """p_holm up to which a cell counts as different."""
        return FALSE_ALARMS / (self.changes or 2 * len(self.metrics))


def compare_tables(
    baseline: Observations,
    other: Observations,
    repeats: Sequence[Observations] = (),
    *,
    options: CompareOptions,
) -> Comparison:
    """Compares ``other`` with ``baseline``, metric by metric. ``repeats``: further results of the
    baseline's command on its machine and kernel (A/A)."""
    parts = [
        _MetricPart.of(PairedRuns.of(metric, [baseline, *repeats, other]), options)
        for metric in options.metrics
    ]
    parts = [part for part in parts if part.cells] or parts
    metrics = _metrics(parts, options)
    harm = [line for part in parts for line in part.hidden.worse]
    verdict, reason, rests_on = overall(
        metrics, harm=harm, words=options.words, leaning=not options.changes
    )
    return Comparison(
        baseline=baseline.name,
        other=other.name,
        metrics=metrics,
        verdict=verdict,
        reason=reason,
        needs=needs(metrics, options.words),
        rests_on=rests_on,
        undecided=tuple(metric.metric.name for metric in metrics if metric.verdict == "undecided"),
    )


def compare_changes(
    baseline: Observations, changes: Sequence[Observations], *, options: CompareOptions
) -> tuple[Comparison, ...]:
    """Compares each of what was measured in turns with the baseline.

    In at most `FALSE_ALARMS` of such tests, whatever the number of changes, one that does nothing
    is called better or worse (S. Holm, Scandinavian Journal of Statistics 6, 1979): those that are
    shown where all share the false alarms leave them to the others. The interval of an undecided
    cell holds zero, which verdicts of all together do not exclude.
    """
    found: dict[int, Comparison] = {}
    shown: set[int] = set()
    for _ in changes:
        left = [number for number in range(len(changes)) if number not in shown]
        own = evolve(options, changes=len(left))
        found |= {n: compare_tables(baseline, changes[n], options=own) for n in left}
        more = {n for n in left for each in found[n].metrics if any(map(_differs_in, each.cells))}
        shown |= more
        if not more or len(shown) == len(changes):
            break
    made = []
    for number in range(len(changes)):
        metrics = (
            evolve(
                each,
                cells=tuple(
                    evolve(
                        cell,
                        low=None if cell.low is None else min(cell.low, 0.0),
                        high=None if cell.high is None else max(cell.high, 0.0),
                    )
                    if cell.verdict == "undecided"
                    else cell
                    for cell in each.cells
                ),
            )
            for each in found[number].metrics
        )
        made.append(evolve(found[number], metrics=tuple(metrics)))
    return tuple(made)


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
    known = sample.repeats or bool(options.undisturbed) or options.ungated
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
            names = some([cell_text(sample.cells[n]) for n in gone], between="; ")
            lines[side].append(
                f"{len(gone)} of {len(set(cell[had]))} cells of {beside} have no result in {name}"
                f" ({names})"
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


@frozen(kw_only=True, eq=False)
class _Part:
    """The runs of a metric, or of one of its cells, before anything is corrected over metrics.

    Attributes:
        mine: [run] those with a value on both sides.
        drift: What sessions differ by; None: not known.
        empty: No run of it is on both sides: for a cell with runs but without a value the metric
            is silent, and lost runs are counted apart.
        margin: Smallest effect that matters, on the scale of the differences.
    """

    sample: PairedRuns
    mine: NDArray[np.bool_]
    effect: MeanDifference | None
    drift: Drift | None
    hidden: _Hidden
    margin: float
    empty: bool = False
    place: Cell | None = None

    @property
    def values(self) -> Floats:
        return np.asarray(self.sample.difference[self.mine])

    @property
    def enough(self) -> bool:
        """Whether enough runs differ at all to say anything: identical jumps of one event more or
        less have no scatter, and look certain."""
        if self.effect is None:
            return False
        many = self.effect.rates or np.count_nonzero(self.values) >= DIFFERING_MIN
        return not self.sample.metric.rare or bool(many)

    @property
    def sign(self) -> int:
        return -1 if self.sample.metric.higher_is_better else 1

    def half90(self, effect: MeanDifference) -> float:
        """Half the interval of an equality, which asks nothing else at once."""
        alone = self.drift.alone(2 * EQUAL_LEVEL) if self.drift else 0.0
        return max(effect.half(2 * EQUAL_LEVEL), alone)

    def verdict(self, effect: MeanDifference, p_holm: float, level: float, gate: float) -> str:
        if p_holm <= level and abs(effect.mean) > max(self.margin, gate) + effect.hidden:
            return "worse" if self.sign * effect.mean > 0 else "better"
        return "equal" if abs(effect.mean) + self.half90(effect) < self.margin else "undecided"

    def no_worse(self) -> bool:
        if self.effect is None or self.drift is None or not self.enough or self.hidden.worse:
            return False
        return self.sign * self.effect.mean + self.half90(self.effect) < self.margin

    def smallest(self, effect: MeanDifference, level: float, gate: float, drift: Drift) -> float:
        """Effect that is found with probability POWER: what it must exceed, and what the session
        and the runs of the next comparison may take off; may be inf."""
        if effect.degrees < 1:
            return math.inf
        chance = t_quantile(1 - level / 2, effect.degrees) * effect.scatter
        return max(self.margin, gate, chance) + effect.hidden + _off(effect, drift)

    def times(self, effect: MeanDifference, level: float, gate: float, drift: Drift) -> int | None:
        """Times as many runs that show with probability POWER that nothing differs, if so, or a
        difference as the one seen, if that matters; None: not even the last of TIMES."""
        if effect.degrees < 1:
            return None
        # few runs hardly tell how they scatter
        most = effect.error * math.sqrt(effect.degrees / chi_squared_low(effect.degrees, 1 - POWER))
        small = abs(effect.mean) <= self.margin

        def decides(times: int) -> bool:
            more = evolve(effect, error=most).among(times)
            off = _off(more, drift)
            more = evolve(more, mean=off if small else max(abs(effect.mean) - off, 0.0))
            found = self.verdict(more, more.p, level, gate)
            return found != "undecided" and (found == "equal") == small

        return next(iter(TIMES[bisect_left(TIMES, x=True, key=decides) :]), None)

    def judged(self, empty: C, *, p_holm: float, gate_level: float, level: float, many: int) -> C:
        """``empty`` with what the runs say. ``level``: that of ``p_holm``; of the smallest effect
        among ``many`` asked at once."""
        sample, effect, drift = self.sample, self.effect, self.drift
        if effect is None:
            return empty
        verdict, smallest, times = "undecided", None, None
        if drift is not None and self.enough:
            gate = drift.at(gate_level)
            found = self.verdict(effect, p_holm, level, gate)
            verdict = found if self.hidden.allows(found) else verdict
            smallest = sample.known(self.smallest(effect, level / many, gate, drift))
            if verdict == "undecided":
                times = self.times(effect, level / many, gate, drift)
        low, high = map(sample.known, effect.interval)
        if sample.metric.rare:  # a difference of shares leads neither below 0 nor above 1
            before = float(sample.before[self.mine].mean())
            low = None if low is None else max(low, -before)
            high = None if high is None else min(high, 1.0 - before)
        return evolve(
            empty,
            effect=sample.shown(effect.mean),
            low=low,
            high=high,
            p=effect.p,
            p_holm=p_holm,
            smallest_effect=smallest,
            times_as_many=times,
            verdict=verdict,
        )


def _off(effect: MeanDifference, drift: Drift) -> float:
    """What the runs and the session of the next comparison may take off, but for 1 - POWER."""
    return max(
        t_quantile(POWER, effect.degrees) * effect.scatter,
        t_quantile(POWER, drift.degrees) * drift.own,
    )


@frozen(kw_only=True, eq=False)
class _MetricPart(_Part):
    cells: tuple[_Part, ...]
    basis: str

    @property
    def enough(self) -> bool:
        return super().enough or any(cell.enough for cell in self.cells)

    @classmethod
    def of(cls, sample: PairedRuns, options: CompareOptions) -> _MetricPart:
        chosen, difference = np.isfinite(sample.difference), sample.difference
        slack = np.maximum(sample.slack[:-1].max(axis=0), sample.slack[-1])
        both = sample.ran[:-1].any(axis=0) & sample.ran[-1]
        gate = gate_of(
            sample,
            results=options.words.results,
            undisturbed=options.undisturbed,
            ungated=options.ungated,
            alike=options.cells_alike and not sample.metric.apart,
        )

        def limited(
            effect: MeanDifference, mine: NDArray[np.bool_], weights: Floats, *counts: Any
        ) -> Any:
            found = cut_off(effect, slack[mine], weights)
            return if_rare(found, difference[mine], *counts) if sample.metric.rare else found

        metric = sample.metric
        margin = math.log1p(metric.minimum) if metric.log else metric.minimum
        margin = 0.0 if options.changes and metric.rare else margin
        groups = [sample.cell == number for number in range(len(sample.cells))]
        present = [n for n, group in enumerate(groups) if (group & chosen).any()]
        means = by_cell([difference[groups[n] & chosen] for n in present])
        rates = [sample.rates(groups[n] & chosen) for n in present if sample.metric.rare]
        effects = {
            n: limited(mean, mine := groups[n] & chosen, np.ones(mine.sum()), counts)
            for n, mean, counts in zip_longest(present, means, rates)
        }
        cells = [
            _Part(
                sample=sample,
                mine=group & chosen,
                effect=effects.get(n),
                drift=gate.cells[n],
                hidden=_hidden(sample, group, options),
                margin=margin,
                empty=not (both & group).any(),
                place=sample.cells[n],
            )
            for n, group in enumerate(groups)
        ]
        whole, cell = None, sample.cell[chosen]
        if len(cell):
            whole = over_cells(difference[chosen], cell, sample.block[chosen])
            whole = limited(whole, chosen, 1.0 / np.bincount(cell)[cell])
            chance = math.hypot(*(own.error for own in rates if own)) / len(present)
            whole = evolve(whole, error=max(whole.error, chance))
        return cls(
            sample=sample,
            mine=chosen,
            effect=whole,
            drift=gate.whole,
            hidden=_hidden(sample, np.ones(len(chosen), dtype=np.bool_), options),
            margin=margin,
            cells=tuple(cells),
            basis=gate.basis,
        )

    @property
    def matters(self) -> bool:
        """Whether any single run differs by more than the minimum, or has a value on one side
        only."""
        sample = self.sample
        before, after = np.isfinite(sample.before), np.isfinite(sample.values[-1])
        one_sided = sample.ran[:-1].any(axis=0) & sample.ran[-1] & (before != after)
        return bool(one_sided.any() or np.abs(self.values).max() > sample.metric.minimum)


def _metrics(parts: Sequence[_MetricPart], options: CompareOptions) -> tuple[MetricComparison, ...]:
    """With gates that hold for all metrics together.

    Sessions move metrics alike, or each by itself. Y. Hochberg's step-up (Biometrika 75, 1988): if
    all of k metrics exceed their gates at the level asked for, they differ; if all but one do at
    half of it; and so on to one at the k-th part of it. Metrics without an answer have no part.
    """
    asked = [1.0 if options.changes or not part.effect else part.effect.p for part in parts]
    cells = [[each.effect.p for each in part.cells if each.effect] for part in parts]
    if options.changes:
        corrected = iter(holm([p for own in cells for p in own]))
        chances = [[next(corrected) for _ in own] for own in cells]
    else:
        chances = [holm(own) for own in cells]
    many = max(1, sum(part.enough for part in parts))
    step, differing = 0, many
    found: tuple[MetricComparison, ...] = ()
    while step < many and differing <= many - step:
        # As many as here differ at most above wider gates: the next step that can be the last.
        step = max(step + 1, min(many, many - differing + 1))
        found = tuple(
            _metric(part, p, own, options, step)
            for part, p, own in zip(parts, holm(asked), chances, strict=True)
        )
        differing = sum(_differs_in(m) or any(map(_differs_in, m.cells)) for m in found)
    return found


def _differs_in(item: MetricComparison | CellComparison) -> bool:
    return item.verdict in ("worse", "better")


def _metric(
    part: _MetricPart,
    p_holm: float,
    of_cells: Sequence[float],
    options: CompareOptions,
    step: int,
) -> MetricComparison:
    """``step``: what the levels of the gates are divided by."""
    sample, metric, drift = part.sample, part.sample.metric, part.drift
    corrected = iter(of_cells)
    many = sum(1 for each in part.cells if each.effect)
    cells = tuple(
        _cell(each, next(corrected) if each.effect else 1.0, many, options, step)
        for each in part.cells
        if each.effect or each.empty
    )
    known = drift is not None and (drift is not STILL or options.undisturbed)
    empty = MetricComparison(
        metric=metric,
        minimum=metric.minimum,
        gate=sample.known(drift.at(GATE_LEVEL / step)) if drift and known else None,
        gate_basis=part.basis,
        cells=cells,
        told=part.enough,
        vote=part.enough
        or (bool(np.isfinite(sample.values).any()) and (part.effect is None or part.matters)),
        capped=part.hidden.lines,
    )
    found = part.judged(
        empty,
        p_holm=p_holm,
        gate_level=GATE_LEVEL / step,
        level=FALSE_ALARMS / 2,
        many=len(options.metrics),
    )
    lacking = any(not cell.pairs for cell in cells)
    each = metric.apart or metric.cellwise
    other = any(cell.verdict != "equal" if each else _differs_in(cell) for cell in cells)
    if found.verdict == "equal" and (lacking or other):
        left = [cell.times_as_many for cell in cells if each and cell.verdict == "undecided"]
        times = max(filter(None, left), default=None) if all(left) else None
        found = evolve(found, verdict="undecided", times_as_many=times)  # on average only
    return evolve(found, no_worse=not lacking and part.no_worse())


def _cell(
    part: _Part, p_holm: float, many: int, options: CompareOptions, step: int
) -> CellComparison:
    sample, place = part.sample, part.place or Cell()
    known = CellComparison(
        metric=sample.metric,
        cores=place.cores,
        sync_share=None if place.sync_share < 0 else place.sync_share,
        contended_ratio=None if place.contended_ratio < 0 else place.contended_ratio,
        deadline_factor=place.deadline_factor,
        group=place.group,
    )
    if part.effect is not None:
        sides = (float(mean_known(side[part.mine])) for side in sample.values[[0, -1]])
        before, after = (
            None if math.isnan(side) else math.exp(side) if sample.metric.log else side
            for side in sides
        )
        pairs = int(part.mine.sum())
        test = "poisson" if part.effect.rates else "student"
        known = evolve(known, pairs=pairs, baseline=before, other=after, test=test)
    gate_level, level = CELL_GATE_LEVEL / step, options.cell_level
    return part.judged(known, p_holm=p_holm, gate_level=gate_level, level=level, many=many)
