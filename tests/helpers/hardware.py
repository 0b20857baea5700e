"""Task sets of test fragments, whose work has a known length, for runs on this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deadbeat.build.toolchain import Toolchain
from deadbeat.executors.base import Injection, RunOutcome, RunRequest, RunSettings
from deadbeat.executors.hardware import HardwareExecutor
from deadbeat.model.jobs import JobTable
from deadbeat.model.results import Point, RunKey
from deadbeat.model.tasks import Entry, FragmentUse, Kind, Resource, Segment, Task, TaskSet
from deadbeat.store.jobfile import read_job_table
from deadbeat.targets.local import LocalTarget
from helpers.processes import running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deadbeat.targets.base import Target

POOLS = Path(__file__).parents[1] / "pools" / "runtime"
MS = 1_000_000
#: Real-time runs of tests wait for one another, however many test processes there are.
LOCK_WAIT = 300.0
TWO_CORES = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="on one core nothing runs at once"
)
_DEADLINE = 6  # SCHED_DEADLINE, which Python has no name for


class AsNobody(LocalTarget):
    """This machine as a user without privileges sees it."""

    def __init__(self) -> None:
        super().__init__()
        Path(self.folder).chmod(0o777)

    def start(self, argv: Sequence[str]):  # type: ignore[no-untyped-def]
        nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        return super().start([*nobody, *argv])


def settings(**changes: object) -> RunSettings:
    given = {"seconds": 0.05, **changes}
    return RunSettings(**given)  # type: ignore[arg-type]


def task(
    fragment: str, size: int, *, core: int = 0, period_ns: int = MS, priority: int = 70
) -> Task:
    use = FragmentUse(Entry(fragment, size), 1)
    return Task(
        name=f"{fragment}{core}",
        core=core,
        wcet_ns=100_000,
        period_ns=period_ns,
        deadline_ns=period_ns,
        offset_ns=period_ns // 3,
        priority=priority,
        seed=7 + core,
        segments=(Segment(Kind.NS, 100_000_000, 100_000_000, (use,)),),
    )


def task_of(
    *uses: FragmentUse, core: int = 0, period_ns: int = MS, offset_ns: int = 0, priority: int = 70
) -> Task:
    """A task of these uses; those bound to a resource synchronise."""
    return Task(
        name=f"t{core}",
        core=core,
        wcet_ns=100_000,
        period_ns=period_ns,
        deadline_ns=period_ns,
        offset_ns=offset_ns,
        priority=priority,
        seed=7 + core,
        segments=tuple(
            Segment(Kind.NS if use.resource is None else Kind.SY, 50_000_000, 50_000_000, (use,))
            for use in uses
        ),
    )


def task_set(*tasks: Task, resources: tuple[Resource, ...] = ()) -> TaskSet:
    return TaskSet(
        cores=1 + max(t.core for t in tasks),
        tasks=tasks,
        resources=resources,
        seed=1,
        generator="test",
        sync_share=Fraction(0),
        contended_ratio=Fraction(0),
        sync_share_real=0.0,
        contended_ratio_real=0.0,
    )


def keys(count: int) -> list[RunKey]:
    return [RunKey(Point(1, 0, 0), number) for number in range(count)]


@contextmanager
def executor(
    *, target: Target | None = None, toolchain: Toolchain | None = None, lock_memory: bool = True
) -> Iterator[HardwareExecutor]:
    made = HardwareExecutor(
        target=target,
        toolchain=toolchain,
        lock_wait=LOCK_WAIT,
        pools=POOLS,
        lock_memory=lock_memory,
    )
    try:
        yield made
    finally:
        made.close()


def run_all(
    machine: HardwareExecutor, task_sets: Sequence[TaskSet], how: RunSettings
) -> list[RunOutcome]:
    requests = [RunRequest(k, s) for k, s in zip(keys(len(task_sets)), task_sets, strict=True)]
    with machine.open(requests, how) as session:
        return [session.run(request.key) for request in requests]


def table_of(outcome: RunOutcome) -> JobTable:
    assert outcome.error is None, outcome.error
    assert outcome.file is not None
    return read_job_table(outcome.file)


def processes_of(folder: str) -> list[int]:
    """Processes whose program lies in ``folder``."""
    return running(lambda entry: str((entry / "exe").readlink()).startswith(folder))


def stands_above(process: int) -> bool:
    """Whether nothing of a fixed priority has a CPU before it, except perhaps its equals."""
    policy = os.sched_getscheduler(process) & ~os.SCHED_RESET_ON_FORK
    return policy == _DEADLINE or os.sched_getparam(process).sched_priority == 99


def measured(wanted: TaskSet, how: RunSettings, **more: object) -> JobTable:
    """The table of one task set run on this machine; ``more`` as of `attempted`."""
    with attempted(wanted, how, **more) as outcome:
        return table_of(outcome)


@contextmanager
def attempted(
    wanted: TaskSet,
    how: RunSettings,
    *,
    inject: Injection | None = None,
    target: Target | None = None,
) -> Iterator[RunOutcome]:
    """What came of one task set run on this machine."""
    (key,) = keys(1)
    with executor(target=target) as machine:
        with machine.open([RunRequest(key, wanted)], how, inject=inject) as session:
            outcome = session.run(key)
        yield outcome
