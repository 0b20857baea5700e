"""The truth is what this machine does: a short price stage, one without permission, one killed."""

import math
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

import pytest
from helpers.hardware import LOCK_WAIT, TWO_CORES, processes_of
from helpers.processes import until

from deadbeat.base.model.errors import TargetError
from deadbeat.machine.targets.base import Process
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.tasksets.catalog import load_catalog
from deadbeat.tasksets.executors.controls import HOLD, price_controls
from deadbeat.tasksets.executors.hardware import HardwareExecutor
from deadbeat.tasksets.prices.table import StoredPrices, price_table
from deadbeat.tasksets.prices.works import PriceWork, Pricing

pytestmark = [pytest.mark.hardware, TWO_CORES]
WORKS = tuple(
    PriceWork(object=name, size=size, operations=size, cores=(0, 1))
    for name, size in (("atomic_line", 16), ("pipe", 1), ("semaphore_posix", 8))
)


def test_a_second_prices_three_objects() -> None:
    told: list[float] = []
    executor = HardwareExecutor(lock_wait=LOCK_WAIT)
    batch = executor.price(Pricing(works=WORKS, seconds=1.0), told.append)
    stored = StoredPrices(platform=executor.describe(), policy="fifo", batches=(batch,))
    executor.close()
    table = price_table(stored)
    assert batch.errors == ("", "", "")
    assert told == sorted(told) and told[-1] > 0.5
    found = {price.object: price for price in table.prices}
    assert set(found) == {work.object for work in WORKS}
    for price in table.prices:
        known = (price.alone_ns, price.shared_ns, price.ratio, price.round_trip_ns)
        assert all(value is not None and 0 < value < math.inf for value in known)
        assert price.slots < 8 or (price.low_ns or 0) < (price.high_ns or 0)
    assert (found["atomic_line"].ratio or 0) > 1


def test_an_object_that_needs_a_policy_is_refused_by_name() -> None:
    executor = HardwareExecutor(lock_wait=LOCK_WAIT)
    refused = executor.unavailable(load_catalog(), policy="other", participants=2)
    executor.close()
    assert "SCHED_FIFO" in refused["mutex_inherit"]
    assert "atomic_line" not in refused


def test_a_fragment_that_is_not_there_ends_the_stage_with_its_reason() -> None:
    executor = HardwareExecutor(lock_wait=LOCK_WAIT)
    with pytest.raises(TargetError, match="there is no such fragment"):
        executor.price(Pricing(works=(PriceWork(object="nothing", size=1),), seconds=0.1))
    executor.close()


class _Started(LocalTarget):
    """Remembers the program, so that it can be killed."""

    program: Process | None = None

    def start(self, argv: Sequence[str]):  # type: ignore[no-untyped-def]
        self.program = super().start(argv)
        return self.program


def test_nothing_is_left_of_a_stage_that_is_killed() -> None:
    target = _Started()
    executor = HardwareExecutor(target=target, lock_wait=LOCK_WAIT)

    def kill(_share: float) -> None:
        end = monotonic() + 20  # a busy machine may show no round with one for each core
        while len(processes_of(executor.folder)) < 3 and monotonic() < end:
            os.sched_yield()
        os.kill(target.program.pid, signal.SIGKILL)  # type: ignore[union-attr]

    with pytest.raises(TargetError, match="was killed"):
        executor.price(Pricing(works=WORKS, seconds=60.0), kill)
    # death signals take effect once the parent is reaped
    until(lambda: not processes_of(executor.folder))
    assert not list(Path(executor.folder).glob("prices*"))
    assert executor.price(Pricing(works=WORKS[:1], seconds=0.1)).slots, "the lock is free"
    executor.close()


@pytest.mark.slow
def test_the_price_of_a_queue_and_of_private_copies_is_what_theory_says() -> None:
    """Two cores that hold one token in turn: 2 ns for each ns of hold."""
    executor = HardwareExecutor(lock_wait=LOCK_WAIT)
    found = {each.name: each for each in price_controls(executor, "fifo", 4.0)}
    executor.close()
    assert found["private-copies"].passed is not False
    assert found[HOLD.name].passed is not False
    assert found[HOLD.name].value == pytest.approx(2.0, abs=0.2)
