"""Builders that several tests share."""

from typing import Any

import pytest


def often(*cases: Any) -> list[Any]:
    """Experiments that are repeated too often for every day."""
    return [pytest.param(*case, marks=pytest.mark.statistical) for case in cases]


def seldom(*cases: Any) -> list[Any]:
    """Cases that cost much, of which others in ``make test`` are representatives."""
    return [pytest.param(*case, marks=pytest.mark.slow) for case in cases]
