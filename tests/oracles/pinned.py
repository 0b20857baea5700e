"""The bound of pinned threads with priority inheritance, as locks.md has it, and without a part."""

from collections.abc import Callable

from deadbeat.base.model.systems import TaskSystem

#: Parts that may be left out; each must be refuted by simulation.
PARTS = ("boost", "arrival", "strangers", "held", "hand-over", "repeat")
Locks = dict[str, int]


class Bound:
    def __init__(self, system: TaskSystem, without: str = "") -> None:
        self.tasks, self.without, self.all = system.tasks, without, range(len(system.tasks))
        self.response = [task.wcet for task in system.tasks]
        self.prio = [task.priority for task in system.tasks]
        users = {q.name: [j for j in self.all if self.issued(j, q.name)] for q in system.locks}
        self.ceiling = {q: max((self.prio[j] for j in js), default=0) for q, js in users.items()}

    def run(self) -> list[int] | None:
        while True:
            found = [self.respond(i) for i in self.all]
            if None in found:
                return None
            if found == self.response or self.without == "repeat":  # J = C as at first
                return found
            self.response = found

    def respond(self, i: int) -> int | None:
        wcet, limit = self.tasks[i].wcet, self.tasks[i].deadline
        locks = {s.lock: self.issued(i, s.lock) for s in self.tasks[i].sections}
        single: float = 0
        for lock, count in locks.items():
            one = {lock: 1}
            x = least(1, lambda x, q=one: self.here(i, q, x) + self.away(i, q, x), limit)
            single += float("inf") if x is None else count * self.away(i, one, x)
        return least(
            self.response[i],
            lambda x: wcet + self.here(i, locks, x) + min(self.away(i, locks, x), single),
            limit,
        )

    def here(self, i: int, locks: Locks, x: int) -> int:
        """Local tasks, and boosts of less urgent ones."""
        total, often = 0, sum(locks.values()) + (self.without != "arrival")
        beside = [j for j in self.all if j != i and self.tasks[j].home == self.tasks[i].home]
        for j in (j for j in beside if self.prio[j] >= self.prio[i]):
            task, work = self.tasks[j], self.work(j, x)
            plain = self.prio[j] > self.prio[i] and not task.sections
            total += min(work, -(-x // task.period) * task.wcet) if plain else work
            often += self.jobs(j, x) * self.issued(j, *locks)
        below = (
            [] if self.without == "boost" else [j for j in beside if self.prio[j] < self.prio[i]]
        )
        return total + sum(self.longest(j, self.prio[i], often, x) for j in below)

    def away(self, i: int, locks: Locks, x: int) -> int:
        total, most, mine = 0, dict.fromkeys(locks, 0), self.prio[i]
        for home in {task.home for task in self.tasks} - {self.tasks[i].home}:
            there = [j for j in self.all if self.tasks[j].home == home]
            issued = {j: n for j in there if (n := self.issued(j, *locks))}
            if not issued:
                continue
            height = max(mine, min(self.prio[j] for j in issued))
            for j in (j for j in there if self.prio[j] >= height):
                if list(issued) == [j]:
                    own = (s.count * s.length for s in self.tasks[j].sections if s.lock in locks)
                    total += self.jobs(j, x) * sum(own)
                elif j in issued or self.without != "strangers":
                    total += self.work(j, x)
            below = [j for j in there if self.prio[j] < height]
            often = sum(self.jobs(j, x) * n for j, n in issued.items() if self.prio[j] >= mine)
            if self.without != "hand-over":
                total += sum(self.longest(j, height, often, x) for j in below)
            held = sum(self.longest(j, height, 1, x) for j in below)
            for lock in (q for q in locks if any(self.issued(j, q) for j in issued)):
                most[lock] = max(most[lock], held)
        return total + (self.without != "held") * sum(n * most[q] for q, n in locks.items())

    def issued(self, j: int, *locks: str) -> int:
        return sum(s.count for s in self.tasks[j].sections if s.lock in locks)

    def jobs(self, j: int, x: int) -> int:
        return -(-(x + self.response[j]) // self.tasks[j].period)

    def work(self, j: int, x: int) -> int:
        wcet = self.tasks[j].wcet
        whole, rest = divmod(x + self.response[j] - wcet, self.tasks[j].period)
        return whole * wcet + min(wcet, rest)

    def longest(self, j: int, ceiling: int, often: int, x: int) -> int:
        sections = (s for s in self.tasks[j].sections if self.ceiling[s.lock] >= ceiling)
        lengths = [s.length for s in sections for _ in range(s.count * self.jobs(j, x))]
        return sum(sorted(lengths, reverse=True)[:often])


def least(x: int, of: Callable[[int], int], limit: int) -> int | None:
    """The least fixed point from ``x`` on, if it is at most ``limit``."""
    while (then := of(x)) > x:
        x = then
        if x > limit:
            return None
    return x
