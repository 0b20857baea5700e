"""Public names of a package, each imported when it is first used: ``import deadbeat`` costs next to
nothing, and the help of a study does not load numpy."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path


def public_names(
    file: str, **more: Callable[[], object]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package, from the imports in the ``.pyi`` beside it.

    Args:
        file: ``__file__`` of the package.
        more: Other names, and what gives their value.
    """
    name = Path(file).parent.name

    @cache
    def known() -> dict[str, tuple[str, str]]:
        text = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
        found = {}
        for module, names in re.findall(r"^from (\S+) import (\([^)]*\)|.*)$", text, re.M):
            for there, public in re.findall(r"(\w+)(?: as (\w+))?", names):
                found[public or there] = (module, there)
        return found

    def get(asked: str) -> object:
        if asked in more:
            return more[asked]()
        if asked == "__all__":
            return names()
        if not asked.startswith("_") and asked in known():
            module, there = known()[asked]
            return getattr(import_module(module), there)
        raise AttributeError(f"module {name!r} has no attribute {asked!r}")

    def names() -> list[str]:
        return sorted([*known(), *more])

    return get, names
