"""Truth: prices.md and docs/reference/campaign.md, "A balanced map", with numbers by hand."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from deadbeat.base.model.errors import UsageError
from deadbeat.base.stats.intervals import stratified_interval
from deadbeat.tasksets.contention.plan import (
    class_of,
    class_unit,
    most_runs,
    parameters,
    plan,
    resolve,
    round_of,
    shares_objects,
)
from deadbeat.tasksets.contention.point import by_class, class_mean, class_words
from deadbeat.tasksets.contention.spec import CampaignSpec, specify
from deadbeat.tasksets.executors.simulated import FakeExecutor
from deadbeat.tasksets.model.figures import SATURATED, Figure, SetFigures, is_saturated

OBJECTS = ("futex", "mutex", "pipe")


def balanced(**layers: Any) -> CampaignSpec:
    layer = {"preset": "quick", **layers}
    machine = FakeExecutor(cores=2).describe()
    return resolve(specify(layer), machine, classes=lambda _: OBJECTS).spec


def test_each_object_is_drawn_equally_often_at_every_point_that_shares() -> None:
    spec = balanced(grid={"replicas": 2})
    drawn: dict[Any, Counter[str]] = {}
    for key in plan(spec):
        if class_unit(spec, key):
            drawn.setdefault(key.point, Counter())[class_of(spec, key)] += 1
    assert len(drawn) == 5, "four of the grid, one loaded"
    assert all(counts == dict.fromkeys(OBJECTS, 2) for counts in drawn.values())


def test_a_set_of_an_object_draws_nothing_else() -> None:
    spec = balanced(tasks={"fragments": "matmul,pipe"})
    for key in plan(spec):
        asked = parameters(spec, key)
        assert asked.fragments == ("matmul", class_of(spec, key))
        assert asked.classes_min == asked.classes_max == 1


def test_what_shares_nothing_takes_a_quarter_or_two_sets_each() -> None:
    spec = balanced(grid={"replicas": 40})
    plain = [key for key in plan(spec) if not class_unit(spec, key)]
    assert len(plain) <= len(plan(spec)) / 4
    few = balanced(grid={"replicas": 1})
    assert set(Counter(k.point for k in plan(few) if not class_unit(few, k)).values()) == {2}


def test_rounds_are_of_classes_where_objects_are_shared() -> None:
    spec = balanced()
    for key in plan(spec):
        place = key.point.cores, key.point.sync_share_milli, key.point.contended_ratio_milli
        count = len(OBJECTS) if shares_objects(*place) else 1
        assert round_of(spec, key) == key.replica // count


def test_a_preset_takes_three_sets_of_an_object_on_average() -> None:
    spec = balanced()
    aimed = sum(bool(class_unit(spec, key)) for key in plan(spec))
    assert aimed == 5 * 3 * 8
    assert most_runs(spec) == len(plan(spec)) - aimed + 5 * 3 * 3


def test_a_balanced_mix_aims_at_slowdowns_alone() -> None:
    with pytest.raises(UsageError, match="--set mix=random"):
        balanced(precision={"target": 0.1, "metric": "delay_ratio"})


def row(name: str, slowdown: float, share: float = 0.0, bound: float | None = None) -> SetFigures:
    return SetFigures(
        object_class=name, slowdown_mean=slowdown, released=100, unfinished_share=share,
        slowdown_bound=slowdown if bound is None else bound,
    )  # fmt: skip


def test_the_point_is_the_geometric_mean_over_objects() -> None:
    sets = [row("futex", 1.0), row("futex", 1.1), row("pipe", 2.0), row("pipe", 2.2)]
    found = class_mean(sets, by_class(sets))
    assert found.value == pytest.approx(math.sqrt(math.sqrt(1.1) * 2 * math.sqrt(1.1)))
    assert found.value == pytest.approx(1.483, abs=5e-4)
    assert found.basis == "classes"
    # both objects differ within by ln 1.1: sd ln 1.1 / sqrt 2, two sets each, two objects
    error = math.log(1.1) / math.sqrt(2) / math.sqrt(2) / math.sqrt(2)
    half = 4.3027 * error  # Student's, 2 degrees of freedom
    assert math.log(found.high / found.value) == pytest.approx(half, 1e-4)


def test_a_saturated_object_is_left_out_and_has_a_lower_bound() -> None:
    sets = [row("futex", 1.2), row("futex", 1.2), row("pipe", 1.5), row("pipe", 1.5)]
    sets += [row("mutex", 20.0, share=0.8, bound=30.0), row("mutex", 20.0, share=0.6, bound=30.0)]
    classes = by_class(sets)
    mutex = classes["mutex"]
    assert (mutex.saturated, mutex.slowdown) == (True, None)
    assert (mutex.unfinished_share, mutex.at_least) == (pytest.approx(0.7), pytest.approx(30))
    assert class_mean(sets, classes).value == pytest.approx(math.sqrt(1.2 * 1.5))
    assert class_words(mutex) == "saturated (70 % unfinished, at least 30 times)"


def test_a_point_with_half_of_its_objects_saturated_has_no_mean() -> None:
    sets = [row("futex", 1.2), row("mutex", 9.0, share=SATURATED)]
    assert class_mean(sets, by_class(sets)) == Figure()


@pytest.mark.parametrize(("share", "found"), [(None, False), (0.049, False), (0.05, True)])
def test_saturation_begins_at_five_percent(share: float | None, found: bool) -> None:
    assert is_saturated(share) is found


def test_a_group_of_one_has_the_spread_of_the_others() -> None:
    pair, single = np.array([1.0, 3.0]), np.array([5.0])
    mean, interval = stratified_interval([pair, single])
    assert mean == 3.5 and interval is not None
    # variances of the means 2 / 2 and 2 / 1; degrees (1 + 2)^2 / (1 / 1 + 4 / 1)
    assert interval.high - mean == pytest.approx(interval.high - mean)
    assert (interval.high - mean) / (math.sqrt(3) / 2) > 4.3, "fewer than two degrees of freedom"
    assert stratified_interval([single]) == (5.0, None)
