"""Engines by name: a module of ``latency/engines`` with ``make()`` is one; there is no list."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from deadbeat.kinds.latency import engines
from deadbeat.kinds.latency.engine import Engine

#: The one that makes its figures up: never chosen unasked.
SIMULATED = "simulated"


def engine_names() -> tuple[str, ...]:
    """Names of the engines that measure, in order."""
    names = sorted(module.name for module in pkgutil.iter_modules(engines.__path__))
    return tuple(name for name in names if name != SIMULATED)


def make_engine(name: str) -> Engine:
    """The engine ``name``, one of `engine_names` or SIMULATED."""
    engine: Engine = import_module(f"{engines.__name__}.{name}").make()
    return engine
