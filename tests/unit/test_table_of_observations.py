"""Truth: a table of three rows worked by hand."""

from __future__ import annotations

import numpy as np

from deadbeat.model.observations import Cell, Metric, Observation, Observations

LATE = Metric(name="late", title="Late", minimum=0.1)
MISSED = Metric(name="missed", title="Missed", minimum=0.01, log=False, rare=True)


def test_rows_are_numbered_and_come_back_by_metric() -> None:
    two, ten = Cell("2 threads"), Cell("10 threads")
    table = Observations.of(
        "a",
        (LATE, MISSED),
        [
            Observation(run="r1", cell=ten, block="1", metric="late", value=3.0, slack=0.1),
            Observation(run="r0", cell=two, block="0", metric="late", value=None, censored=1.0),
            Observation(run="r0", cell=two, block="0", metric="missed", value=0.5),
        ],
    )
    assert table.cells == (two, ten) and table.runs == ("r0", "r1")
    late = table.of_metric("late")
    assert late["run"].tolist() == [0, 1] and late["cell"].tolist() == [0, 1]
    assert np.isnan(late["value"][0]) and late["value"][1] == 3.0
    assert late["censored"].tolist() == [1.0, 0.0] and late["slack"].tolist() == [0.0, 0.1]
    assert table.of_metric("missed")["value"].tolist() == [0.5]
    assert len(Observations.of("b", (LATE,), []).of_metric("late")) == 0
