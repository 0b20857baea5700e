"""Named measurements that repeat published figures, with the conclusions that they check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from attrs import frozen

from deadbeat.kinds.primitives.spec import PrimitivesSpec
from deadbeat.model.specification import built, plain_of

if TYPE_CHECKING:
    from deadbeat.kinds.primitives.results import PrimitivesSummary
    from deadbeat.model.conclusion import Conclusion
    from deadbeat.report.charts import Chart

#: Where presets come from: modules with a tuple PRIMITIVES, imported when one is asked for.
SOURCES = ("deadbeat_papers.runtimes",)


@frozen(kw_only=True)
class PrimitivesPreset:
    """Figures that are repeated.

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
    charts: tuple[Callable[[PrimitivesSummary], Iterator[Chart]], ...]
    conclusions: tuple[Conclusion[PrimitivesSummary], ...]


@cache
def presets() -> Mapping[str, PrimitivesPreset]:
    """Every preset by name, in the order of its source."""
    found = [each for name in SOURCES for each in import_module(name).PRIMITIVES]
    return {preset.name: preset for preset in found}


def parts(spec: PrimitivesSpec) -> tuple[PrimitivesSpec, ...]:
    """What a preset is made of; without one the specification is its own part."""
    if not spec.preset:
        return (spec,)
    whole = {**plain_of(spec), "preset": ""}
    return tuple(built(PrimitivesSpec, {**whole, **part}) for part in presets()[spec.preset].parts)
