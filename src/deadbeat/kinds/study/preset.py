"""Named studies, with the conclusions that they check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module

from attrs import frozen

from deadbeat.kinds.study.results import StudyResults
from deadbeat.kinds.study.spec import StudySpec
from deadbeat.model.conclusion import Conclusion
from deadbeat.report.charts import Chart

#: Where presets come from: modules with a tuple PRESETS, imported when one is asked for.
SOURCES = ("deadbeat_papers.thesis",)
ChartBuilder = Callable[[StudyResults], Iterator[Chart]]


@frozen(kw_only=True)
class Preset:
    """A study with a name.

    Attributes:
        title: One line.
        about: What is varied, how many task sets, and what was chosen where the source is silent.
        build: Makes the specification.
        charts: Its figures.
        conclusions: What is checked.
    """

    name: str
    title: str
    about: str
    build: Callable[[], StudySpec]
    charts: tuple[ChartBuilder, ...]
    conclusions: tuple[Conclusion[StudyResults], ...] = ()


@cache
def presets() -> Mapping[str, Preset]:
    """Every preset by name."""
    found: list[Preset] = [each for name in SOURCES for each in import_module(name).PRESETS]
    return {preset.name: preset for preset in sorted(found, key=lambda preset: preset.name)}
