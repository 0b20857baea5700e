"""Truth: measurement.md, "Design of an experiment", and what the fake executor really did."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest
from helpers.campaigns import TINY, begin, run, tiny_spec

from deadbeat.campaign.plan import batches, estimate, parameters, plan, resolve, run_seconds
from deadbeat.campaign.spec import specify
from deadbeat.executors.fake import FakeExecutor
from deadbeat.model.errors import UsageError
from deadbeat.model.results import RunKey
from deadbeat.synthesis import seed_for

SOLO = {"run": {"solo_seconds": "auto"}}
SPEC = resolve(specify({"preset": "quick"}), FakeExecutor().describe()).spec


def block(key: RunKey) -> tuple[int, int, int]:
    return key.point.cores, key.point.sync_share_milli, key.replica


def test_every_point_gets_every_replica_once() -> None:
    keys = plan(SPEC)
    assert len(keys) == len(set(keys)) == 2 * 3 * 3 * SPEC.grid.replicas


def test_the_alphas_of_a_block_are_adjacent() -> None:
    groups = [list(group) for _, group in groupby(plan(SPEC), key=block)]
    assert len(groups) == 2 * 3 * SPEC.grid.replicas
    assert all(len({key.point.contended_ratio_milli for key in group}) == 3 for group in groups)


def test_blocks_and_alphas_come_in_random_order() -> None:
    keys = plan(SPEC)
    assert list(keys) != sorted(keys)
    orders = {
        tuple(key.point.contended_ratio_milli for key in group)
        for _, group in groupby(keys, key=block)
    }
    assert len(orders) == 6
    halves = [key.point.cores for key in keys[: len(keys) // 2]]
    assert 0 < halves.count(1) < len(halves)


def test_the_order_is_the_seeds_alone() -> None:
    # Golden: the order must never change between versions, or resumed campaigns would mix orders.
    assert [key.text for key in plan(tiny_spec())][:4] == [
        "m001-s1000-c0000-r0000",
        "m001-s1000-c1000-r0000",
        "m002-s1000-c1000-r0000",
        "m002-s1000-c0000-r0000",
    ]
    assert plan(tiny_spec({"seed": 2})) != plan(tiny_spec())


def test_random_numbers_are_common_to_rho_and_alpha() -> None:
    same = {
        (key.point.cores, key.replica): seed_for(SPEC.seed, key.point.cores, key.replica)
        for key in plan(SPEC)
    }
    assert len(set(same.values())) == 2 * SPEC.grid.replicas


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 90, 1000])
def test_batches_keep_order_and_limit(limit: int) -> None:
    cut = batches(plan(SPEC), limit)
    assert [key for batch in cut for key in batch] == list(plan(SPEC))
    assert max(map(len, cut)) <= limit
    if limit >= 3:
        for batch in cut:
            assert len(batch) % 3 == 0, "a block of three alphas was cut"


def test_parameters_are_exact() -> None:
    spec = tiny_spec({"grid": {"sync_share": {"step": 0.1}}, "tasks": {"per_core": 3}}, SOLO)
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
    with pytest.raises(UsageError, match=r"M = 3 asked \(2 cores can be used here"):
        resolve(specify({"cores": [1, 3]}), machine)
    with pytest.raises(UsageError, match="there is no CPU 7"):
        resolve(specify({"cpus": [0, 7]}), machine)


def test_solo_windows_are_checked_against_the_cores_of_the_machine() -> None:
    spec = specify({"preset": "quick", "run": {"solo_seconds": 0.3}})
    with pytest.raises(UsageError, match=r"solo_seconds: a window of 9\.38 ms"):
        resolve(spec, FakeExecutor(cores=32).describe())


@pytest.mark.parametrize("cores", [1, 2, 16, 64])
def test_solo_windows_are_long_enough_on_any_machine(cores: int) -> None:
    spec = resolve(specify({"preset": "quick"}), FakeExecutor(cores=cores).describe()).spec
    assert spec.run.solo_seconds is not None
    per_task_ns = spec.run.solo_seconds * 1e9 / cores
    assert per_task_ns >= (spec.run.warmup_jobs + 4) * 5_000_000
    assert spec.run.solo_seconds >= spec.run.seconds / 2


def test_the_estimate_bounds_what_is_written(tmp_path: Path) -> None:
    spec = tiny_spec({"grid": {"replicas": 4}})
    store = begin(tmp_path, spec)
    run(spec, store)
    written = sum(path.stat().st_size for path in store.path.rglob("*") if path.is_file())
    need = estimate(spec)
    assert written <= need.bytes <= 20 * written
    jobs = sum(len(store.table(key).jobs) for key in store.committed())
    assert 0.8 * jobs <= need.jobs <= 1.5 * jobs


def test_quick_fits_into_three_minutes_on_two_cores() -> None:
    # Repeats, calibration and noise floor included; building, summary and figures need the rest.
    assert estimate(SPEC).seconds <= 166
    assert estimate(SPEC, calibrated=True).seconds <= 146


def test_nobody_waits_for_simulated_windows() -> None:
    quick = estimate(SPEC, simulated=True)
    assert quick.seconds < 15 and quick.jobs == estimate(SPEC).jobs
    assert run_seconds(SPEC, simulated=True) < 0.2 < run_seconds(SPEC, simulated=False)


def test_tiny_is_what_the_other_tests_believe() -> None:
    assert len(plan(tiny_spec())) == 8
    assert specify(TINY).name == "tiny"
