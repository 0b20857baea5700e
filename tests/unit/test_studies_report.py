"""Truth: values whose axes are plain to see."""

from __future__ import annotations

from deadbeat.kinds.study.charts import framed


def test_an_axis_is_made_from_the_values_not_from_their_intervals() -> None:
    limits = framed([10.0, 20.0])
    assert limits is not None
    assert -1 < limits[0] <= 0 and 20 < limits[1] < 40
    assert framed([]) is None
