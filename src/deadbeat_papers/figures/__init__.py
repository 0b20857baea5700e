"""Figures of published evaluations of latency and of sweeps over versions, drawn from matrices of
one's own; presets.toml says what each shows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from deadbeat import PlotPreset
from deadbeat_papers.claims import tables
from deadbeat_papers.figures import kernels, two_sides, versions

_DRAWN = {
    "preemption": kernels.preemption,
    "two-kernels": kernels.two_kernels,
    "per-cpu": kernels.per_cpu,
    "versions": versions.over_versions,
    "effects": versions.effects,
}
_ROWS = tables(__file__, "presets")
_WORDS = {**_ROWS.pop("words"), "LEAST": versions.LEAST}


def _preset(name: str, row: Mapping[str, Any]) -> PlotPreset:
    known: dict[str, Any] = {
        key: each.format_map(_WORDS) if isinstance(each, str) else each for key, each in row.items()
    }
    draw = partial(two_sides.draw, name=name, **known.pop("drawn", {}))
    return PlotPreset(name=name, draw=_DRAWN.get(name, draw), **known)


PRESETS = tuple(_preset(name, row) for name, row in _ROWS.items())
