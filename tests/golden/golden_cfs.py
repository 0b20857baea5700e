"""Writes cfs-2.0.1.json: what the published ConvolutionalFixedSum draws, as statistics.

Needs the package and nothing of deadbeat; a quarter of an hour:

    python -m venv cfs && cfs/bin/pip install convolutionalfixedsum==2.0.1
    cfs/bin/python tests/golden/golden_cfs.py tests/golden/cfs-2.0.1.json
"""

from __future__ import annotations

import json
import random
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from convolutionalfixedsum import cfsn

SEED = 20260509
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "five tasks, no bounds but 1": {
        "lower": [0.0] * 5, "upper": [1.0] * 5, "total": 2.2, "vectors": 4000,
    },
    "eight tasks, tight bounds of their own": {
        "lower": [0.05, 0.1, 0.0, 0.2, 0.0, 0.3, 0.01, 0.15],
        "upper": [0.15, 0.3, 0.05, 0.9, 0.4, 0.45, 0.6, 0.25],
        "total": 1.9, "vectors": 3000,
    },
    "twenty tasks, bounds of their own": {
        "lower": [0.01 * (i % 3) for i in range(20)],
        "upper": [round(0.12 + 0.037 * i, 3) for i in range(20)],
        "total": 4.0, "vectors": 2000,
    },
}  # fmt: skip


def statistics(lower: list[float], upper: list[float], total: float, vectors: int) -> dict:
    drawn = np.array(
        [
            cfsn(len(lower), total, lower_constraints=lower, upper_constraints=upper)
            for _ in range(vectors)
        ]
    )
    return {
        "mean": drawn.mean(axis=0).tolist(),
        "variance": drawn.var(axis=0, ddof=1).tolist(),
        "quantiles": np.quantile(drawn, QUANTILES, axis=0).T.tolist(),
    }


def main() -> None:
    random.seed(SEED)
    found = {
        name: {**configuration, **statistics(**configuration)}
        for name, configuration in CONFIGURATIONS.items()
    }
    made = {
        "by": "tests/golden/golden_cfs.py",
        "package": f"convolutionalfixedsum {version('convolutionalfixedsum')}, cfsn",
        "python": sys.version.split()[0],
        "seed": SEED,
        "quantiles": QUANTILES,
    }
    text = json.dumps({"made": made, "configurations": found}, indent=1)
    Path(sys.argv[1]).write_text(text + "\n")


if __name__ == "__main__":
    main()
