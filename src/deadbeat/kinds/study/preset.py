"""Named studies, with the conclusions that they check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module

from attrs import frozen

from deadbeat.kinds.study.results import Mask, StudyResults
from deadbeat.kinds.study.spec import StudySpec
from deadbeat.model.conclusion import Conclusion

#: Where presets come from: modules with a tuple PRESETS, imported when one is asked for.
SOURCES = ("deadbeat_papers.thesis",)


@frozen(kw_only=True)
class Preset:
    """A study with a name.

    Attributes:
        title: One line.
        about: What is varied, how many task sets, and what was chosen where the source is silent.
        build: Makes the specification.
        charts: Which figures are drawn: names of `kinds.study.charts`.
        conclusions: What is checked.
        cases: For the chart of utilisations: name of a rule, and the sets of each case under it.
    """

    name: str
    title: str
    about: str
    build: Callable[[], StudySpec]
    charts: tuple[str, ...]
    conclusions: tuple[Conclusion[StudyResults], ...] = ()
    cases: Callable[[StudyResults], Iterator[tuple[str, dict[str, Mask]]]] | None = None


@cache
def presets() -> Mapping[str, Preset]:
    """Every preset by name."""
    found: list[Preset] = [each for name in SOURCES for each in import_module(name).PRESETS]
    return {preset.name: preset for preset in sorted(found, key=lambda preset: preset.name)}
