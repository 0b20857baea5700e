"""Named measurements that repeat published figures, with the conclusions that they check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from attrs import frozen

if TYPE_CHECKING:
    from deadbeat.model.conclusion import Conclusion
    from deadbeat.report.charts import Chart

S = TypeVar("S")

#: Where presets come from: modules with a tuple PRIMITIVES, imported when one is asked for.
SOURCES = ("deadbeat_papers.runtimes",)


@frozen(kw_only=True)
class PrimitivesPreset(Generic[S]):
    """Figures that are repeated of a summary ``S``.

    Attributes:
        title: One line.
        about: What is varied, and what was chosen where the source is silent.
        layer: Keys that the command's options may change.
        parts: Of each part of the measurement the keys that make it, as they are written.
        charts: Its figures.
        conclusions: What is checked.
    """

    name: str
    title: str
    about: str
    layer: Mapping[str, object]
    parts: tuple[Mapping[str, object], ...]
    charts: tuple[Callable[[S], Iterator[Chart]], ...]
    conclusions: tuple[Conclusion[S], ...]


@cache
def presets() -> Mapping[str, PrimitivesPreset[Any]]:
    """Every preset by name, in the order of its source."""
    found = [each for name in SOURCES for each in import_module(name).PRIMITIVES]
    return {preset.name: preset for preset in found}
