"""Figure 1 of the thesis: three distributions of task utilisations on 8 processors."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import attrs
import numpy as np

from deadbeat import (
    Conclusion,
    Evidence,
    Mask,
    Preset,
    Scheduler,
    StudyResults,
    StudySpec,
    SweepCell,
    study_curves,
)
from deadbeat_papers.claims import claims
from deadbeat_papers.thesis.charts import utilisations
from deadbeat_papers.thesis.comparisons import compare
from deadbeat_papers.thesis.grid import LOADS, SOURCE, heavy_tasks

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
        contenders={
            "g-edf (index)": Scheduler(policy="g-edf", ties="index"),
            "g-edf (utilisation-desc)": Scheduler(policy="g-edf", ties="utilisation-desc"),
        },
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
                holds=compare(a, b) == 1,
                figures=f"{first}: {a.text()}, {than}: {b.text()}",
            )


_TITLE = "Figure 1: three distributions of task utilisations on 8 processors"

FIGURE_1 = Preset(
    name="thesis-fig1",
    title=_TITLE,
    about="U from 0.6 m to 0.99 m (nine values), m = 8, 100 sets a cell; utilisations uniform in"
    " [0.1, 0.5], uniform in [0, 0.7], and exponential. n = U / mean (0.3, 0.35 and 0.3: the thesis"
    " is silent), and again with the same n for all three; periods as in Figures 2 and 3.",
    build=_build,
    charts=(lambda results: utilisations(results, case_masks(results)), study_curves),
    conclusions=claims(__file__, globals() | {"heavy_tasks": heavy_tasks}, Conclusion)[
        "thesis-fig1"
    ],
)
PRESETS = (FIGURE_1,)
