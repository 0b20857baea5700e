"""Global EDF on the grid of section 2.4: Figures 2 and 3, and all four platforms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import attrs
import numpy as np

from deadbeat import (
    Conclusion,
    Evidence,
    Mask,
    Preset,
    Scheduler,
    Source,
    StudyResults,
    StudySpec,
    SweepCell,
    all_hold,
    study_curves,
)
from deadbeat_papers.claims import claims
from deadbeat_papers.thesis.charts import critical, utilisations
from deadbeat_papers.thesis.telling import (
    compare,
    compare_strata,
    differing,
    falling,
    ordered,
    shown,
)

#: U from 0.6 m to 0.99 m in thousandths of m: nine values.
LOADS = (600, 650, 700, 750, 800, 850, 900, 950, 990)
#: Values of n from m + 2 to 10 m. Nine by nine cells of 30 sets on four platforms are 9,720 sets:
#: the thesis says approximately 10,000, and not its steps.
STEPS = 9
#: Tasks of a processor beyond those: its sentence on more than ten times as many is judged there.
MANY = 12

#: The thesis's generator as far as stated: exponential utilisations, T in [10, 250], LCM of the
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


def contenders(ties: Sequence[str]) -> dict[str, Scheduler]:
    if len(ties) == 1:
        return {"g-edf": Scheduler(policy="g-edf", ties=ties[0])}
    return {f"g-edf ({rule})": Scheduler(policy="g-edf", ties=rule) for rule in ties}


def on_grid(
    name: str,
    title: str,
    axes: tuple[Sequence[int], Sequence[int]],
    ties: Sequence[str],
    tests: tuple[str, ...],
    *,
    many: tuple[int, ...] = (),
) -> StudySpec:
    """30 sets for each m, n and U/m; ``axes``: m, and U/m in thousandths; ``many``: further n by
    m."""
    processors, loads = axes
    return StudySpec(
        name=name,
        preset=name,
        title=title,
        sets=30,
        sources={LABEL: SOURCE},
        cells=tuple(
            SweepCell(m, n, u, LABEL)
            for m in processors
            for n in (*task_counts(m), *(k * m for k in many))
            for u in loads
        ),
        contenders=contenders(ties),
        tests=tests,
    )


def _everyone(results: StudyResults, *, tests: bool) -> Iterator[tuple[str, dict[str, str]]]:
    for label in results.labels():
        if not results.is_test(label):
            yield label, {"ties": results.spec.contenders[label].ties}
        elif tests:
            yield label, {"found by": "equation (1)"}


def _trends(
    results: StudyResults, label: str, variant: Mapping[str, str], here: Mask
) -> tuple[Evidence, Evidence]:
    """Whether the share of the sets in ``here`` falls with U, and rises with n."""
    loads, tasks = results.load, results.tasks
    by_u = {f"U = {u / 1000:g} m": results.count(label, here & (loads == u)) for u in LOADS}
    by_n = {f"n = {n}": results.count(label, here & (tasks == n)) for n in np.unique(tasks[here])}
    return falling(by_u, variant), falling(by_n, variant, rising=True)


def by_load(results: StudyResults) -> Iterator[Evidence]:
    for label, variant in _everyone(results, tests=False):
        yield _trends(results, label, variant, results.everything)[0]


def by_tasks(results: StudyResults) -> Iterator[Evidence]:
    for label, variant in _everyone(results, tests=False):
        for m in np.unique(results.processors):
            here = results.processors == m
            yield _trends(results, label, {**variant, "m": str(m)}, here)[1]


def same_pattern(results: StudyResults, processors: list[int]) -> Iterator[Evidence]:
    """Both trends on those that the thesis does not draw."""
    for (label, variant), m in product(_everyone(results, tests=False), processors):
        if (here := results.processors == m).any():
            both = _trends(results, label, {**variant, "m": str(m)}, here)
            holds = all_hold([each.holds for each in both])
            yield attrs.evolve(both[0], holds=holds, figures="; ".join(x.figures for x in both))


def parameters_matter(results: StudyResults) -> Iterator[Evidence]:
    """Whether the share depends on each parameter of a set: those to choose, and to vary."""
    m, steps = results.processors, STEPS - 1
    columns = {
        "processors m": m,
        f"tasks n, 0 to {steps}: m + 2 to 10 m": np.round(
            steps * (results.tasks - m - 2) / (9 * m - 2)
        ),
        "utilisation U/m": results.load / 1000,
    }
    for (label, variant), (name, column) in product(
        _everyone(results, tests=False), columns.items()
    ):
        counts = {f"{v:g}": results.count(label, column == v) for v in np.unique(column)}
        if len(counts) > 1:
            yield differing(counts, {**variant, "parameter": name})


def none_at_many(results: StudyResults) -> Iterator[Evidence]:
    for label, variant in _everyone(results, tests=False):
        many = results.tasks > 10 * results.processors
        for name, mask in (
            ("U up to 0.9 m", many & (results.load <= 900)),
            ("U of 0.95 m and above", many & (results.load > 900)),
        ):
            count = results.count(label, mask)
            failed = count.total - count.yes
            low = count.interval[0]
            yield Evidence(
                variant={**variant, "utilisation": name},
                holds=failed == 0 if count.total else None,
                figures=f"n above 10 m: {failed} of {count.total} sets not schedulable"
                f" (at most {100 * (1 - low):.2g} % at 95 %)",
            )


def by_processors(results: StudyResults, *, tests: bool) -> Iterator[Evidence]:
    known = [int(m) for m in np.unique(results.processors)]
    if len(known) < 2:
        return
    for label in results.labels():
        if results.is_test(label) == tests:
            variant = {} if tests else {"ties": results.spec.contenders[label].ties}
            counts = {f"m = {m}": results.count(label, results.processors == m) for m in known}
            yield falling(counts, variant)


def more_than_test(results: StudyResults) -> Iterator[Evidence]:
    for label, variant in _everyone(results, tests=False):
        found = ordered(results, label, "gfb", results.everything, variant)
        wrong = int(np.sum(results.yes("gfb") & results.decided(label) & ~results.yes(label)))
        text = f"{found.figures}; accepted by equation (1) and not schedulable: {wrong}"
        yield Evidence(variant=variant, holds=all_hold([found.holds, wrong == 0]), figures=text)


def heavy_tasks(results: StudyResults) -> Iterator[Evidence]:
    """Sets with a task above 0.9 against the others of the same cells."""
    for label, variant in _everyone(results, tests=False):
        inside = results.decided(label)
        order, difference, half, counted = compare_strata(
            results.rows["largest"][inside] > 0.9,
            results.yes(label)[inside],
            results.rows["cell"][inside].astype(np.int64),
        )
        heavy = int(np.sum(results.rows["largest"][inside] > 0.9))
        yield Evidence(
            variant=variant,
            holds=shown(order, -1),
            figures=f"{heavy} sets have a task above 0.9, none beside others of its cell"
            if not counted
            else f"with a task above 0.9 the share differs by {100 * difference:+.1f} ±"
            f" {100 * half:.1f} points from that of other sets with the same m, n and U"
            f" ({heavy} sets have one; {counted} are in cells with both kinds)",
        )


_M = 8
_NARROW, _WIDE, _EXPONENTIAL = "uniform 0.1-0.5", "uniform 0-0.7", "exponential"
_SOURCES = {
    _NARROW: attrs.evolve(SOURCE, utilisations="uniform", low=0.1, high=0.5),
    _WIDE: attrs.evolve(SOURCE, utilisations="uniform", low=0.0, high=0.7),
    _EXPONENTIAL: SOURCE,
}
#: Mean utilisation that sets n = U / mean. The thesis tells neither n nor the exponential's mean:
#: here that of the first case, so that those two differ by the distribution alone.
_MEANS = {_NARROW: 0.3, _WIDE: 0.35, _EXPONENTIAL: 0.3}


def _tasks(load: int, mean: float) -> int:
    return round(_M * load / 1000 / mean)


def _build() -> StudySpec:
    cells = {
        SweepCell(_M, _tasks(load, mean), load, label): None
        for load in LOADS
        for label in _SOURCES
        for mean in (_MEANS[label], _MEANS[_NARROW])
    }
    return StudySpec(
        name="thesis-fig1",
        preset="thesis-fig1",
        title=_TITLE,
        sets=100,
        sources=_SOURCES,
        cells=tuple(cells),
        contenders=contenders(_TIES[:2]),
        tests=("gfb",),
    )


def case_masks(results: StudyResults) -> Iterator[tuple[str, dict[str, Mask]]]:
    """The three cases by the rule for n: each its own mean, and the same n for all."""
    for rule, mean_of in (
        ("n = U / mean of the case", _MEANS),
        ("the same n for all", dict.fromkeys(_MEANS, _MEANS[_NARROW])),
    ):
        masks = {}
        for label, mean in mean_of.items():
            wanted = np.array([_tasks(int(load), mean) for load in LOADS])
            place = np.searchsorted(LOADS, results.load)
            masks[label] = (results.source == label) & (results.tasks == wanted[place])
        yield rule, masks


def higher(results: StudyResults, cases: list[str], than: str) -> Iterator[Evidence]:
    """Each of ``cases`` has a higher share than another, under every rule for n."""
    for first, (contender, scheduler) in product(cases, results.spec.contenders.items()):
        for rule, masks in case_masks(results):
            a, b = (results.count(contender, masks[name]) for name in (first, than))
            yield Evidence(
                variant={"ties": scheduler.ties, "number of tasks": rule, "case": first},
                holds=shown(compare(a, b)),
                figures=f"{first}: {a.text()}, {than}: {b.text()}",
            )


_TITLE = "Figure 1: three distributions of task utilisations on 8 processors"

_CLAIMS = claims(__file__, globals(), Conclusion)


def _preset(name: str, title: str, processors: Sequence[int], ties: Sequence[str]) -> Preset:
    whole = f"{title}, simulation beside equation (1)"
    spec = on_grid(name, whole, (processors, LOADS), ties, ("gfb",), many=(MANY,))
    if len(ties) > 1:
        sets = " (2,430 sets)"
        rule = "Three tie rules, because the verdict of many sets depends on the rule."
    else:
        sets = ": 9,720 sets where the thesis says approximately 10,000"
        rule = "Ties by index; --ties names others."
    return Preset(
        name=name,
        title=whole,
        about="n from m + 2 to 10 m and U from 0.6 m to 0.99 m, nine values each, 30 sets a cell"
        f"{sets}, and 30 a cell with n = {MANY} m; exponential utilisations, T in [10, 250], LCM"
        f" below 100,000, implicit deadlines, synchronous. {rule}",
        build=lambda: spec,
        charts=(critical, study_curves),
        conclusions=_CLAIMS["grid"],
    )


_TIES = ("index", "utilisation-desc", "utilisation-asc")
PRESETS = (
    Preset(
        name="thesis-fig1",
        title=_TITLE,
        about="U from 0.6 m to 0.99 m (nine values), m = 8, 100 sets a cell; utilisations uniform"
        " in [0.1, 0.5], uniform in [0, 0.7], and exponential. n = U / mean (0.3, 0.35 and 0.3: the"
        " thesis is silent), and again with the same n for all three; periods as in Figures 2 and"
        " 3.",
        build=_build,
        charts=(lambda results: utilisations(results, case_masks(results)), study_curves),
        conclusions=_CLAIMS["thesis-fig1"],
    ),
    _preset("thesis-fig2", "Figure 2: global EDF on 4 processors", (4,), _TIES),
    _preset("thesis-fig3", "Figure 3: global EDF on 8 processors", (8,), _TIES),
    _preset("thesis-grid", "Global EDF on 2, 4, 6 and 8 processors", (2, 4, 6, 8), ("index",)),
)
