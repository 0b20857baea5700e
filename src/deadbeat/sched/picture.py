"""A window of a simulated schedule: what Gantt chart, trace and page draw."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from deadbeat.base.model.systems import TaskSystem
from deadbeat.sched.arrays import task_rows
from deadbeat.sched.simulator import Verdict, core_options

if TYPE_CHECKING:
    from deadbeat.sched import _core
else:
    from deadbeat.sched.core import lazy as _core

#: Jobs that a window has by default: what one can read, and what a viewer can hold.
JOBS_READABLE = 120
JOBS_TRACED = 20_000
_WORDS_LONGEST = 100


class DrawnJob(NamedTuple):
    """A job, in the order of JOB_FIELDS; -1 for what did not happen."""

    task: int
    job: int
    release: int
    start: int
    finish: int
    deadline: int


@frozen(kw_only=True)
class Picture:
    """The schedule in [start, end].

    Attributes:
        segments: See `Verdict`; the ones that reach into the window, whole.
        jobs: JOB_FIELDS, released before the end and not complete before the start.
        until: [0, until) was simulated for this picture.
        note: What is not shown, or ""; one line.
        releases: Which of the releases that the model allows these are, or "" where there is but
            one pattern; a few words.
        holds: See `Verdict`.
    """

    system: TaskSystem
    verdict: Verdict
    start: int
    end: int
    until: int
    segments: NDArray[np.int64] = field(eq=False, repr=False)
    jobs: NDArray[np.int64] = field(eq=False, repr=False)
    note: str = ""
    releases: str = ""
    holds: tuple[tuple[int, ...], ...] = ()

    def hold_words(self, task: int, lock: int, holder: int) -> str:
        """``waits for bus, held by logger``, or ``holds bus``."""
        name, label = self.system.locks[lock].name, self.system.label
        if task == holder:
            return f"holds {name}"
        return f"waits for {name}, " + (f"held by {label(holder)}" if holder >= 0 else "free")

    @property
    def drawn_jobs(self) -> list[DrawnJob]:
        """``jobs``, each by its names."""
        return [DrawnJob(*map(int, row)) for row in self.jobs]

    def missed(self, job: DrawnJob) -> bool:
        """Whether it completed late, or not at all although its deadline was simulated."""
        late = job.finish > job.deadline
        return late or (job.finish < 0 and job.deadline <= self.until)


def window(system: TaskSystem, verdict: Verdict, *, jobs: int = JOBS_READABLE) -> tuple[int, int]:
    """The window to draw unless one is given: about ``jobs`` jobs.

    It begins at 0, or ends soon after the first miss where that comes later.
    """
    rate = sum((Fraction(1, task.period) for task in system.tasks), Fraction(0))
    length = max(1, round(jobs / rate))
    power: int = 10 ** max(0, len(str(length)) - 2)
    length = -(-length // power) * power  # to two digits: it ends where a tick is
    until = max(1, verdict.until)
    if until <= length:
        return 0, until
    miss = verdict.first_miss
    if miss is None or miss <= length:
        return 0, length
    end = min(until, miss + length // 10)
    return max(0, end - length), max(1, end)


@frozen(kw_only=True)
class Records:
    """What happened in [0, until): jobs and segments as in `Verdict`, -1 for what did not."""

    until: int
    truncated: bool
    jobs: NDArray[np.int64] = field(eq=False, repr=False)
    segments: NDArray[np.int64] = field(eq=False, repr=False)


def observe(
    system: TaskSystem,
    verdict: Verdict,
    *,
    horizon: int,
    start: int = 0,
    run_on: bool = False,
    budget: int = 5_000_000,
    segments: bool = True,
) -> Records:
    """Simulates [0, horizon), or up to the first miss unless ``run_on``, and records it.

    Releases are those that ``verdict`` is about: of a sporadic pattern that misses, of the
    synchronous periodic one where none was found, else periodic from the offsets.

    Args:
        start: What is over before this instant is not recorded.
    """
    if system.beyond:  # recorded
        return Records(
            until=verdict.until, truncated=False, jobs=verdict.jobs, segments=verdict.segments
        )
    options = core_options(verdict.scheduler)
    options.budget = budget
    options.stop_at_miss = not run_on
    options.record_jobs = True
    options.record_segments = segments
    options.record_from = start
    tasks = system.tasks
    if verdict.model == "sporadic":
        # A first release counts as an offset where a policy derives its quantum from these (PD2).
        first = dict(reversed(verdict.releases.tolist()))
        tasks = tuple(evolve(task, offset=first.get(i, 0)) for i, task in enumerate(tasks))
    if len(verdict.releases):
        # They are known as far as they were simulated.
        horizon = min(horizon, max(1, verdict.until))
        options.arrival = _core.Arrival.listed
        options.releases = [
            verdict.releases[verdict.releases[:, 0] == task, 1].tolist()
            for task in range(len(tasks))
        ]
    found = _core.simulate(system.processors, task_rows(tasks), options, horizon)
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
    found = observe(system, verdict, horizon=end, start=start, run_on=run_on, budget=budget)
    last = min(end, max(found.until, 1))
    if start >= last:  # it ended before: what was last is shown
        start = last - 1
        found = observe(system, verdict, horizon=end, start=start, run_on=run_on, budget=budget)
    rows, jobs = found.segments, found.jobs
    rows = rows[(rows[:, 4] > start) & (rows[:, 3] < last)]
    finish = np.where(jobs[:, 4] < 0, np.iinfo(np.int64).max, jobs[:, 4])
    near = (np.maximum(finish, jobs[:, 5]) >= start) & (jobs[:, 2] < last)
    if found.truncated:
        note = "records were cut off: choose an earlier window"
    elif start > 0 or last < verdict.until:
        note = f"cut: shown is [{start}, {last}) of [0, {verdict.until}) simulated"
    else:
        note = ""
    return Picture(
        system=system,
        verdict=verdict,
        start=start,
        end=last,
        until=found.until,
        segments=rows[np.lexsort((rows[:, 2], rows[:, 3]))],
        jobs=jobs[near],
        note=note,
        releases=releases_words(verdict),
        holds=tuple(tuple(row) for row in verdict.holds.tolist() if row[5] > start < last > row[4]),
    )


def releases_words(verdict: Verdict) -> str:
    """Which of the sporadic releases ``observe`` simulates; "" for periodic models."""
    if verdict.model != "sporadic":
        return ""
    if not verdict.pattern and len(verdict.releases):
        return "one random pattern of many"
    if not verdict.pattern:
        return "synchronous periodic releases, one pattern of many"
    if verdict.proof == "exploration":
        return "releases that miss, found by exploration"
    words = f"releases that miss: {verdict.pattern}"
    return words if len(words) <= _WORDS_LONGEST else "releases that miss, found at random"
