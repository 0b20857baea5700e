"""A window of a simulated schedule: what Gantt chart, trace and page draw."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from deadbeat.model.systems import TaskSystem
from deadbeat.sched import _core
from deadbeat.sched.arrays import task_rows
from deadbeat.sched.simulator import Scheduler, Verdict, core_options

#: Jobs that a window has unless told otherwise: what one can read, and what a viewer can hold.
JOBS_READABLE = 120
JOBS_TRACED = 20_000


@frozen(kw_only=True)
class Picture:
    """The schedule in [start, end].

    Attributes:
        segments: SEGMENT_FIELDS, those that reach into the window, whole.
        jobs: JOB_FIELDS, those released before the end and not complete before the start.
        until: [0, until) was simulated for this picture.
        note: What is not shown, or ""; one line.
    """

    system: TaskSystem
    verdict: Verdict
    start: int
    end: int
    until: int
    segments: NDArray[np.int64] = field(eq=False, repr=False)
    jobs: NDArray[np.int64] = field(eq=False, repr=False)
    note: str = ""


def window(system: TaskSystem, verdict: Verdict, *, jobs: int = JOBS_READABLE) -> tuple[int, int]:
    """The window to draw unless one is given: about ``jobs`` jobs.

    It begins at 0, or ends soon after the first miss where that comes later.
    """
    rate = sum((Fraction(1, task.period) for task in system.tasks), Fraction(0))
    length = _round_up(max(1, round(jobs / rate)))
    until = max(1, verdict.until)
    if until <= length:
        return 0, until
    miss = verdict.first_miss
    if miss is None or miss <= length:
        return 0, length
    end = min(until, miss + length // 10)
    return max(0, end - length), max(1, end)


def _round_up(length: int) -> int:
    """To two digits: a window that ends where a tick is."""
    power: int = 10 ** max(0, len(str(length)) - 2)
    return -(-length // power) * power


@frozen(kw_only=True)
class Records:
    """What happened in [0, until): JOB_FIELDS and SEGMENT_FIELDS, -1 for what did not."""

    until: int
    truncated: bool
    jobs: NDArray[np.int64] = field(eq=False, repr=False)
    segments: NDArray[np.int64] = field(eq=False, repr=False)


def observe(
    system: TaskSystem,
    scheduler: Scheduler,
    *,
    horizon: int,
    run_on: bool = False,
    budget: int = 5_000_000,
    segments: bool = True,
) -> Records:
    """Simulates [0, horizon), or up to the first miss unless ``run_on``, and records it.

    The releases are periodic, from the offsets.
    """
    options = core_options(scheduler)
    options.budget = budget
    options.stop_at_miss = not run_on
    options.record_jobs = True
    options.record_segments = segments
    found = _core.simulate(system.processors, task_rows(system.tasks), options, horizon)
    jobs = found["jobs"]
    jobs[jobs == np.iinfo(np.int64).max] = -1
    return Records(
        until=found["until"], truncated=found["truncated"], jobs=jobs, segments=found["segments"]
    )


def picture(
    system: TaskSystem,
    verdict: Verdict,
    *,
    start: int,
    end: int,
    run_on: bool = False,
    budget: int = 5_000_000,
) -> Picture:
    """The schedule of ``verdict`` in [start, end], simulated again with records."""
    found = observe(system, verdict.scheduler, horizon=end, run_on=run_on, budget=budget)
    last = min(end, max(found.until, 1))
    start = min(start, last - 1)
    rows, jobs = found.segments, found.jobs
    rows = rows[(rows[:, 4] > start) & (rows[:, 3] < last)]
    finish = np.where(jobs[:, 4] < 0, np.iinfo(np.int64).max, jobs[:, 4])
    near = (np.maximum(finish, jobs[:, 5]) >= start) & (jobs[:, 2] < last)
    return Picture(
        system=system,
        verdict=verdict,
        start=start,
        end=last,
        until=found.until,
        segments=rows[np.lexsort((rows[:, 2], rows[:, 3]))],
        jobs=jobs[near],
        note=_note(verdict, found, start, last),
    )


def _note(verdict: Verdict, found: Records, start: int, end: int) -> str:
    if found.truncated:
        return "records were cut off: choose an earlier window"
    if verdict.model == "sporadic":
        other = "; the releases that miss are others" if verdict.pattern else ""
        return f"one of the release patterns the model allows: periodic{other}"
    if start > 0 or end < verdict.until:
        return f"cut: shown is [{start}, {end}) of [0, {verdict.until}) simulated"
    return ""
