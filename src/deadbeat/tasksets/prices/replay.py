"""A task set replayed: preemptive fixed priorities on each core, and who runs beside whom.

Every use takes its calibrated time at a rate of 1 / slowdown, which changes whenever another core
goes on to other work. Nothing else costs anything but `Overheads`. With slowdowns of 1 and without
overheads it is what `deadbeat.sched` simulates as partitioned SCHED_FIFO.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import define, frozen

#: Work of which nothing is known: it slows nothing, and nothing slows it.
UNKNOWN = -1
#: What arithmetic may leave of a use that is over.
_ROUNDING_NS = 1e-6
#: Slowdown of each kind of work that runs, by how many cores run each kind.
Slowdowns = Callable[[Mapping[int, int]], Mapping[int, float]]


def alone(active: Mapping[int, int]) -> dict[int, float]:
    return dict.fromkeys(active, 1.0)


@frozen(kw_only=True)
class ReplayTask:
    """A task: ``uses`` of a job in order, (work, ns alone). Larger priorities are more urgent.
    ``counts``: whether figures of the set are about it."""

    core: int
    priority: int
    period_ns: int
    deadline_ns: int
    offset_ns: int
    uses: tuple[tuple[int, float], ...]
    counts: bool = True

    @property
    def cost_ns(self) -> float:
        return sum(ns for _, ns in self.uses)


@frozen(kw_only=True)
class Overheads:
    """What a core takes before it goes on with a job, ns; this slows no other core.
    ``wake_up_ns``: from the release of a job that finds nothing as urgent; ``switch_ns``: of one
    that waited, from the end of the job before it."""

    wake_up_ns: float = 0.0
    switch_ns: float = 0.0


@define
class Replayed:
    """What the jobs of a task came to, of those released and due in the window. ``spans_ns``: sum
    over finished jobs of finish - start; ``own_ns``: of the time they had the core. ``missed``:
    jobs that finished late, never, or were never started."""

    jobs: int = 0
    finished: int = 0
    missed: int = 0
    spans_ns: float = 0.0
    own_ns: float = 0.0


@define(eq=False)
class _Job:
    task: int
    release_ns: float
    at: int = 0
    left_ns: float = 0.0
    start_ns: float = -1.0
    own_ns: float = 0.0


def replay(
    tasks: Sequence[ReplayTask],
    slowdowns: Slowdowns,
    *,
    horizon_ns: float,
    events: int = 10**9,
    overheads: Overheads | None = None,
) -> tuple[Replayed, ...]:
    """What becomes of the jobs released until ``horizon_ns``, or until ``events`` changes of work.

    A release that finds its predecessor unfinished never runs, as under ``--overrun skip``.
    """
    return _Replay(tasks, slowdowns, overheads=overheads).run(horizon_ns, events)


#: (task, release, start, finish) of a job, ns.
ReplayedJob = tuple[int, int, float, float]


def replay_releases(
    tasks: Sequence[ReplayTask],
    slowdowns: Slowdowns,
    releases: Iterable[tuple[int, int]],
    *,
    horizon_ns: float,
) -> list[ReplayedJob]:
    """The jobs that start of those released at given times, (ns, task); the finish of one that does
    not before ``horizon_ns`` is infinite.

    A release that finds its predecessor unfinished never runs.
    """
    made = _Replay(tasks, slowdowns, releases)
    made.run(horizon_ns, 10**9)
    return made.jobs


class _Replay:
    def __init__(
        self,
        tasks: Sequence[ReplayTask],
        slowdowns: Slowdowns,
        releases: Iterable[tuple[int, int]] | None = None,
        overheads: Overheads | None = None,
    ) -> None:
        """``releases``: (ns, task); None: by the tasks' offsets and periods."""
        first = [(task.offset_ns, index) for index, task in enumerate(tasks)]
        self._due = first if releases is None else list(releases)
        self._periodic = releases is None
        self.jobs: list[ReplayedJob] = []
        self._tasks = tasks
        self._slowdowns = slowdowns
        self._known: dict[tuple[int, ...], Sequence[float]] = {}
        cores = 1 + max(task.core for task in tasks)
        self._ready: list[list[tuple[int, int, _Job]]] = [[] for _ in range(cores)]
        self._running: list[_Job | None] = [None] * cores
        # what is left of an overhead
        self._owed = [0.0] * cores
        self._overheads = overheads or Overheads()
        self._work = [UNKNOWN] * cores
        self._busy: list[_Job | None] = [None] * len(tasks)
        self._found = [Replayed() for _ in tasks]
        self._changed: set[int] = set()
        self._order = 0

    def run(self, horizon_ns: float, events: int) -> tuple[Replayed, ...]:
        due, running = self._due, self._running
        heapq.heapify(due)
        now = 0.0
        for _ in range(events):
            rates = self._rates()
            first = math.inf
            for core, job in enumerate(running):
                if job is not None:
                    first = min(first, self._owed[core] or job.left_ns * rates[core])
            then = min(now + first, float(due[0][0]) if due else math.inf)
            if then >= horizon_ns or then == math.inf:
                break
            # what ends at the instant of a release is over before it
            for core in self._pass(then - now, rates):
                self._advance(core, then)
            now = then
            while due and due[0][0] <= now:
                at, index = heapq.heappop(due)
                if self._periodic:
                    heapq.heappush(due, (at + self._tasks[index].period_ns, index))
                self._release(index, float(at))
            if self._changed:
                self._dispatch(now)
        self._close(now)
        return tuple(self._found)

    def _rates(self) -> Sequence[float]:
        """Slowdown of each core by what all of them work at."""
        key = tuple(self._work)
        known = self._known.get(key)
        if known is None:
            active = Counter(work for work in key if work != UNKNOWN)
            each = self._slowdowns(active)
            known = self._known[key] = [each.get(work, 1.0) for work in key]
        return known

    def _pass(self, time_ns: float, rates: Sequence[float]) -> list[int]:
        """Lets time go by; the cores with uses that are over then."""
        over = []
        for core, job in enumerate(self._running):
            if self._owed[core]:
                left = self._owed[core] - time_ns
                self._owed[core] = left if left > _ROUNDING_NS else 0.0
                self._enter(core)
            elif job is not None:
                job.left_ns -= time_ns / rates[core]
                job.own_ns += time_ns
                if job.left_ns <= _ROUNDING_NS:
                    over.append(core)
        return over

    def _release(self, index: int, now: float) -> None:
        task = self._tasks[index]
        if self._busy[index] is not None:
            self._found[index].jobs += 1
            self._found[index].missed += 1
            return
        job = _Job(index, now, left_ns=task.uses[0][1])
        self._busy[index] = job
        self._order += 1
        heapq.heappush(self._ready[task.core], (-task.priority, self._order, job))
        self._changed.add(task.core)

    def _dispatch(self, now: float) -> None:
        """Gives each core where anything changed to its most urgent job; of equals to the first."""
        for core in self._changed:
            ready = self._ready[core]
            job = ready[0][2] if ready else None
            if job is not self._running[core]:
                own = self._overheads
                waited = job is not None and job.release_ns < now
                self._running[core] = job
                self._owed[core] = own.switch_ns if waited else own.wake_up_ns if job else 0.0
                self._enter(core)
            if job is not None and job.start_ns < 0:
                job.start_ns = now + self._owed[core]
        self._changed.clear()

    def _enter(self, core: int) -> None:
        job = self._running[core]
        if job is None or self._owed[core]:
            self._work[core] = UNKNOWN
        else:
            self._work[core] = self._tasks[job.task].uses[job.at][0]

    def _advance(self, core: int, now: float) -> None:
        """The use that runs on ``core`` is over; of its job, where that was the last, too."""
        job = self._running[core]
        assert job is not None
        job.at += 1
        uses = self._tasks[job.task].uses
        if job.at < len(uses):
            job.left_ns = uses[job.at][1]
            self._enter(core)
            return
        heapq.heappop(self._ready[core])
        self._busy[job.task] = None
        found, task = self._found[job.task], self._tasks[job.task]
        found.jobs += 1
        found.finished += 1
        found.spans_ns += now - job.start_ns
        found.own_ns += job.own_ns
        found.missed += now > job.release_ns + task.deadline_ns
        if not self._periodic:
            self.jobs.append((job.task, round(job.release_ns), job.start_ns, now))
        self._changed.add(core)

    def _close(self, now: float) -> None:
        for job in self._busy:
            if job is not None and job.start_ns >= 0 and not self._periodic:
                self.jobs.append((job.task, round(job.release_ns), job.start_ns, math.inf))
            if job is not None and job.release_ns + self._tasks[job.task].deadline_ns <= now:
                self._found[job.task].jobs += 1
                self._found[job.task].missed += 1
