"""Observation 6: whether random task sets (Mode 2) tell what a grid (Mode 1) tells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from scipy import stats

from deadbeat import CellFigures, Evidence, LackingError, SetFigures, all_hold
from deadbeat_papers.claims import claims
from deadbeat_papers.observations.base import Campaign, Campaigns, PublishedObservation, Value
from deadbeat_papers.observations.grid import measured, place

#: Mode 1 tells two groups apart from this ratio on; Mode 2's chance to be larger that is none.
APART, NEITHER = 1.05, 0.05
#: Greatest distance of the distributions of two halves of a session.
HALVES = 0.15


def decide_6(given: Campaigns) -> list[Evidence]:
    (result,) = given.results
    profiles = [one for one in given.every if _is_mode_1(one, result)]
    if not profiles:
        because = f"a grid of random mix, measured like {result.name}: --from GRID {result.name}"
        raise LackingError("needs a profile campaign", because)
    groups = [
        (cores, _slowdown_at(profiles, cores), [_slowdown(each) or 0.0 for each in own])
        for cores, own in _by_cores(result).items()
    ]
    pairs = []
    for (one, first, own), (two, second, other) in combinations(groups, 2):
        if first and second:
            least = first.mean * (APART - 1)
            if first.minus(second).above(least) or second.minus(first).above(least):
                pairs.append(
                    (f"M = {one} against {two}", first.mean > second.mean, _larger(own, other))
                )
    agree = [_agrees(larger, chance) for _, larger, chance in pairs]
    halves = _halves(result)
    above = halves.above(HALVES)
    steady = None if above is None else not above
    counted = (
        f"Mode 2 agrees with Mode 1 in {agree.count(True)} of {len(pairs)} pairs it tells apart"
    )
    none = f"Mode 1 tells no two of {len(groups)} numbers of cores apart"
    found = []
    for cell in result.cells:
        group = cell.group
        found += [
            (f"{group}: delay ratio p50, p95", _pair(cell, "delay_ratio")),
            (f"{group}: slowdown p50, p95", _pair(cell, "slowdown")),
            (f"{group}: deadline miss ratio", _text(cell, "deadline_miss_ratio", ".2%")),
            (f"{group}: sets that missed anything", _text(cell, "miss_set_share", ".0%")),
        ]
    return [
        Evidence(
            holds=all_hold([*(agree or [None]), steady]),
            figures=f"{counted if pairs else none}; distance of the halves of the session {halves}",
            details=(
                *((f"chance that a set is slower, {name}", str(c)) for name, _, c in pairs),
                *found,
            ),
            runs=tuple(one.name for one in (*profiles, result)),
        )
    ]


def _is_mode_1(one: Campaign, other: Campaign) -> bool:
    """Whether it is a grid of the same machine and kernel, with objects drawn alike."""
    alike = (one.kernel, one.machine) == (other.kernel, other.machine)
    return alike and one.summary.mode == "profile" and not one.balanced


def _by_cores(result: Campaign) -> dict[int, list[SetFigures]]:
    """The sets that nothing shields, by M, each in the order of their numbers."""
    known = [e for e in result.sets if _slowdown(e) is not None and not e.critical_cores]
    counts = sorted({each.cores for each in known})
    return {m: sorted((e for e in known if e.cores == m), key=_number) for m in counts}


def _slowdown(each: SetFigures) -> float | None:
    """A set in which jobs did not finish by its lower bound."""
    return each.slowdown_mean if each.slowdown_bound is None else each.slowdown_bound


def _number(each: SetFigures) -> tuple[int, str]:
    return each.replica, each.key


def _slowdown_at(profiles: Sequence[Campaign], cores: int) -> Value | None:
    """Mean over the contended points of the profiles at an M."""
    every = [pair for profile in profiles for pair in measured(profile, cores, "slowdown")]
    points = [found for cell, found in every if min(place(cell)) > 0]
    return Value.mean_of(points) if points else None


def _agrees(larger: bool, chance: Value) -> bool | None:
    """Whether the chance that a set of the first group is slower lies on the side of Mode 1."""
    if chance.within(0.5 - NEITHER, 0.5 + NEITHER):
        return False
    above = chance.above(0.5)
    return None if above is None else above == larger


def _larger(one: Sequence[float], other: Sequence[float]) -> Value:
    """Chance that one of ``one`` is larger than one of ``other``, with its 95 % interval (Hanley
    and McNeil, Radiology 143(1), 1982)."""
    n, m = len(one), len(other)
    if min(n, m) < 2:
        return Value(mean=0.5, low=None, high=None)
    p = float(stats.mannwhitneyu(one, other).statistic) / (n * m)
    first, second = p / (2 - p), 2 * p * p / (1 + p)
    spread = p * (1 - p) + (n - 1) * (first - p * p) + (m - 1) * (second - p * p)
    half = 1.96 * math.sqrt(max(0.0, spread) / (n * m))
    return Value(mean=p, low=p - half, high=p + half)


def _halves(result: Campaign) -> Value:
    """Largest distance between the distributions of slowdowns in both halves of a session
    (Kolmogorov and Smirnov), within the bound of Dvoretzky, Kiefer, Wolfowitz and Massart 1990.
    Where no set tells when it began, numbers of cores take turns as they do in a session."""
    groups = _by_cores(result).values()
    turns = {each.key: (at + 0.5) / len(own) for own in groups for at, each in enumerate(own)}
    known = [each for own in groups for each in own]
    timed = all(each.began_ns for each in known)
    known.sort(key=lambda each: (each.began_ns or 0) if timed else turns[each.key])
    found = [_slowdown(each) or 0.0 for each in known]
    middle = len(found) // 2
    if middle < 2:
        return Value(mean=0.0, low=None, high=None)
    distance = float(stats.ks_2samp(found[:middle], found[middle:]).statistic)
    half = math.sqrt(math.log(2 / 0.05) / 2 * (1 / middle + 1 / (len(found) - middle)))
    return Value(mean=distance, low=max(0.0, distance - half), high=distance + half)


def _pair(cell: CellFigures, metric: str) -> str:
    return f"{_text(cell, f'{metric}_p50')}, {_text(cell, f'{metric}_p95')}"


def _text(cell: CellFigures, column: str, form: str = ".3f") -> str:
    found = cell.value(column)
    return "not measured" if found is None else format(found, form)


OBSERVATIONS = claims(__file__, globals(), PublishedObservation)["observations"]
