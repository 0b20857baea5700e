"""Pfair: PD2 of Srinivasan and Anderson (STOC 2002; Anderson and Srinivasan, ECRTS 2001)."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from deadbeat.base.model.systems import TimedTask
from oracles.schedule.policies import ByKey, Choice, Refusal, policy


class Subtask(NamedTuple):
    """The i-th unit of work (from 1) of a task of weight w; instants from the task's release."""

    release: int
    deadline: int
    b: int


def subtask(weight: Fraction, i: int) -> Subtask:
    """Window [floor((i - 1) / w), ceil(i / w)); b: it overlaps the window of the next subtask."""
    deadline = math.ceil(i / weight)
    return Subtask(math.floor((i - 1) / weight), deadline, deadline - math.floor(i / weight))


@cache
def group_deadline(weight: Fraction, i: int) -> int:
    """Earliest t at or after the deadline at which a cascade of forced windows ends.

    That is t = d(k) with b(k) = 0, or t + 1 = d(k) with a window of three, of some k >= i; 0 for
    light tasks (w < 1/2).
    """
    if weight < Fraction(1, 2):
        return 0
    earliest = subtask(weight, i).deadline
    candidates = []
    k = i
    while True:
        it = subtask(weight, k)
        if it.b == 0:
            candidates.append(it.deadline)
        if it.deadline - it.release == 3:
            candidates.append(it.deadline - 1)
        # Both kinds of candidate grow with k: d(k + 1) - 1 >= d(k).
        reached = [t for t in candidates if t >= earliest]
        if reached:
            return min(reached)
        k += 1


def times(task: TimedTask) -> tuple[int, ...]:
    """All there are, also those that only other policies look at; 0 where there is none."""
    server = (task.budget or 0, task.server_period or 0, task.server_deadline or 0)
    return (task.wcet, task.period, task.deadline, task.offset, *server)


@policy("pd2")
class Pd2(ByKey):
    """Earliest pseudo-deadline; then b = 1 before 0; then the later group deadline.

    The quantum is the greatest common divisor of all times. Costs are ours to define: a charged job
    repeats the window it is in, and who runs is decided anew at whole quanta and completions.
    """

    def prepare(self) -> None:
        for index, task in enumerate(self.system.tasks):
            if task.deadline != task.period:
                raise Refusal(f"task {index}: PD2 needs deadlines equal to periods")
            if task.wcet > task.period:
                raise Refusal(f"task {index}: PD2 needs utilisations of at most 1")
        self.quantum = math.gcd(*(time for it in self.system.tasks for time in times(it)))
        self.chosen: Sequence[Sequence[Choice]] = []
        self.renew = True

    def choose(self, now: int) -> Sequence[Sequence[Choice]]:
        if self.renew or now % self.quantum == 0:
            self.chosen = super().choose(now)
        self.renew = False
        return self.chosen

    def completed(self, now: int, task: int) -> None:
        self.renew = True

    def current(self, task: int) -> tuple[int, int]:
        """Instant of the head job's release, and its next subtask."""
        job = self.tasks[task].jobs[0]
        done = max(0, self.tasks[task].task.wcet - job.remaining)
        return job.release, done // self.quantum + 1

    def eligible(self, now: int, task: int) -> bool:
        release, i = self.current(task)
        window = subtask(self.tasks[task].task.utilisation, i)
        return now >= release + self.quantum * window.release

    def key(self, now: int, task: int) -> tuple[int, ...]:
        release, i = self.current(task)
        weight = self.tasks[task].task.utilisation
        it = subtask(weight, i)
        group = group_deadline(weight, i)
        # Light tasks (group deadline 0) lose to every heavy one; it is only looked at with b = 1.
        later = release + self.quantum * group if group and it.b else 0
        return release + self.quantum * it.deadline, -it.b, -later, self.rank[task]
