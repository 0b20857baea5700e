"""Special functions of scipy, imported when one is first used: ``--help`` need not pay for it.

`scipy.special` loads half of numpy to serve other makers of arrays, which takes longer than all
else that shows a result. The compiled functions, which are the same, come without.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any


@cache
def _compiled() -> ModuleType | None:
    """The compiled functions alone; None: this scipy keeps them elsewhere."""
    if "scipy.special" not in sys.modules:
        bare = ModuleType("scipy.special")
        folder = Path(str(import_module("scipy").__file__)).with_name("special")
        bare.__path__ = [str(folder)]
        sys.modules["scipy.special"] = bare  # so that its own __init__ does not run
        try:
            return import_module("scipy.special._ufuncs")
        except ImportError:
            return None
        finally:
            del sys.modules["scipy.special"]
    return None


def __getattr__(name: str) -> Any:
    found = getattr(_compiled(), name, None)
    return getattr(import_module("scipy.special"), name) if found is None else found
