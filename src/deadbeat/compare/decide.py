"""Two sides of the identical programs: verdict per cell, per metric, and overall.

Everything here is a function of the figures of the runs; docs/explanation/comparison.md gives the
reasons, and docs/decisions/0010-comparing-campaigns.md the false alarms and the power measured.

A difference is called one when three things hold: it is unlikely by chance (p, corrected), it is
larger than the smallest anyone cares about (minimum), and larger than what two campaigns differ by
on this machine without a reason (gate). ``equal`` is shown by two one-sided tests against the
minimum (D. J. Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15, 1987), with the gate as a
further source of error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from deadbeat.compare.gate import Gate, gate_of
from deadbeat.compare.sides import (
    DIFFERENCES,
    DIFFERING_MIN,
    MISSES,
    Cell,
    Floats,
    Pairs,
    Side,
    pair_up,
)
from deadbeat.compare.survivors import Hidden, Lost, hidden_of, lost_of
from deadbeat.compare.vocabulary import CAMPAIGNS, Vocabulary
from deadbeat.compare.words import needs, overall
from deadbeat.model.comparison import (
    METRICS,
    CellComparison,
    Comparison,
    MetricComparison,
)
from deadbeat.stats.bootstrap import seed_of, t_quantile
from deadbeat.stats.permutation import (
    POWER,
    SIGN_FLIP,
    Estimate,
    Spread,
    cell_method,
    common_spread,
    critical,
    cut_off,
    holm,
    resolution,
    sign_flip,
    student,
    student_of_units,
)

#: Chance of any false ``better`` or ``worse`` in a comparison without a difference: half of it for
#: the metrics over all cells, half for single cells.
FALSE_ALARMS = 0.05
#: Levels of the gates over all cells and of single cells. Together they exceed FALSE_ALARMS, since
#: a session that moves a cell moves their mean: simulated for 3 to 24 cells and 1 to 3 repeats,
#: sessions alone exceed one of them in 3.1 to 4.9 % of comparisons at the worst.
GATE_LEVEL, CELL_GATE_LEVEL = 0.04, 0.02
#: Of an equality, which is shown for each metric and cell by itself.
_EQUAL_LEVEL = 0.05
#: A bound that is so many times a value, or so small a part of it, bounds nothing.
RATIO_MAX = 1000.0


@frozen(kw_only=True)
class Options:
    """What is asked of a comparison.

    Attributes:
        metrics: Some of METRICS.
        minimum_effect: Relative difference of ratios, and difference of shares of work, that
            matters.
        minimum_miss: Difference of miss ratios that matters.
        resamples: Random sign patterns where not all are visited.
        seed: Of these patterns.
        same_machine: Whether both sides ran on one (see `gate.gate_of`).
        simulated: Whether no side ran on a machine: then there are no sessions that could drift.
        ungated: Give verdicts on measured campaigns without repeats of the baseline, too: only
            right where sessions do not differ, which nothing shows.
        gate_off: The gate is 0: of experiments on the tests themselves (bench/bench_compare.py).
        few_blocks: Over all cells Student's t decides where there are too few blocks for sign
            flips, as it always does for a single cell: of latency matrices, whose blocks are
            repeats and few, each of them many wake-ups.
        words: For what is compared.
    """

    metrics: tuple[str, ...] = METRICS
    minimum_effect: float = 0.02
    minimum_miss: float = 0.005
    resamples: int = 9999
    seed: int = 1
    same_machine: bool = True
    simulated: bool = False
    ungated: bool = False
    gate_off: bool = False
    few_blocks: bool = False
    words: Vocabulary = CAMPAIGNS

    def minimum(self, metric: str) -> float:
        return self.minimum_miss if metric in MISSES else self.minimum_effect

    def margin(self, metric: str) -> float:
        """The minimum in the scale of the differences."""
        found = self.minimum(metric)
        return found if metric in DIFFERENCES else math.log1p(found)

    @property
    def cell_level(self) -> float:
        """p_holm up to which a cell counts as different."""
        return FALSE_ALARMS / 2 / len(self.metrics)


def compare_sides(
    baseline: Side,
    other: Side,
    repeats: Sequence[Side] = (),
    *,
    options: Options,
    planned: Sequence[Cell] = (),
) -> Comparison:
    """Compares ``other`` with ``baseline``, metric by metric.

    Args:
        repeats: Further campaigns of the baseline's programs on its machine and kernel (A/A).
        planned: Every cell there should be: one without a run on both sides rules out ``equal``.
    """
    both = {baseline.runs[key].cell for key in baseline.runs.keys() & other.runs.keys()}
    empty = [cell for cell in planned if cell not in both]
    known = bool(repeats) or options.simulated or options.ungated or options.gate_off
    reasons = () if known else (options.words.no_repeats,)
    drift = Hidden(worse=reasons, better=reasons)
    parts = [
        _part(
            pair_up(baseline, other, metric),
            lost_of(baseline, other, metric),
            gate_of(
                baseline,
                other,
                repeats,
                metric,
                margin=options.margin(metric),
                same_machine=options.same_machine,
                simulated=options.simulated,
                words=options.words,
            ),
            drift,
            options,
        )
        for metric in options.metrics
    ]
    corrected = holm([part.estimate.p if part.estimate else 1.0 for part in parts])
    metrics = tuple(_with_empty(metric, empty) for metric in _metrics(parts, corrected, options))
    found = overall(
        metrics,
        harm=[line for part in parts for line in part.hidden.worse],
        words=options.words,
    )
    return Comparison(
        baseline=baseline.name,
        other=other.name,
        metrics=metrics,
        verdict=found.verdict,
        reason=found.reason,
        needs=needs(metrics, options.words),
        rests_on=found.rests_on,
        undecided=tuple(metric.metric for metric in metrics if metric.verdict == "undecided"),
    )


def _where(place: Cell) -> dict[str, Any]:
    """The fields of a CellComparison that say which cell it is."""
    return {
        "cores": place.cores,
        "sync_share": _share(place.sync_share),
        "contended_ratio": _share(place.contended_ratio),
        "deadline_factor": place.deadline_factor,
        "group": place.group,
    }


def _with_empty(metric: MetricComparison, empty: Sequence[Cell]) -> MetricComparison:
    """With the cells that have no data, of which nothing is shown: neither is it over all."""
    if not empty:
        return metric
    cells = [
        CellComparison(
            metric=metric.metric,
            **_where(place),
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
        for place in empty
    ]
    return evolve(
        metric,
        cells=(*metric.cells, *cells),
        verdict="undecided" if metric.verdict == "equal" else metric.verdict,
        no_worse=False,
    )


@frozen(kw_only=True, eq=False)
class _Part:
    """A metric before anything is corrected over metrics."""

    pairs: Pairs
    programs: tuple[Lost, ...]
    hidden: Hidden
    drift: Hidden
    gate: Gate
    estimate: Estimate | None = None
    cells: tuple[Estimate, ...] = ()
    methods: tuple[str, ...] = ()

    def hidden_in(self, cell: Cell, options: Options) -> Hidden:
        """What the pairs of ``cell`` do not show."""
        mine = [each for each in self.programs if each.cell == cell]
        return self.drift.joined(_hidden(mine, self.pairs.metric, options))


def _part(
    pairs: Pairs, programs: tuple[Lost, ...], gate: Gate, drift: Hidden, options: Options
) -> _Part:
    lost = _hidden(programs, pairs.metric, options)
    empty = _Part(pairs=pairs, programs=programs, hidden=drift.joined(lost), drift=drift, gate=gate)
    if not len(pairs.difference):
        return empty
    whole = _over_all(pairs, options)
    whole = cut_off(whole, float((pairs.weights * pairs.hidden).sum()), len(pairs.difference))
    values = [pairs.difference[pairs.cell == index] for index in range(len(pairs.cells))]
    spread = common_spread(values)
    found = [
        _cell_estimate(values, index, spread, metric=pairs.metric, options=options)
        for index in range(len(values))
    ]
    return evolve(
        empty,
        estimate=whole,
        cells=tuple(
            cut_off(estimate, float(pairs.hidden[pairs.cell == index].mean()), len(values[index]))
            for index, (estimate, _) in enumerate(found)
        ),
        methods=tuple(method for _, method in found),
    )


def _hidden(programs: Sequence[Lost], metric: str, options: Options) -> Hidden:
    return hidden_of(programs, metric, tolerance=options.minimum_miss, words=options.words)


def _over_all(pairs: Pairs, options: Options) -> Estimate:
    """By sign flips of whole blocks; by Student's t where few blocks are asked for."""
    _, unit = np.unique(pairs.block, return_inverse=True)
    level, metrics = FALSE_ALARMS / 2, len(options.metrics)
    units = int(unit.max()) + 1
    method = cell_method(units, metrics, level=level, resamples=options.resamples)
    if options.few_blocks and method != SIGN_FLIP:
        return student_of_units(pairs.difference, pairs.weights, unit)
    seed = seed_of(options.seed, pairs.metric)
    return sign_flip(pairs.difference, pairs.weights, unit, resamples=options.resamples, seed=seed)


def _cell_estimate(
    values: Sequence[Floats], index: int, spread: Spread | None, *, metric: str, options: Options
) -> tuple[Estimate, str]:
    """By sign flips of the cell's runs where that can decide, else by Student's t."""
    own = values[index]
    method = cell_method(
        len(own), len(values), level=options.cell_level, resamples=options.resamples
    )
    if method != SIGN_FLIP:
        most = sum(max(0, len(each) - 1) for each in values)
        return student(own, spread, most=most), method
    seed = seed_of(options.seed, metric, index)
    unit = np.arange(len(own))
    return sign_flip(own, np.ones(len(own)), unit, resamples=options.resamples, seed=seed), method


def _metrics(
    parts: Sequence[_Part], p_holm: Sequence[float], options: Options
) -> list[MetricComparison]:
    """With gates that hold for all metrics together.

    Sessions move metrics alike, or each by itself. Y. Hochberg's step-up (Biometrika 75, 1988): if
    all of k metrics exceed their gates at the level asked for, they differ; if all but one do at
    half of it; and so on to one at the k-th part of it. Metrics that cannot be told have no part.
    """
    many = max(1, sum(_is_told(part) for part in parts))
    found: list[MetricComparison] = []
    for step in range(1, many + 1):
        found = [_metric(part, p, options, step) for part, p in zip(parts, p_holm, strict=True)]
        if sum(_differs(metric) for metric in found) > many - step:
            break
    return found


def _is_told(part: _Part) -> bool:
    """Whether enough programs differ at all to say anything."""
    pairs = part.pairs
    if part.estimate is None:
        return False
    return not pairs.may_be_rare or int(np.count_nonzero(pairs.difference)) >= DIFFERING_MIN


def _differs(metric: MetricComparison) -> bool:
    verdicts = {metric.verdict, *(cell.verdict for cell in metric.cells)}
    return not verdicts.isdisjoint(("worse", "better"))


def _metric(part: _Part, p_holm: float, options: Options, step: int) -> MetricComparison:
    """``step``: what the level of the gates is divided by."""
    pairs, whole, gate = part.pairs, part.estimate, part.gate
    minimum = options.minimum(pairs.metric)
    size = gate.at(GATE_LEVEL / step)
    empty = MetricComparison(
        metric=pairs.metric,
        effect=None,
        low=None,
        high=None,
        p=None,
        verdict="undecided",
        minimum=minimum,
        gate=None if size is None else _known(pairs, size),
        gate_basis=gate.basis,
        cells=(),
        told=False,
        vote=any(each.before or each.after for each in part.programs),
        capped=part.hidden.lines,
    )
    if whole is None:
        return empty
    judge = _judge(part, options, step)
    told = _is_told(part)
    if not told:
        whole = _rare(whole, pairs.difference)
    cells = _cells(part, options, step)
    verdict = judge.verdict(
        whole, p_holm, level=FALSE_ALARMS / 2, many=len(options.metrics), told=told
    )
    if verdict == "equal" and any(cell.verdict in ("worse", "better") for cell in cells):
        verdict = "undecided"  # on average only
    low, high = _ends(pairs, whole, float((pairs.weights * pairs.before).sum()))
    smallest = judge.smallest(whole, level=FALSE_ALARMS / 2 / len(options.metrics))
    return evolve(
        empty,
        effect=_shown(pairs, whole.mean),
        low=low,
        high=high,
        p=whole.p,
        p_holm=p_holm,
        verdict=verdict,
        smallest_effect=_known(pairs, smallest) if told else None,
        no_worse=told and judge.no_worse(whole),
        told=told,
        vote=told or _matters(part, minimum),
        cells=cells,
    )


def _judge(part: _Part, options: Options, step: int) -> _Judge:
    """Of all cells together."""
    gate, off = part.gate, options.gate_off or (part.gate.size is None and options.ungated)
    return _Judge(
        margin=options.margin(part.pairs.metric),
        gate=0.0 if off else gate.at(GATE_LEVEL / step),
        alone=0.0 if off else gate.at(_EQUAL_LEVEL),
        drift=0.0 if off else gate.error,
        drift_degrees=gate.degrees,
        hidden=part.hidden,
    )


def _judge_of_cell(part: _Part, place: Cell, options: Options, step: int) -> _Judge:
    """Of one cell: where cells have gates of their own, of that; without one nothing is told."""
    judge = evolve(_judge(part, options, step), hidden=part.hidden_in(place, options))
    if part.gate.cells is None or options.gate_off:
        return judge
    drift = part.gate.cells.get(place)
    if drift is None:
        unknown = 0.0 if options.ungated else None
        return evolve(judge, gate=unknown, alone=unknown, drift=0.0)
    return evolve(
        judge,
        gate=drift.at(CELL_GATE_LEVEL / step),
        alone=drift.alone(_EQUAL_LEVEL),
        drift=drift.own,
        drift_degrees=drift.degrees,
    )


def _matters(part: _Part, minimum: float) -> bool:
    """Whether any single program differs by more than ``minimum``, or has one side only."""
    one_sided = any(each.ran and each.before != each.after for each in part.programs)
    return one_sided or float(np.abs(part.pairs.difference).max()) > minimum


def _cells(part: _Part, options: Options, step: int) -> tuple[CellComparison, ...]:
    corrected = holm([estimate.p for estimate in part.cells])
    return tuple(
        _cell(
            part,
            index,
            p_holm,
            _judge_of_cell(part, part.pairs.cells[index], options, step),
            options,
        )
        for index, p_holm in enumerate(corrected)
    )


def _cell(
    part: _Part, index: int, p_holm: float, judge: _Judge, options: Options
) -> CellComparison:
    pairs, estimate = part.pairs, part.cells[index]
    place, mine = pairs.cells[index], pairs.cell == index
    values = pairs.difference[mine]
    told = not pairs.may_be_rare or int(np.count_nonzero(values)) >= DIFFERING_MIN
    if not told:
        estimate = _rare(estimate, values)
    before, after = _levels(pairs, mine)
    low, high = _ends(pairs, estimate, float(pairs.before[mine].mean()))
    return CellComparison(
        metric=pairs.metric,
        **_where(place),
        pairs=len(values),
        baseline=before,
        other=after,
        effect=_shown(pairs, estimate.mean),
        low=low,
        high=high,
        p=estimate.p,
        p_holm=p_holm,
        smallest_effect=_smallest_of_cell(part, index, judge, options) if told else None,
        verdict=judge.verdict(
            estimate, p_holm, level=options.cell_level, many=len(pairs.cells), told=told
        ),
        test=part.methods[index],
    )


def _smallest_of_cell(part: _Part, index: int, judge: _Judge, options: Options) -> float | None:
    """None where the pairs cannot show any effect, however large."""
    estimate, pairs = part.cells[index], part.pairs
    level = options.cell_level / len(pairs.cells)
    units = estimate.degrees + 1
    if part.methods[index] == SIGN_FLIP and resolution(units, resamples=options.resamples) > level:
        return None
    return _known(pairs, judge.smallest(estimate, level=level))


@frozen(kw_only=True)
class _Judge:
    """Turns an estimate into a verdict; everything in the scale of the differences.

    Attributes:
        gate: What a difference must exceed; None: not known.
        alone: The same where nothing else is asked at once: of an equality.
        drift, drift_degrees: Standard deviation of the difference of two sessions.
    """

    margin: float
    gate: float | None
    alone: float | None
    drift: float
    drift_degrees: int
    hidden: Hidden

    def bar(self, chance: float) -> float:
        """What a difference must exceed to be called one: the margin, and the gate together with
        ``chance``, which is as independent of it as the hour is of the single run. Without a gate
        nothing does."""
        return math.inf if self.gate is None else max(self.margin, math.hypot(self.gate, chance))

    def smallest(self, estimate: Estimate, *, level: float) -> float:
        """Effect that is found with probability POWER: the bar, and what the sessions and the runs
        of the next comparison may take off; may be inf."""
        chance = critical(estimate.error, estimate.degrees, level=level)
        bar = self.bar(chance) + estimate.hidden
        if not math.isfinite(bar):
            return math.inf
        return bar + max(
            t_quantile(POWER, estimate.degrees) * estimate.error,
            t_quantile(POWER, self.drift_degrees) * self.drift,
        )

    def verdict(
        self, estimate: Estimate, p_holm: float, *, level: float, many: int, told: bool
    ) -> str:
        """Of ``many`` tested at once this one has ``p_holm``, which must reach ``level``.

        Without ``told`` too few programs differ for either answer: identical jumps of one job more
        or less have no scatter, and look certain.
        """
        found = self._found(estimate, p_holm, level=level, many=many) if told else "undecided"
        return found if self.hidden.allows(found) else "undecided"

    def _found(self, estimate: Estimate, p_holm: float, *, level: float, many: int) -> str:
        chance = critical(estimate.error, estimate.degrees, level=level / many)
        if p_holm <= level and abs(estimate.mean) > self.bar(chance) + estimate.hidden:
            return "worse" if estimate.mean > 0 else "better"
        if self.alone is not None:
            low, high = self._widened(estimate)
            if -self.margin < low and high < self.margin:
                return "equal"
        return "undecided"

    def no_worse(self, estimate: Estimate) -> bool:
        if self.alone is None or self.hidden.worse:
            return False
        return self._widened(estimate)[1] < self.margin

    def _widened(self, estimate: Estimate) -> tuple[float, float]:
        """The 90 % interval with the gate as an independent further error."""
        gate = self.alone or 0.0
        return (
            estimate.mean - math.hypot(estimate.mean - estimate.low90, gate),
            estimate.mean + math.hypot(estimate.high90 - estimate.mean, gate),
        )


def _rare(estimate: Estimate, values: Floats) -> Estimate:
    """Where hardly a program differs: the exact bound on how many could (Clopper and Pearson).

    No program of n differing bounds the share that differ, and so the mean difference, by
    1 - 0.05**(1 / n): a program is one observation, however many jobs it has.
    """
    if np.any(values != 0):
        return estimate
    bound = 1 - 0.05 ** (1 / len(values))
    return evolve(estimate, low=-bound, high=bound, low90=-bound, high90=bound)


def _levels(pairs: Pairs, chosen: NDArray[np.bool_]) -> tuple[float, float]:
    """The metric on either side: geometric mean of ratios, mean of miss ratios, so that they fit
    the effect exactly."""
    before, after = pairs.before[chosen], pairs.after[chosen]
    if pairs.is_ratio:
        return math.exp(float(np.log(before).mean())), math.exp(float(np.log(after).mean()))
    return float(before.mean()), float(after.mean())


def _shown(pairs: Pairs, difference: float) -> float:
    """A difference in the metric's scale: a ratio less 1, or a difference of miss ratios."""
    return math.expm1(difference) if pairs.is_ratio else difference


def _known(pairs: Pairs, difference: float) -> float | None:
    """None where there is no bound, or one beyond any ratio that means something."""
    beyond = not math.isfinite(difference) or (
        pairs.is_ratio and abs(difference) > math.log(RATIO_MAX)
    )
    return None if beyond else _shown(pairs, difference)


def _ends(pairs: Pairs, estimate: Estimate, before: float) -> tuple[float | None, float | None]:
    """The interval; a difference of miss ratios leads neither below 0 nor above 1."""
    low, high = _known(pairs, estimate.low), _known(pairs, estimate.high)
    if not pairs.may_be_rare:
        return low, high
    return (
        None if low is None else max(low, -before),
        None if high is None else min(high, 1.0 - before),
    )


def _share(value: float) -> float | None:
    return None if value < 0 else value
