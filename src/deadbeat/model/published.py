"""Presets that repeat publications, as installed packages offer them by entry points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from types import ModuleType
from typing import Protocol, TypeVar


class _Named(Protocol):
    @property
    def name(self) -> str: ...


P = TypeVar("P", bound=_Named)


@cache
def published(group: str, kind: type[P]) -> Mapping[str, P]:
    """The presets of a type by name, sorted: those in PRESETS of the modules that entry points of
    the group ``deadbeat.GROUP`` name. A package stands for every module in it."""
    found = [
        preset
        for entry in entry_points(group=f"deadbeat.{group}")
        for module in _modules(import_module(entry.module))
        for preset in getattr(module, "PRESETS", ())
        if isinstance(preset, kind)
    ]
    return {preset.name: preset for preset in sorted(found, key=lambda preset: preset.name)}


def _modules(module: ModuleType) -> Iterator[ModuleType]:
    yield module
    for each in iter_modules(getattr(module, "__path__", ())):
        yield import_module(f"{module.__name__}.{each.name}")
