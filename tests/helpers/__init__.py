"""Builders that several tests share."""

from typing import Any

import pytest


def often(*cases: Any) -> list[Any]:
    """Experiments that are repeated too often for every day."""
    return [pytest.param(*case, marks=pytest.mark.statistical) for case in cases]
