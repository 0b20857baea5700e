"""Truth: made-up curves whose axes are plain to see."""

from __future__ import annotations

from deadbeat.kinds.study.charts import _framed
from deadbeat.report.charts import Curve, Panel


def test_a_wide_interval_does_not_squeeze_the_values() -> None:
    curve = Curve(label="a", x=(0.5, 0.9), y=(10.0, 20.0), low=(9.0, -4e4), high=(11.0, 7e4))
    limits = _framed(Panel(title="", x_label="", y_label="", curves=(curve,))).y_limits
    assert limits is not None
    assert -1 < limits[0] <= 0 and 20 < limits[1] < 40


def test_without_values_the_drawing_chooses() -> None:
    assert _framed(Panel(title="", x_label="", y_label="")).y_limits is None
