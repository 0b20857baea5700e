"""The record file of one run, wherever it was made: what ``deadbeat emit``'s programs leave."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from attrs import frozen

from deadbeat.executors.metrics import JobColumns, job_columns
from deadbeat.model import jobs as j
from deadbeat.model.errors import UsageError
from deadbeat.model.jobs import JobTable
from deadbeat.store.files import followed
from deadbeat.store.jobfile import read_job_table

SUFFIX = ".jobs"


@frozen(kw_only=True)
class TaskOfRun:
    """One task, from its counted jobs beside the others; ``slowdown`` is against itself alone.

    What no job tells is None.
    """

    task: int
    core: int
    cpu: int
    priority: int
    jobs: int
    missed: int
    slowdown: float | None
    delay_ratio: float | None
    longest_response_us: float | None


@frozen(kw_only=True)
class RunOfFile:
    """One run; ``slowdown`` is the mean over its tasks, ``measured_s`` the time of its slots, s."""

    file: str
    set_id: str
    realtime: bool
    one_process: bool
    measured_s: float
    slowdown: float | None
    tasks: tuple[TaskOfRun, ...]


def read_run(path: Path) -> RunOfFile:
    """The run in ``path``.

    Raises:
        UsageError: There is no such file.
        DataError: It is damaged.
    """
    if not path.is_file():
        raise UsageError(f"there is no file {path}", "name a file that a task set's program wrote")
    table = read_job_table(followed(path))
    columns = job_columns(table)
    tasks = tuple(_task(table, columns, number) for number in range(len(table.tasks)))
    known = [each.slowdown for each in tasks if each.slowdown is not None]
    flags = int(table.header["flags"])
    return RunOfFile(
        file=str(path),
        set_id=table.set_id,
        realtime=bool(flags & j.RUN_REALTIME),
        one_process=bool(flags & j.RUN_ONE_PROCESS),
        measured_s=int(table.header["measured_ns"]) / 1e9,
        slowdown=float(np.mean(known)) if known else None,
        tasks=tasks,
    )


def _task(table: JobTable, columns: JobColumns, number: int) -> TaskOfRun:
    row = table.tasks[number]
    mine = columns.counted & (columns.task == number)
    together, alone = mine & ~columns.solo, mine & columns.solo
    spans, solo = (columns.span_ns[each & columns.finished] for each in (together, alone))
    responses = columns.response_ns[together & columns.finished]
    return TaskOfRun(
        task=number,
        core=int(row["core"]),
        cpu=int(row["cpu"]),
        priority=int(row["priority"]),
        jobs=int(together.sum()),
        missed=int((columns.missed & together).sum()),
        slowdown=float(spans.mean() / solo.mean()) if len(spans) and len(solo) else None,
        delay_ratio=float(spans.mean() / float(row["wcet_ns"])) if len(spans) else None,
        longest_response_us=float(responses.max() / 1000) if len(responses) else None,
    )
