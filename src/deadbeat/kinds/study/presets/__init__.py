"""Named studies. A preset is a module beside this one; adding one touches no list."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module

from attrs import frozen

from deadbeat.kinds.study.judge import Conclusion
from deadbeat.kinds.study.spec import StudySpec


@frozen(kw_only=True)
class Preset:
    """A study with a name.

    Attributes:
        title: One line.
        about: What is varied, how many task sets, and what was chosen where the source is silent.
        build: Makes the specification.
        charts: Which figures are drawn: names of report/study_charts.py.
        conclusions: What is checked.
    """

    name: str
    title: str
    about: str
    build: Callable[[], StudySpec]
    charts: tuple[str, ...]
    conclusions: tuple[Conclusion, ...] = ()


@cache
def presets() -> Mapping[str, Preset]:
    """Every preset by name."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__))
    found = [import_module(f"{__name__}.{name}").PRESET for name in modules if name[0] != "_"]
    return {preset.name: preset for preset in found}
