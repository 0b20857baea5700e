"""Observations 7 to 9: the identical programs on two kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from attrs import evolve
from numpy.typing import NDArray
from scipy import stats

from deadbeat import CellComparison, Comparison, Evidence, LackingError, UsageError, all_hold
from deadbeat_papers.claims import claims
from deadbeat_papers.observations.base import (
    Campaign,
    Campaigns,
    PublishedObservation,
    Value,
    needs_kernels,
    undecided,
)


def older_and_newer(results: Sequence[Campaign]) -> tuple[Campaign, Campaign] | None:
    """Two releases with the paper's preemption model, full, on one machine, the older first; None
    where there are none."""
    plain = [one for one in results if one.preemption == "full" and one.version is not None]
    ordered = sorted(plain, key=lambda one: one.version or ())
    pairs = ((a, b) for a, b in combinations(ordered, 2) if a.machine == b.machine)
    return next(((a, b) for a, b in pairs if a.version != b.version), None)


def plain_and_realtime(results: Sequence[Campaign]) -> tuple[Campaign, Campaign] | None:
    """PREEMPT and PREEMPT_RT of one release on one machine."""
    plain = (one for one in results if one.preemption == "full")
    pairs = ((a, b) for a in plain for b in results if b.realtime and a.machine == b.machine)
    return next(((a, b) for a, b in pairs if a.release == b.release), None)


def lacking(what: str, results: Sequence[Campaign]) -> LackingError:
    ran = "; ".join(one.ran for one in results)
    return LackingError(needs_kernels(2), f"no two ran {what}, on one machine: {ran}")


#: What `older_and_newer` and `plain_and_realtime` find.
RELEASES = "PREEMPT (full) of two releases"
MODELS = "PREEMPT (full) and PREEMPT_RT of one release"


def counts(cells: Sequence[CellComparison]) -> dict[str, int]:
    return {
        verdict: sum(cell.verdict == verdict for cell in cells)
        for verdict in ("better", "worse", "equal", "undecided")
    }


def counts_text(cells: Sequence[CellComparison]) -> str:
    return ", ".join(f"{number} {verdict}" for verdict, number in counts(cells).items())


def mean_effect(cells: Sequence[CellComparison], lines: Details) -> Value:
    """Mean of the effects, each cell counted once, in per cent; no interval where the comparison
    is in doubt."""
    every = [Value(mean=c.effect, low=c.low, high=c.high) for c in cells if c.effect is not None]
    if not every:
        return Value(mean=math.nan, low=None, high=None)
    found = Value.mean_of(every).times(100)
    return evolve(found, low=None, high=None) if DOUBT in dict(lines) else found


def percent(effect: Value) -> str:
    return "not measured" if math.isnan(effect.mean) else f"{effect} %"


def pair_text(baseline: Campaign, other: Campaign) -> tuple[tuple[str, str], ...]:
    stand_in = ", in place of 5.15, which no mirror has"
    return tuple(
        (
            role,
            f"{one.name}: {one.kernel}, preemption {one.preemption}"
            + stand_in * ((one.version or ())[:2] == (6, 1)),
        )
        for role, one in (("baseline", baseline), ("against it", other))
    )


def doubts_of(comparison: Comparison) -> tuple[tuple[str, str], ...]:
    """Why points are undecided although they have an effect; empty where nothing forbids it."""
    lines = dict.fromkeys(line for metric in comparison.metrics for line in metric.capped)
    return ((DOUBT, "; ".join(lines)),) if lines else ()


FEW, MANY, NEARLY = 4, 8, 5
DOUBT = "what is in doubt"

Details = tuple[tuple[str, str], ...]


def compared(
    given: Campaigns, pair: tuple[Campaign, Campaign] | None, what: str
) -> tuple[tuple[CellComparison, ...], tuple[tuple[str, str], ...], tuple[str, str]]:
    """Delay ratios of the cells of ``pair``, what tells of the comparison, and both names.
    Raises LackingError: there is no such pair; ``what``: what it would have run."""
    if pair is None or given.compare is None:
        raise lacking(what, given.results)
    comparison = given.compare(*pair)
    lines = (*pair_text(*pair), *doubts_of(comparison))
    ratios = [one for one in comparison.metrics if one.metric.name == "delay_ratio"]
    cells = tuple(cell for one in ratios for cell in one.cells if cell.effect is not None)
    return cells, lines, (pair[0].name, pair[1].name)


def decide_7(given: Campaigns, which: str = "") -> list[Evidence]:
    cells, lines, runs = compared(given, older_and_newer(given.results), RELEASES)
    few = [cell for cell in cells if cell.cores <= FEW]
    many = [cell for cell in cells if cell.cores >= MANY]
    small, large = mean_effect(few, lines), mean_effect(many, lines)
    holds = [small.within(-NEARLY, NEARLY), large.below(0)]
    return [
        Evidence(
            holds=small.above(0) if which else all_hold(holds),
            figures=f"delay ratio of the newer kernel: {percent(small)} on up to {FEW} cores"
            + f", {percent(large)} from {MANY} cores on" * (not which),
            details=(
                *lines,
                (f"points with M <= {FEW}", counts_text(few)),
                (f"points with M >= {MANY}", counts_text(many)),
            ),
            runs=runs,
        )
    ]


def decide_8(given: Campaigns, which: str = "") -> list[Evidence]:
    cells, lines, runs = compared(given, plain_and_realtime(given.results), MODELS)
    contended = [
        cell for cell in cells if cell.cores > 1 and cell.sync_share and cell.contended_ratio
    ]
    largest = max((cell.cores for cell in cells), default=0)
    last = [c for c in cells if (c.cores, c.sync_share, c.contended_ratio) == (largest, 1, 1)]
    where = f"at M = {largest}, rho = 1, alpha = 1" if which else "over contended points"
    chosen = last if which else contended
    effect = mean_effect(chosen, lines)
    return [
        Evidence(
            holds=effect.above(0) if which else effect.below(0),
            figures=f"delay ratio with real-time preemption {where}: {percent(effect)};"
            f" {counts_text(chosen)}",
            details=lines,
            runs=runs,
        )
    ]


BULK = 0.95
RESAMPLES = 2000
_SEED = 9

Floats = NDArray[np.float64]


def decide_9(given: Campaigns, which: str = "") -> list[Evidence]:
    pair = plain_and_realtime(given.results)
    if pair is None:
        raise lacking(MODELS, given.results)
    plain, realtime = miss_ratios(*pair)
    bound = float(np.quantile([*plain, *realtime], BULK)) if len(plain) else 0.0
    if bound == 0:
        because = f"no deadline was missed in {100 * BULK:.0f} % of {len(plain)} task sets"
        return undecided(because, details=pair_text(*pair))
    capped = np.minimum(realtime, bound) - np.minimum(plain, bound)
    beyond = interval(np.maximum(realtime, bound) - np.maximum(plain, bound))
    bulk = interval(capped)
    won, lost = (int(((a > 0) & (b == 0)).sum()) for a, b in ((plain, realtime), (realtime, plain)))
    sure = lost + won > 0 and stats.binomtest(won, lost + won).pvalue < 0.05
    fewer = won > lost if sure else None
    tail = f"difference of what lies beyond the {100 * BULK:.0f} % quantile: {beyond} %"
    return [
        Evidence(
            holds=beyond.above(0) if which else all_hold([fewer, bulk.below(0)]),
            figures=tail
            if which
            else f"{won} task sets miss without real-time preemption alone, {lost} with it alone;"
            f" mean miss ratio up to its {100 * BULK:.0f} % quantile ({100 * bound:.3f} %), with"
            f" real-time preemption less without: {bulk} %",
            details=(*pair_text(*pair), ("task sets run on both", str(len(plain)))),
            runs=(pair[0].name, pair[1].name),
        )
    ]


def miss_ratios(a: Campaign, b: Campaign) -> tuple[Floats, Floats]:
    """Deadline miss ratios of the task sets that both ran, in the same order.
    Raises UsageError: a task set of the same name is another program."""
    own = {each.key: each for each in a.sets}
    pairs = [(own[each.key], each) for each in b.sets if each.key in own]
    other = [mine.key for mine, theirs in pairs if mine.set_id != theirs.set_id]
    if other:
        raise UsageError(
            f"{a.name} and {b.name} ran different programs: {len(other)} of {len(pairs)} task sets"
            f" differ, {other[0]} for one",
            "run the programs of one on the other kernel: --programs-from",
        )
    ratios = [(mine.deadline_miss_ratio, theirs.deadline_miss_ratio) for mine, theirs in pairs]
    known = [both for both in ratios if None not in both]
    found = np.array(known, dtype=np.float64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def interval(differences: Floats) -> Value:
    """Mean difference in per cent with its 95 % interval: percentile bootstrap over task sets."""
    stream = np.random.default_rng(_SEED)
    chosen = stream.integers(0, len(differences), (RESAMPLES, len(differences)))
    low, high = np.quantile(differences[chosen].mean(axis=1), [0.025, 0.975])
    return Value(mean=float(differences.mean()), low=float(low), high=float(high)).times(100)


OBSERVATIONS = claims(__file__, globals(), PublishedObservation)["observations"]
