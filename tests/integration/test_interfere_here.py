"""The truth is what this machine does: those who share an object slow each other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing

import pytest
from attrs import evolve
from helpers.hardware import LOCK_WAIT

from deadbeat.kinds.channels.engine import HardwareChannels
from deadbeat.kinds.channels.results import ALONE, ASLEEP, slowdowns
from deadbeat.kinds.channels.spec import InterfereKey, InterfereSpec, SetWork, resolved
from deadbeat.model.errors import TargetError
from deadbeat.model.specification import read
from deadbeat.targets.local import LocalTarget

CPUS = tuple(sorted(os.sched_getaffinity(0)))
pytestmark = [
    pytest.mark.hardware,
    pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs"),
]


@pytest.fixture(scope="module")
def engine() -> Iterator[HardwareChannels]:
    with closing(LocalTarget()) as target:
        yield HardwareChannels(target, lock_wait=LOCK_WAIT)


def test_every_pair_has_its_slots_and_an_object_is_felt(engine: HardwareChannels) -> None:
    works = "matmul:20,pipe:4,spin:1024@shared"
    spec = resolved(read(InterfereSpec, {}, {"works": works, "seconds": 1}), CPUS[:2])
    run = engine.run(spec, InterfereKey(1))
    assert run.refused == {}
    rounds = 1 + max(slot[0] for slot in run.slots)
    # each victim twice alone, beside sleepers, and beside each work
    assert len(run.slots) == rounds * 3 * (3 + 3)
    for _, _, aggressor, uses, beside, took in run.slots:
        assert uses > 0 < took
        assert beside == 0 or aggressor != ALONE
    there = [slot[4] for slot in run.slots if slot[2] != ALONE]
    assert sum(there) >= 0.8 * len(there)
    found = {(c.victim, c.aggressor): c.value for c in slowdowns(spec.works, [run])}
    spin = SetWork("spin", 1024, shared=True)
    # a lock that another core holds half of the time, and a line that must come from there
    assert found[spin, spin] > 1.2
    assert {slot[2] for slot in run.slots} == {ALONE, ASLEEP, 0, 1, 2}


def test_a_fragment_that_is_not_there_is_refused(engine: HardwareChannels) -> None:
    spec = resolved(read(InterfereSpec, {}, {"works": "matmul", "seconds": 1}), CPUS[:2])
    with pytest.raises(TargetError, match="there is no fragment nothing"):
        engine.run(evolve(spec, works=(SetWork("nothing", 1),)), InterfereKey(1))
