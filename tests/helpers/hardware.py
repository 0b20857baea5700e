"""Task sets of test fragments, whose work has a known length, for runs on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deadbeat.base.model.jobs import JobTable
from deadbeat.build.toolchain import Toolchain
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.tasksets.executors.base import RunOutcome, RunRequest, RunSettings
from deadbeat.tasksets.executors.hardware import HardwareExecutor
from deadbeat.tasksets.model.results import Point, RunKey
from deadbeat.tasksets.model.tasks import Entry, FragmentUse, Kind, Resource, Segment, Task, TaskSet
from deadbeat.tasksets.store.jobfile import read_job_table
from helpers.processes import running
from helpers.runs import made_set, made_task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deadbeat.machine.targets.base import Target

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
    whole = Segment(Kind.NS, 100_000_000, 100_000_000, (FragmentUse(Entry(fragment, size), 1),))
    how = {"offset_ns": period_ns // 3, "priority": priority, "name": f"{fragment}{core}"}
    return made_task(whole, core=core, period_ns=period_ns, **how)


def task_of(*uses: FragmentUse, **how: int) -> Task:
    """A task of these uses; those bound to a resource synchronise."""
    kinds = {True: Kind.NS, False: Kind.SY}
    parts = (Segment(kinds[u.resource is None], 50_000_000, 50_000_000, (u,)) for u in uses)
    return made_task(*parts, **how)


def task_set(*tasks: Task, resources: tuple[Resource, ...] = ()) -> TaskSet:
    return made_set(tasks, resources, sync_share_real=0.0, contended_ratio_real=0.0)


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
    inject: Mapping[str, str] | None = None,
    target: Target | None = None,
) -> Iterator[RunOutcome]:
    """What came of one task set run on this machine."""
    (key,) = keys(1)
    with executor(target=target) as machine:
        with machine.open([RunRequest(key, wanted)], how, inject=inject) as session:
            outcome = session.run(key)
        yield outcome
