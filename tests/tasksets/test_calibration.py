"""The truth is the contract of measurement.md, held against short calibrations of this machine."""

import os
import re
from pathlib import Path

import pytest
from helpers.hardware import LOCK_WAIT, TWO_CORES

from deadbeat.tasksets.catalog import Catalog, load_catalog
from deadbeat.tasksets.executors.base import Costing
from deadbeat.tasksets.executors.calibration import CORES_VISITED
from deadbeat.tasksets.executors.hardware import HardwareExecutor
from deadbeat.tasksets.model.calibration import Calibration

pytestmark = pytest.mark.hardware
CATALOG = load_catalog()
#: A fragment that claims to be local to a core, and is not.
CROSSING = Path(__file__).parents[1] / "pools" / "crossing"


def calibrated(executor: HardwareExecutor, catalog: Catalog = CATALOG) -> Calibration:
    try:
        return executor.calibrate(catalog, Costing(pool="quick", seconds=1.0, policy="other"))
    finally:
        executor.close()


@TWO_CORES
def test_a_second_is_enough_for_every_cost_and_every_class() -> None:
    found = calibrated(HardwareExecutor(lock_wait=LOCK_WAIT))
    assert {text.split("/")[0] for text in found.refused} == {"mutex_inherit"}  # policy other
    assert all(cost.samples >= 4 for costs in found.costs.values() for cost in costs)
    classes = {text.split("/")[0] for text in found.costs} & {
        name for name, fragment in CATALOG.fragments.items() if fragment.kind == "SY"
    }
    assert set(found.parallel_ratio) == classes
    assert found.compute_parallel_ratio is not None


@TWO_CORES
def test_a_class_whose_objects_are_not_local_is_refuted() -> None:
    executor = HardwareExecutor(lock_wait=LOCK_WAIT, pools=CROSSING)
    assert calibrated(executor, load_catalog(CROSSING)).parallel_ratio["crossing"].refutes


@pytest.mark.slow  # which cores: test_calibration_statistics.py
def test_forty_cores_are_visited_as_eight_and_cost_the_same() -> None:
    cpu = min(os.sched_getaffinity(0))
    found = calibrated(HardwareExecutor(lock_wait=LOCK_WAIT, cpus=[cpu] * 40))
    for costs in found.costs.values():
        assert len(costs) == 40 and len(set(costs)) == 1
    assert found.parallel_ratio == {}  # on one CPU nothing ran at once
    assert len(found.cache_line_ps) <= CORES_VISITED


def test_an_object_that_cannot_serve_all_is_refused_before_anything_is_calibrated() -> None:
    executor = HardwareExecutor(lock_wait=LOCK_WAIT)
    few = executor.unavailable(CATALOG, policy="other", participants=2)
    many = executor.unavailable(CATALOG, policy="other", participants=65_535)
    executor.close()
    if "mq_posix" in few:
        pytest.skip(f"mq_posix: {few['mq_posix']}")
    served = re.match(r"its object serves at most (\d+) participants here, 65535", many["mq_posix"])
    assert served is not None and int(served[1]) >= 2
    assert "mutex_normal" not in many
