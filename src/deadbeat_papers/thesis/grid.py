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


def _by_load(results: StudyResults) -> Iterator[Evidence]:
    for label, variant in _everyone(results, tests=False):
        masks = {f"U = {load / 1000:g} m": results.load == load for load in LOADS}
        yield falling(results, label, masks, variant)


def _by_tasks(results: StudyResults) -> Iterator[Evidence]:
    for label, variant in _everyone(results, tests=False):
        for m in np.unique(results.processors):
            masks = {
                f"n = {n}": (results.tasks == n) & (results.processors == m)
                for n in task_counts(int(m))
            }
            yield falling(results, label, masks, {**variant, "m": str(m)}, rising=True)


def _none_at_many(results: StudyResults) -> Iterator[Evidence]:
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


def _by_processors(results: StudyResults, *, tests: bool) -> Iterator[Evidence]:
    known = [int(m) for m in np.unique(results.processors)]
    if len(known) < 2:
        return
    for label in results.labels():
        if results.is_test(label) == tests:
            variant = {} if tests else {"ties": results.spec.contenders[label].ties}
            masks = {f"m = {m}": results.processors == m for m in known}
            yield falling(results, label, masks, variant)


def _more_than_test(results: StudyResults) -> Iterator[Evidence]:
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


_TREND = "last against first value told apart at 95 % (Newcombe), no step told to turn back"

CONCLUSIONS: tuple[Conclusion[StudyResults], ...] = (
    Conclusion(
        id="more-processors-simulated",
        says="The schedulability rate decreases while the number of processors increases, for the"
        " same total (normalised) utilisation: by simulation",
        confirmed=f"share over all n and U falls from m = 2 to 8: {_TREND}",
        check=lambda results: _by_processors(results, tests=False),
    ),
    Conclusion(
        id="more-processors-equation",
        says="The same by equation (1)",
        confirmed=f"share accepted over all n and U falls from m = 2 to 8: {_TREND}",
        check=lambda results: _by_processors(results, tests=True),
    ),
    Conclusion(
        id="more-utilisation",
        says="Schedulability decreases with the increase of total utilisation",
        confirmed=f"share over all n falls from U = 0.6 m to 0.99 m: {_TREND}",
        check=_by_load,
    ),
    Conclusion(
        id="more-tasks",
        says="Most critical is a number of tasks slightly higher than that of processors; with more"
        " tasks fewer sets are not schedulable",
        confirmed=f"share over all U rises from n = m + 2 to 10 m: {_TREND}",
        check=_by_tasks,
    ),
    Conclusion(
        id="none-with-many-tasks",
        says="The number of not schedulable sets becomes 0 with more than 10 times as many"
        " tasks as processors",
        confirmed="at n = 10 m not one set of the study is not schedulable",
        check=_none_at_many,
    ),
    Conclusion(
        id="simulation-finds-more",
        says="Simulation finds more schedulable sets than equation (1)",
        confirmed="more of the same sets (exact sign test, 95 %), and every set that equation (1)"
        " accepts is schedulable",
        check=_more_than_test,
    ),
    Conclusion(
        id="heavy-tasks",
        says="Tasks with a utilisation close to 1 drastically reduce the chance to be schedulable",
        confirmed="sets with a task above 0.9 are less often schedulable than others of the same"
        " cells (Mantel and Haenszel's difference, 95 %)",
        check=heavy_tasks,
    ),
)


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
        conclusions=CONCLUSIONS,
    )


_TIES = ("index", "utilisation-desc", "utilisation-asc")
FIGURE_2 = _preset("thesis-fig2", "Figure 2: global EDF on 4 processors", (4,), _TIES)
FIGURE_3 = _preset("thesis-fig3", "Figure 3: global EDF on 8 processors", (8,), _TIES)
GRID = _preset("thesis-grid", "Global EDF on 2, 4, 6 and 8 processors", (2, 4, 6, 8), ("index",))
