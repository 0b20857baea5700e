"""Means with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from attrs import frozen

from deadbeat.base.stats.intervals import student_half_width


@frozen(kw_only=True)
class Estimate:
    """A mean over runs with its 95 % interval; None: it cannot be bounded, as with one run."""

    value: float
    low: float | None = None
    high: float | None = None


def mean_of(values: Sequence[float], least: float = -math.inf, most: float = math.inf) -> Estimate:
    """Mean over runs with Student's interval, which is cut to what is possible, and still holds the
    value, which was seen."""
    array = np.asarray(values, np.float64)
    mean = float(array.mean())
    if len(array) < 2:
        return Estimate(value=mean)
    half = student_half_width(array)
    low, high = max(mean - half, min(mean, least)), min(mean + half, max(mean, most))
    return Estimate(value=mean, low=low, high=high)
