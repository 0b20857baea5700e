"""Task systems of the schedulability lab: identical processors, integer time of one unit."""

from __future__ import annotations

from fractions import Fraction

from attrs import frozen

#: Of BEYOND: a task is released by the end of another.
TRIGGERED = "triggered links"
#: What a task system may have beside tasks that compute, in the order of the core's bits.
BEYOND = (
    *("locks", "jitter", "suspension", "non-preemptive sections", "arrival curves"),
    *("DAGs", TRIGGERED, "affinity sets", "shorter jobs"),
)
#: Those that batches and simulations have no place for.
RARE = BEYOND[4:]
#: How a lock is taken; ``any``: as the analysis that is asked has it.
PROTOCOLS = (
    "any",
    "none",
    "inherit",
    "protect",
    "srp",
    "msrp",
    "mrsp",
    "mpcp",
    "virtual-spin",
    "fmlp+",
    "omlp",
    "dpcp",
)


def bandwidth(runtime: int, period: int) -> int:
    """Share of a CPU in 2^-20, as the kernel counts it (to_ratio in kernel/sched/core.c)."""
    return (runtime << 20) // period if period else 0


@frozen(kw_only=True)
class Lock:
    """A lock by ``name``; ``protocol``: one of PROTOCOLS; ``processor`` serves it, where one does
    (dpcp); None: its place modulo the processors."""

    name: str
    protocol: str = "any"
    processor: int | None = None


@frozen(kw_only=True)
class CriticalSection:
    """At most ``count`` requests of ``lock`` (a name) by a job, of at most ``length`` each, which
    is part of the wcet. ``site``: where, ``source``: given, measured or derived, and how; both for
    people."""

    lock: str
    length: int
    count: int = 1
    site: str = ""
    source: str = ""


@frozen(kw_only=True)
class Dag:
    """What ``nodes`` of a job take, the wcet in sum, and ``edges`` (a, b): node a ends before node
    b, a later number, starts."""

    nodes: tuple[int, ...]
    edges: tuple[tuple[int, int], ...] = ()


@frozen(kw_only=True)
class Chain:
    """Each of ``tasks`` (places) uses what the one before it made: ``links`` says of each but the
    first whether it reads the newest when it starts (sampled) or is released by it (triggered);
    empty: all sampled. ``deadline``: of age and reaction, if any."""

    tasks: tuple[int, ...]
    links: tuple[str, ...] = ()
    deadline: int | None = None
    name: str = ""


@frozen(kw_only=True)
class TimedTask:
    """A sporadic or periodic task: what a schedulability question needs to know of it.

    Attributes:
        wcet: C, at least 1.
        period: T, at least 1; the minimum distance of releases where they are sporadic.
        deadline: D, relative, at least 1.
        offset: O, the first release, at least 0.
        priority: Larger is more urgent, as SCHED_FIFO's; used by policies with given priorities.
        home: Cluster (or processor, where partitioned) it is bound to; None: a heuristic decides.
        budget, server_period, server_deadline: Its constant-bandwidth server; None: the
            task's wcet, period and deadline.
        sections: Its critical sections; none lies within another.
        jitter: From a job's arrival to its release, at most.
        suspension: What a job waits for other things than locks, at most.
        np_max, np_last: Its longest stretch without preemption, and the last of a job; 0: none.
        arrivals: (d, k): at most k arrivals in any d, steps from d = 1 on, all again every period;
            empty: one a period.
        affinity: Processors that it may execute on; empty: all.
        bcet: What a job executes at least; 0: the wcet.
        source: Of the wcet, for people: given, measured or derived, and how.
    """

    wcet: int
    period: int
    deadline: int
    offset: int = 0
    name: str = ""
    priority: int = 0
    home: int | None = None
    budget: int | None = None
    server_period: int | None = None
    server_deadline: int | None = None
    sections: tuple[CriticalSection, ...] = ()
    jitter: int = 0
    suspension: int = 0
    np_max: int = 0
    np_last: int = 0
    arrivals: tuple[tuple[int, int], ...] = ()
    dag: Dag | None = None
    affinity: tuple[int, ...] = ()
    bcet: int = 0
    source: str = ""

    @property
    def utilisation(self) -> Fraction:
        return Fraction(self.wcet * (self.arrivals[-1][1] if self.arrivals else 1), self.period)

    @property
    def density(self) -> Fraction:
        return Fraction(self.wcet, min(self.deadline, self.period))


@frozen(kw_only=True)
class TaskSystem:
    """Tasks on ``processors`` identical processors. ``unit`` is what 1 means, for people.
    ``locks``: all that tasks use."""

    processors: int
    tasks: tuple[TimedTask, ...]
    name: str = ""
    unit: str = ""
    locks: tuple[Lock, ...] = ()
    chains: tuple[Chain, ...] = ()

    @property
    def utilisation(self) -> Fraction:
        return sum((task.utilisation for task in self.tasks), Fraction(0))

    @property
    def beyond(self) -> tuple[str, ...]:
        """What it has beside tasks that compute, in words of BEYOND."""
        there = (
            any(task.sections for task in self.tasks),
            any(task.jitter for task in self.tasks),
            any(task.suspension for task in self.tasks),
            any(max(task.np_max, task.np_last) > 1 for task in self.tasks),
            any(task.arrivals for task in self.tasks),
            any(task.dag for task in self.tasks),
            bool(self.triggers),
            any(self.bound(task) for task in self.tasks),
            any(task.bcet for task in self.tasks),
        )
        return tuple(word for word, has in zip(BEYOND, there, strict=True) if has)

    @property
    def triggers(self) -> dict[int, int]:
        """Tasks that another one releases -> which."""
        return {
            to: before
            for chain in self.chains
            for before, to, link in zip(chain.tasks, chain.tasks[1:], chain.links, strict=False)
            if link == "triggered"
        }

    def root(self, index: int) -> int:
        """The first of the tasks that release each other up to this one."""
        triggers = self.triggers
        for _ in triggers:
            index = triggers.get(index, index)
        return index

    @property
    def rare(self) -> tuple[str, ...]:
        return tuple(word for word in self.beyond if word in RARE)

    def bound(self, task: TimedTask) -> bool:
        """Whether some processor is not for ``task``."""
        return bool(task.affinity) and {*task.affinity} != {*range(self.processors)}

    def label(self, index: int) -> str:
        """The task's name, or ``task 3`` (counted from 0, as in the file)."""
        return self.tasks[index].name or f"task {index}"
