"""Rows that are alike side by side."""

from __future__ import annotations

from importlib import import_module

import numpy as np
from numpy.typing import NDArray


def leaf_order(features: NDArray[np.float64]) -> list[int]:
    """Numbers of the rows of ``features`` (n x m, n >= 1), alike ones side by side.

    Clusters by average linkage, leaves in the best order for them (Z. Bar-Joseph et al., "Fast
    optimal leaf ordering for hierarchical clustering", Bioinformatics 17, 2001), by scipy, which is
    imported when it is first used.
    """
    if len(features) < 3:
        return list(range(len(features)))
    hierarchy = import_module("scipy.cluster.hierarchy")
    tree = hierarchy.linkage(features, "average")
    return [
        int(row) for row in hierarchy.leaves_list(hierarchy.optimal_leaf_ordering(tree, features))
    ]
