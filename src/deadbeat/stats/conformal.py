"""Prediction intervals from the residuals of other cases: split conformal prediction.

V. Vovk, A. Gammerman, G. Shafer: Algorithmic Learning in a Random World, 2005; J. Lei and others:
Distribution-Free Predictive Inference for Regression, JASA 113, 2018. Of cases that come like the
calibration cases, a share of ``level`` lies inside, whatever the model and the distribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def fewest(level: float) -> int:
    """Number of calibration cases below which no interval can be stated."""
    return math.ceil(level / (1 - level) - 1e-9)


def quantile(scores: Sequence[float], level: float) -> float | None:
    """What the score of a further case does not exceed with ``level``; None: of too few cases.

    Args:
        scores: How far each calibration case was off, by any rule that does not look at them.
    """
    rank = math.ceil((len(scores) + 1) * level - 1e-9)
    return sorted(scores)[rank - 1] if 1 <= rank <= len(scores) else None
