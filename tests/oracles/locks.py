"""Locks under fixed priorities on bound tasks, tick by tick: the slow twin of locks_sim.cpp.

Parts of a job are (what, length): a lock, or COMPUTE, SUSPEND, STRETCH (not preempted).
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define

from deadbeat.model.systems import TaskSystem

COMPUTE, SUSPEND, STRETCH = -1, -2, -3
Part = tuple[int, int]
Level = tuple[int, int]


@define(eq=False)
class Job:
    task: int
    arrival: int
    release: int
    number: int
    parts: list[Part]
    inside: bool = False
    waits: bool = False
    away: bool = False
    asleep: int = 0
    ticket: int = 0


class Simulation:
    def __init__(self, system: TaskSystem, protocol: str, *, together: bool) -> None:
        self.system, self.protocol, self.together = system, protocol, together
        self.homes = [task.home or 0 for task in system.tasks]
        names = [lock.name for lock in system.locks]
        self.users = [
            [i for i, t in enumerate(system.tasks) if any(s.lock == name for s in t.sections)]
            for name in names
        ]
        self.owner: list[Job | None] = [None] * len(names)
        self.queue: list[list[Job]] = [[] for _ in names]
        self.released: list[list[Job]] = [[] for _ in system.tasks]
        self.tickets = 0

    def run(self, jobs: Sequence[Job]) -> list[int]:
        """The response of each job."""
        found = [0] * len(jobs)
        coming, now = list(jobs), 0
        while coming or any(self.released):
            if not self.together:
                self.settle()
            while coming and coming[0].release == now:
                job = coming.pop(0)
                self.released[job.task].append(job)
                if not self.together:
                    self.settle()
            running = [job for job in self.settle() if job and not job.waits]
            now += 1
            for queue in self.released:
                for job in queue[:1]:
                    if job.asleep:
                        job.asleep -= 1
            for each in running:
                what, left = each.parts[0]
                each.parts[0] = (what, left - 1)
                if left == 1:
                    each.parts.pop(0)
                    each.inside = each.away = False
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
        first = [q[0] for q in self.released if q and self.place(q[0]) == processor]
        stays = self.protocol in ("msrp", "virtual-spin")
        ready = [j for j in first if not j.asleep and (stays or not j.waits)]
        return max(
            ready, key=lambda j: (self.level(j), j.inside or j.waits, -j.number), default=None
        )

    def place(self, job: Job) -> int:
        if job.away:
            return job.parts[0][0] % self.system.processors
        return self.homes[job.task]

    def base(self, job: Job) -> int:
        return self.system.tasks[job.task].priority

    def level(self, job: Job) -> Level:  # noqa: PLR0911 one for each rule
        own, what = self.base(job), job.parts[0][0]
        if job.waits and self.protocol == "msrp":
            return (2, 0)
        if not job.inside:
            return (int(job.away), own)
        if what == STRETCH:
            return (2, 0)
        everyone = [self.system.tasks[i].priority for i in self.users[what]]
        outside = [
            self.system.tasks[i].priority
            for i in self.users[what]
            if self.homes[i] != self.homes[job.task]
        ]
        match self.protocol:
            case "none":
                return (0, own)
            case "inherit" | "inherit-steal":
                return (0, max([own, *map(self.base, self.queue[what])]))
            case "fmlp+":
                return (1, -job.ticket)
            case "dpcp":
                return (1, max(everyone))
            case "mpcp" | "virtual-spin" if outside:
                return (1, max(outside))
            case "msrp" if outside:
                return (2, 0)
        return (0, max(everyone))

    def enter(self, job: Job) -> bool:
        what, length = job.parts[0]
        if job.inside or job.waits or what == COMPUTE:
            return False
        if what == STRETCH:
            job.inside = True
            return False
        if what == SUSPEND:
            job.asleep = length
            job.parts.pop(0)
            return True
        if self.protocol == "dpcp" and not job.away:
            job.away = True
            return True
        queue = self.queue[what]
        if job not in queue:
            self.tickets += 1
            job.ticket = self.tickets
        ahead = self.next(queue)
        if self.owner[what] is None and (
            ahead is None or ahead is job or self.base(job) > self.base(ahead)
        ):
            self.take(what, job)
        else:
            job.waits = True
            if job not in queue:
                queue.append(job)
        return True

    def take(self, lock: int, job: Job) -> None:
        if job in self.queue[lock]:
            self.queue[lock].remove(job)
        self.owner[lock], job.inside = job, True

    def next(self, queue: list[Job]) -> Job | None:
        if self.protocol in ("fmlp+", "msrp"):
            return queue[0] if queue else None
        return max(queue, key=self.base, default=None)

    def unlock(self, lock: int) -> None:
        self.owner[lock] = None
        job = self.next(self.queue[lock])
        if job:
            job.waits = False
            if self.protocol != "inherit-steal":
                self.take(lock, job)
