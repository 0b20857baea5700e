"""What repeats publications, as installed packages offer it by entry points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Protocol, TypeVar

from deadbeat.base.model.errors import DeadbeatError, UsageError
from deadbeat.base.model.words import nearest


class _Named(Protocol):
    @property
    def name(self) -> str: ...


P = TypeVar("P", bound=_Named)
NONE = "set up again with make setup"


@cache
def published(group: str, kind: type[P]) -> Mapping[str, P]:
    """The presets of a type by name, sorted: those in PRESETS of the modules that entry points of
    the group ``deadbeat.GROUP`` name. A package stands for every module in it.

    Raises:
        DeadbeatError: A package that offers some cannot be imported.
    """
    found = [
        preset
        for entry in entry_points(group=f"deadbeat.{group}")
        for module in _loaded(entry)
        for preset in getattr(module, "PRESETS", ())
        if isinstance(preset, kind)
    ]
    return {preset.name: preset for preset in sorted(found, key=lambda preset: preset.name)}


def offered(name: str, group: str = "papers") -> Any:
    """The module that the entry point ``name`` of ``deadbeat.GROUP`` names.

    Raises:
        DeadbeatError: No package offers it, or it cannot be imported.
    """
    for entry in entry_points(group=f"deadbeat.{group}", name=name):
        return _loaded(entry)[0]
    if group == "executors":
        hint = f"make setup-dev, or in a clone: pip install packages/{name}"
        raise UsageError(f"{name}: the package deadbeat-{name} is not installed", hint)
    raise DeadbeatError(f"no {name} of {group} are installed", NONE)


def nearest_preset(name: str, known: Iterable[str]) -> str:
    """What may have been meant; where there is none, why."""
    words = [*known]
    return nearest(name, words) if words else f"none is installed: {NONE}"


def _loaded(entry: EntryPoint) -> list[ModuleType]:
    try:
        module = import_module(entry.module)
        inner = iter_modules(getattr(module, "__path__", ()))
        return [module, *(import_module(f"{module.__name__}.{each.name}") for each in inner)]
    except Exception as error:  # any package may fail
        why = f"{type(error).__name__}: {error}".splitlines()[0]
        raise DeadbeatError(
            f"presets of {entry.module} cannot be loaded: {why}", "mend or uninstall its package"
        ) from error
