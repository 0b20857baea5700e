"""Figures 4, 5 and 6: four ways to schedule the same 450 sets on 4 processors (section 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import attrs
import numpy as np

from deadbeat import (
    Chart,
    Conclusion,
    Count,
    Evidence,
    Mask,
    Mean,
    Preset,
    Scheduler,
    StudyResults,
    StudySpec,
    SweepCell,
    all_hold,
)
from deadbeat_papers.claims import claims
from deadbeat_papers.thesis import charts
from deadbeat_papers.thesis.grid import SOURCE
from deadbeat_papers.thesis.telling import (
    compare,
    compare_means,
    larger,
    order_text,
    ordered,
    ratio,
    shown,
)

M = 4
#: U from 50 % to 99 %: ten values; with 15 values of n and 3 sets each, the thesis's 450 sets.
LOADS = (500, 550, 610, 660, 720, 770, 830, 880, 940, 990)
TASKS = tuple(range(6, 21))
#: The thesis's generator, and as a variant that of its Figure 1, case 2. Given their sum, uniform
#: utilisations up to 1 would be the exponential ones again (docs/reference/studies.md).
SOURCES = {
    "exponential": SOURCE,
    "uniform 0-0.7": attrs.evolve(SOURCE, utilisations="uniform", low=0.0, high=0.7),
}
Check = Callable[..., Iterator[Evidence]]

TIES = ("index", "utilisation-desc")
#: Two tie rules for the four approaches, and other ways to balance the loose one.
BALANCES = ("both", "pull", "offline", "sticky", "release")

GLOBAL, PARTITIONED, CLUSTERED, LOOSE = "global", "partitioned", "clustered", "loose clustered"
_NEXT_FIT = Scheduler(partition="next-fit", order="file", admission="utilisation", cluster_size=2)
_APPROACHES = {GLOBAL: "g-edf", PARTITIONED: "p-edf", CLUSTERED: "c-edf", LOOSE: "lc-edf"}


def label(approach: str, ties: str = "index", balance: str = "both") -> str:
    extra = [text for text, usual in ((ties, "index"), (balance, "both")) if text != usual]
    return f"{approach} ({', '.join(extra)})" if extra else approach


ABOUT = (
    "n from 6 to 20 and ten values of U from 50 % to 99 % of 4 processors, 3 sets a cell: 450 sets,"
    " and as many again with utilisations uniform in [0, 0.7]; T in [10, 250], LCM below 100,000."
    " Global EDF; partitioned (next fit, in the order of the file); clustered (2 x 2, next fit);"
    " loose clustered, as deadbeat interprets it, with five ways to balance."
)


# -- what a conclusion is looked at under


@attrs.frozen
class Case:
    """Two contenders on the sets of ``mask``, and in words under which circumstances."""

    a: str
    b: str
    mask: Mask
    words: dict[str, str]


def cases(
    results: StudyResults, a: str, b: str, *, low: int = 0, high: int = 1000
) -> Iterator[Case]:
    """Every distribution, tie rule and (for the loose approach) balance, of sets with
    low < U <= high (thousandths)."""
    inside = (results.load > low) & (results.load <= high)
    loose = LOOSE in (a, b)
    for source, ties in product(SOURCES, TIES):
        for balance in BALANCES if loose and ties == "index" else ("both",):
            words = {"distribution": source, "ties": ties}
            name_a, name_b = (label(x, ties, balance if x == LOOSE else "both") for x in (a, b))
            mask = inside & (results.source == source)
            yield Case(name_a, name_b, mask, words | ({"balance": balance} if loose else {}))


def _placed(results: StudyResults, a: str, b: str, **bounds: int) -> Iterator[Case]:
    """Cases of all sets, and of those that next fit can place on processors and on clusters."""
    for case in cases(results, a, b, **bounds):
        names = [label(approach, case.words["ties"]) for approach in (PARTITIONED, CLUSTERED)]
        placed = results.placed(names[0]) & results.placed(names[1])
        yield attrs.evolve(case, words={**case.words, "denominator": "all sets"})
        words = {**case.words, "denominator": "sets that next fit can place"}
        yield attrs.evolve(case, mask=case.mask & placed, words=words)


def for_each(check: Check) -> Check:
    """``check``; of an argument that is a list a variant holds where it does for every value."""

    def whole(results: StudyResults, **asked: Any) -> Iterator[Evidence]:
        listed = next((name for name, value in asked.items() if isinstance(value, list)), None)
        if listed is None:
            yield from check(results, **asked)
            return
        found = [list(check(results, **{**asked, listed: value})) for value in asked[listed]]
        for item in max(found, key=lambda items: len(items[0].variant)):
            fitting = beside(item, found)
            yield Evidence(
                variant=item.variant,
                holds=all_hold([one.holds for one in fitting]),
                figures="; ".join(one.figures for one in fitting),
            )

    return whole


def beside(item: Evidence, others: Sequence[Sequence[Evidence]]) -> list[Evidence]:
    """What each of ``others`` says under the circumstances of ``item``; one without a
    dimension (the balance, where the loose approach has no part) says the same along it."""
    return [
        next(one for one in other if one.variant.items() <= item.variant.items())
        for other in others
    ]


@for_each
def more_schedulable(
    results: StudyResults, more: str, fewer: str, **bounds: int
) -> Iterator[Evidence]:
    for case in _placed(results, more, fewer, **bounds):
        yield ordered(results, case.a, case.b, case.mask, case.words)


def only_above(results: StudyResults, more: str, fewer: str, load: int) -> Iterator[Evidence]:
    above = more_schedulable(results, more=more, fewer=fewer, low=load)
    below = more_schedulable(results, more=more, fewer=fewer, high=load)
    for high, low in zip(above, below, strict=True):
        yield Evidence(
            variant=high.variant,
            holds=all_hold([high.holds, low.holds is not True]),
            figures=f"above {load / 10:g} %: {high.figures}; up to {load / 10:g} %: {low.figures}",
        )


def gains_mainly_above(
    results: StudyResults, more: str, fewer: str, load: int
) -> Iterator[Evidence]:
    """``more`` schedules more sets of U > load, and gains fewer of those below."""
    above = results.load > load
    for case in _placed(results, more, fewer):
        found = ordered(results, case.a, case.b, case.mask & above, case.words)
        known = case.mask & results.decided(case.a) & results.decided(case.b)
        gained = results.yes(case.a) & ~results.yes(case.b)
        high, low = (
            Count(int(np.sum(gained & known & here)), int(np.sum(known & here)))
            for here in (above, ~above)
        )
        yield Evidence(
            variant=case.words,
            holds=all_hold([found.holds, shown(compare(high, low))]),
            figures=f"above {load / 10:g} %: {found.figures}; only {more}"
            f" {high.text()} above, {low.text()} up to {load / 10:g} %",
        )


# -- migrations and slack

_COUNTED = {"of jobs": ("migrations",), "of jobs and tasks": ("migrations", "task_migrations")}
_UNITS = {False: "per schedulable set", True: "per 1000 jobs"}
_OWN, _BOTH = "its own schedulable sets", "sets both schedule"


def migrations(
    results: StudyResults, name: str, mask: Mask, counted: str, *, per_job: bool
) -> Mean:
    inside = mask & results.yes(name)
    columns = [results.figure(name, column)[inside] for column in _COUNTED[counted]]
    number = np.asarray(np.sum(columns, axis=0), dtype=np.float64)
    jobs = np.maximum(1, results.figure(name, "jobs")[inside])
    return Mean.of(1000 * number / jobs if per_job else number)


def migration_variants(
    results: StudyResults, a: str, b: str, **bounds: int
) -> Iterator[tuple[Mean, Mean, dict[str, str]]]:
    """Migrations of ``a`` and ``b`` by every way to count them and every denominator."""
    for case in cases(results, a, b, **bounds):
        both = results.yes(case.a) & results.yes(case.b)
        for counted, (per_job, unit), (sets, mask) in product(
            _COUNTED, _UNITS.items(), ((_OWN, case.mask), (_BOTH, case.mask & both))
        ):
            of_a, of_b = (
                migrations(results, name, mask, counted, per_job=per_job)
                for name in (case.a, case.b)
            )
            facts = {"migrations counted": counted, "unit": unit, "denominator": sets}
            yield of_a, of_b, case.words | facts


def migrates_more(results: StudyResults, more: str, fewer: str) -> Iterator[Evidence]:
    for a, b, words in migration_variants(results, more, fewer):
        yield larger(more, a, fewer, b, words)


def migration_ratio(
    results: StudyResults, a: str, b: str, *, low_ratio: float, high_ratio: float, low: int
) -> Iterator[Evidence]:
    """Migrations of ``a`` by those of ``b`` lie in [low_ratio, high_ratio], of U > low: their whole
    interval, or none of it."""
    for mean_a, mean_b, words in migration_variants(results, a, b, low=low):
        least, most = ratio(mean_a, mean_b)
        inside = low_ratio <= least and most <= high_ratio
        outside = most < low_ratio or least > high_ratio
        yield Evidence(
            variant=words,
            holds=inside if inside or outside else None,
            figures=f"[{least:.2f}, {most:.2f}] times: {a} {mean_a.text()}, {b} {mean_b.text()}",
        )


def half(results: StudyResults, a: str, b: str, **ratios: float) -> Iterator[Evidence]:
    """The thesis names no range; its sentence follows one about utilisations above 70 %."""
    for name, low in (("all", 0), ("above 70 %", 700)):
        for item in migration_ratio(results, a, b, low=low, **ratios):
            yield attrs.evolve(item, variant={"utilisation": name, **item.variant})


def migrates_mainly_above(results: StudyResults, approach: str, load: int) -> Iterator[Evidence]:
    """Whether tasks of U > load migrate at least twice as much as those below."""
    for source, ties, per_job in product(SOURCES, TIES, (False, True)):
        name, here = label(approach, ties), results.source == source
        above, below = (
            migrations(results, name, here & mask, "of jobs", per_job=per_job)
            for mask in (results.load > load, results.load <= load)
        )
        words = {"distribution": source, "ties": ties, "unit": _UNITS[per_job]}
        found = larger(f"above {load / 10:g} %", above, f"up to {load / 10:g} %", below, words)
        least, most = ratio(above, below)
        twice = None if least < 2 <= most else least >= 2
        yield attrs.evolve(found, holds=all_hold([found.holds, twice]))


def never_migrates(results: StudyResults, approach: str) -> Iterator[Evidence]:
    for source, ties in product(SOURCES, TIES):
        name = label(approach, ties)
        here = (results.source == source) & results.yes(name)
        moved = sum(
            int(results.figure(name, column)[here].sum())
            for column in _COUNTED["of jobs and tasks"]
        )
        yield Evidence(
            variant={"distribution": source, "ties": ties},
            holds=moved == 0 if here.any() else None,
            figures=f"{moved} migrations in {int(here.sum())} schedulable sets",
        )


@for_each
def more_slack(results: StudyResults, more: str, less: str, **bounds: int) -> Iterator[Evidence]:
    """The slack (share of T; mean over jobs, then over sets) of ``more`` is larger.

    On the same sets the difference is what is judged: sets differ more than schedulers.
    """
    for case in cases(results, more, less, **bounds):
        a, b = (results.mean(name, "slack_share_mean", case.mask) for name in (case.a, case.b))
        yield larger(more, a, less, b, {**case.words, "denominator": _OWN}, unit=" T")
        both = case.mask & results.yes(case.a) & results.yes(case.b)
        values = [results.figure(x, "slack_share_mean")[both] for x in (case.a, case.b)]
        difference, a, b = map(Mean.of, (values[0] - values[1], *values))
        order = compare_means(difference, Mean(0.0, 0.0, difference.sets))
        yield Evidence(
            variant={**case.words, "denominator": _BOTH},
            holds=shown(order),
            figures=f"{more} {a.text(' T')}, {less} {b.text(' T')}; difference"
            f" {difference.text(' T')}{order_text(order, 1)}",
        )


def only_more_slack(
    results: StudyResults, more: str, less: str, others: list[str], low: int
) -> Iterator[Evidence]:
    """``more`` has a larger slack of U > low, and all of ``others`` are shown to have less."""
    beyond = [list(more_slack(results, more=other, less=less, low=low)) for other in others]
    for item in more_slack(results, more=more, less=less, low=low):
        also = beside(item, beyond)
        yield Evidence(
            variant=item.variant,
            holds=all_hold([item.holds, *(None if x.holds is None else not x.holds for x in also)]),
            figures="; ".join(one.figures for one in (item, *also)),
        )


_CLAIMS = claims(__file__, globals(), Conclusion)


def _preset(
    number: int, title: str, chart: Callable[[StudyResults], Iterator[Chart]], counted: str = ""
) -> Preset:
    name, whole = f"thesis-fig{number}", f"Figure {number}: {title}, 4 processors"
    usual = [(ties, approach, "both") for ties, approach in product(TIES, _APPROACHES)]
    contenders = {
        label(approach, ties, balance): attrs.evolve(
            _NEXT_FIT, policy=_APPROACHES[approach], ties=ties, balance=balance
        )
        for ties, approach, balance in (*usual, *(("index", LOOSE, b) for b in BALANCES[1:]))
    }
    spec = StudySpec(
        name=name,
        preset=name,
        title=whole,
        sets=3,
        sources=SOURCES,
        cells=tuple(SweepCell(M, n, load, x) for x in SOURCES for n in TASKS for load in LOADS),
        contenders=contenders,
        metrics=number > 4,
    )
    return Preset(
        name=name,
        title=whole,
        about=ABOUT if number == 4 else f"The sets and approaches of Figure 4, with {counted}.",
        build=lambda: spec,
        charts=(chart,),
        conclusions=_CLAIMS[name],
    )


PRESETS = (
    _preset(4, "share of schedulable sets by approach", charts.approaches),
    _preset(5, "migrations by approach", charts.migrations, "migrations"),
    _preset(6, "average slack by approach", charts.slack, "slack"),
)
