"""Small job tables, task sets and campaigns, written out by hand."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, field, frozen

from deadbeat.base.model import jobs as j
from deadbeat.base.model.jobs import JobTable
from deadbeat.tasksets.model.calibration import Calibration, Cost
from deadbeat.tasksets.model.examples import example_calibration
from deadbeat.tasksets.model.results import Point, RunKey
from deadbeat.tasksets.model.tasks import Entry, FragmentUse, Kind, Resource, Segment, Task, TaskSet
from deadbeat.tasksets.store.campaign import CampaignStore
from deadbeat.tasksets.store.jobfile import new_header

SET_ID = "0123456789abcdef" * 4
COUNTED = j.JOB_COUNTED


@frozen(kw_only=True)
class RunTask:
    """A task of a table: times in ns."""

    core: int = 0
    wcet_ns: int = 100
    period_ns: int = 1000
    deadline_ns: int = 1000


@frozen(kw_only=True)
class Job:
    """A job: start None is never started, finish None never finished."""

    release: int
    start: int | None
    finish: int | None
    slot: int = 0
    counted: bool = True
    skipped: bool = False


def ran(release: int, start: int, finish: int, *, slot: int = 0, counted: bool = True) -> Job:
    return Job(release=release, start=start, finish=finish, slot=slot, counted=counted)


def skip(release: int, *, slot: int = 0, counted: bool = True) -> Job:
    return Job(release=release, start=None, finish=None, slot=slot, counted=counted, skipped=True)


@frozen(kw_only=True)
class Slot:
    """A slot; ``solo`` is the task that runs alone in it. ``begin`` None: without a warm-up."""

    solo: int | None = None
    start: int = 0
    end: int = 1_000_000
    round: int = 0
    begin: int | None = None


def job_table(
    tasks: Sequence[RunTask],
    jobs: Sequence[Sequence[Job]],
    *,
    slots: Sequence[Slot] = (Slot(),),
    probes: Sequence[tuple[int, int, int, int, int]] = (),
    flags: int = j.RUN_REALTIME,
    set_id: str = SET_ID,
) -> JobTable:
    """A table of ``jobs`` per task; a probe is (slot, kind, core a, core b, ps)."""
    task_rows = np.zeros(len(tasks), j.TASK_DTYPE)
    first = 0
    for index, (task, own) in enumerate(zip(tasks, jobs, strict=True)):
        row = task_rows[index : index + 1]
        row["task"], row["core"], row["cpu"] = index, task.core, task.core
        row["policy"], row["priority"] = 1, 60
        row["wcet_ns"], row["period_ns"] = task.wcet_ns, task.period_ns
        row["deadline_ns"], row["first_job"], row["job_count"] = task.deadline_ns, first, len(own)
        first += len(own)
    slot_rows = np.zeros(len(slots), j.SLOT_DTYPE)
    for index, slot in enumerate(slots):
        kind = j.SLOT_TOGETHER if slot.solo is None else j.SLOT_SOLO
        task = 0xFFFF if slot.solo is None else slot.solo
        begin = slot.start if slot.begin is None else slot.begin
        slot_rows[index] = (index, kind, task, slot.round, begin, slot.start, slot.end)
    probe_rows = np.zeros(len(probes), j.PROBE_DTYPE)
    for index, (slot, kind, core_a, core_b, value_ps) in enumerate(probes):
        probe_rows[index] = (slot, kind, core_a, core_b, 0, value_ps)
    job_rows = np.zeros(first, j.JOB_DTYPE)
    flat = [(index, job) for index, own in enumerate(jobs) for job in own]
    for index, (task_index, job) in enumerate(flat):
        job_rows[index : index + 1] = _job_row(task_index, job, slots[job.slot])
    return JobTable(
        header=new_header(set_id=set_id, flags=flags),
        tasks=task_rows,
        slots=slot_rows,
        probes=probe_rows,
        jobs=job_rows,
    )


def _job_row(task: int, job: Job, slot: Slot) -> np.ndarray:
    row = np.zeros(1, j.JOB_DTYPE)
    bits = j.JOB_COUNTED if job.counted else 0
    bits |= j.JOB_SOLO if slot.solo is not None else 0
    bits |= j.JOB_SKIPPED if job.skipped else 0
    bits |= j.JOB_STARTED if job.start is not None else 0
    bits |= j.JOB_FINISHED if job.finish is not None else 0
    row["release_ns"], row["task"], row["slot"], row["flags"] = (job.release, task, job.slot, bits)
    row["start_ns"] = j.NEVER if job.start is None else job.start
    row["finish_ns"] = j.NEVER if job.finish is None else job.finish
    return row


def key(
    cores: int = 2, sync_share: int = 500, contended_ratio: int = 1000, replica: int = 0
) -> RunKey:
    return RunKey(Point(cores, sync_share, contended_ratio), replica)


COSTS_PS = {"work/1": 1000, "lock/1": 1000, "queue/1": 1000}


def calibration(
    *, cores: int = 2, kind: str = "hardware", policy: str = "fifo", basis: str = "warm"
) -> Calibration:
    """Every use costs 1 ns a repeat."""
    made = example_calibration({}, cores=cores)
    parts = [
        f"{part}{end}_ps" for part in ("first", "again", "repeat") for end in ("", "_low", "_high")
    ]
    return evolve(
        made,
        platform=evolve(made.platform, kind=kind, preemption="full"),
        basis=basis,
        policy=policy,
        costs={
            entry: (Cost(**dict.fromkeys(parts, ps), samples=1, rejected=0),) * cores
            for entry, ps in COSTS_PS.items()
        },
        yardstick_ps=(1_000_000,) * cores,
    )


def made_task(*segments: Segment, core: int = 0, period_ns: int = 1_000_000, **more: Any) -> Task:
    times = {"wcet_ns": 100_000, "period_ns": period_ns, "deadline_ns": period_ns, "offset_ns": 0}
    given = {"name": f"t{core}", "priority": 70, "seed": 7 + core, **times, **more}
    return Task(core=core, segments=segments, **given)


def made_set(tasks: Sequence[Task], resources: Sequence[Resource] = (), **more: float) -> TaskSet:
    given = {"sync_share_real": 0.5, "contended_ratio_real": 1.0, **more}
    return TaskSet(
        cores=1 + max(task.core for task in tasks),
        tasks=tuple(tasks),
        resources=tuple(resources),
        seed=77,
        generator="test",
        sync_share=Fraction(given["sync_share_real"]),
        contended_ratio=Fraction(given["contended_ratio_real"]),
        **given,
    )


@frozen(kw_only=True)
class PlannedTask:
    """Uses of a task in order: (fragment, repeats, resource index or None)."""

    core: int
    uses: Sequence[tuple[str, int, int | None]] = field(default=(("work", 100, None),))


def task_set(
    tasks: Sequence[PlannedTask],
    resources: Sequence[Resource] = (),
    *,
    sync_share_real: float = 0.5,
    contended_ratio_real: float = 1.0,
) -> TaskSet:
    made = []
    for index, task in enumerate(tasks):
        uses = tuple(FragmentUse(Entry(name, 1), n, resource) for name, n, resource in task.uses)
        cost = 1000 * sum(use.repeats for use in uses)
        made.append(
            made_task(
                Segment(Kind.NS, cost, cost, uses),
                name=f"t{index}", core=task.core, wcet_ns=cost // 1000, period_ns=1000, seed=index,
            )
        )  # fmt: skip
    return made_set(
        made, resources, sync_share_real=sync_share_real, contended_ratio_real=contended_ratio_real
    )


def new_store(path: Path) -> CampaignStore:
    return CampaignStore.create(path, {"name": "test"}, 5)
