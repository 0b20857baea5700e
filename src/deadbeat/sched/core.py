"""The scheduling core, imported when something of it is first used.

A clone that was set up to measure has not built it: it is built then. Whatever measures and uses
it afterwards calls `core` before.
"""

from __future__ import annotations

import sysconfig
from functools import cache
from importlib import import_module, invalidate_caches
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from deadbeat.base.model.errors import BuildError
from deadbeat.sched.build import build_core

_NAME = "deadbeat.sched._core"


def is_built() -> bool:
    """Whether the core is there without building it."""
    return find_spec(_NAME) is not None


@cache
def core() -> ModuleType:
    """The core.

    Raises:
        BuildError: It is not there, and could not be built.
    """
    try:
        return import_module(_NAME)
    except ModuleNotFoundError as error:
        if error.name != _NAME:
            raise
    build_core()
    # Not import_module: an editable installation knows the modules it had when Python started.
    invalidate_caches()
    folders = (Path(sysconfig.get_path("platlib"), "deadbeat/sched"), Path(__file__).parent)
    spec = PathFinder.find_spec(_NAME, [*map(str, folders)])
    if spec is None or spec.loader is None:
        raise BuildError("the scheduling core was built but is not found", "type: make run")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class _Core:
    def __getattr__(self, name: str) -> Any:
        found = getattr(core(), name)
        setattr(self, name, found)
        return found


#: Stands for the core.
lazy = _Core()
