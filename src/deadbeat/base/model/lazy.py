"""Modules that are imported when something of them is first used: ``--help`` need not pay for them.

For those that only declare what others compute; behind ``if TYPE_CHECKING`` they are imported as
usual.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Later:
    """Stands for the module ``name``."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(import_module(self._name), attribute)
        setattr(self, attribute, found)
        return found
