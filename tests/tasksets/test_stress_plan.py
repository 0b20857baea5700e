"""Truth: issue 4, point 1, and the grammar's own words: what is drawn is exact and the seed's."""

from collections import Counter
from fractions import Fraction
from itertools import groupby
from typing import Any

import attrs
import pytest
from helpers.campaigns import example_catalog

from deadbeat.base.model.errors import UsageError
from deadbeat.tasksets.contention.plan import batches, group_of, parameters, plan, resolve, set_seed
from deadbeat.tasksets.contention.runner import estimate
from deadbeat.tasksets.contention.spec import CampaignSpec, spec_dict, specify
from deadbeat.tasksets.contention.stress import groups, mean_milli
from deadbeat.tasksets.executors.base import Costing
from deadbeat.tasksets.executors.simulated import FakeExecutor
from deadbeat.tasksets.model.results import RunKey
from deadbeat.tasksets.synthesis import Synthesiser


def stress(*layers: Any, available: int = 4, **values: Any) -> CampaignSpec:
    layer = {"mode": "stress", "preset": "quick", "run": {"seconds": 2}, "stress": values}
    spec = specify(layer, *layers)
    return resolve(spec, FakeExecutor(cores=available).describe()).spec


def keys_by_group(spec: CampaignSpec) -> dict[str, list[RunKey]]:
    found: dict[str, list[RunKey]] = {}
    for key in plan(spec):
        group = group_of(spec, key)
        found.setdefault(group.name, []).append(key)
    return found


def test_groups_have_their_sets_and_replicas_number_all_of_them() -> None:
    spec = stress(cores="2,4,random", sets=5, random_sets=7)
    found = keys_by_group(spec)
    assert {name: len(keys) for name, keys in found.items()} == {"M=2": 5, "M=4": 5, "random": 7}
    assert sorted(key.replica for key in plan(spec)) == list(range(17))
    assert {key.point.cores for key in found["M=4"]} == {4}
    assert {key.point.cores for key in found["random"]} <= {1, 2, 3, 4}


def test_what_is_drawn_is_the_seeds_alone() -> None:
    # Golden: what is drawn must never change between versions, or resumed campaigns would mix.
    spec = stress(cores="2,random", sets=2)
    assert [key.text for key in plan(spec)] == [
        "m002-s0029-c0806-r0001",
        "m001-s0904-c0941-r0002",
        "m003-s0305-c0769-r0003",
        "m002-s0793-c0345-r0000",
    ]
    assert plan(stress({"seed": 2}, cores="2,random", sets=2)) != plan(spec)


def test_to_draw_one_parameter_differently_shifts_no_other() -> None:
    one = stress(cores="random", sets=30)
    two = stress(cores="random", sets=30, sync_share="0,1", segments_max="random")
    by_replica = [{key.replica: key for key in plan(spec)} for spec in (one, two)]
    for replica in range(30):
        a, b = (keys[replica] for keys in by_replica)
        assert (a.point.cores, a.point.contended_ratio_milli) == (
            b.point.cores,
            b.point.contended_ratio_milli,
        )
        assert b.point.sync_share_milli in (0, 1000)
        assert parameters(one, a).tasks == parameters(two, b).tasks
        assert set_seed(one, a) == set_seed(two, b)


def test_draws_are_uniform_over_whole_thousandths_and_lists() -> None:
    spec = stress(cores="1", sets=4000, sync_share="random:0.2..0.8", contended_ratio="0,0.5,1")
    shares = [key.point.sync_share_milli for key in plan(spec)]
    assert min(shares) == 200 and max(shares) == 800
    assert abs(sum(shares) / len(shares) - 500) < 15  # five standard errors: 173 / sqrt(4000) x 5
    ratios = Counter(key.point.contended_ratio_milli for key in plan(spec))
    assert set(ratios) == {0, 500, 1000}
    assert min(ratios.values()) > 1150  # 1333 expected, sigma 30


def test_parameters_are_exact_and_within_what_was_asked() -> None:
    spec = stress(
        cores="2",
        sets=40,
        per_core="random:1..3",
        segments_max="4,8",
        wcet_min="random:50us..90us",
        wcet_max="200us",
        distribution="uniform,normal",
        classes_max="random:1..3",
        priorities="uniform,rate-monotonic",
    )
    asked = [parameters(spec, key) for key in plan(spec)]
    assert {p.tasks for p in asked} == {2, 3, 4, 5, 6}
    assert {p.segments_max for p in asked} == {4, 8}
    assert all(50_000 <= p.wcet_min_ns <= 90_000 and p.wcet_max_ns == 200_000 for p in asked)
    assert {p.distribution for p in asked} == {"uniform", "normal"}
    assert {p.priorities for p in asked} == {"uniform", "rate-monotonic"}
    for key, p in zip(plan(spec), asked, strict=True):
        assert p.sync_share == Fraction(key.point.sync_share_milli, 1000)


def test_a_list_of_tasks_per_core_gives_whole_multiples() -> None:
    spec = stress(cores="2", sets=40, per_core="1,3")
    assert {parameters(spec, key).tasks for key in plan(spec)} == {2, 6}


def test_tasks_have_their_own_shares_and_the_point_is_their_mean() -> None:
    spec = stress(cores="4", sets=10, per_task=True, contended_ratio=1, per_core=2)
    for key in plan(spec):
        asked = parameters(spec, key)
        assert len(asked.sync_shares) == len(asked.contended_ratios) == asked.tasks == 8
        assert set(asked.contended_ratios) == {1}
        assert len(set(asked.sync_shares)) > 1
        mean = sum(asked.sync_shares) / 8
        assert abs(Fraction(key.point.sync_share_milli, 1000) - mean) <= Fraction(1, 2000)


@pytest.mark.parametrize(("values", "mean"), [((0, 1), 1), ((1, 2, 2), 2), ((7,), 7)])
def test_means_are_rounded_to_the_nearest_thousandth(values: tuple[int, ...], mean: int) -> None:
    assert mean_milli(values) == mean


def test_groups_that_differ_in_critical_cores_alone_draw_the_same_sets_side_by_side() -> None:
    spec = stress(cores="4,random", sets=6, critical_cores="0,1,2", per_task=True)
    assert [group.name for group in groups(spec.stress)] == [
        *("M=4", "M=4 k=1", "M=4 k=2"),
        *("random", "random k=1", "random k=2"),
    ]
    assert {key.point.cores for key in keys_by_group(spec)["random"]} <= {3, 4}
    blocks = [list(block) for _, block in groupby(plan(spec), key=lambda key: set_seed(spec, key))]
    assert len(blocks) == 12 and {len(block) for block in blocks} == {3}
    for block in blocks:
        asked = sorted((parameters(spec, key) for key in block), key=lambda p: p.critical_cores)
        assert [p.critical_cores for p in asked] == [0, 1, 2]
        assert len({(p.tasks, p.sync_shares) for p in asked}) == 1


def test_a_shielded_set_has_its_critical_tasks_on_the_first_cores_alone() -> None:
    executor = FakeExecutor(cores=4)
    spec = stress(cores="4", sets=3, critical_cores=1, sync_share=1, per_core=2)
    costs = executor.calibrate(example_catalog(), Costing(pool="quick", seconds=1))
    for key in plan(spec):
        task_set = Synthesiser(example_catalog(), costs).synthesise(
            parameters(spec, key), set_seed(spec, key)
        )
        assert [task.critical for task in task_set.tasks] == [
            task.core == 0 for task in task_set.tasks
        ]
        for core in (1, 2, 3):
            load = sum(task.utilisation for task in task_set.tasks if task.core == core)
            assert Fraction(89, 100) < load <= Fraction(9, 10)


@pytest.mark.parametrize("mode", ["profile", "stress"])
def test_levels_of_one_set_are_adjacent_in_random_order_with_the_same_seed(mode: str) -> None:
    layer = {"tasks": {"deadline_factor": "2,5,10"}}
    if mode == "stress":
        spec = stress(layer, cores="2", sets=20)
    else:
        whole = specify({"preset": "quick", "cores": [2], "run": {"seconds": 2}}, layer)
        spec = resolve(whole, FakeExecutor(cores=4).describe()).spec
    keys = plan(spec)
    orders = set()
    for start in range(0, len(keys), 3):
        three = keys[start : start + 3]
        levels = tuple(key.point.deadline_factor_milli for key in three)
        assert sorted(levels) == [2000, 5000, 10_000]
        assert len({attrs.evolve(key.point, deadline_factor_milli=0) for key in three}) == 1
        assert len({(key.replica, set_seed(spec, key)) for key in three}) == 1
        assert [1000 * parameters(spec, key).deadline_factor for key in three] == list(levels)
        orders.add(levels)
    assert len(orders) > 3
    assert all("-d002000-" in key.text or "-d0" in key.text for key in keys)
    for batch in batches(keys, 30):
        assert len(batch) % 3 == 0, "the levels of a set were cut apart"


def test_a_utilisation_is_exact_and_leaves_the_deadline_factor_alone() -> None:
    spec = stress(cores="2", sets=20, utilisation="random:0.2..0.4", per_core=2)
    for key in plan(spec):
        asked = parameters(spec, key)
        assert Fraction(1, 5) <= asked.utilisation <= Fraction(2, 5)
        assert asked.utilisation * 1000 == int(asked.utilisation * 1000)
        assert asked.deadline_factor == 10


def test_a_utilisation_that_cannot_be_had_is_refused_before_anything_runs() -> None:
    with pytest.raises(UsageError, match=r"stress.utilisation: 1 task on a core reach"):
        stress(cores="2", sets=5, utilisation=0.9, wcet_max="110us")


def test_core_counts_of_a_preset_are_left_out_and_asked_ones_refused() -> None:
    paper = specify({"mode": "stress", "preset": "paper"})
    found = resolve(paper, FakeExecutor(cores=8).describe())
    assert found.missing_cores == (12, 16)
    assert [(g.name, g.sets) for g in groups(found.spec.stress)] == [
        *(("M=4", 3000), ("M=8", 3000), ("random", 5000)),
    ]
    random = groups(found.spec.stress)[-1]
    assert (random.low, random.high) == (1, 8)
    for cores in ("4,16", "random:2..16", 16):
        with pytest.raises(UsageError, match=r"stress.cores: 16 asked"):
            stress(cores=cores, available=8)
    fixed = specify({"mode": "stress", "preset": "fixed-cores"})
    with pytest.raises(UsageError, match="none of M = 4, 8, 12, 16 exists"):
        resolve(fixed, FakeExecutor(cores=2).describe())
    with pytest.raises(UsageError, match="3 critical cores leave none of 2"):
        stress(critical_cores=3, available=2)


def test_all_is_every_core_count_that_leaves_one_to_fill() -> None:
    spec = stress(cores="all", sets=1, critical_cores=1)
    assert [group.name for group in groups(spec.stress)] == ["M=2 k=1", "M=3 k=1", "M=4 k=1"]


def test_a_resolved_specification_stays_as_it_is() -> None:
    spec = stress(cores="2,random", sets=2)
    again = resolve(specify(spec_dict(spec)), FakeExecutor(cores=4).describe()).spec
    assert again == spec
    assert plan(again) == plan(spec)


def test_quick_takes_less_than_three_minutes_on_two_cores() -> None:
    spec = specify({"mode": "stress", "preset": "quick"})
    found = resolve(spec, FakeExecutor(cores=2).describe()).spec
    assert estimate(found).seconds < 180
    assert len(plan(found)) >= 90


def test_the_estimate_counts_the_jobs_of_filled_cores() -> None:
    plain = stress(cores="4", sets=5)
    filled = stress(cores="4", sets=5, critical_cores=1)
    assert estimate(filled).jobs > 5 * estimate(plain).jobs


def test_the_plan_of_the_paper_takes_seconds() -> None:
    spec = resolve(
        specify({"mode": "stress", "preset": "paper"}), FakeExecutor(cores=16).describe()
    ).spec
    keys = plan(spec)
    assert len(keys) == len({key.replica for key in keys}) == 17_000
