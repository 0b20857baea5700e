"""From prices of sharing to the slowdown of any work beside any others.

One rival: as measured, shrunk by its own noise. Several: by what they share. Computation (NS) slows
through caches and memory, so its slowdowns grow as demands on a bandwidth do (S. Williams, A.
Waterman, D. Patterson: Roofline. Communications of the ACM 52(4), 2009); synchronisation (SY) slows
through objects and kernel locks, so its slowdowns grow as a queue does: the machine-repairman
model, solved by mean value analysis (M. Reiser, S. Lavenberg: Mean-Value Analysis of Closed
Multichain Queuing Networks. Journal of the ACM 27(2), 1980): each core thinks, queues first come
first served, holds. What comes through several ways adds up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from operator import attrgetter

import numpy as np
from attrs import evolve, field, frozen

from deadbeat.base.model.grouping import grouped
from deadbeat.base.stats.intervals import Interval
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.tasks import Access, TaskSet
from deadbeat.tasksets.prices.replay import UNKNOWN, ReplayTask
from deadbeat.tasksets.prices.table import Price, PriceTable
from deadbeat.tasksets.synthesis.stream import Stream

_HALVINGS = 50
#: Factor of a price with each doubling of the cores, at both ends of a range: few cores cannot show
#: how a price grows. 31 of 34 public machines lie within (bench/bench_cores.py).
GROWTH = (0.95, 2.0)


@lru_cache(maxsize=100_000)
def repairman(customers: int, share: float) -> float:
    """Time of a cycle beside ``customers`` - 1 others over its time alone; ``share``: of a cycle
    alone, the part that holds the lock, 0 to 1."""
    cycle, queue = 1.0, 0.0
    for number in range(1, customers + 1):
        held = share * (1 + queue)
        cycle = held + (1 - share)
        queue = number * held / cycle
    return cycle


@lru_cache(maxsize=100_000)
def lock_of(slowdown: float, rivals: int = 1) -> tuple[float, float]:
    """What a slowdown beside ``rivals`` says of a lock: the share of a cycle that it is held, and
    by how much longer a cycle is merely because cores share it.

    Waiting alone makes a cycle at most ``rivals`` + 1 times as long; what is beyond is the price of
    sharing (cache lines that move, threads that sleep). Below, the two cannot be separated, and
    all counts as waiting.
    """
    most = rivals + 1
    if slowdown >= most:
        return 1.0, slowdown / most
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if repairman(most, middle) < slowdown else (low, middle)
    return (low + high) / 2, 1.0


def queued(slowdown: float, rivals: int, *, measured: int = 1) -> float:
    """Slowdown beside ``rivals`` who use an object, when it is ``slowdown`` beside ``measured``."""
    if rivals == 0 or slowdown <= 1.0:
        return 1.0
    share, price = lock_of(slowdown, measured)
    return price * repairman(rivals + 1, share)


def growth(demands: Sequence[float], measured: float) -> float:
    """Factor of a slowdown by bandwidth when all of ``demands`` (of everybody, the victim included,
    as parts of the capacity) meet, over that at ``measured``: the sum of those that were beside
    each other when the slowdown was."""
    return max(1.0, math.fsum(demands)) / max(1.0, measured)


#: A smaller excess says only that the two together ask for no more than there is.
_SHOWS = 0.05


@frozen(order=True)
class SizedWork:
    """A fragment of one size; ``shared``: its object is one for all cores."""

    fragment: str
    size: int
    shared: bool = False

    @property
    def kind(self) -> str:
        return self.fragment + "@shared" * self.shared


@frozen(kw_only=True)
class PairSlowdown:
    """Slowdown of a victim beside one aggressor, and its 95 % interval (None: not known)."""

    value: float
    interval: Interval | None

    @property
    def excess(self) -> float:
        """What of the slowdown is beyond 1, shrunk towards nothing by its own noise.

        W. James, C. Stein: Estimation with Quadratic Loss, Berkeley Symposium 1961; here for one
        value at a time, positive part. Without an interval as measured.
        """
        excess = self.value - 1.0
        if self.interval is None or excess == 0.0:
            return max(0.0, excess)
        noise = (self.interval.high - self.interval.low) / 4
        return max(0.0, excess) * max(0.0, 1 - (noise / excess) ** 2)


@frozen(kw_only=True)
class PairMatrix:
    """Who slows whom; works are indices into ``works``.

    Attributes:
        computes: Whether each work is computation; ``memory``: whether it is of that class.
        rivals: How many aggressors there were.
        same: For each work the first one that is slowed alike, itself where there is none; empty:
            all differ.
    """

    works: tuple[SizedWork, ...]
    computes: tuple[bool, ...]
    memory: tuple[bool, ...]
    pairs: Mapping[tuple[int, int], PairSlowdown] = field(repr=False)
    rivals: int = 1
    same: tuple[int, ...] = ()

    @cached_property
    def places(self) -> dict[SizedWork, int]:
        return {work: at for at, work in enumerate(self.works)}

    def place(self, work: SizedWork) -> tuple[int, bool]:
        """Its index, and whether that is of this very size: else of the size nearest to it.

        `UNKNOWN`: no size of it was measured.
        """
        exact = self.places.get(work)
        if exact is not None:
            return exact, True
        alike = [each for each in self.works if each.kind == work.kind]
        if not alike:
            return UNKNOWN, False
        nearest = min(alike, key=lambda each: (abs(math.log(each.size / work.size)), each.size))
        return self.places[nearest], False


#: Nothing slows anything.
NOTHING = PairMatrix(works=(), computes=(), memory=(), pairs={})


def priced_matrices(prices: Iterable[Price]) -> tuple[PairMatrix, ...]:
    """Prices of one state as matrices, by the number of rivals: an object slows itself, at any of
    its sizes; what is not priced slows nothing."""
    by_rivals = grouped((p for p in prices if p.ratio is not None), attrgetter("others"))
    return tuple(_priced(by_rivals[rivals], rivals) for rivals in sorted(by_rivals))


#: Sizes of an object are one work where their slowdowns differ by less: fewer changes to replay.
_ALIKE = 0.15


def _priced(prices: Sequence[Price], rivals: int) -> PairMatrix:
    values = [price.ratio or 1.0 for price in prices]
    same = [
        next(
            other
            for other, first in enumerate(prices)
            if first.object == price.object and abs(math.log(values[at] / values[other])) < _ALIKE
        )
        for at, price in enumerate(prices)
    ]
    means = [
        math.exp(np.mean([math.log(v) for v, its in zip(values, same, strict=True) if its == at]))
        for at in same
    ]
    pairs = {}
    for at, price in enumerate(prices):
        for other, beside in enumerate(prices):
            if beside.object == price.object:
                if price.half_width is None:
                    around = None
                else:
                    around = Interval(
                        means[at] * (1 - price.half_width), means[at] * (1 + price.half_width)
                    )
                pairs[(at, other)] = PairSlowdown(value=means[at], interval=around)
    return PairMatrix(
        works=tuple(SizedWork(p.object, p.size, shared=not p.memory) for p in prices),
        computes=tuple(p.memory for p in prices),
        memory=tuple(p.memory for p in prices),
        pairs=pairs,
        rivals=rivals,
        same=tuple(same),
    )


@frozen(eq=False)
class Rates:
    """Slowdowns of works by how many cores run each.

    Attributes:
        bend: -1, 0 or 1: every pair at the low end of its interval, as estimated, or at the high
            end, where memory works may also hide a demand that so few of them do not show, and
            cores that are in step an object that is held as long as they need not wait.
        growth: Factor of the price of a shared object with each doubling of the cores at it beyond
            those that were measured: two cores cannot show it.
        step: Factor of what is beyond 1 of a slowdown by a shared object: where the cores are
            further apart than the pair that was measured.
    """

    matrix: PairMatrix
    bend: int = 0
    growth: float = 1.0
    step: float = 1.0
    _excess: dict[tuple[int, int], float] = field(init=False, repr=False)
    _demand: tuple[float, ...] = field(init=False, repr=False)

    @_excess.default
    def _find_excess(self) -> dict[tuple[int, int], float]:
        return {
            pair: (self.step if self.matrix.works[pair[0]].shared else 1.0)
            * (
                found.excess
                if self.bend == 0 or found.interval is None
                else max(0.0, found.interval[self.bend > 0] - 1.0)
            )
            for pair, found in self.matrix.pairs.items()
        }

    @_demand.default
    def _find_demand(self) -> tuple[float, ...]:
        return tuple(map(self._demand_of, range(len(self.matrix.works))))

    def _demand_of(self, work: int) -> float:
        """Part of the bandwidth that a work asks for, by the roofline: what equal ones together
        take beyond the time of one is demand beyond the capacity. ``hidden``: what does not show.
        """
        if not self.matrix.computes[work]:
            return 0.0
        hidden = 1.0 / (self.matrix.rivals + 1)
        own = self._alike(work)
        if own >= _SHOWS:
            return hidden * (1.0 + own)
        seen = [
            (1.0 + excess - hidden * (1.0 + self._alike(victim))) / self.matrix.rivals
            for (victim, aggressor), excess in self._excess.items()
            if aggressor == work and excess >= _SHOWS and self._alike(victim) >= _SHOWS
        ]
        if seen:
            return min(hidden, max(0.0, float(np.median(seen))))
        return hidden if self.bend > 0 and self.matrix.memory[work] else 0.0

    def _alike(self, work: int) -> float:
        return self._excess.get((work, work), 0.0) if self.matrix.computes[work] else 0.0

    def __call__(self, active: Mapping[int, int]) -> dict[int, float]:
        found = {}
        for work in active:
            found[work] = self.slowdown(
                work, {g: n - (g == work) for g, n in active.items() if n > (g == work)}
            )
        return found

    def slowdown(self, victim: int, others: Mapping[int, int]) -> float:
        """Slowdown of ``victim`` on one core beside ``others`` (work -> cores)."""
        measured = self.matrix.rivals
        computing = {g: n for g, n in others.items() if self.matrix.computes[g]}
        excess = self._through_memory(victim, computing)
        for meeting, rivals in self._objects(others):
            mean = sum(self._excess.get((victim, g), 0.0) * n for g, n in meeting) / rivals
            pair = 1.0 + mean
            mine, theirs = (self.matrix.works[work] for work in (victim, meeting[0][0]))
            if self.bend > 0 and mine.shared and mine.kind == theirs.kind:
                pair = max(pair, repairman(measured + 1, 1.0 / (measured + 1)))
            slower = queued(pair, rivals, measured=measured)
            if slower > 1.0 and rivals > measured:
                slower *= self.growth ** math.log2((rivals + 1) / (measured + 1))
            excess += slower - 1.0
        return 1.0 + excess

    def _objects(
        self, others: Mapping[int, int]
    ) -> Iterable[tuple[Sequence[tuple[int, int]], int]]:
        """Synchronising rivals by what they meet at: the same fragment is one object or lock."""
        meeting = (each for each in others.items() if not self.matrix.computes[each[0]])
        found = grouped(meeting, lambda each: self.matrix.works[each[0]].kind)
        return ((keys, sum(cores for _, cores in keys)) for keys in found.values())

    def _through_memory(self, victim: int, others: Mapping[int, int]) -> float:
        """What is beyond 1 because of computing rivals."""
        if not others:
            return 0.0
        measured = self.matrix.rivals
        excesses = {g: self._excess.get((victim, g), 0.0) for g in others}
        if sum(others.values()) <= measured:
            return sum(excesses[g] * n for g, n in others.items()) / measured
        worst = max(others, key=lambda g: (excesses[g], self._demand[g], g))
        if not self._demand[victim] and not excesses[worst]:
            return 0.0
        then = self._demand[victim] + measured * self._demand[worst]
        every = [self._demand[victim], *(self._demand[g] * n for g, n in others.items())]
        return (1.0 + excesses[worst]) * growth(every, then) - 1.0


@frozen(eq=False)
class RatesByRivals:
    """Slowdowns from the matrix of the most rivals that are not more than there are; ``matrices``:
    by the number of rivals, ascending."""

    matrices: tuple[PairMatrix, ...]
    bend: int = 0
    growth: float = 1.0
    step: float = 1.0
    _rates: tuple[Rates, ...] = field(init=False, repr=False)

    @_rates.default
    def _of_each(self) -> tuple[Rates, ...]:
        return tuple(Rates(each, self.bend, self.growth, self.step) for each in self.matrices)

    def __call__(self, active: Mapping[int, int]) -> dict[int, float]:
        rivals = sum(active.values()) - 1
        fitting = [each for each in self._rates if each.matrix.rivals <= rivals]
        return (fitting or self._rates[:1])[-1](active)


@frozen(kw_only=True)
class Covered:
    """How much of the time of a set's tasks the matrix knows. ``exact``: share of uses measured at
    their size; ``alike``: at another size of the fragment; ``lacking``: at none."""

    exact: float
    alike: float

    @property
    def lacking(self) -> float:
        return max(0.0, 1.0 - self.exact - self.alike)


def rates_of(table: PriceTable | None) -> dict[str, RatesByRivals]:
    """State of the host -> how cores slow one another in it."""
    names = dict.fromkeys(price.state for price in table.prices) if table else ()
    found = {name: priced_matrices(table.of(state=name)) for name in names if table}
    return {name: RatesByRivals(each) for name, each in found.items() if each}


def works_of(task_set: TaskSet, calibration: Calibration) -> list[list[tuple[SizedWork, float]]]:
    """Uses of a job in order, for each task, and the ns that each takes alone."""
    shared = {at for at, each in enumerate(task_set.resources) if each.access is Access.CON}
    return [
        [
            (SizedWork(use.entry.fragment, use.entry.size, use.resource in shared), cost_ps / 1000)
            for segment, costs in zip(task.segments, calibration.job_costs_ps(task), strict=True)
            for use, cost_ps in zip(segment.uses, costs, strict=True)
        ]
        for task in task_set.tasks
    ]


def prepared(
    task_set: TaskSet, calibration: Calibration, matrix: PairMatrix
) -> tuple[tuple[ReplayTask, ...], Covered]:
    """The set for the replay, and how much of it the matrix knows, by utilisation."""
    tasks, weights = [], {True: 0.0, False: 0.0, None: 0.0}
    for task, works in zip(task_set.tasks, works_of(task_set, calibration), strict=True):
        uses: list[tuple[int, float]] = []
        for work, ns in works:
            place, exact = matrix.place(work)
            weights[None if place == UNKNOWN else exact] += ns / task.period_ns
            place = matrix.same[place] if matrix.same and place != UNKNOWN else place
            before = uses.pop()[1] if uses and uses[-1][0] == place else 0.0
            uses.append((place, before + ns))
        tasks.append(
            ReplayTask(
                core=task.core,
                priority=task.priority,
                period_ns=task.period_ns,
                deadline_ns=task.deadline_ns,
                offset_ns=task.offset_ns,
                uses=tuple(uses),
                counts=task.critical,
            )
        )
    whole = sum(weights.values())
    return tuple(tasks), Covered(exact=weights[True] / whole, alike=weights[False] / whole)


def paced(tasks: Sequence[ReplayTask], factors: Sequence[float]) -> tuple[ReplayTask, ...]:
    """With all uses of each task longer by its factor: on a host that is slower."""
    return tuple(
        evolve(task, uses=tuple((work, ns * factor) for work, ns in task.uses))
        for task, factor in zip(tasks, factors, strict=True)
    )


def copied(tasks: Sequence[ReplayTask], cores: int, seed: int) -> tuple[ReplayTask, ...]:
    """A set for more cores: each further core does what one of the set's does, in turn, at offsets
    of its own, and its shared objects are shared by all."""
    own = 1 + max(task.core for task in tasks)
    stream = Stream(seed)
    found = [task for task in tasks if task.core < cores]
    for core in range(own, cores):
        found += [
            evolve(task, core=core, offset_ns=stream.below(task.period_ns))
            for task in tasks
            if task.core == core % own
        ]
    return tuple(found)


def scaled(tasks: Sequence[ReplayTask], factor: float) -> tuple[ReplayTask, ...]:
    """With periods, deadlines and offsets ``factor`` times as long."""
    return tuple(
        evolve(
            task,
            period_ns=max(1, round(task.period_ns * factor)),
            deadline_ns=max(1, round(task.deadline_ns * factor)),
            offset_ns=round(task.offset_ns * factor),
        )
        for task in tasks
    )
