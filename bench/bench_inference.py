"""Least separations and periods against rt-model-inference, on made-up releases.

``bench_inference.py FOLDER``: its sources (github.com/LiME-org/py-rt-model-inference).
"""

from __future__ import annotations

import sys
from importlib import import_module

import numpy as np
from common import report

from deadbeat.derive import arrivals

SETS, RELEASES = 200, 300


def main() -> None:
    if len(sys.argv) < 2:
        print("not measured: name the FOLDER of rt-model-inference", file=sys.stderr)
        return
    sys.path.append(sys.argv[1])
    theirs = import_module("rt_model_inference")
    draw = np.random.default_rng(1)
    separations, curves, periods = [], [], []
    for _ in range(SETS):
        period = int(draw.integers(1_000, 100_000)) * 1_000
        jitter = draw.integers(0, period // 50, RELEASES)
        on_grid = 10**12 + period * np.arange(RELEASES) + jitter
        grid, model = arrivals.fit(on_grid), theirs.infer_periodic_model(on_grid.tolist())
        assert grid is not None
        periods.append(100 * abs(grid.period / model.period - 1))
        sporadic = 10**12 + np.cumsum(draw.integers(period // 2, 3 * period, RELEASES))
        gaps = arrivals.least_gaps(sporadic)
        separations.append(gaps[0] == theirs.infer_sporadic_model(sporadic.tolist()))
        curve = theirs.infer_delta_min(sporadic.tolist(), arrivals.DELTA_MAX)
        curves.append([gap + 1 for gap in gaps] == curve[2:])  # it counts both ends
    extra = {"n": SETS}
    report("least separations equal", "100 %", 100 * float(np.mean(separations)), "%", extra)
    report("curves of least separations equal", "100 %", 100 * float(np.mean(curves)), "%", extra)
    report("periods apart, at most", "<= 0.1 %", max(periods), "%", extra)


if __name__ == "__main__":
    main()
