"""The truth is what this machine does: every primitive runs, where and as it was asked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing

import pytest
from attrs import evolve
from helpers.hardware import LOCK_WAIT

from deadbeat.build.allocators import ALLOCATORS
from deadbeat.kinds.primitives.engine import HardwarePrimitives
from deadbeat.kinds.primitives.pool import primitives
from deadbeat.kinds.primitives.results import PrimitiveRun
from deadbeat.kinds.primitives.spec import (
    PrimitiveCase,
    PrimitiveKey,
    PrimitivesSpec,
    cases,
    placed,
    resolved,
)
from deadbeat.model.errors import RunError, UsageError
from deadbeat.model.specification import read
from deadbeat.targets.local import LocalTarget

pytestmark = pytest.mark.hardware

CPUS = tuple(sorted(os.sched_getaffinity(0)))
SPEC = resolved(read(PrimitivesSpec, {}, {"seconds": "0.02", "sizes": "64,10K"}), CPUS)


@pytest.fixture(scope="module")
def engine() -> Iterator[HardwarePrimitives]:
    with closing(LocalTarget()) as target:
        yield HardwarePrimitives(target, lock_wait=LOCK_WAIT)


def run(engine: HardwarePrimitives, case: PrimitiveCase, **more: object) -> PrimitiveRun:
    return engine.run(evolve(SPEC, **more), PrimitiveKey(case, 1))  # type: ignore[arg-type]


@pytest.mark.parametrize("case", cases(SPEC)[0], ids=lambda case: case.text)
def test_every_case_has_samples_and_threads_are_where_they_should_be(
    engine: HardwarePrimitives, case: PrimitiveCase
) -> None:
    found = run(engine, case)
    cpus = placed(case, CPUS)
    primitive = primitives()[case.test]
    above = primitive.group == 2 and not primitive.equal
    assert found.threads
    assert primitive.group == 2 or len(found.threads) == len(cpus)
    for thread in found.threads:
        assert thread.cpu == cpus[thread.thread]
        priority = SPEC.priority + (above and thread.thread % 2)
        assert (thread.policy, thread.priority) == ("fifo", priority)
        # every sample has the gap before it
        assert thread.times.total == thread.gaps.total > 0
        shown = max((late.value_ns for late in thread.late_times), default=0)
        # the longest is among those that are kept with their moment, if it was long at all
        assert shown == thread.times.max_ns or thread.times.max_ns <= thread.watch_ns


def test_a_batch_is_one_sample(engine: HardwarePrimitives) -> None:
    case = PrimitiveCase("clock", "", 0, "one")
    one, many = run(engine, case), run(engine, evolve(case, test="syscall"), batch=1000)
    assert (one.batch, many.batch) == (1, 1000)
    # a system call takes at least as long as its own instruction, whatever the machine
    assert many.threads[0].times.min_ns > 1000
    assert many.threads[0].times.total < one.threads[0].times.total


def test_a_program_has_the_allocator_that_it_is_called_after(engine: HardwarePrimitives) -> None:
    # it finds out itself which it has; a run of another is refused (see parsed())
    found = engine.allocators(())
    assert found[0] == "libc"
    for name in found[1:]:
        case = PrimitiveCase("alloc", "ring", 64, "one", f"native:{name}")
        assert run(engine, case).threads[0].times.total > 0


def test_an_allocator_that_is_not_installed_is_named_with_its_package() -> None:
    with closing(LocalTarget()) as target:
        here = HardwarePrimitives(target)
        for name in set(ALLOCATORS) - set(here.allocators(())):
            with pytest.raises(UsageError, match=f"{name} is not installed"):
                here.allocators((name,))


def test_what_it_cannot_do_it_says(engine: HardwarePrimitives) -> None:
    with pytest.raises(RunError, match="no such variant"):
        run(engine, PrimitiveCase("copy", "sideways", 64, "one"))
