"""Named measurements that repeat published figures, with the conclusions that they check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from attrs import frozen

from deadbeat.model.published import published

if TYPE_CHECKING:
    from deadbeat.model.conclusion import Conclusion
    from deadbeat.report.charts import Chart

S = TypeVar("S")


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
    layer: Mapping[str, Any]
    parts: tuple[Mapping[str, object], ...]
    charts: tuple[Callable[[S], Iterator[Chart]], ...]
    conclusions: tuple[Conclusion[S], ...]


def presets() -> Mapping[str, PrimitivesPreset[Any]]:
    """Every preset by name."""
    return published("primitives", PrimitivesPreset)
