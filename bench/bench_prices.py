"""Prices against a program that has nothing of deadbeat (prices_outside.c), by turns.

Windows of both are told apart by one limit between all their round trips. The unit of an interval
is the turn: what both took in it, one after the other, by one another.

A mutex that inherits is compared by its hand-over: price = 2 x hand-over / operations per
possession, and how much an owner does before the other core asks again is the loop's, not the
machine's. A series is a turn, a state and a mode (spinning, sleeping).

DEADBEAT_ROUNDS: turns (8). DEADBEAT_PRICES=sizes: at two sizes, and what the second costs of the
first; =handover: that of the mutex alone. For experiments: DEADBEAT_OUTSIDE, options of the program
such as ``private=1``, and DEADBEAT_CFLAGS, such as none, for the shared C library instead of one
linked in as deadbeat's is.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from math import exp, log
from pathlib import Path
from statistics import geometric_mean, mean
from typing import NamedTuple

import numpy as np
from common import asked, report

from deadbeat.base.stats.intervals import Interval, ratio_interval
from deadbeat.build.programs import guarded, put_runtime
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.tasksets.executors.hardware import HardwareExecutor
from deadbeat.tasksets.prices.states import CHANGED, PairStates, pair_states
from deadbeat.tasksets.prices.table import MODES, SLEEPING, SPINNING, STOPPED_MOST
from deadbeat.tasksets.prices.works import PriceWork, Pricing

#: Fewer windows of a state are no price, and of a turn no value; fewer turns are no comparison.
LEAST, LEAST_OF_TURN, LEAST_TURNS = 8, 4, 3
QUICK, _ = asked()
TURNS = LEAST_TURNS if QUICK else int(os.environ.get("DEADBEAT_ROUNDS", "8"))
PART = os.environ.get("DEADBEAT_PRICES", "")
SIZES = 2 if PART == "sizes" else 1
OPTIONS = shlex.split(os.environ.get("DEADBEAT_OUTSIDE", ""))
CFLAGS = shlex.split(os.environ.get("DEADBEAT_CFLAGS", "-static -no-pie -fno-pie"))
SECONDS = 1.0 if QUICK else 4.0
#: Object -> the two sizes of the quick pool, in operations a call.
OBJECTS = {
    "mutex_inherit": (8, 64),
    "mutex_normal": (8, 64),
    "atomic_line": (16, 256),
    "semaphore_posix": (8, 64),
    "pipe": (1, 16),
    "mq_posix": (1, 16),
}
INHERITS = "mutex_inherit"
OURS, THEIRS = "deadbeat", "outside"
SIDES = (OURS, THEIRS)
WITHIN = 0.15
SOURCE = Path(__file__).with_name("prices_outside.c")


class Window(NamedTuple):
    """Operations of one core alone, or of both (``who`` -1): the sums of the two."""

    side: str
    turn: int
    object: str
    who: int
    ns: float
    operations: float
    before_ps: float
    after_ps: float
    handovers: float
    sleeps: float
    stopped: float

    @property
    def mode(self) -> str:
        sleeps = self.sleeps / max(1.0, self.handovers)
        return MODES[(sleeps >= SPINNING) + (sleeps >= SLEEPING)]

    @property
    def handover_ns(self) -> float:
        return self.ns / 2 / max(1.0, self.handovers)


class Price(NamedTuple):
    """Of one turn or of all: ns of an operation."""

    alone: float
    shared: float
    windows: int

    @property
    def ratio(self) -> float:
        return self.shared / self.alone


def works() -> list[PriceWork]:
    return [
        PriceWork(object=name, size=size, operations=size, cores=(0, 1))
        for name, sizes in OBJECTS.items()
        for size in sizes[:SIZES]
        if PART != "handover" or name == INHERITS
    ]


def name_of(work: PriceWork) -> str:
    return f"{work.object}:{work.size}"


def ours(executor: HardwareExecutor, turn: int) -> Iterable[Window]:
    batch = executor.price(Pricing(works=tuple(works()), seconds=SECONDS, seed=turn + 1))
    if any(batch.errors):
        raise RuntimeError(f"not priced: {batch.errors}")
    for _, place, who, _, first_ns, first, others_ns, others, *rest in batch.slots:
        work = batch.works[place]
        count = (first + others) * work.operations
        before, after, handed, sleeps, stopped_ns = rest
        stopped = float(stopped_ns > STOPPED_MOST * first_ns)
        numbers = first_ns + others_ns, count, before, after, handed, sleeps, stopped
        yield Window(OURS, turn, name_of(work), who, *numbers)


def theirs(program: Path, executor: HardwareExecutor, turn: int) -> Iterable[Window]:
    """Under the lock of the machine."""
    cpus = ",".join(map(str, executor.cpus[:2]))
    words = [f"cpus={cpus}", f"seconds={SECONDS}", f"seed={turn + 1}", *OPTIONS]
    words += map(name_of, works())
    guard = put_runtime(LocalTarget())
    argv = guarded(guard, [str(program), *words], bound_s=60, lock=True, lock_wait_s=600)
    said = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in said.splitlines():
        _, name, *numbers = line.split()
        yield Window(THEIRS, turn, name, *map(int, numbers))


def build(folder: str) -> Path:
    program = Path(folder) / "prices_outside"
    flags = ["-std=gnu11", "-O2", *CFLAGS, "-pthread", "-lrt"]
    subprocess.run(["gcc", str(SOURCE), "-o", str(program), *flags], check=True)
    return program


def measure(turns: int = TURNS) -> list[Window]:
    """Both sides by turns; which is first changes with each."""
    found: list[Window] = []
    executor = HardwareExecutor(lock_wait=600)
    try:
        with tempfile.TemporaryDirectory() as folder:
            program = build(folder)
            for turn in range(turns):
                for side in SIDES[:: 1 - 2 * (turn % 2)]:
                    found += (
                        ours(executor, turn) if side == OURS else theirs(program, executor, turn)
                    )
    finally:
        executor.close()
    return found


# ---------- from windows to prices ----------


def by_state(windows: Sequence[Window]) -> tuple[PairStates, dict[str, list[Window]]]:
    """One limit for both programs."""
    states = pair_states(t for w in windows for t in (w.before_ps, w.after_ps))
    before, after = np.array([[w.before_ps, w.after_ps] for w in windows], float).T
    found: dict[str, list[Window]] = {}
    for window, state in zip(windows, states.between(before, after), strict=True):
        found.setdefault(str(state), []).append(window)
    return states, found


def price(windows: Sequence[Window], least: int) -> Price | None:
    """Geometric means over windows, as deadbeat's; alone of the two cores. None: too few."""

    def each(who: int) -> tuple[float, int]:
        own = [w.ns / w.operations for w in windows if w.who == who]
        return (geometric_mean(own) if own else 0.0), len(own)

    (both, slots), *alone = map(each, (-1, 0, 1))
    if slots < least or min(count for _, count in alone) < least / 2:
        return None
    return Price(mean(ns for ns, _ in alone), both, slots)


def compare(name: str, state: str, windows: Sequence[Window]) -> bool | None:
    """Report one object in one state: whether it is within; None: seen too little."""
    sides = {side: [w for w in windows if w.side == side] for side in SIDES}
    whole = {side: price(own, LEAST) for side, own in sides.items()}
    pairs = [
        pair
        for turn in {w.turn for w in windows}
        if all(
            pair := [
                price([w for w in own if w.turn == turn], LEAST_OF_TURN) for own in sides.values()
            ]
        )
    ]
    if not all(whole.values()) or len(pairs) < LEAST_TURNS:
        return None
    found = {
        figure: [[getattr(each, figure) for each in side] for side in zip(*pairs, strict=True)]
        for figure in ("shared", "ratio", "alone")
    }
    over = {figure: _over(*values) for figure, values in found.items()}
    within = all(abs(log(over[each])) <= log(1 + WITHIN) for each in ("shared", "ratio"))
    more = {
        side: {
            "alone_ns": round(all_of.alone, 2),
            "shared_ns": round(all_of.shared, 2),
            "ratio": round(all_of.ratio, 2),
            "windows": all_of.windows,
        }
        for side, all_of in whole.items()
        if all_of
    }
    report(
        f"price of {name}, {state}: ns shared, deadbeat's over the outside program's",
        "0.87 to 1.15",
        round(over["shared"], 3),
        "ratio",
        {
            "interval": _rounded(ratio_interval(*found["shared"])),
            "of_ratios": round(over["ratio"], 3),
            "of_ratios_interval": _rounded(ratio_interval(*found["ratio"])),
            "of_alone": round(over["alone"], 3),
            "within": within,
            "turns": len(pairs),
            **more,
        },
    )
    return within


def handovers(name: str, state: str, windows: Sequence[Window]) -> list[bool]:
    """Report those of a mutex in one state, series by series: whether each is within."""
    judged = []
    for mode in MODES[::2]:
        found = []
        for turn in range(TURNS):
            own = [w for w in windows if w.who < 0 and (w.turn, w.mode) == (turn, mode)]
            sides = [[w.handover_ns for w in own if w.side == side] for side in SIDES]
            if min(map(len, sides)) >= LEAST_OF_TURN:
                found.append([geometric_mean(side) for side in sides])
        judged += [abs(log(one / other)) <= log(1 + WITHIN) for one, other in found]
        if found:
            report(
                f"hand-over of {name}, {state}, {mode}: deadbeat's over the outside program's",
                "0.87 to 1.15",
                round(_over(*zip(*found, strict=True)), 3),
                "ratio",
                {"series": [[*map(round, pair)] for pair in found]},
            )
    return judged


def _over(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Geometric mean over turns."""
    return exp(mean(log(one / other) for one, other in zip(ours, theirs, strict=True)))


def _rounded(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [round(end, 3) for end in interval]


def sizes(state: str, windows: Sequence[Window]) -> None:
    """What an operation costs shared at the second size, of that at the first: deadbeat's."""
    for name, (first, second) in OBJECTS.items():
        mine = [w for w in windows if w.side == OURS]
        found = [
            price([w for w in mine if w.object == f"{name}:{size}"], LEAST)
            for size in (first, second)
        ]
        if found[0] and found[1]:
            report(
                f"price of {name}, {state}: ns shared at {second} over at {first}",
                "reported",
                round(found[1].shared / found[0].shared, 3),
                "ratio",
                {"shared_ns": [round(each.shared, 2) for each in found if each]},
            )


def judge(windows: Sequence[Window]) -> None:
    states, parts = by_state([w for w in windows if not w.stopped])
    trips = {state: trip / 1000 for state, trip in states.trips_ps.items()}
    judged: list[bool | None] = []
    handed: list[bool] = []
    for state in trips:
        own = parts.get(state, [])
        for work in works():
            name = name_of(work)
            mine = [w for w in own if w.object == name]
            if work.object == INHERITS:
                handed += handovers(name, state, mine)
            else:
                judged.append(compare(name, state, mine))
        if SIZES > 1:
            sizes(state, own)
    told = [within for within in judged if within is not None]
    report(
        f"series of {INHERITS} whose hand-over is within 15 % of the outside program's",
        "all",
        sum(handed),
        f"of {len(handed)}",
    )
    report(
        "prices within 15 % of the outside program's, shared and as ratios",
        "all",
        sum(told),
        f"of {len(told)}",
        {
            "round_trips_ns": trips,
            "windows": {state: len(own) for state, own in parts.items()},
            "changed": len(parts.get(CHANGED, [])) / len(windows),
            "stopped": sum(w.stopped for w in windows) / len(windows),
            "options": [*CFLAGS, *OPTIONS],
            "turns": TURNS,
        },
    )


if __name__ == "__main__":
    judge(measure())
