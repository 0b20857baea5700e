"""Policies that order ready jobs by a key: EDF and its hybrids, fixed priorities, FIFO."""

from collections.abc import Hashable, Sequence
from fractions import Fraction

from oracles.schedule.policies import ByKey, Choice, policy


@policy("g-edf")
class GlobalEdf(ByKey):
    def key(self, now: int, task: int) -> tuple[int, ...]:
        return self.edf_key(task)


@policy("p-edf")
class PartitionedEdf(GlobalEdf):
    partitioned = True


@policy("c-edf")
class ClusteredEdf(GlobalEdf):
    clustered = True


@policy("g-fp")
class GlobalFixedPriority(ByKey):
    fixed_priority = True

    def key(self, now: int, task: int) -> tuple[int, ...]:
        return self.fixed_key(task)


@policy("p-fp")
class PartitionedFixedPriority(GlobalFixedPriority):
    partitioned = True


@policy("c-fp")
class ClusteredFixedPriority(GlobalFixedPriority):
    clustered = True


@policy("edf-us")
class EdfUs(ByKey):
    """Srinivasan and Baruah 2002: tasks above the threshold first, then EDF."""

    def prepare(self) -> None:
        m = self.system.processors
        threshold = Fraction(*(self.scheduler.threshold or (m, 2 * m - 1)))
        self.heavy = {i for i, it in enumerate(self.system.tasks) if it.utilisation > threshold}

    def key(self, now: int, task: int) -> tuple[int, ...]:
        if task in self.heavy:
            return 0, self.rank[task], 0
        return 1, *self.edf_key(task)


@policy("fpedf")
class FpEdf(ByKey):
    """Baruah 2004: of the m - 1 of highest utilisation, those above 1/2 first, then EDF."""

    def prepare(self) -> None:
        tasks = self.system.tasks
        order = sorted(range(len(tasks)), key=lambda i: (-tasks[i].utilisation, self.rank[i]))
        chosen = order[: self.system.processors - 1]
        self.heavy = {i for i in chosen if tasks[i].utilisation > Fraction(1, 2)}

    def key(self, now: int, task: int) -> tuple[int, ...]:
        if task in self.heavy:
            return 0, self.rank[task], 0
        return 1, *self.edf_key(task)


@policy("edzl")
class Edzl(ByKey):
    """Lee 1994: a job that must run without a break to be on time goes first, then EDF."""

    def key(self, now: int, task: int) -> tuple[int, ...]:
        job = self.tasks[task].jobs[0]
        laxity = job.deadline - now - job.remaining
        return int(laxity > 0), *self.edf_key(task)


class NonPreemptive(ByKey):
    """Whoever runs goes on; the best of the others take the free processors."""

    def choose(self, now: int) -> Sequence[Sequence[Choice]]:
        tier = []
        for cluster in range(self.clusters):
            processors = self.processors_of(cluster)
            ready = self.ready_at(cluster)
            running = [i for i in ready if self.tasks[i].processor is not None]
            waiting = [i for i in ready if self.tasks[i].processor is None]
            waiting.sort(key=lambda i: self.key(now, i))
            tier += [Choice(i, processors) for i in (running + waiting)[: len(processors)]]
        return [tier]

    def memory(self, now: int) -> Hashable:
        return tuple(activity.processor is not None for activity in self.tasks)


@policy("g-np-edf")
class GlobalNonPreemptiveEdf(NonPreemptive, GlobalEdf):
    pass


@policy("p-np-edf")
class PartitionedNonPreemptiveEdf(NonPreemptive, PartitionedEdf):
    pass


@policy("g-np-fp")
class GlobalNonPreemptiveFixedPriority(NonPreemptive, GlobalFixedPriority):
    pass


@policy("p-np-fp")
class PartitionedNonPreemptiveFixedPriority(NonPreemptive, PartitionedFixedPriority):
    pass


@policy("p-fifo")
class PartitionedFifo(PartitionedFixedPriority):
    """SCHED_FIFO: within a level in order of wake-up.

    sched(7): a thread that wakes up goes to the tail of its level, a preempted one stays at the
    head; so the instant of the last wake-up orders them. A job that found another one waiting is no
    wake-up. Threads that wake at one instant: by tie rule.
    """

    def prepare(self) -> None:
        self.wake = [0] * len(self.tasks)
        super().prepare()

    def woken(self, now: int, task: int) -> None:
        self.wake[task] = now

    def key(self, now: int, task: int) -> tuple[int, ...]:
        return self.level(task), self.wake[task], self.rank[task]

    def memory(self, now: int) -> Hashable:
        return tuple(sorted(self.ready(), key=lambda i: self.key(now, i)))
