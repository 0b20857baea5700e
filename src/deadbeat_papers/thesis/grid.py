"""Global EDF on the grid of section 2.4: Figures 2 and 3, and all four platforms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from deadbeat import (
    Conclusion,
    Evidence,
    Preset,
    Scheduler,
    Source,
    StudyResults,
    StudySpec,
    SweepCell,
    study_curves,
)
from deadbeat_papers.claims import claims
from deadbeat_papers.thesis.charts import critical
from deadbeat_papers.thesis.comparisons import compare_strata
from deadbeat_papers.thesis.telling import falling, ordered

#: U from 0.6 m to 0.99 m in thousandths of m: nine values.
LOADS = (600, 650, 700, 750, 800, 850, 900, 950, 990)
#: Values of n from m + 2 to 10 m. Nine by nine cells of 30 sets on four platforms are 9,720 sets:
#: the thesis says approximately 10,000, and not its steps.
STEPS = 9

#: The thesis's generator as far as it is told: exponential utilisations, T in [10, 250], LCM of the
#: periods below 100,000.
SOURCE = Source(
    utilisations="exponential", periods="lcm-limited", period_low=10, period_high=250,
    lcm_limit=100_000,
)  # fmt: skip
LABEL = "exponential"


def task_counts(processors: int) -> tuple[int, ...]:
    """n from m + 2 to 10 m in STEPS even steps, rounded."""
    low, high = processors + 2, 10 * processors
    return tuple(round(low + (high - low) * k / (STEPS - 1)) for k in range(STEPS))


def cells(processors: Sequence[int]) -> tuple[SweepCell, ...]:
    return tuple(
        SweepCell(m, n, load, LABEL) for m in processors for n in task_counts(m) for load in LOADS
    )


def contenders(ties: Sequence[str]) -> dict[str, Scheduler]:
    if len(ties) == 1:
        return {"g-edf": Scheduler(policy="g-edf", ties=ties[0])}
    return {f"g-edf ({rule})": Scheduler(policy="g-edf", ties=rule) for rule in ties}


def spec(name: str, title: str, processors: Sequence[int], ties: Sequence[str]) -> StudySpec:
    return StudySpec(
        name=name,
        preset=name,
        title=title,
        sets=30,
        sources={LABEL: SOURCE},
        cells=cells(processors),
        contenders=contenders(ties),
        tests=("gfb",),
    )


def _everyone(results: StudyResults, *, tests: bool) -> Iterator[tuple[str, dict[str, str]]]:
    for label in results.labels():
        if not results.is_test(label):
            yield label, {"ties": results.spec.contenders[label].ties}
        elif tests:
            yield label, {"found by": "equation (1)"}


def by_load(results: StudyResults) -> Iterator[Evidence]:
    for label, variant in _everyone(results, tests=False):
        masks = {f"U = {load / 1000:g} m": results.load == load for load in LOADS}
        yield falling(results, label, masks, variant)


def by_tasks(results: StudyResults) -> Iterator[Evidence]:
    for label, variant in _everyone(results, tests=False):
        for m in np.unique(results.processors):
            masks = {
                f"n = {n}": (results.tasks == n) & (results.processors == m)
                for n in task_counts(int(m))
            }
            yield falling(results, label, masks, {**variant, "m": str(m)}, rising=True)


def none_at_many(results: StudyResults) -> Iterator[Evidence]:
    for label, variant in _everyone(results, tests=False):
        many = results.tasks == 10 * results.processors
        for name, mask in (
            ("U up to 0.9 m", many & (results.load <= 900)),
            ("U of 0.95 m and above", many & (results.load > 900)),
        ):
            count = results.count(label, mask)
            failed = count.total - count.yes
            low = count.interval[0]
            yield Evidence(
                variant={**variant, "utilisation": name},
                holds=count.total > 0 and failed == 0,
                figures=f"n = 10 m: {failed} of {count.total} sets not schedulable"
                f" (at most {100 * (1 - low):.2g} % at 95 %)",
            )


def by_processors(results: StudyResults, *, tests: bool) -> Iterator[Evidence]:
    known = [int(m) for m in np.unique(results.processors)]
    if len(known) < 2:
        return
    for label in results.labels():
        if results.is_test(label) == tests:
            variant = {} if tests else {"ties": results.spec.contenders[label].ties}
            masks = {f"m = {m}": results.processors == m for m in known}
            yield falling(results, label, masks, variant)


def more_than_test(results: StudyResults) -> Iterator[Evidence]:
    for label, variant in _everyone(results, tests=False):
        found = ordered(results, label, "gfb", results.everything, variant)
        wrong = int(np.sum(results.yes("gfb") & results.decided(label) & ~results.yes(label)))
        text = f"{found.figures}; accepted by equation (1) and not schedulable: {wrong}"
        yield Evidence(variant=variant, holds=found.holds and wrong == 0, figures=text)


def heavy_tasks(results: StudyResults) -> Iterator[Evidence]:
    """Sets with a task above 0.9 against the others of the same cells."""
    for label, variant in _everyone(results, tests=False):
        inside = results.decided(label)
        told, difference, half, counted = compare_strata(
            results.rows["largest"][inside] > 0.9,
            results.yes(label)[inside],
            results.rows["cell"][inside].astype(np.int64),
        )
        heavy = int(np.sum(results.rows["largest"][inside] > 0.9))
        yield Evidence(
            variant=variant,
            holds=told == -1,
            figures=f"with a task above 0.9 the share differs by {100 * difference:+.1f} ±"
            f" {100 * half:.1f} points from that of other sets with the same m, n and U"
            f" ({heavy} sets have one; {counted} are in cells with both kinds)",
        )


_CLAIMS = claims(__file__, globals(), Conclusion)["grid"]


def _preset(name: str, title: str, processors: Sequence[int], ties: Sequence[str]) -> Preset:
    if len(ties) > 1:
        sets = " (2,430 sets)"
        rule = "Three tie rules, because the verdict of many sets depends on the rule."
    else:
        sets = ": 9,720 sets where the thesis says approximately 10,000"
        rule = "Ties by index; --ties names others."
    return Preset(
        name=name,
        title=f"{title}, simulation beside equation (1)",
        about="n from m + 2 to 10 m and U from 0.6 m to 0.99 m, nine values each, 30 sets a cell"
        f"{sets}; exponential utilisations, T in [10, 250], LCM below 100,000, implicit deadlines,"
        f" synchronous. {rule}",
        build=lambda: spec(name, f"{title}, simulation beside equation (1)", processors, ties),
        charts=(critical, study_curves),
        conclusions=_CLAIMS,
    )


_TIES = ("index", "utilisation-desc", "utilisation-asc")
PRESETS = (
    _preset("thesis-fig2", "Figure 2: global EDF on 4 processors", (4,), _TIES),
    _preset("thesis-fig3", "Figure 3: global EDF on 8 processors", (8,), _TIES),
    _preset("thesis-grid", "Global EDF on 2, 4, 6 and 8 processors", (2, 4, 6, 8), ("index",)),
)
