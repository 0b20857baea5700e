"""Truth: a table of three rows worked by hand."""

import math

import numpy as np

from deadbeat.compare.pairs import PairedRuns
from deadbeat.model.observations import Cell, Metric, Observation, Observations

LATE = Metric(name="late", title="Late", minimum=0.1)
TWO, TEN = Cell("2 threads"), Cell("10 threads")


def test_runs_are_paired_by_name_metric_by_metric() -> None:
    rows = [
        Observation(run="r1", cell=TEN, block="1", metric="late", value=3.0, slack=0.1, at=2.0),
        Observation(run="r0", cell=TWO, block="0", metric="late", value=None, censored=1.0),
        Observation(run="r0", cell=TWO, block="0", metric="missed", value=0.5),
    ]
    table = Observations(name="a", rows=rows, cells=[Cell("3 threads")])
    assert table.cells == (TWO, Cell("3 threads"), TEN)
    pairs = PairedRuns.of(LATE, [table, table])
    assert pairs.cell.tolist() == [0, 2] and pairs.block.tolist() == [0, 1]
    assert np.isnan(pairs.values[:, 0]).all() and (pairs.values[:, 1] == math.log(3)).all()
    assert pairs.ran.all() and pairs.censored[0].tolist() == [1.0, 0.0]
    assert pairs.slack[0].tolist() == [0.0, 0.1] and pairs.at[1] == 2.0
    assert not PairedRuns.of(LATE, [Observations(name="b", rows=[])] * 2).cells
