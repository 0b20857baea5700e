"""The linear programs of MSRP, FMLP+ and DPCP by HiGHS, of each request on its own, for responses
that are given: Wieder and Brandenburg, RTSS 2013; Brandenburg, RTAS 2013 (its numbers below).

``OURS`` is beside what is published, of DPCP: what a less urgent task asks for is ahead of a
request directly or not at all, of its own processor never; sections of a more urgent task of the
same processor are of its execution time.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import product

import numpy as np
from scipy.optimize import linprog

from deadbeat.base.model.systems import CriticalSection, TaskSystem

OURS = True
Key = tuple[str, int, str, int, int]  # kind of delay, task, lock, section, request
Wanted = Callable[[str, int, str], bool]  # by kind, task and lock


class Program:
    """What keeps the job of task ``i``."""

    def __init__(self, system: TaskSystem, response: list[int], i: int, kinds: str) -> None:
        self.tasks, self.response, self.i = system.tasks, response, i
        self.m, self.locks = system.processors, [lock.name for lock in system.locks]
        self.servers = {
            lock.name: place % self.m if lock.processor is None else lock.processor
            for place, lock in enumerate(system.locks)
        }
        self.others = [x for x in range(len(self.tasks)) if x != i]
        self.keys: dict[Key, int] = {}
        self.lengths: list[int] = []
        for x in self.others:
            for s, section in enumerate(self.tasks[x].sections):
                for v, kind in product(range(self.falling(x) * section.count), kinds):
                    self.keys[kind, x, section.lock, s, v] = len(self.lengths)
                    self.lengths.append(section.length)
        self.rows: list[tuple[list[int], int]] = []
        by_request = defaultdict(list)
        for (_, *request), place in self.keys.items():
            by_request[tuple(request)].append(place)
        self.rows += [(places, 1) for places in by_request.values()]  # 1: of one kind

    def falling(self, x: int, window: int | None = None) -> int:
        """Jobs of x in a response of i, or in a window."""
        window = self.response[self.i] if window is None else window
        return -(-(window + self.response[x]) // self.tasks[x].period)

    def here(self, x: int) -> bool:
        return self.tasks[x].home == self.tasks[self.i].home

    def less(self, x: int) -> bool:
        return x > self.i  # the file is by urgency

    def most(self, wanted: Wanted, limit: int) -> None:
        places = [p for (kind, x, lock, *_), p in self.keys.items() if wanted(kind, x, lock)]
        self.rows.append((places, limit))

    def asked(self, x: int, lock: str | None = None) -> int:
        return sum(s.count for s in self.tasks[x].sections if lock in (None, s.lock))

    def falling_on(self, lock: str, tasks: Iterable[int]) -> int:
        return sum(self.falling(x) * self.asked(x, lock) for x in tasks)

    def solve(self, part: Wanted = lambda *_: True) -> int:
        """Of the optimum what is of ``part``."""
        if not self.keys:
            return 0
        rows = np.zeros((len(self.rows), len(self.keys)))
        for row, (places, _) in zip(rows, self.rows, strict=True):
            row[places] = 1
        limits = [limit for _, limit in self.rows]
        found = linprog(-np.array(self.lengths), A_ub=rows, b_ub=limits, bounds=(0, 1))
        assert found.status == 0
        total = sum(
            found.x[place] * self.lengths[place]
            for (kind, x, lock, *_), place in self.keys.items()
            if part(kind, x, lock)
        )
        assert abs(total - round(total)) < 1e-6  # the optimum is whole
        return round(total)


def fmlp_plus(system: TaskSystem, response: list[int], i: int) -> tuple[int, int]:
    """Delay, and of it that elsewhere."""
    it = Program(system, response, i, "DIP")
    it.most(lambda _, x, __: it.here(x) and not it.less(x), 0)  # 9
    it.most(lambda kind, x, _: kind == "P" and not it.here(x), 0)  # 10
    far = [x for x in it.others if not it.here(x)]

    def kept(tasks: list[int]) -> int:
        return sum(min(it.asked(i, q), it.falling_on(q, tasks)) for q in it.locks)

    for x in it.others:
        if it.here(x) and it.less(x):
            it.most(lambda _, y, __, x=x: x == y, 1 + kept(far))  # 11
        if it.here(x):
            continue
        there = [y for y in far if it.tasks[y].home == it.tasks[x].home]
        for q in it.locks:
            it.most(
                lambda kind, y, lock, x=x, q=q: (kind, y, lock) == ("D", x, q), it.asked(i, q)
            )  # 12
        it.most(lambda kind, y, _, x=x: y == x and kind in "DI", kept(there))  # 13
        rest = [y for y in there if y != x]
        it.most(lambda kind, y, _, x=x: y == x and kind == "I", kept(rest))  # 14
    return it.solve(), it.solve(lambda _, x, __: not it.here(x))


def dpcp(system: TaskSystem, response: list[int], i: int) -> tuple[int, int]:
    it = Program(system, response, i, "DIP")
    own, at = it.tasks[i].home, it.servers
    known = {s.lock for x, task in enumerate(it.tasks) if not it.less(x) for s in task.sections}

    def mine(k: int) -> list[CriticalSection]:
        return [s for s in it.tasks[i].sections if at[s.lock] == k]

    away = sum(s.count for k in range(it.m) if k != own for s in mine(k))
    it.most(lambda kind, _, q: kind == "P" and at[q] != own, 0)  # 2
    it.most(lambda kind, _, q: kind in "DI" and q not in known, 0)  # 6
    for x in it.others:
        if it.here(x) and it.less(x):
            it.most(lambda kind, y, q, x=x: (kind, y, at[q]) == ("P", x, own), 1 + away)  # 3
    for k in range(it.m):
        count = sum(s.count for s in mine(k))
        it.most(lambda kind, x, q, k=k: kind == "D" and it.less(x) and at[q] == k, count)  # 7
        it.most(lambda kind, _, q, k=k, n=count: kind in "DI" and at[q] == k and n == 0, 0)
        for x in it.others:
            if it.less(x):
                continue
            for q in {s.lock for s in it.tasks[x].sections if at[s.lock] == k}:
                waits = [waiting(it, k, s, known) for s in mine(k)]
                limit = sum(
                    n.count * it.falling(x, w or 0) * it.asked(x, q)
                    for n, w in zip(mine(k), waits, strict=True)
                )
                if None not in waits:
                    it.most(
                        lambda kind, y, lock, x=x, q=q: (y, lock) == (x, q) and kind in "DI", limit
                    )  # 8
    if OURS:
        it.most(lambda kind, x, _: kind == "I" and it.less(x), 0)
        it.most(lambda kind, _, q: kind in "DI" and at[q] == own, 0)
        it.most(lambda _, x, q: it.here(x) and not it.less(x) and at[q] == own, 0)
    return it.solve(), it.solve(lambda _, __, q: at[q] != own)


def waiting(it: Program, k: int, mine: CriticalSection, known: set[str]) -> int | None:
    """Until that request is done; None: not within the response."""
    there = [(x, s) for x in it.others for s in it.tasks[x].sections if it.servers[s.lock] == k]
    low = max((s.length for x, s in there if it.less(x) and s.lock in known), default=0)
    high = [(x, s) for x, s in there if not it.less(x)]
    wait = mine.length + low
    while wait <= it.response[it.i]:
        more = sum(it.falling(x, wait) * s.count * s.length for x, s in high)
        if wait == mine.length + low + more:
            return wait
        wait = mine.length + low + more
    return None


def mrsp(system: TaskSystem, response: list[int], i: int) -> tuple[int, int]:
    return msrp(system, response, i, by_ceiling=True)


def msrp(
    system: TaskSystem, response: list[int], i: int, *, by_ceiling: bool = False
) -> tuple[int, int]:
    """The longest with any one lock on arrival, which a less urgent task here uses."""
    spin = Program(system, response, i, "DA")
    spin.most(lambda kind, x, _: spin.here(x) and (kind == "D" or not spin.less(x)), 0)  # 5, 7
    urgent = [x for x in spin.others if spin.here(x) and not spin.less(x)]
    jobs = {h: -(-response[i] // spin.tasks[h].period) for h in urgent}
    far = [x for x in spin.others if not spin.here(x)]
    for q in spin.locks:
        here = spin.asked(i, q) + sum(jobs[h] * spin.asked(h, q) for h in urgent)
        for k in range(spin.m):
            spin.most(
                lambda kind, x, lock, q=q, k=k: (
                    (kind, lock, spin.tasks[x].home) == ("D", q, k) and not spin.here(x)
                ),
                here,
            )  # 8
        for x in far if spin.asked(i, q) == 0 else ():
            pending = sum(
                jobs[h] * spin.falling(x, response[h]) for h in urgent if spin.asked(h, q)
            )
            spin.most(
                lambda kind, y, lock, x=x, q=q: (kind, y, lock) == ("D", x, q),
                pending * spin.asked(x, q),
            )
    best, rows = 0, list(spin.rows)
    for chosen in (None, *spin.locks):  # 2: one lock at most
        users = [x for x in range(len(spin.tasks)) if chosen and spin.asked(x, chosen)]
        low = any(spin.here(x) and spin.less(x) for x in users)
        reaches = any(not spin.less(x) if spin.here(x) else not by_ceiling for x in users)
        spin.rows = list(rows)
        for q, k in product(spin.locks, range(spin.m)):
            spin.most(
                lambda kind, x, lock, q=q, k=k: (kind, lock, spin.tasks[x].home) == ("A", q, k),
                int(q == chosen and low and reaches),
            )  # 3, 4, 6, 9
        best = max(best, spin.solve())
    return best, 0


PROGRAMS = {"msrp-lp": msrp, "mrsp": mrsp, "fmlp-plus-lp": fmlp_plus, "dpcp-lp": dpcp}


def responses(test: str, system: TaskSystem, response: list[int]) -> list[int]:
    """What those responses lead to: the same, where they are the bounds."""
    delays = [PROGRAMS[test](system, response, i) for i in range(len(response))]
    found = []
    for i, task in enumerate(system.tasks):
        sum_of = task.wcet + delays[i][0]
        for h, other in enumerate(system.tasks[:i]):
            if other.home == task.home:
                jitter = response[h] - other.wcet if delays[h][1] > 0 else 0
                sum_of += -(-(response[i] + jitter) // other.period) * other.wcet
        found.append(sum_of)
    return found
