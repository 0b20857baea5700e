"""Truth: made-up lines whose axes are plain to see."""

from __future__ import annotations

from deadbeat.kinds.study.charts import Line, Panel


def test_a_wide_interval_does_not_squeeze_the_values() -> None:
    line = Line(
        label="a", x=(0.5, 0.9), y=(10.0, 20.0), low=(9.0, -4e4), high=(11.0, 7e4), sets=(45, 2)
    )
    limits = Panel(title="", x_label="", y_label="", lines=(line,)).limits
    assert limits is not None
    assert -1 < limits[0] <= 0 and 20 < limits[1] < 40


def test_without_values_the_drawing_chooses_and_shares_are_percent() -> None:
    assert Panel(title="", x_label="", y_label="").limits is None
    assert Panel(title="", x_label="", y_label="", percent=True).limits == (-2.0, 102.0)
