"""deadbeat: where a multi-core Linux system starts missing its deadlines, and why.

The public interface is in ``__init__.pyi``: each name is imported when first used, so that
``import deadbeat`` costs next to nothing.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path


@cache
def _public() -> dict[str, tuple[str, str]]:
    """Public name -> its module, and what it is called there."""
    text = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    found = {}
    for module, names in re.findall(r"^from (\S+) import (\([^)]*\)|.*)$", text, re.M):
        for there, public in re.findall(r"(\w+)(?: as (\w+))?", names):
            found[public or there] = (module, there)
    return found


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("deadbeat")
    if name == "__all__":
        return sorted([*_public(), "__version__"])
    if not name.startswith("_") and name in (public := _public()):
        module, there = public[name]
        return getattr(import_module(module), there)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_public(), "__version__"])
