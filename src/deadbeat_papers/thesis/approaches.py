"""Figures 4, 5 and 6: four ways to schedule the same 450 sets on 4 processors (section 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import attrs
import numpy as np

from deadbeat import (
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
)
from deadbeat_papers.thesis import charts
from deadbeat_papers.thesis.comparisons import compare, compare_means
from deadbeat_papers.thesis.grid import SOURCE
from deadbeat_papers.thesis.telling import larger, ordered, told_text

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
Check = Callable[[StudyResults], Iterator[Evidence]]

TIES = ("index", "utilisation-desc")
#: Two tie rules for the four approaches, and other ways to balance the loose one.
BALANCES = ("both", "pull", "offline", "sticky", "release")

GLOBAL, PARTITIONED, CLUSTERED, LOOSE = "global", "partitioned", "clustered", "loose clustered"
_NEXT_FIT = Scheduler(partition="next-fit", order="file", admission="utilisation", cluster_size=2)
_APPROACHES = {GLOBAL: "g-edf", PARTITIONED: "p-edf", CLUSTERED: "c-edf", LOOSE: "lc-edf"}


def label(approach: str, ties: str = "index", balance: str = "both") -> str:
    extra = [text for text, usual in ((ties, "index"), (balance, "both")) if text != usual]
    return f"{approach} ({', '.join(extra)})" if extra else approach


def _contenders() -> dict[str, Scheduler]:
    made = {}
    for ties, (approach, policy) in product(TIES, _APPROACHES.items()):
        scheduler = attrs.evolve(_NEXT_FIT, policy=policy, ties=ties)
        made[label(approach, ties)] = scheduler
    for balance in BALANCES[1:]:
        made[label(LOOSE, balance=balance)] = attrs.evolve(
            _NEXT_FIT, policy="lc-edf", balance=balance
        )
    return made


def spec(name: str, title: str, *, metrics: bool) -> StudySpec:
    return StudySpec(
        name=name,
        preset=name,
        title=title,
        sets=3,
        sources=SOURCES,
        cells=tuple(
            SweepCell(M, n, load, source) for source in SOURCES for n in TASKS for load in LOADS
        ),
        contenders=_contenders(),
        metrics=metrics,
    )


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

    def told(self, **words: str) -> dict[str, str]:
        return self.words | words


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
    """Of all sets; and of those that next fit can place on processors and on clusters."""
    for case in cases(results, a, b, **bounds):
        names = [label(approach, case.words["ties"]) for approach in (PARTITIONED, CLUSTERED)]
        placed = results.placed(names[0]) & results.placed(names[1])
        yield attrs.evolve(case, words=case.told(denominator="all sets"))
        words = case.told(denominator="sets that next fit can place")
        yield attrs.evolve(case, mask=case.mask & placed, words=words)


def more_schedulable(more: str, fewer: str, **bounds: int) -> Check:
    """Check that ``more`` schedules more sets; of those in ``bounds`` (as of ``cases``)."""

    def check(results: StudyResults) -> Iterator[Evidence]:
        for case in _placed(results, more, fewer, **bounds):
            yield ordered(results, case.a, case.b, case.mask, case.words)

    return check


def gains_mainly_above(more: str, fewer: str, load: int) -> Check:
    """Check that ``more`` schedules more sets of U > load, and gains fewer of those below."""

    def check(results: StudyResults) -> Iterator[Evidence]:
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
                holds=found.holds and compare(high, low) == 1,
                figures=f"above {load / 10:g} %: {found.figures}; only {more}"
                f" {high.text()} above, {low.text()} up to {load / 10:g} %",
            )

    return check


def beside(item: Evidence, others: Sequence[Sequence[Evidence]]) -> list[Evidence]:
    """Of each of ``others`` what it says under the circumstances of ``item``; one without a
    dimension (the balance, where the loose approach has no part) says the same along it."""
    return [
        next(one for one in other if one.variant.items() <= item.variant.items())
        for other in others
    ]


def all_of(*checks: Check) -> Check:
    """All checks at once: a variant holds where it does in each of them."""

    def check(results: StudyResults) -> Iterator[Evidence]:
        found = [list(one(results)) for one in checks]
        for item in max(found, key=lambda items: len(items[0].variant)):
            fitting = beside(item, found)
            yield Evidence(
                variant=item.variant,
                holds=all(one.holds for one in fitting),
                figures="; ".join(one.figures for one in fitting),
            )

    return check


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
            told = {"migrations counted": counted, "unit": unit, "denominator": sets}
            yield of_a, of_b, case.words | told


def migrates_more(more: str, fewer: str, **bounds: int) -> Check:
    def check(results: StudyResults) -> Iterator[Evidence]:
        for a, b, words in migration_variants(results, more, fewer, **bounds):
            yield larger(more, a, fewer, b, words)

    return check


def migration_ratio(a: str, b: str, low_ratio: float, high_ratio: float, **bounds: int) -> Check:
    """Check that migrations of ``a`` by those of ``b`` lie in [low_ratio, high_ratio]."""

    def check(results: StudyResults) -> Iterator[Evidence]:
        for mean_a, mean_b, words in migration_variants(results, a, b, **bounds):
            ratio = mean_a.value / mean_b.value if mean_b.value > 0 else np.nan
            yield Evidence(
                variant=words,
                holds=bool(low_ratio <= ratio <= high_ratio),
                figures=f"{ratio:.2f} times: {a} {mean_a.text()}, {b} {mean_b.text()}",
            )

    return check


def more_slack(more: str, less: str, **bounds: int) -> Check:
    """Check that the slack (share of T; mean over jobs, then over sets) of ``more`` is larger.

    On the same sets the difference is what is judged: sets differ more than schedulers.
    """

    def check(results: StudyResults) -> Iterator[Evidence]:
        for case in cases(results, more, less, **bounds):
            a, b = (results.mean(name, "slack_share_mean", case.mask) for name in (case.a, case.b))
            yield larger(more, a, less, b, case.told(denominator=_OWN), unit=" T")
            both = case.mask & results.yes(case.a) & results.yes(case.b)
            values = [results.figure(x, "slack_share_mean")[both] for x in (case.a, case.b)]
            difference, a, b = map(Mean.of, (values[0] - values[1], *values))
            told = compare_means(difference, Mean(0.0, 0.0, difference.sets))
            yield Evidence(
                variant=case.told(denominator=_BOTH),
                holds=told == 1,
                figures=f"{more} {a.text(' T')}, {less} {b.text(' T')}; difference"
                f" {difference.text(' T')}{told_text(told, 1)}",
            )

    return check


SIGN_TEST = "more of the same sets (exact sign test, 95 %)"
MEANS = "the means are told apart at 95 %"


_TITLE_4 = "Figure 4: share of schedulable sets by approach, 4 processors"
_TITLE_5 = "Figure 5: migrations by approach, 4 processors"
_TITLE_6 = "Figure 6: average slack by approach, 4 processors"
_SLACK = f"slack in periods, mean over jobs and then over sets, is larger; {MEANS}"


def _only_above_70(results: StudyResults) -> Iterator[Evidence]:
    """Clustered over global above 70 %, and not below."""
    above = more_schedulable(CLUSTERED, GLOBAL, low=700)(results)
    below = more_schedulable(CLUSTERED, GLOBAL, high=700)(results)
    for high, low in zip(above, below, strict=True):
        yield Evidence(
            variant=high.variant,
            holds=high.holds and not low.holds,
            figures=f"above 70 %: {high.figures}; up to 70 %: {low.figures}",
        )


FIGURE_4 = Preset(
    name="thesis-fig4",
    title=_TITLE_4,
    about=ABOUT,
    build=lambda: spec("thesis-fig4", _TITLE_4, metrics=False),
    charts=(charts.approaches,),
    conclusions=(
        Conclusion(
            id="partitioned-most",
            says="The partitioned approach finds the most feasible schedules",
            confirmed=f"against each of the three others, {SIGN_TEST}",
            check=all_of(*(more_schedulable(PARTITIONED, x) for x in (GLOBAL, CLUSTERED, LOOSE))),
        ),
        Conclusion(
            id="global-fewest",
            says="The global approach finds the fewest feasible schedules",
            confirmed=f"each of the three others schedules {SIGN_TEST}",
            check=all_of(*(more_schedulable(x, GLOBAL) for x in (PARTITIONED, CLUSTERED, LOOSE))),
        ),
        Conclusion(
            id="clustered-over-global-above-70",
            says="Clustered finds more feasible schedules than global, but only above 70 %",
            confirmed=f"clustered schedules {SIGN_TEST} above 70 %, and not up to 70 %",
            check=_only_above_70,
        ),
        Conclusion(
            id="loose-over-clustered",
            says="Loose clustered finds more schedulable sets than clustered",
            confirmed=f"loose clustered schedules {SIGN_TEST}",
            check=more_schedulable(LOOSE, CLUSTERED),
        ),
        Conclusion(
            id="loose-helps-at-high-load",
            says="Loose clustered improves the schedulability rate mainly for large utilisations",
            confirmed=f"above 80 % loose clustered schedules {SIGN_TEST} than clustered, and the"
            " share of sets that it alone schedules is larger than up to 80 % (Newcombe)",
            check=gains_mainly_above(LOOSE, CLUSTERED, 800),
        ),
    ),
)


def _high_above_80(results: StudyResults) -> Iterator[Evidence]:
    for source, ties, per_job in product(SOURCES, TIES, (False, True)):
        name, here = label(GLOBAL, ties), results.source == source
        above, below = (
            migrations(results, name, here & mask, "of jobs", per_job=per_job)
            for mask in (results.load > 800, results.load <= 800)
        )
        words = {
            "distribution": source,
            "ties": ties,
            "unit": _UNITS[per_job],
        }
        found = larger("above 80 %", above, "up to 80 %", below, words)
        yield Evidence(
            variant=words,
            holds=found.holds and above.value >= 2 * below.value,
            figures=found.figures,
        )


def _none(results: StudyResults) -> Iterator[Evidence]:
    for source, ties in product(SOURCES, TIES):
        name = label(PARTITIONED, ties)
        here = (results.source == source) & results.yes(name)
        moved = int(
            results.figure(name, "migrations")[here].sum()
            + results.figure(name, "task_migrations")[here].sum()
        )
        yield Evidence(
            variant={"distribution": source, "ties": ties},
            holds=moved == 0 and bool(here.any()),
            figures=f"{moved} migrations in {int(here.sum())} schedulable sets",
        )


def _half(results: StudyResults) -> Iterator[Evidence]:
    """The thesis names no range; its sentence follows one about utilisations above 70 %."""
    for name, low in (("all", 0), ("above 70 %", 700)):
        for item in migration_ratio(CLUSTERED, GLOBAL, 1 / 3, 2 / 3, low=low)(results):
            yield attrs.evolve(item, variant={"utilisation": name, **item.variant})


FIGURE_5 = Preset(
    name="thesis-fig5",
    title=_TITLE_5,
    about=ABOUT,
    build=lambda: spec("thesis-fig5", _TITLE_5, metrics=True),
    charts=(charts.migrations,),
    conclusions=(
        Conclusion(
            id="partitioned-never-migrates",
            says="Under the partitioned approach jobs do not migrate",
            confirmed="not one migration in its schedulable sets",
            check=_none,
        ),
        Conclusion(
            id="global-migrates-at-high-load",
            says="The migration rate of the global approach is very high above 80 % utilisation",
            confirmed=f"at least twice that up to 80 %, and {MEANS}",
            check=_high_above_80,
        ),
        Conclusion(
            id="clustered-half-of-global",
            says="The migration rate of clustered is half that of global",
            confirmed="between a third and two thirds of it",
            check=_half,
        ),
        Conclusion(
            id="loose-over-clustered",
            says="Loose clustered migrates more than clustered",
            confirmed=f"more migrations, {MEANS}",
            check=migrates_more(LOOSE, CLUSTERED),
        ),
        Conclusion(
            id="loose-little-more-at-high-load",
            says="Above 80 % the migration rate of loose clustered is only a little higher",
            confirmed="at most 1.25 times that of clustered",
            check=migration_ratio(LOOSE, CLUSTERED, 0.0, 1.25, low=800),
        ),
        Conclusion(
            id="loose-below-global",
            says="Loose clustered keeps a lower migration rate than global (expected)",
            confirmed=f"fewer migrations, {MEANS}",
            check=migrates_more(GLOBAL, LOOSE),
        ),
    ),
)


def _only_loose(results: StudyResults) -> Iterator[Evidence]:
    """Loose above global above 80 %; partitioned and clustered not told to be."""
    others = [list(more_slack(x, GLOBAL, low=800)(results)) for x in (PARTITIONED, CLUSTERED)]
    for item in more_slack(LOOSE, GLOBAL, low=800)(results):
        also = beside(item, others)
        yield Evidence(
            variant=item.variant,
            holds=item.holds and not any(one.holds for one in also),
            figures="; ".join(one.figures for one in (item, *also)),
        )


FIGURE_6 = Preset(
    name="thesis-fig6",
    title=_TITLE_6,
    about=ABOUT,
    build=lambda: spec("thesis-fig6", _TITLE_6, metrics=True),
    charts=(charts.slack,),
    conclusions=(
        Conclusion(
            id="partitioned-least-slack",
            says="The average slack of the partitioned approach is the smallest",
            confirmed=f"against each of the three others, theirs: {_SLACK}",
            check=all_of(*(more_slack(x, PARTITIONED) for x in (GLOBAL, CLUSTERED, LOOSE))),
        ),
        Conclusion(
            id="global-among-the-largest",
            says="The average slack of the global approach is one of the largest",
            confirmed=f"larger than that of partitioned and of clustered: {_SLACK}",
            check=all_of(*(more_slack(GLOBAL, x) for x in (PARTITIONED, CLUSTERED))),
        ),
        Conclusion(
            id="only-loose-above-global",
            says="Only loose clustered has a larger slack than global, above 80 % utilisation",
            confirmed=f"above 80 %, {_SLACK}; and that of neither other approach is",
            check=_only_loose,
        ),
        Conclusion(
            id="clustered-below-global",
            says="The average slack of clustered is less than that of global",
            confirmed=f"that of global: {_SLACK}",
            check=more_slack(GLOBAL, CLUSTERED),
        ),
        Conclusion(
            id="loose-among-the-largest",
            says="The average slack of loose clustered is one of the highest",
            confirmed=f"larger than that of partitioned and of clustered: {_SLACK}",
            check=all_of(*(more_slack(LOOSE, x) for x in (PARTITIONED, CLUSTERED))),
        ),
    ),
)
