"""The bound of pinned threads with priority inheritance, as its text has it, and without a part."""

from __future__ import annotations

from collections.abc import Callable

from deadbeat.model.systems import TaskSystem

#: Parts that may be left out; each must be refuted by simulation.
PARTS = ("boost", "arrival", "strangers", "held", "hand-over", "repeat")


class Bound:
    def __init__(self, system: TaskSystem, without: str = "") -> None:
        self.tasks, self.without = system.tasks, without
        self.prio = [task.priority for task in system.tasks]
        self.response = [task.wcet for task in system.tasks]
        self.all = range(len(system.tasks))
        self.ceiling = {
            lock.name: max(
                (self.prio[j] for j in self.all if self.issued(j, {lock.name: 1})), default=0
            )
            for lock in system.locks
        }

    def run(self) -> list[int] | None:
        while True:
            found = [self.respond(i) for i in self.all]
            if None in found:
                return None
            if found == self.response or self.without == "repeat":  # J = C as at first
                return found
            self.response = found

    def respond(self, i: int) -> int | None:
        task = self.tasks[i]
        locks = {s.lock: self.issued(i, {s.lock: 1}) for s in task.sections}
        total: int | None = 0
        for lock, count in locks.items():
            one = {lock: 1}
            waits = least(
                1,
                lambda x, q=one: self.local(i, x) + self.boost(i, q, x) + self.remote(i, q, x),
                task.deadline,
            )
            if waits is None or total is None:
                total = None
            else:
                total += count * self.remote(i, one, waits)

        def window(x: int) -> int:
            away = self.remote(i, locks, x)
            away = away if total is None else min(away, total)
            return task.wcet + self.local(i, x) + self.boost(i, locks, x) + away

        return least(self.response[i], window, task.deadline)

    def local(self, i: int, x: int) -> int:
        total = 0
        for j in self.beside(i):
            if self.prio[j] >= self.prio[i]:
                task, work = self.tasks[j], self.work(j, x)
                if self.prio[j] > self.prio[i] and not task.sections:
                    work = min(work, -(-x // task.period) * task.wcet)
                total += work
        return total

    def boost(self, i: int, locks: dict[str, int], x: int) -> int:
        if self.without == "boost":
            return 0
        often = sum(locks.values()) + (self.without != "arrival")
        for j in self.beside(i):
            if self.prio[j] >= self.prio[i]:
                often += self.jobs(j, x) * self.issued(j, locks)
        return sum(self.longest(j, self.prio[i], often, x) for j in self.less(i, self.prio[i]))

    def remote(self, i: int, locks: dict[str, int], x: int) -> int:
        total, most = 0, dict.fromkeys(locks, 0)
        for home in {task.home for task in self.tasks} - {self.tasks[i].home}:
            there = [j for j in self.all if self.tasks[j].home == home]
            users = [j for j in there if self.issued(j, locks)]
            if not users:
                continue
            height = max(self.prio[i], min(self.prio[j] for j in users))
            often = sum(
                self.jobs(j, x) * self.issued(j, locks)
                for j in users
                if self.prio[j] >= self.prio[i]
            )
            below = [j for j in there if self.prio[j] < height]
            for j in set(there) - set(below):
                if users == [j]:
                    mine = (s.count * s.length for s in self.tasks[j].sections if s.lock in locks)
                    total += self.jobs(j, x) * sum(mine)
                elif j in users or self.without != "strangers":
                    total += self.work(j, x)
            if self.without != "hand-over":
                total += sum(self.longest(j, height, often, x) for j in below)
            for lock in locks:
                if any(self.issued(j, {lock: 1}) for j in users):
                    held = sum(self.longest(j, height, 1, x) for j in below)
                    most[lock] = max(most[lock], held)
        held = sum(count * most[lock] for lock, count in locks.items())
        return total + (held if self.without != "held" else 0)

    def beside(self, i: int) -> list[int]:
        return [j for j in self.all if j != i and self.tasks[j].home == self.tasks[i].home]

    def less(self, i: int, urgency: int) -> list[int]:
        return [j for j in self.beside(i) if self.prio[j] < urgency]

    def issued(self, j: int, locks: dict[str, int]) -> int:
        return sum(s.count for s in self.tasks[j].sections if s.lock in locks)

    def jobs(self, j: int, x: int) -> int:
        return -(-(x + self.response[j]) // self.tasks[j].period)

    def work(self, j: int, x: int) -> int:
        task = self.tasks[j]
        whole, rest = divmod(x + self.response[j] - task.wcet, task.period)
        return whole * task.wcet + min(task.wcet, rest)

    def longest(self, j: int, ceiling: int, often: int, x: int) -> int:
        lengths = [
            s.length
            for s in self.tasks[j].sections
            if self.ceiling[s.lock] >= ceiling
            for _ in range(s.count * self.jobs(j, x))
        ]
        return sum(sorted(lengths, reverse=True)[:often])


def least(start: int, of: Callable[[int], int], limit: int) -> int | None:
    """The least fixed point from ``start`` on, if it is at most ``limit``."""
    x = start
    while (then := of(x)) > x:
        x = then
        if x > limit:
            return None
    return x
