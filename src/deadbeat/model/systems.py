"""Task systems of the schedulability lab: identical processors, integer time of one unit."""

from __future__ import annotations

from fractions import Fraction

from attrs import frozen


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

    @property
    def utilisation(self) -> Fraction:
        return Fraction(self.wcet, self.period)

    @property
    def density(self) -> Fraction:
        return Fraction(self.wcet, min(self.deadline, self.period))


@frozen(kw_only=True)
class TaskSystem:
    """Tasks on ``processors`` identical processors. ``unit`` is what 1 means, for people."""

    processors: int
    tasks: tuple[TimedTask, ...]
    name: str = ""
    unit: str = ""

    @property
    def utilisation(self) -> Fraction:
        return sum((task.utilisation for task in self.tasks), Fraction(0))

    def label(self, index: int) -> str:
        """The task's name, or ``task 3`` (counted from 0, as in the file)."""
        return self.tasks[index].name or f"task {index}"
