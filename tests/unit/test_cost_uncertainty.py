"""Truth: errors of one entry add up, those of different entries add in squares; by hand."""

import math

import attrs
import pytest
from helpers.runs import made_task

from deadbeat.model.calibration import Calibration, Cost
from deadbeat.model.examples import example_calibration
from deadbeat.model.tasks import Entry, FragmentUse, Kind, Segment, Task

COST = Cost(
    first_ps=2_000, first_low_ps=1_900, first_high_ps=2_100,
    again_ps=1_000, again_low_ps=970, again_high_ps=1_030,
    repeat_ps=500, repeat_low_ps=490, repeat_high_ps=510,
    samples=40, rejected=0,
)  # fmt: skip
CALIBRATION: Calibration = attrs.evolve(
    example_calibration({}), costs={"a/1": (COST,), "b/1": (COST,)}
)


def task(*uses: tuple[str, int]) -> Task:
    made = tuple(FragmentUse(Entry(name, 1), repeats) for name, repeats in uses)
    return made_task(*(Segment(Kind.NS, 1, 1, (use,)) for use in made))


def test_uses_of_one_entry_add_up() -> None:
    # first + 3 repeats, then again + 1 repeat: 2000 + 1500 + 1000 + 500 ps
    expected = (100 + 3 * 10 + 30 + 10) / 5_000
    assert CALIBRATION.cost_uncertainty(task(("a", 4), ("a", 2))) == pytest.approx(expected)


def test_different_entries_add_in_squares() -> None:
    one, both = task(("a", 4)), task(("a", 4), ("b", 4))
    alone = CALIBRATION.cost_uncertainty(one)
    assert alone == pytest.approx(130 / 3_500)
    assert CALIBRATION.cost_uncertainty(both) == pytest.approx(alone / math.sqrt(2))


def test_a_task_without_uses_has_none() -> None:
    assert CALIBRATION.cost_uncertainty(task()) == 0.0
