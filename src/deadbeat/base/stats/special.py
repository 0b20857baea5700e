"""Special functions of scipy, imported when one is first used: ``--help`` need not pay for it."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    return getattr(import_module("scipy.special"), name)
