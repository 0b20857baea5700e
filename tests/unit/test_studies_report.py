"""Truth: values whose axes are plain to see."""

from helpers.studies import made_up, small

from deadbeat.kinds.study.charts import framed
from deadbeat_papers.thesis.charts import critical


def test_an_axis_is_made_from_the_values_not_from_their_intervals() -> None:
    limits = framed([10.0, 20.0])
    assert -1 < limits[0] <= 0 and 20 < limits[1] < 40
    assert framed([]) is None


def test_the_pointer_says_where_a_cell_lies_and_how_many_sets_failed() -> None:
    results = made_up(small(), lambda _, cell, number: cell.tasks < 6 or number < 5)
    (chart,) = critical(results)
    heat = chart.panels[0].heat
    assert heat.cells[1][0].hover == "U/m 0.6, n 6\n7 of 12 not schedulable"
    assert (heat.cells[0][0].text, heat.cells[1][0].text, heat.high) == ("0", "7", 12.0)
