"""Locks under fixed priorities on bound tasks, tick by tick: the slow twin of locks_sim.cpp.

Parts of a job are (what, length): a lock, or COMPUTE, SUSPEND, STRETCH (not preempted).
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define

from deadbeat.model.systems import TaskSystem

COMPUTE, SUSPEND, STRETCH = -1, -2, -3


@define(eq=False)
class Job:
    task: int
    arrival: int
    release: int
    number: int
    parts: list[tuple[int, int]]
    inside: bool = False  # of a section or stretch
    waits: bool = False
    away: bool = False  # where its lock is served
    asleep: int = 0
    ticket: int = 0


class Simulation:
    def __init__(self, system: TaskSystem, protocol: str, *, together: bool) -> None:
        self.system, self.protocol, self.together = system, protocol, together
        self.fifo = protocol in ("fmlp+", "msrp")
        self.stays = protocol in ("msrp", "virtual-spin")
        self.users = [
            [t for t in system.tasks if any(s.lock == lock.name for s in t.sections)]
            for lock in system.locks
        ]
        self.owner: list[Job | None] = [None] * len(self.users)
        self.queue: list[list[Job]] = [[] for _ in self.users]
        self.released: list[list[Job]] = [[] for _ in system.tasks]
        self.tickets = 0

    def run(self, jobs: Sequence[Job]) -> list[int]:
        """The response of each job."""
        found, coming, now = [0] * len(jobs), list(jobs), 0
        while coming or any(self.released):
            if not self.together:
                self.settle()
            while coming and coming[0].release == now:
                self.released[coming[0].task].append(coming.pop(0))
                if not self.together:
                    self.settle()
            running = [job for job in self.settle() if job and not job.waits]
            now += 1
            for queue in self.released:
                for job in queue[:1]:
                    job.asleep = max(job.asleep - 1, 0)
            for job in running:
                what, left = job.parts.pop(0)
                if left > 1:
                    job.parts.insert(0, (what, left - 1))
                    continue
                job.inside = job.away = False
                if what >= 0:
                    self.unlock(what)
            for queue in self.released:
                if queue and not queue[0].parts and not queue[0].asleep:
                    job = queue.pop(0)
                    found[job.number] = now - job.arrival
        return found

    def settle(self) -> list[Job | None]:
        """What each processor executes, when all requests are made."""
        while True:
            running = [self.choose(k) for k in range(self.system.processors)]
            if not any(self.enter(job) for job in running if job):
                return running

    def choose(self, processor: int) -> Job | None:
        first = [queue[0] for queue in self.released if queue]
        ready = [j for j in first if not j.asleep and (self.stays or not j.waits)]
        return max(
            (job for job in ready if self.place(job) == processor),
            key=lambda job: (self.level(job), job.inside or job.waits, -job.number),
            default=None,
        )

    def place(self, job: Job) -> int:
        if job.away:
            return job.parts[0][0] % self.system.processors
        return self.system.tasks[job.task].home or 0

    def base(self, job: Job) -> int:
        return self.system.tasks[job.task].priority

    def level(self, job: Job) -> tuple[int, int]:
        """1: above all priorities, 2: not preempted."""
        own, what = self.base(job), job.parts[0][0]
        if (job.waits and self.protocol == "msrp") or (job.inside and what == STRETCH):
            return 2, 0
        if not job.inside:
            return int(job.away), own
        home = self.system.tasks[job.task].home
        ceiling = max(task.priority for task in self.users[what])
        outside = [task.priority for task in self.users[what] if task.home != home]
        return {
            "none": (0, own),
            "inherit": (0, max([own, *map(self.base, self.queue[what])])),
            "inherit-steal": (0, max([own, *map(self.base, self.queue[what])])),
            "fmlp+": (1, -job.ticket),
            "dpcp": (1, ceiling),
            "mpcp": (1, max(outside)) if outside else (0, ceiling),
            "virtual-spin": (1, max(outside)) if outside else (0, ceiling),
            "msrp": (2, 0) if outside else (0, ceiling),
        }.get(self.protocol, (0, ceiling))

    def enter(self, job: Job) -> bool:
        """Whether something changed."""
        what, length = job.parts[0]
        if job.inside or job.waits or what in (COMPUTE, STRETCH):
            job.inside = job.inside or what == STRETCH
            return False
        if what == SUSPEND:
            job.asleep = length
            job.parts.pop(0)
        elif self.protocol == "dpcp" and not job.away:
            job.away = True
        else:
            self.request(job, what)
        return True

    def request(self, job: Job, lock: int) -> None:
        queue = self.queue[lock]
        if job not in queue:
            self.tickets += 1
            job.ticket = self.tickets
            queue.append(job)
        ahead = self.next(queue[:-1] if queue[-1] is job else queue)
        free = self.owner[lock] is None
        if free and (ahead in (None, job) or self.base(job) > self.base(ahead)):
            self.take(lock, job)
        else:
            job.waits = True

    def take(self, lock: int, job: Job) -> None:
        self.queue[lock].remove(job)
        self.owner[lock], job.inside, job.waits = job, True, False

    def next(self, queue: list[Job]) -> Job | None:
        return next(iter(queue), None) if self.fifo else max(queue, key=self.base, default=None)

    def unlock(self, lock: int) -> None:
        self.owner[lock] = None
        if job := self.next(self.queue[lock]):
            job.waits = False
            if self.protocol != "inherit-steal":
                self.take(lock, job)
