"""A machine whose contention is known: cores, locks served first come first served, a bandwidth.

A discrete-event simulation, the truth beside which `tasksets.prediction` is judged on machines that
are not there. It knows nothing of that model: locks have hold times, streams have demands, and the
matrix of slowdowns is what `deadbeat interfere` would see of it on two cores.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attrs import define, field, frozen

from deadbeat.tasksets.interfere.results import ALONE, InterfereRun, slowdowns
from deadbeat.tasksets.interfere.spec import InterfereKey, SetWork
from deadbeat.tasksets.prices.rates import PairMatrix, PairSlowdown, SizedWork
from deadbeat.tasksets.prices.replay import ReplayTask

_SLOT_NS = 3_000_000


@frozen(kw_only=True)
class KnownWork:
    """One use of a fragment.

    Attributes:
        name: Fragment of the catalog that it stands for; ``shared``: as of `SetWork`.
        operations: Of a use; each thinks ``think_ns``, then holds lock ``lock`` for ``hold_ns``.
        stream_ns: Or it streams so long alone, asking for ``demand`` of the bandwidth.
        draws: ``fixed`` or ``exponential`` times.
        growth: Factor of the times of an operation with each doubling, beyond two, of the cores
            that are in a use of its lock.
    """

    name: str
    operations: int = 1
    think_ns: float = 0.0
    hold_ns: float = 0.0
    lock: str = ""
    stream_ns: float = 0.0
    demand: float = 0.0
    draws: str = "exponential"
    growth: float = 1.0

    @property
    def work(self) -> SetWork:
        return SetWork(self.name, 1, bool(self.lock))

    @property
    def alone_ns(self) -> float:
        return self.operations * (self.think_ns + self.hold_ns) + self.stream_ns


@frozen(kw_only=True)
class Program:
    """What a core does: ``uses`` in order, every ``period_ns``; 0: without end."""

    uses: tuple[KnownWork, ...]
    period_ns: float = 0.0
    offset_ns: float = 0.0


@define
class Core:
    program: Program
    phases: Iterator[tuple[str, float, Any]] = field(factory=lambda: iter(()))
    start_ns: float = 0.0
    busy: bool = False
    jobs: int = 0
    spans_ns: float = 0.0
    holds: str = ""
    demand: float = 0.0


class KnownMachine:
    """Runs a program on each core until ``horizon_ns``."""

    def __init__(self, programs: Sequence[Program], seed: int) -> None:
        self.cores = [Core(program) for program in programs]
        self._random = random.Random(seed)
        self._events: list[tuple[float, int, int, str]] = []
        self._streams: list[tuple[float, int, int]] = []
        self._queues: dict[str, deque[tuple[int, float]]] = {}
        self._held: set[str] = set()
        self._users: Counter[str] = Counter()
        self._now = self._virtual = self._demand = 0.0
        self._number = 0

    def run(self, horizon_ns: float) -> list[Core]:
        for index, core in enumerate(self.cores):
            self._at(core.program.offset_ns, index, "release")
        while True:
            known, stream = self._next()
            at = min(known, stream)
            if at >= horizon_ns:
                return self.cores
            self._virtual += (at - self._now) / max(1.0, self._demand)
            self._now = at
            if stream < known:
                index = heapq.heappop(self._streams)[2]
                self._demand -= self.cores[index].demand
                self._step(index)
            else:
                _, _, index, what = heapq.heappop(self._events)
                self._release(index) if what == "release" else self._finish(index)

    def _next(self) -> tuple[float, float]:
        """When the next event comes, and when the next stream ends."""
        known = self._events[0][0] if self._events else float("inf")
        if not self._streams:
            return known, float("inf")
        left = self._streams[0][0] - self._virtual
        return known, self._now + max(0.0, left) * max(1.0, self._demand)

    def _at(self, when: float, index: int, what: str) -> None:
        self._number += 1
        heapq.heappush(self._events, (when, self._number, index, what))

    def _release(self, index: int) -> None:
        core = self.cores[index]
        if core.program.period_ns:
            self._at(self._now + core.program.period_ns, index, "release")
        if core.busy:
            return
        core.busy, core.start_ns = True, self._now
        core.phases = self._phases(core.program)
        self._step(index)

    def _phases(self, program: Program) -> Iterator[tuple[str, float, Any]]:
        for use in program.uses:
            if use.stream_ns:
                yield "stream", use.stream_ns, use.demand
                continue
            self._users[use.lock] += 1
            for _ in range(use.operations):
                yield "compute", self._draw(use, use.think_ns), None
                if use.lock:
                    yield "hold", self._draw(use, use.hold_ns), use.lock
            self._users[use.lock] -= 1

    def _draw(self, use: KnownWork, mean_ns: float) -> float:
        if use.growth > 1 and use.lock and self._users[use.lock] > 2:
            mean_ns *= use.growth ** math.log2(self._users[use.lock] / 2)
        exponential = use.draws == "exponential" and use.lock
        return self._random.expovariate(1 / mean_ns) if exponential else mean_ns

    def _finish(self, index: int) -> None:
        """A phase of known length is over; whoever waits for its lock has it."""
        core = self.cores[index]
        lock, core.holds = core.holds, ""
        if lock:
            self._held.discard(lock)
            if queue := self._queues.get(lock):
                self._hold(*queue.popleft(), lock)
        self._step(index)

    def _hold(self, index: int, hold_ns: float, lock: str) -> None:
        self._held.add(lock)
        self.cores[index].holds = lock
        self._at(self._now + hold_ns, index, "end")

    def _step(self, index: int) -> None:
        core = self.cores[index]
        phase = next(core.phases, None)
        if phase is None:
            core.busy = False
            core.jobs += 1
            core.spans_ns += self._now - core.start_ns
            if not core.program.period_ns:
                self._release(index)
            return
        kind, length, what = phase
        if kind == "stream":
            core.demand = what
            self._demand += what
            self._number += 1
            heapq.heappush(self._streams, (self._virtual + length, self._number, index))
        elif kind == "hold" and what in self._held:
            self._queues.setdefault(what, deque()).append((index, length))
        elif kind == "hold":
            self._hold(index, length, what)
        else:
            self._at(self._now + length, index, "end")


# ---------- what deadbeat interfere would see ----------


def matrix_of(works: Sequence[KnownWork], *, repeats: int = 4, slots: int = 6) -> PairMatrix:
    """The matrix of two cores: each beside each, in slots as the runtime has them."""
    runs = [_run(works, repeat, slots) for repeat in range(repeats)]
    names = tuple(each.work for each in works)
    return PairMatrix(
        works=tuple(SizedWork(each.fragment, each.size, each.shared) for each in names),
        computes=tuple(not each.lock for each in works),
        memory=tuple(bool(each.stream_ns) for each in works),
        pairs={
            (names.index(cell.victim), names.index(cell.aggressor)): PairSlowdown(
                value=cell.value, interval=cell.interval
            )
            for cell in slowdowns(names, runs)
            if cell.aggressor is not None
        },
    )


def _run(works: Sequence[KnownWork], repeat: int, slots: int) -> InterfereRun:
    rows = []
    for turn in range(slots):
        for v, victim in enumerate(works):
            for a in (ALONE, *range(len(works))):
                beside = [] if a == ALONE else [Program(uses=(works[a],))]
                seed = hash((repeat, turn, v, a))
                cores = KnownMachine([Program(uses=(victim,)), *beside], seed).run(_SLOT_NS)
                took, uses = round(cores[0].spans_ns), cores[0].jobs
                rows.append((turn, v, a, uses, len(beside), took))
    return InterfereRun(
        key=InterfereKey(repeat + 1),
        started="",
        clock_cost_ps=0,
        slot_ns=_SLOT_NS,
        refused={},
        slots=tuple(rows),
    )


# ---------- task sets ----------


def draw_set(
    works: Sequence[KnownWork], cores: int, seed: int, *, busy: Callable[[random.Random], float]
) -> list[Program]:
    """A task a core of 4 to 8 uses of ``works``, busy for a share of its period alone."""
    draw = random.Random(f"set {seed}")
    found = []
    for _ in range(cores):
        uses = tuple(draw.choice(works) for _ in range(draw.randint(4, 8)))
        period = sum(use.alone_ns for use in uses) / busy(draw)
        offset = draw.random() * period
        found.append(Program(uses=uses, period_ns=period, offset_ns=offset))
    return found


def replayed(programs: Sequence[Program], works: Sequence[KnownWork]) -> list[ReplayTask]:
    """The same set as the model sees it."""
    return [
        ReplayTask(
            core=core,
            priority=1,
            period_ns=round(each.period_ns),
            deadline_ns=round(each.period_ns),
            offset_ns=round(each.offset_ns),
            uses=tuple((works.index(use), use.alone_ns) for use in each.uses),
        )
        for core, each in enumerate(programs)
    ]


def true_slowdown(programs: Sequence[Program], horizon_ns: float, seed: int) -> float | None:
    """Mean over tasks of the mean span over what it takes alone; None: nothing finished."""
    cores = KnownMachine(programs, seed).run(horizon_ns)
    ratios = [
        core.spans_ns / core.jobs / sum(use.alone_ns for use in core.program.uses)
        for core in cores
        if core.jobs
    ]
    return sum(ratios) / len(ratios) if ratios else None
