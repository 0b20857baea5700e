"""What the twin knows of a system while it runs it."""

from collections import deque
from collections.abc import Callable
from fractions import Fraction

from deadbeat.base.model.systems import TaskSystem, TimedTask


class Job:
    """One job, from its release to its completion.

    Attributes:
        remaining: Of C, costs included; what a policy knows.
        unused: Of C; the job completes with so much remaining.
    """

    __slots__ = ("deadline", "finish", "index", "release", "remaining", "start", "unused")

    def __init__(self, task: TimedTask, index: int, unused: int) -> None:
        self.index = index
        self.release = task.offset + index * task.period
        self.deadline = self.release + task.deadline
        self.remaining = task.wcet
        self.unused = unused
        self.start: int | None = None
        self.finish: int | None = None


class Activity:
    """One task: its unfinished jobs, oldest first, and where it runs.

    Attributes:
        processor: It runs on now; None where it does not.
        last_processor: It ran on last, also of an earlier job; None before it first ran.
        released: Jobs released so far.
    """

    __slots__ = ("jobs", "last_processor", "processor", "released", "task")

    def __init__(self, task: TimedTask) -> None:
        self.task = task
        self.jobs: deque[Job] = deque()
        self.processor: int | None = None
        self.last_processor: int | None = None
        self.released = 0

    @property
    def next_release(self) -> int:
        return self.task.offset + self.released * self.task.period


#: A tie rule's key: smaller is preferred, the index decides what is left.
TIE_KEYS: dict[str, Callable[[int, TimedTask], int | Fraction]] = {
    "index": lambda index, task: index,
    "reverse": lambda index, task: -index,
    "period-asc": lambda index, task: task.period,
    "period-desc": lambda index, task: -task.period,
    "utilisation-asc": lambda index, task: task.utilisation,
    "utilisation-desc": lambda index, task: -task.utilisation,
    "wcet-asc": lambda index, task: task.wcet,
    "wcet-desc": lambda index, task: -task.wcet,
}


def tie_rank(system: TaskSystem, rule: str) -> list[int]:
    """Place of every task under ``rule``; a lower one wins."""
    key = TIE_KEYS[rule]
    order = sorted(range(len(system.tasks)), key=lambda i: (key(i, system.tasks[i]), i))
    return [order.index(i) for i in range(len(order))]
