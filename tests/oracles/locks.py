"""Locks under fixed priorities or EDF, tick by tick: the slow twin of locks_sim.cpp.

Parts of a job are (what, length): a lock, or COMPUTE, SUSPEND, STRETCH (not preempted).
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define

from deadbeat.base.model.systems import TaskSystem

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
    started: bool = False
    donor: Job | None = None
    donee: Job | None = None


class Simulation:
    def __init__(self, system: TaskSystem, policy: str, protocol: str, *, together: bool) -> None:
        self.system, self.protocol, self.together = system, protocol, together
        self.edf, m = policy.endswith("edf"), system.processors
        homes = max(task.home or 0 for task in system.tasks) + 1
        self.clusters = {"p": m, "c": homes, "g": 1}[policy[0]]
        self.size = m // self.clusters
        self.lends = protocol == "omlp" and self.clusters > 1
        self.lines = protocol == "omlp" and self.clusters == 1
        self.fifo = protocol in ("fmlp+", "msrp", "mrsp", "omlp")
        self.stays = protocol in ("msrp", "mrsp", "virtual-spin")
        self.users = [
            [t for t in system.tasks if any(s.lock == lock.name for s in t.sections)]
            for lock in system.locks
        ]
        self.owner: list[Job | None] = [None] * len(self.users)
        self.queue: list[list[Job]] = [[] for _ in self.users]
        self.spare: list[list[Job]] = [[] for _ in self.users]  # omlp: behind the queue
        self.released: list[list[Job]] = [[] for _ in system.tasks]
        self.tickets = 0

    def run(self, jobs: Sequence[Job]) -> list[int]:
        """The response of each job."""
        found, coming, now = [0] * len(jobs), list(jobs), 0
        while coming or any(self.released):
            if not self.together:
                self.settle()
            while coming and coming[0].release == now:
                job = coming.pop(0)
                self.released[job.task].append(job)
                if self.released[job.task] == [job]:
                    self.start(job)
                if not self.together:
                    self.settle()
            running = self.helped(self.settle())
            now += 1
            for queue in self.released:
                for job in queue[:1]:
                    job.asleep = max(job.asleep - 1, 0)
            for job in running:
                self.tick(job)
            over = [q for q in self.released if q and not q[0].parts and not q[0].asleep]
            for queue in over:
                job = queue.pop(0)
                found[job.number] = now - job.arrival
            for queue in over:
                for job in queue[:1]:
                    self.start(job)
        return found

    def helped(self, chosen: list[Job]) -> list[Job]:
        """What is executed; mrsp: who spins executes the section that it waits for."""
        running = [job for job in chosen if not job.waits]
        for job in chosen if self.protocol == "mrsp" else ():
            owner = self.owner[job.parts[0][0]] if job.waits else None
            if owner and owner not in running:
                running.append(owner)
        return running

    def tick(self, job: Job) -> None:
        what, left = job.parts.pop(0)
        if left > 1:
            job.parts.insert(0, (what, left - 1))
            return
        job.inside = job.away = False
        if what >= 0:
            self.unlock(what)
            if job.donor:
                job.donor.donee = job.donor = None

    def settle(self) -> list[Job]:
        """What is executed, when all requests are made."""
        while True:
            running = [job for k in range(self.clusters) for job in self.choose(k)]
            if not any(self.enter(job) for job in running):
                return running

    def choose(self, cluster: int) -> list[Job]:
        ready = [q[0] for q in self.released if q and self.ready(q[0])]
        here = [job for job in ready if self.place(job) == cluster]
        here.sort(key=lambda j: (self.level(j), j.inside or j.waits, -j.number), reverse=True)
        return here[: self.size]

    def ready(self, job: Job) -> bool:
        if self.edf and not job.started:  # stack resource policy
            held = [self.users[q] for q, owner in enumerate(self.owner) if owner]
            own = self.system.tasks[job.task].deadline
            if any(own >= min(task.deadline for task in users) for users in held):
                return False
        asks = job.parts and job.parts[0][0] >= 0 and not (job.inside or job.waits)
        if self.lends and asks:  # one of the most urgent that are pending, donors too
            here = [q[0] for q in self.released if q and self.place(q[0]) == self.place(job)]
            here.sort(key=lambda j: (self.base(j), -j.number), reverse=True)
            if job not in here[: self.size]:
                return False
        return not job.asleep and not job.donee and (self.stays or not job.waits)

    def first(self, job: Job) -> list[Job]:
        """Pending jobs of its cluster that lend their priority to no other, most urgent first."""
        here = [q[0] for q in self.released if q and self.place(q[0]) == self.place(job)]
        here = [other for other in here if not other.donee]
        return sorted(here, key=lambda j: (self.base(j.donor or j), -j.number), reverse=True)

    def start(self, job: Job) -> None:
        others = [other for other in self.first(job) if other is not job][self.size - 1 :]
        if self.lends and others:
            last = others[0]
            requested = last.waits or (last.inside and last.parts[0][0] >= 0)
            if requested and self.base(job) > self.base(last.donor or last):
                if last.donor:
                    last.donor.donee = None
                last.donor, job.donee = job, last

    def place(self, job: Job) -> int:
        if job.away:
            return job.parts[0][0] % self.system.processors
        return (self.system.tasks[job.task].home or 0) if self.clusters > 1 else 0

    def base(self, job: Job) -> int:
        task = self.system.tasks[job.task]
        return -job.arrival - task.deadline if self.edf else task.priority

    def level(self, job: Job) -> tuple[int, int]:
        """1: above all priorities, 2: not preempted."""
        own, what = self.base(job), job.parts[0][0]
        if (job.waits and self.protocol == "msrp") or (job.inside and what == STRETCH):
            return 2, 0
        if self.lends:
            return 0, self.base(job.donor or job)
        if self.protocol == "mrsp" and (job.waits or (job.inside and what >= 0)):
            home = self.system.tasks[job.task].home
            return 0, max(task.priority for task in self.users[what] if task.home == home)
        if not job.inside or self.edf:
            return int(job.away), own
        home = self.system.tasks[job.task].home
        ceiling = max(task.priority for task in self.users[what])
        outside = [task.priority for task in self.users[what] if task.home != home]
        return {
            "none": (0, own),
            "omlp": (0, max([own, *map(self.base, self.queue[what] + self.spare[what])])),
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
        job.started = True
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
            if self.lines and len(queue) >= self.system.processors:
                self.spare[lock].append(queue.pop())

    def take(self, lock: int, job: Job) -> None:
        self.queue[lock].remove(job)
        self.owner[lock], job.inside, job.waits = job, True, False

    def next(self, queue: list[Job]) -> Job | None:
        return next(iter(queue), None) if self.fifo else max(queue, key=self.base, default=None)

    def unlock(self, lock: int) -> None:
        self.owner[lock] = None
        if self.spare[lock] and not self.queue[lock]:
            self.advance(lock)
        if job := self.next(self.queue[lock]):
            job.waits = False
            if self.protocol != "inherit-steal":
                self.take(lock, job)
            if self.spare[lock] and len(self.queue[lock]) < self.system.processors - 1:
                self.advance(lock)

    def advance(self, lock: int) -> None:
        job = max(self.spare[lock], key=self.base)
        self.spare[lock].remove(job)
        self.queue[lock].append(job)
