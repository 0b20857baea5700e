"""The nine observations of the paper, each a file of its own: what it says and what decides it.

Adding one touches no list.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from deadbeat.observations.base import Evidence, Judgement, Observation, Result, judge

__all__ = ["Evidence", "Judgement", "Observation", "Result", "judge", "observations"]


@cache
def observations() -> tuple[Observation, ...]:
    """Every observation, by number."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    found = [
        import_module(f"{__name__}.{name}").OBSERVATION
        for name in names
        if name.startswith("observation_")
    ]
    return tuple(sorted(found, key=lambda observation: observation.number))
