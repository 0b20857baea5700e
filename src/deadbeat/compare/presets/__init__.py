"""Pictures with a name: what published evaluations drew. The presets are in the modules
beside this one; adding one touches no list."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module

from attrs import frozen

from deadbeat.kinds.latency.sides import SIDES_MAX, DrawnPlot, Question
from deadbeat.model.errors import UsageError
from deadbeat.model.words import nearest, shown

#: Whose figures the presets are after.
SAVOIR_FAIRE = "Savoir-faire Linux, Linux for real-time systems: evaluation and security, figure"
HEDERA = "Hedera Innovations, Real-Time Embedded Linux Study on ARM Cortex-A8"


@frozen(kw_only=True)
class PlotPreset:
    """A picture of latency matrices.

    Attributes:
        title: One line.
        about: What it shows, of what, and how to read it.
        source: Whose figure it is after.
        least, most: How many matrices it takes.
        takes: In words, in which order.
        draw: Makes it.
    """

    name: str
    title: str
    about: str
    source: str
    takes: str
    draw: Callable[[Question], DrawnPlot]
    least: int = 2
    most: int = SIDES_MAX

    def check(self, runs: Sequence[str]) -> None:
        """UsageError where so many matrices are not what it takes."""
        if self.least <= len(runs) <= self.most:
            return
        wanted = str(self.least) if self.least == self.most else f"{self.least} to {self.most}"
        raise UsageError(
            f"plot {self.name} takes {wanted} results, {len(runs)} "
            f"{'is' if len(runs) == 1 else 'are'} named",
            f"deadbeat plot {self.name} {self.takes}",
        )


@cache
def presets() -> Mapping[str, PlotPreset]:
    """Every preset by name."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__))
    made = [import_module(f"{__name__}.{name}").PRESETS for name in modules if name[0] != "_"]
    return {preset.name: preset for presets in made for preset in presets}


def preset_of(name: str) -> PlotPreset:
    """The preset called ``name``; UsageError with the nearest where none is."""
    found = presets().get(name)
    if found is None:
        raise UsageError(f"{shown(name)} is no preset", nearest(name, presets()))
    return found
