"""Truth: shares of contended time and marks of the chart, worked out by hand."""

import numpy as np
import pytest
from helpers.demo_summary import demo_summary
from helpers.runs import made_set, made_task

from deadbeat.tasksets.contention.profile_charts import core_charts
from deadbeat.tasksets.contention.run_parts import ContendedUses, shared_objects
from deadbeat.tasksets.contention.samples import SetSample, object_charts, speed_charts
from deadbeat.tasksets.model.figures import SetFigures
from deadbeat.tasksets.model.tasks import Resource


def _uses(task: int, *intervals: tuple[float, float]) -> ContendedUses:
    return ContendedUses(task, *(np.array(ends) for ends in zip(*intervals, strict=True)))


def test_an_object_has_its_share_of_the_contended_time() -> None:
    """0.5 x 100 + 0.5 x 300 of pipe, 0.25 x 300 + 0.25 x 100 of futex, by utilisation."""
    objects = (Resource("futex", None), Resource("pipe", None), Resource("futex", None))
    tasks = [made_task(core=n, wcet_ns=wcet, period_ns=1000) for n, wcet in enumerate((100, 300))]
    task_set = made_set(tasks, objects)
    plan = {
        0: [_uses(1, (0.0, 0.25))],
        1: [_uses(0, (0.0, 0.25), (0.5, 0.75)), _uses(1, (0.5, 1.0))],
        2: [_uses(0, (0.25, 0.5))],
    }
    assert shared_objects(task_set, plan) == "pipe=0.67 futex=0.33"
    assert shared_objects(task_set, {}) == ""


def test_a_set_stands_at_the_objects_it_spends_a_quarter_of_the_time_in() -> None:
    sets = (
        SetFigures(slowdown_mean=2.0, shared_objects="pipe=0.8 futex=0.2"),
        SetFigures(slowdown_mean=1.2, shared_objects="futex=0.75 pipe=0.25"),
        SetFigures(shared_objects="spin=1"),
        SetFigures(slowdown_mean=1.5),
    )
    (chart,) = object_charts([SetSample(label="M = 2", look=0, sets=sets)])
    (panel,) = chart.panels
    assert panel.categories == ("pipe (2)", "futex (1)")
    assert panel.curves[0].y == (2.0, 1.2, 1.2)
    assert not list(object_charts([SetSample(label="M = 2", look=0, sets=sets[:1])]))


def test_the_speed_of_the_host_is_against_the_median_set() -> None:
    minute = 60_000_000_000
    sets = [
        SetFigures(began_ns=at * minute, witness_ps=pace)
        for at, pace in ((7, 200.0), (5, 100.0), (6, 100.0))
    ]
    (chart,) = speed_charts([*sets, SetFigures(witness_ps=1.0)])
    assert chart.panels[0].curves[0].x == (0.0, 1.0, 2.0)
    assert chart.panels[0].curves[0].y == (0.0, 0.0, -50.0)
    assert not list(speed_charts(sets[:2]))


def test_misses_over_the_number_of_cores_rise_from_a_bound() -> None:
    (chart,) = core_charts(demo_summary(cores=(1, 2, 4)))
    slowdown, _, misses = chart.panels
    worst = slowdown.curves[-1]
    assert worst.x == (1.0, 2.0, 4.0)
    assert worst.y == pytest.approx(sorted(worst.y))
    assert misses.curves[0].bounded == (True, True, True)
    assert [*core_charts(demo_summary(cores=(4,)))] == []
