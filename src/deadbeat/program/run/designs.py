"""Changes together: which priorities, CPUs, reservations and inheritance are best, by simulation.

A local search from today's design and from rate-monotonic priorities on the CPUs where they first
fit: swaps of priorities, another CPU, a reservation, inheritance; the best neighbour until none is
better, then again from a few steps aside. Of a small program all designs are looked at.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise, permutations, product
from math import factorial, inf
from random import Random

from attrs import evolve, frozen

from deadbeat.base.model.words import time_text
from deadbeat.program.derive.placer import Placing
from deadbeat.program.derive.records import REAL_TIME
from deadbeat.program.derive.tasks import DerivedTask
from deadbeat.program.run.whatif import Foreseen, Score, score_of

#: Designs that are proved; CPU time of a search, s; share of a CPU for reservations.
MOST, _SECONDS, _ROOM = 3, 5.0, 0.9
#: Starts again without a better design before it ends; steps aside before each.
_AGAIN, _ASIDE = 200, (2, 12)
#: How many of the best designs are made smaller, as long as the worst response is as good.
_PRUNED, _AS_GOOD = 12, 1.05
#: Priorities that are given begin below those of the kernel's own threads (50), but for as many.
TOP, _RANKS = 49, {*range(1, 99)}
#: Of a reservation beyond the largest execution time.
_SPARE = 1.1

Simulate = Callable[[tuple[Placing, ...], bool, bool], Mapping[str, Foreseen]]


@frozen
class Seat:
    """How a thread runs; ``reserved``: runtime, deadline and period of SCHED_DEADLINE, ns."""

    policy: str
    priority: int
    cpus: tuple[int, ...]
    reserved: tuple[int, int, int] = (0, 0, 0)

    @property
    def how(self) -> tuple[str, int, tuple[int, int, int]]:
        return self.policy, self.priority, self.reserved


@frozen
class Design:
    """``seats``: of each thread; ``inherit``: all mutexes do; ``memory``: it is locked."""

    seats: tuple[Seat, ...]
    inherit: bool = False
    memory: bool = False


@frozen(kw_only=True)
class Searched:
    """``best``: designs that differ, the best first, then the smallest with as few misses;
    ``looked``: at how many designs, ``proved``: at all of them."""

    best: tuple[Design, ...]
    looked: int
    proved: bool


def priorities_for(tasks: Sequence[DerivedTask]) -> list[int]:
    """Priorities to give, the most urgent first: those that there are, where each has its own."""
    now = sorted((task.priority for task in tasks), reverse=True)
    if all(task.policy in REAL_TIME for task in tasks) and len({*now}) == len(now):
        return now
    top = max(TOP, len(now), *now)
    return [max(top - place, 1) for place in range(len(now))]


def reservation(task: DerivedTask) -> tuple[int, int, int] | None:
    """Runtime, deadline and period that a thread needs, ns; None: it has none, or takes all."""
    period = task.period_ns or task.min_gap_ns or 0
    runtime, deadline = (
        int(_SPARE * (task.charged_max_ns or 0)),
        min(task.deadline_ns or period, period),
    )
    return (runtime, deadline, period) if period and 1024 <= runtime <= deadline else None


class DesignSearch:
    """A search over designs of ``tasks`` on ``cpus``; ``judged``: threads that count; ``simulate``:
    what the simulator has of placings, with inheritance and with locked memory; ``locks``,
    ``faults``: there are some, of mutexes to inherit by, and of pages; ``ns``: for how long they
    were seen; ``others``: priorities of threads that stay; ``pins``: all but the CPUs stays."""

    def __init__(
        self,
        tasks: Sequence[DerivedTask],
        judged: Sequence[DerivedTask],
        cpus: tuple[int, ...],
        simulate: Simulate,
        *,
        ns: int,
        locks: bool = False,
        faults: bool = False,
        others: Iterable[int] = (),
        pins: bool = False,
    ) -> None:
        self._tasks, self._judged, self._simulate = tasks, judged, simulate
        self._room, self._pins = _ROOM * len(cpus), pins
        self._inherits, self._holds = (False, True)[: 1 + locks], (False, True)[: 1 + faults]
        self._ranks = priorities_for(tasks)
        self._every = cpus
        self._reserved = [None if pins else reservation(task) for task in tasks]
        self._asked = [
            task.demand((task.charged_mean_ns or 0.0) * task.jobs, task.jobs, ns) for task in tasks
        ]
        self._cpus = [dict.fromkeys([task.cpus, cpus, *((cpu,) for cpu in cpus)]) for task in tasks]
        self.now = Design(tuple(Seat(task.policy, task.priority, task.cpus) for task in tasks))
        self.known: dict[Design, Score] = {}
        self._scores: dict[Design, Score] = {}
        self._others = {*others}

    def placings(self, design: Design) -> tuple[Placing, ...]:
        """What is to be set for it."""
        found = []
        for task, seat, was in zip(self._tasks, design.seats, self.now.seats, strict=True):
            placing = Placing(name=task.name)
            if seat.how != was.how:
                runtime, deadline, period = seat.reserved
                placing = evolve(
                    placing,
                    policy=seat.policy,
                    priority=seat.priority or None,
                    runtime_ns=runtime,
                    deadline_ns=deadline,
                    period_ns=period,
                )
            if seat.cpus != was.cpus:
                placing = evolve(placing, cpus=seat.cpus)
            if placing != Placing(name=task.name):
                found.append(placing)
        return tuple(found)

    def score(self, design: Design) -> Score:
        if design not in self.known:
            same = _ordered(design, self._others)
            if same not in self._scores:
                found = self._simulate(self.placings(design), design.inherit, design.memory)
                self._scores[same] = score_of(found, self._judged)
            self.known[design] = self._scores[same]
        return self.known[design]

    def changes(self, design: Design) -> list[tuple[str, Design]]:
        """What it changes, each with the design without it."""
        found = []
        for place, (task, seat, was) in enumerate(
            zip(self._tasks, design.seats, self.now.seats, strict=True)
        ):
            if seat.policy == "deadline":
                runtime, _, period = (time_text(ns) for ns in seat.reserved)
                words = f"the reservation of {task.name} ({runtime} every {period})"
                found.append((words, self._with(design, place, was)))
                continue
            if seat.how != was.how:
                back = evolve(seat, policy=was.policy, priority=was.priority)
                words = f"FIFO {seat.priority} of {task.name}"
                found.append((words, self._with(design, place, back)))
            if seat.cpus != was.cpus:
                back = evolve(seat, cpus=was.cpus)
                where = ",".join(map(str, seat.cpus))
                found.append((f"CPU {where} of {task.name}", self._with(design, place, back)))
        if design.inherit:
            found.append(("inheritance", evolve(design, inherit=False)))
        if design.memory:
            found.append(("locked memory", evolve(design, memory=False)))
        return found

    def search(self, count: int = MOST, seconds: float = _SECONDS) -> Searched:
        """The best ``count`` designs that are found in so much CPU time."""
        begin = time.process_time()
        self.score(self.now)
        each = max(time.process_time() - begin, 1e-4)
        proved = self._all_of_them() * each < seconds
        if proved:
            for design in self._enumerated():
                self.score(design)
        else:
            self._climb(begin + seconds)
        best = min(self.known, key=self._key)
        if self.known[best] >= self.known[self.now]:
            return Searched(best=(), looked=len(self._scores), proved=proved)
        looked, (misses, worst) = len(self._scores), self.known[best]
        kinds = self._of_each_kind()
        close = [*sorted(self.known, key=self._key)[:_PRUNED], *kinds]
        best = self._pruned(best, (misses, _AS_GOOD * worst))
        smallest = min(
            (self._pruned(each, (misses, inf)) for each in close if self.known[each][0] <= misses),
            key=lambda each: (len(self.changes(each)), self.score(each)),
        )
        chosen = [*dict.fromkeys([best, smallest])]
        for other in kinds:
            if len(chosen) < count and all(_kind(other) != _kind(known) for known in chosen):
                chosen.append(other)
        return Searched(
            best=tuple(chosen) if count > 1 else (smallest,),
            looked=looked,
            proved=proved,
        )

    def _key(self, design: Design) -> tuple[int, float, int]:
        return *self.known[design], len(self.changes(design))

    def _of_each_kind(self) -> list[Design]:
        """The best of each kind, with few changes."""
        kinds: dict[tuple[bool, bool], Design] = {}
        for design in sorted(self.known, key=self._key):
            kinds.setdefault(_kind(design), design)
        limits = ((each, self.known[each]) for each in kinds.values())
        found = [self._pruned(each, (misses, _AS_GOOD * worst)) for each, (misses, worst) in limits]
        return sorted(found, key=self._key)

    def _pruned(self, design: Design, limit: Score) -> Design:
        """With as few changes as leave it within the limit."""
        now, smaller = design, [design]
        while smaller:
            now = min(smaller, key=self.score)
            every = (each for _, less in self.changes(now) for each in self._apart(less))
            smaller = [less for less in every if self.score(less) <= limit]
        return now

    def _apart(self, design: Design) -> Iterator[Design]:
        """It, if it is possible; else with another priority of a thread that has a new one."""
        if self._possible(design):
            yield design
            return
        for place, (seat, was) in enumerate(zip(design.seats, self.now.seats, strict=True)):
            for rank in _between(design) if seat.priority != was.priority else ():
                moved = self._with(design, place, evolve(seat, priority=rank))
                if self._possible(moved):
                    yield moved

    def _possible(self, design: Design) -> bool:
        """Whether reservations have room, and no more threads of one CPU are as urgent."""
        if not self._pins and _ties(design) > _ties(self.now):
            return False
        asked = (seat.reserved for seat in design.seats if seat.policy == "deadline")
        return sum(runtime / period for runtime, _, period in asked if period) <= self._room

    def _with(self, design: Design, place: int, seat: Seat) -> Design:
        seats = (*design.seats[:place], seat, *design.seats[place + 1 :])
        return evolve(design, seats=seats)

    def _all_of_them(self) -> int:
        orders = 1 if self._pins else factorial(len(self._tasks))
        for cpus, reserved in zip(self._cpus, self._reserved, strict=True):
            orders *= len(cpus) + (reserved is not None)
        return orders * len(self._inherits) * len(self._holds)

    def _enumerated(self) -> Iterator[Design]:
        """All designs that are possible."""
        where: list[list[tuple[int, ...] | None]] = [
            [*cpus, *([None] * (reserved is not None))]
            for cpus, reserved in zip(self._cpus, self._reserved, strict=True)
        ]
        orders = [()] if self._pins else permutations(self._ranks)
        for order, places in product(orders, product(*where)):
            seats = []
            for place, (now, cpus) in enumerate(zip(self.now.seats, places, strict=True)):
                if cpus is None:
                    seats.append(self._reservation(place))
                elif self._pins:
                    seats.append(evolve(now, cpus=cpus))
                else:
                    seats.append(Seat("fifo", order[place], cpus))
            for inherit, memory in product(self._inherits, self._holds):
                design = Design(tuple(seats), inherit, memory)
                if self._possible(design):
                    yield design

    def _reservation(self, place: int) -> Seat:
        return Seat("deadline", 0, self._every, self._reserved[place] or (0, 0, 0))

    def _neighbours(self, design: Design) -> Iterator[Design]:
        seats = design.seats
        for inherit in self._inherits[1:]:
            yield evolve(design, inherit=design.inherit != inherit)
        for memory in self._holds[1:]:
            yield evolve(design, memory=design.memory != memory)
        used = {seat.priority for seat in seats}
        free = next((rank for rank in self._ranks if rank not in used), self._ranks[-1])
        for place, seat in enumerate(seats):
            for cpus in self._cpus[place] if seat.policy != "deadline" else ():
                yield self._with(design, place, evolve(seat, cpus=cpus))
            for rank in _between(design) if seat.policy != "deadline" and not self._pins else ():
                yield self._with(design, place, evolve(seat, policy="fifo", priority=rank))
            if self._reserved[place]:
                now = Seat("fifo", free, self.now.seats[place].cpus)
                made = self._reservation(place) if seat.policy != "deadline" else now
                yield self._with(design, place, made)
        for one, two in combinations(range(len(seats)), 2) if not self._pins else ():
            if "deadline" not in (seats[one].policy, seats[two].policy):
                first = evolve(seats[one], policy=seats[two].policy, priority=seats[two].priority)
                then = evolve(seats[two], policy=seats[one].policy, priority=seats[one].priority)
                yield self._with(self._with(design, one, first), two, then)

    def _around(self, design: Design) -> list[Design]:
        every = [each for each in self._neighbours(design) if self._possible(each)]
        return every or [design]

    def _starts(self) -> Iterator[Design]:
        """Today's, and rate-monotonic priorities on the CPUs where they first fit."""
        yield self.now
        order = sorted(
            range(len(self._tasks)),
            key=lambda place: self._tasks[place].deadline_ns or self._tasks[place].period_ns or 0,
        )
        load, seats = dict.fromkeys(self._every, 0.0), [*self.now.seats]
        for place in sorted(order, key=lambda each: -self._asked[each]):
            fits = [cpu for cpu in load if load[cpu] + self._asked[place] <= 1]
            cpu = fits[0] if fits else min(load, key=load.__getitem__)
            load[cpu] += self._asked[place]
            rank = self._ranks[order.index(place)]
            now = seats[place]
            seats[place] = evolve(now, cpus=(cpu,)) if self._pins else Seat("fifo", rank, (cpu,))
        for inherit, memory in product(self._inherits, self._holds):
            yield Design(tuple(seats), inherit, memory)

    def _climb(self, until: float) -> None:
        draw, best, idle = Random(1), self.now, 0
        for start in self._starts():
            best = min(best, self._up(start, until), key=self.score)
        while idle < _AGAIN and time.process_time() < until:
            start = best
            for _ in range(draw.randint(*_ASIDE)):
                start = draw.choice(self._around(start))
            found = self._up(start, until)
            idle = 0 if self.score(found) < self.score(best) else idle + 1
            best = min(best, found, key=self.score)

    def _up(self, design: Design, until: float) -> Design:
        """The best one that better neighbours lead to."""
        while time.process_time() < until:
            next_one = min(self._around(design), key=self.score)
            if self.score(next_one) >= self.score(design):
                break
            design = next_one
        return design


def _between(design: Design) -> list[int]:
    """Priorities below, between and above those that it has."""
    order = sorted({seat.priority for seat in design.seats} - {0})
    gaps = {(one + other) // 2 for one, other in pairwise(order)} - {*order}
    gaps |= {order[0] - 1, order[-1] + 1} if order else set()
    return sorted(gaps & _RANKS)


def _ordered(design: Design, others: set[int]) -> Design:
    """The same with priorities 1, 2, .. among ``others``: it runs as the other does."""
    order = sorted(({seat.priority for seat in design.seats} | others) - {0})
    seats = (
        evolve(seat, priority=order.index(seat.priority) + 1 if seat.priority else 0)
        for seat in design.seats
    )
    return evolve(design, seats=tuple(seats))


def _ties(design: Design) -> int:
    """Pairs of threads that are as urgent as each other on a CPU."""
    fixed = [seat for seat in design.seats if seat.priority]
    return sum(
        one.priority == two.priority and not {*one.cpus}.isdisjoint(two.cpus)
        for one, two in combinations(fixed, 2)
    )


def _kind(design: Design) -> tuple[bool, bool]:
    """Whether locks inherit in it, and whether it has reservations."""
    return design.inherit, any(seat.policy == "deadline" for seat in design.seats)
