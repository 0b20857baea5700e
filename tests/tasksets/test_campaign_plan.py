"""Truth: measurement.md, "Design of an experiment", and what the fake executor really did."""

from collections import Counter
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pytest
from helpers.campaigns import begin, example_catalog, run, tiny_spec

from deadbeat.base.model.errors import UsageError
from deadbeat.tasksets.contention.plan import batches, parameters, plan, resolve, set_seed
from deadbeat.tasksets.contention.runner import estimate, run_length_s, run_seconds
from deadbeat.tasksets.contention.spec import read_spec, spec_dict, specify
from deadbeat.tasksets.executors.base import Costing
from deadbeat.tasksets.executors.simulated import FakeExecutor
from deadbeat.tasksets.executors.tables import plan_slots
from deadbeat.tasksets.model.results import Point, RunKey
from deadbeat.tasksets.synthesis import synthesise

#: The random mix: six sets at every point.
RANDOM = {"preset": "quick", "grid": {"mix": "random", "replicas": 6}}
SPEC = resolve(specify(RANDOM), FakeExecutor().describe()).spec


#: (tasks a core, alphas) of its two rows; 0: as [tasks] says.
ROWS = ((0, {0, 500, 1000}), (2, {0, 1000}))


def block(key: RunKey) -> tuple[int, int, int, int]:
    return key.point.per_core, key.point.cores, key.point.sync_share_milli, key.replica


def test_quick_is_the_papers_row_and_a_loaded_one() -> None:
    keys = plan(SPEC)
    assert len(keys) == len(set(keys)) == (18 + 4) * 6 == 132
    points = Counter(key.point for key in keys)
    assert set(points.values()) == {6}
    loaded = {point for point in points if point.per_core}
    assert loaded == {Point(m, 1000, alpha, 2000, 2) for m in (1, 2) for alpha in (0, 1000)}


def test_a_loaded_set_has_two_tasks_a_core_that_ask_for_all_of_it() -> None:
    for key in plan(SPEC):
        found = parameters(SPEC, key)
        loaded = key.point.per_core == 2
        assert found.tasks == key.point.cores * (2 if loaded else 1)
        assert found.deadline_factor == (2 if loaded else 10)


def test_the_alphas_of_a_block_are_adjacent() -> None:
    groups = [list(group) for _, group in groupby(plan(SPEC), key=block)]
    assert len(groups) == (2 * 3 + 2) * 6
    for group in groups:
        alphas = {key.point.contended_ratio_milli for key in group}
        assert (group[0].point.per_core, alphas) in ROWS


def test_blocks_and_alphas_come_in_random_order() -> None:
    keys = plan(SPEC)
    assert list(keys) != sorted(keys)
    grid = [key for key in keys if not key.point.per_core]
    orders = {
        tuple(key.point.contended_ratio_milli for key in group)
        for _, group in groupby(grid, key=block)
    }
    assert len(orders) == 6
    half = keys[: len(keys) // 2]
    assert 0 < sum(key.point.cores == 1 for key in half) < len(half)
    assert 0 < sum(key.point.per_core == 2 for key in half) < 4 * 6


def test_the_order_is_the_seeds_alone() -> None:
    # Golden: the order must never change between versions, or resumed campaigns would mix orders.
    assert [key.text for key in plan(tiny_spec())][:4] == [
        "m001-s1000-c0000-r0000",
        "m001-s1000-c1000-r0000",
        "m002-s1000-c1000-r0000",
        "m002-s1000-c0000-r0000",
    ]
    assert plan(tiny_spec({"seed": 2})) != plan(tiny_spec())


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 90, 1000])
def test_batches_keep_order_and_limit(limit: int) -> None:
    cut = batches(plan(SPEC), limit)
    assert [key for batch in cut for key in batch] == list(plan(SPEC))
    assert max(map(len, cut)) <= limit
    if limit >= 3:
        ends = [{block(batch[0]), block(batch[-1])} for batch in cut]
        for one, other in pairwise(ends):
            assert not one & other, "a block was cut"


def test_parameters_are_exact() -> None:
    spec = tiny_spec({"grid": {"sync_share": {"step": 0.1}}, "tasks": {"per_core": 3}})
    key = next(key for key in plan(spec) if key.point.sync_share_milli == 300)
    found = parameters(spec, key)
    assert found.sync_share * 10 == 3
    assert found.tasks == 3 * key.point.cores


def test_cores_and_cpus_come_from_the_machine() -> None:
    machine = FakeExecutor(cores=4).describe()
    assert resolve(specify(), machine).spec.cores == (1, 2, 3, 4)
    assert resolve(specify({"preset": "quick"}), machine).spec.cores == (1, 4)
    chosen = resolve(specify({"cpus": [3, 1]}), machine).spec
    assert (chosen.cores, chosen.cpus) == ((1, 2), (3, 1))


def test_preset_paper_names_the_cores_that_do_not_exist() -> None:
    found = resolve(specify({"preset": "paper"}), FakeExecutor(cores=4).describe())
    assert found.spec.cores == (1, 2, 3, 4)
    assert found.missing_cores == tuple(range(5, 17))


def test_cores_that_do_not_exist_are_refused() -> None:
    machine = FakeExecutor(cores=2).describe()
    with pytest.raises(UsageError, match=r"3 asked \(2 can be used"):
        resolve(specify({"cores": [1, 3]}), machine)
    with pytest.raises(UsageError, match="CPU 7 "):
        resolve(specify({"cpus": [0, 7]}), machine)


def test_several_cores_on_one_cpu_try_the_scale_and_measure_nothing() -> None:
    machine = FakeExecutor(cores=2).describe()
    shared = {"preset": "quick", "cpus": "0-1*32"}
    with pytest.raises(UsageError, match="several cores share a CPU"):
        specify(shared)
    spec = resolve(specify(shared, {"run": {"policy": "other"}}), machine).spec
    assert (spec.cores, spec.cpus) == ((1, 64), (0, 1) * 32)
    assert read_spec(spec_dict(spec)) == spec


ROW = {"per_core": 3, "deadline_factor": 40, "sync_share": [1], "contended_ratio": [0, 1]}


@pytest.mark.parametrize("layer", [{}, {"tasks": {"per_core": 12}}, {"loaded": ROW}])
def test_no_run_is_longer_than_its_bound(layer: dict[str, Any]) -> None:
    spec = tiny_spec(layer)
    how = spec.run.settings
    costs = FakeExecutor().calibrate(example_catalog(), Costing(pool="quick", seconds=1))
    wall_s = 0.0
    for key in plan(spec):
        made = synthesise(parameters(spec, key), example_catalog(), costs, set_seed(spec, key))
        wall_s += int(plan_slots(made, how)["end_ns"][-1]) / 1e9
    assert wall_s <= estimate(spec, calibrated=True).seconds
    # the fewest rounds take longer than what is asked
    assert run_length_s(spec, 2) >= 0.1
    assert run_length_s(spec, 40) > 2 * run_length_s(spec, 2)


@pytest.mark.parametrize(
    "layer", [{"grid": {"replicas": 4}}, {"loaded": ROW | {"per_core": 8, "deadline_factor": 8}}]
)
def test_the_estimate_bounds_what_is_written(tmp_path: Path, layer: dict[str, Any]) -> None:
    spec = tiny_spec(layer)
    store = begin(tmp_path, spec)
    run(spec, store)
    written = sum(path.stat().st_size for path in store.path.rglob("*") if path.is_file())
    need = estimate(spec)
    assert written <= need.bytes <= 20 * written
    jobs = sum(len(store.table(key).jobs) for key in store.committed())
    assert 0.9 * jobs <= need.jobs <= 2 * jobs


def test_quick_fits_into_three_minutes_on_two_cores() -> None:
    # Calibration included; building, summary and figures need the rest.
    assert estimate(SPEC).seconds <= 166
    assert estimate(SPEC, calibrated=True).seconds <= 146


def test_simulated_slots_take_no_time() -> None:
    quick = estimate(SPEC, simulated=True)
    assert quick.seconds < 15 and quick.jobs == estimate(SPEC).jobs
    assert run_seconds(SPEC, simulated=True) < 0.2 < run_seconds(SPEC, simulated=False)
