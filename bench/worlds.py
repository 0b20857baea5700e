"""Worlds in which it is known whether two results differ: recorded pools and made-up sessions.

Each world draws a baseline, another side and repeats of the baseline, and says which verdicts it
counts: differences where there are none (false alarms), differences that are there (power), and
verdicts that hide harm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from attrs import evolve, frozen
from helpers.aa import (
    POOLS,
    Drawing,
    Pool,
    RunFigure,
    Side,
    draw,
    draw_sessions,
    injected,
    read_pool,
)

from deadbeat.base.model.observations import Cell

Generator = np.random.Generator
Drawn = tuple[Side, Side, Sequence[Side]]
DIFFERENT, WORSE, EQUAL = ("worse", "better"), ("worse",), ("equal",)
HIDING = ("better", "equal")
LATENCIES = ("p50", "mean", "p99", "p99.9", "max")
FALSE_ALARMS, POWER, HARM = "false alarms", "power", "harm hidden"


@frozen(kw_only=True)
class World:
    """Attributes: ``kind`` and ``metrics``: of what; ``counts``: verdicts that are counted."""

    name: str
    asks: str
    kind: str
    draw: Callable[[Generator], Drawn]
    counts: tuple[str, ...]
    metrics: tuple[str, ...] = ()
    ungated: bool = False
    simulated: bool = False


# -- recorded


def _pooled(
    pool: Pool, drawing: Drawing, repeats: int, effect: Callable[[Cell], float] | None = None
) -> Callable[[Generator], Drawn]:
    def made(random: Generator) -> Drawn:
        baseline, other, *rest = drawing(pool, random, sides=2 + repeats)
        return baseline, injected(other, effect) if effect else other, rest

    return made


def hot(cell: Cell) -> bool:
    """Where a kernel's locks differ: several cores, half or more SY, everything shared."""
    return cell.cores > 1 and cell.sync_share >= 0.5 and cell.contended_ratio == 1


def _everywhere(effect: float) -> Callable[[Cell], float]:
    return lambda cell: effect


def _in_hot_cells(effect: float) -> Callable[[Cell], float]:
    return lambda cell: effect if hot(cell) else 0.0


#: Pool -> what it is of, and the effects that its power is asked of.
_POOLS = {
    "loaded-vm": ("contention", (0.05, 0.1)),
    "vm": ("contention", (0.05, 0.1)),
    "latency-made-up": ("latency", (0.1, 0.2, 0.5)),
    "latency-made-up-stalls": ("latency", (0.2,)),
    "latency-vm": ("latency", (0.5, 1.0)),
    "latency-vm-busy": ("latency", (0.5, 1.0)),
    "load-made-up": ("interference", (0.1, 0.2)),
    "load-made-up-rare": ("interference", (0.1, 0.2)),
}


def recorded() -> Iterator[World]:
    for name, (kind, effects) in _POOLS.items():
        pool = read_pool(POOLS / f"{name}.json")
        for repeats in (0, 1):
            yield World(name=f"{name}, by run, {repeats} --aa", asks=FALSE_ALARMS, kind=kind,
                        draw=_pooled(pool, draw, repeats), counts=DIFFERENT,
                        ungated=not repeats)  # fmt: skip
        for repeats in (1, 2, 3):
            yield World(name=f"{name}, whole sessions, {repeats} --aa", asks=FALSE_ALARMS,
                        kind=kind, draw=_pooled(pool, draw_sessions, repeats),
                        counts=DIFFERENT)  # fmt: skip
        yield World(name=f"{name}, whole sessions, --ungated", asks="ungated", kind=kind,
                    draw=_pooled(pool, draw_sessions, 0), counts=DIFFERENT,
                    ungated=True)  # fmt: skip
        for effect in effects:
            for drawing, words in ((draw, "by run"), (draw_sessions, "whole sessions")):
                yield World(name=f"{name}, {words}, {effect:.0%} everywhere, 2 --aa", asks=POWER,
                            kind=kind, draw=_pooled(pool, drawing, 2, _everywhere(effect)),
                            counts=WORSE)  # fmt: skip
        if kind == "contention":
            for effect in (0.1, 0.2, 0.4):
                for repeats in (0, 2):
                    yield World(
                        name=f"{name}, by run, {effect:.0%} in contended cells, {repeats} --aa",
                        asks=POWER, kind=kind, counts=WORSE, ungated=not repeats,
                        draw=_pooled(pool, draw, repeats, _in_hot_cells(effect)),
                    )  # fmt: skip
        if kind == "latency":
            yield World(name=f"{name}, whole sessions, median 50 %, 2 --aa", asks=POWER, kind=kind,
                        metrics=("p50",), draw=_pooled(pool, draw_sessions, 2, _everywhere(0.5)),
                        counts=WORSE)  # fmt: skip


# -- made-up campaigns

_SHARES = (0.0, 0.5, 1.0)


def campaign(
    name: str,
    random: Generator,
    *,
    effect: Callable[[Cell], float] = lambda cell: 0.0,
    replicas: int = 6,
    scatter: float = 0.02,
    session: float = 0.0,
) -> Side:
    """2 x 3 x 3 cells of the same programs, as tests/helpers/sides.py has them."""
    host = session * random.standard_normal()
    runs = {}
    for cores in (1, 2):
        for share in _SHARES:
            for replica in range(replicas):
                for ratio in _SHARES:
                    cell = Cell("", cores, share, ratio, 10.0)
                    slowdown = math.exp(0.1 + host + scatter * random.standard_normal())
                    slowdown *= 1 + effect(cell)
                    runs[f"m{cores}-s{share}-c{ratio}-r{replica}"] = RunFigure(
                        cell=cell, block=f"{cores}/{share}/{replica}",
                        values={"slowdown": slowdown, "delay_ratio": slowdown * 1.01,
                                "deadline_miss_ratio": 0.0},
                        at_ns=len(runs) * 10**9, witness_ps=1000.0,
                    )  # fmt: skip
    return Side(name=name, runs=runs)


def _campaigns(
    repeats: int, *, session: float, scatter: float, effect: Callable[[Cell], float] | None = None
) -> Callable[[Generator], Drawn]:
    def made(random: Generator) -> Drawn:
        same = {"session": session, "scatter": scatter}
        other = campaign("other", random, effect=effect or _everywhere(0.0), **same)
        first, *rest = (campaign(f"r{n}", random, **same) for n in range(1 + repeats))
        return first, other, rest

    return made


def drifting() -> Iterator[World]:
    """Worlds of the first comparison: sessions of a campaign that differ, runs that scatter."""
    for session, scatter in ((0.015, 0.01), (0.04, 0.01)):
        for repeats in (1, 2, 3):
            yield World(name=f"drift {session:.1%}, {repeats} --aa", asks=FALSE_ALARMS,
                        kind="contention", counts=DIFFERENT,
                        draw=_campaigns(repeats, session=session, scatter=scatter))  # fmt: skip
    yield World(name="drift 1.5%, --ungated", asks="ungated", kind="contention", ungated=True,
                counts=DIFFERENT, draw=_campaigns(0, session=0.015, scatter=0.01))  # fmt: skip
    yield World(name="scatter 20 %, simulated", asks=FALSE_ALARMS, kind="contention",
                counts=DIFFERENT, simulated=True,
                draw=_campaigns(0, session=0, scatter=0.2))  # fmt: skip
    for effect in (0.03, 0.05, 0.1):
        yield World(name=f"drift 0.5%, {effect:.0%} everywhere, 3 --aa", asks=POWER,
                    kind="contention", counts=WORSE,
                    draw=_campaigns(3, session=0.005, scatter=0.02,
                                    effect=_everywhere(effect)))  # fmt: skip
    for effect in (0.08, 0.15):
        yield World(name=f"{effect:.0%} in contended cells, simulated", asks=POWER,
                    kind="contention", counts=WORSE, simulated=True,
                    draw=_campaigns(0, session=0, scatter=0.02,
                                    effect=_in_hot_cells(effect)))  # fmt: skip
        yield World(name=f"{effect:.0%} in contended cells, drift 0.5 %, 3 --aa", asks=POWER,
                    kind="contention", counts=WORSE,
                    draw=_campaigns(3, session=0.005, scatter=0.02,
                                    effect=_in_hot_cells(effect)))  # fmt: skip
    yield World(name="nothing differs, drift 0.2 %, 3 --aa", asks="equality found",
                kind="contention", counts=EQUAL,
                draw=_campaigns(3, session=0.002, scatter=0.01))  # fmt: skip
    yield World(name="2 % everywhere, drift 0.2 %, 3 --aa", asks="false equality",
                kind="contention", counts=EQUAL,
                draw=_campaigns(3, session=0.002, scatter=0.01,
                                effect=_everywhere(0.02)))  # fmt: skip


# -- made-up matrices: sessions that move cells and metrics by different amounts


def matrix(
    name: str,
    random: Generator,
    own: Sequence[float],
    *,
    common: float = 0.0,
    by_metric: float = 0.0,
    by_both: float = 0.0,
    scatter: float = 0.02,
    effect: Callable[[int, str], float] = lambda cell, metric: 0.0,
) -> Side:
    """Five runs of each cell; ``own``: deviation of a session's shift of each."""
    whole = random.normal(0, common)
    metric = random.normal(0, 1, len(LATENCIES)) * by_metric
    runs = {}
    for number, deviation in enumerate(own):
        shift = whole + metric + random.normal() * deviation
        shift = shift + random.normal(0, 1, len(LATENCIES)) * by_both
        for repeat in range(5):
            moved = shift + random.normal(0, scatter) + random.normal(0, 0.01, len(LATENCIES))
            values: dict[str, float | None] = {
                each: 20_000 * math.exp(level) * (1 + effect(number, each))
                for each, level in zip(LATENCIES, moved, strict=True)
            }
            runs[f"{number}.{repeat}"] = RunFigure(
                cell=Cell(f"load{number} prober"), block=f"{repeat}",
                values={**values, "missed_ratio": 0.0},
            )  # fmt: skip
    return Side(name=name, runs=runs)


def _matrices(
    repeats: int,
    own: Sequence[float],
    *,
    effect: Callable[[int, str], float] | None = None,
    **how: float,
) -> Callable[[Generator], Drawn]:
    def made(random: Generator) -> Drawn:
        other = matrix("other", random, own, effect=effect or (lambda cell, metric: 0.0), **how)
        first, *rest = (matrix(f"r{n}", random, own, **how) for n in range(1 + repeats))
        return first, other, rest

    return made


_UNEQUAL = {
    "five cells, each by 10 %": ((0.1,) * 5, {}),
    "five cells, each by 5 %, all by 3 %": ((0.05,) * 5, {"common": 0.03}),
    "one cell of five by 30 %, others by 2 %": ((0.3, 0.02, 0.02, 0.02, 0.02), {}),
    "one cell of nine by 20 %, others by 3 %": ((0.2, *[0.03] * 8), {}),
    "five cells by 3 to 20 %": ((0.03, 0.06, 0.1, 0.15, 0.2), {}),
    "24 cells, each by 5 %": ((0.05,) * 24, {}),
    "each metric by 10 %": ((0.0,) * 5, {"by_metric": 0.1}),
    "each metric in each cell by 10 %": ((0.0,) * 5, {"by_both": 0.1}),
}


def moved_apart() -> Iterator[World]:
    for name, (own, how) in _UNEQUAL.items():
        for repeats in (1, 2, 3):
            yield World(name=f"sessions move {name}, {repeats} --aa", asks=FALSE_ALARMS,
                        kind="latency", counts=DIFFERENT,
                        draw=_matrices(repeats, own, **how))  # fmt: skip
    for words, own, common in (("all cells", (0.0,) * 5, 0.03), ("each cell", (0.03,) * 5, 0.0)):
        for effect in (0.2, 0.5):
            for repeats in (1, 2, 3):
                name = f"sessions move {words} by 3 %, {effect:.0%} later, {repeats} --aa"
                yield World(name=name,
                            asks=POWER, kind="latency", counts=WORSE,
                            draw=_matrices(repeats, own, common=common,
                                           effect=lambda cell, metric, e=effect: e))  # fmt: skip
        for repeats in (1, 2, 3):
            yield World(
                name=f"sessions move {words} by 3 %, 50 % later in one cell, {repeats} --aa",
                asks=POWER, kind="latency", counts=WORSE,
                draw=_matrices(repeats, own, common=common,
                               effect=lambda cell, metric: 0.5 if cell == 0 else 0.0),
            )  # fmt: skip
    yield World(name="sessions move all cells by 3 %, maximum 50 % later, 3 --aa", asks=POWER,
                kind="latency", counts=WORSE,
                draw=_matrices(3, (0.0,) * 5, common=0.03,
                               effect=lambda cell, metric: 0.5 * (metric == "max")))  # fmt: skip
    yield World(name="earlier median, maxima 40 % later with a scatter of 50 %, 3 --aa",
                asks=HARM, kind="latency", metrics=("p50", "max"), counts=HIDING,
                draw=_traded)  # fmt: skip


def _traded(random: Generator) -> Drawn:
    """Sessions scatter by 1 %; the maximum of a run scatters by 50 %."""

    def side(name: str, median: float, top: float) -> Side:
        made = matrix(name, random, (0.01,) * 5)
        return evolve(made, runs={
            key: evolve(run, values={
                "p50": (run.values["p50"] or 0) * median,
                "max": (run.values["max"] or 0) * top * math.exp(0.5 * random.standard_normal()),
            }) for key, run in made.runs.items()
        })  # fmt: skip

    return side("a", 1, 1), side("b", 0.75, 1.4), [side(f"r{n}", 1, 1) for n in range(3)]


# -- figures that say little: rare events, whole steps, results that are missing


_JOBS = 10


def rare(cells: int, programs: int, share: float, more: float, random: Generator) -> Side:
    """Miss ratios of sets of few jobs."""
    runs = {}
    for number in range(cells):
        for program in range(programs):
            missed = random.binomial(_JOBS, min(1.0, share + more)) / _JOBS
            runs[f"{number:02d}.{program}"] = RunFigure(
                cell=Cell(f"group {number}"), block=f"{number}.{program}",
                values={"deadline_miss_ratio": missed},
            )  # fmt: skip
    return Side(name="rare", runs=runs)


def steps(level: float, random: Generator) -> Side:
    """Latencies cut off to whole microseconds."""
    runs = {}
    for number in range(3):
        for repeat in range(5):
            value = math.floor(level * math.exp(random.normal(0, 0.002)))
            runs[f"{number}.{repeat}"] = RunFigure(
                cell=Cell(f"load{number} cyclictest"), block=f"{repeat}",
                values={"p50": value * 1000.0}, hidden={"p50": math.log1p(0.999 / value)},
            )  # fmt: skip
    return Side(name="steps", runs=runs)


def _lossy(side: Side, random: Generator, *, lost: float, starved: float, gone: float) -> Side:
    """The slowest are lost: what is left is faster by a fifth."""
    runs = {}
    for key, run in side.runs.items():
        if random.random() < gone and run.cell.contended_ratio == 1:
            continue
        values = {k: v and v * (0.8 if k != "deadline_miss_ratio" else 1)
                  for k, v in run.values.items()}  # fmt: skip
        dead = int(random.random() < starved)
        runs[key] = evolve(run, values=values, lost=lost + 0.1 * dead, starved=dead)
    return evolve(side, runs=runs)


def _losing(**how: float) -> Callable[[Generator], Drawn]:
    def made(random: Generator) -> Drawn:
        base, other = campaign("a", random), campaign("b", random)
        whole = {key: evolve(run, lost=0.0) for key, run in base.runs.items()}
        return evolve(base, runs=whole), _lossy(other, random, **how), []

    return made


def telling_little() -> Iterator[World]:
    for cells, programs in ((1, 2), (1, 3), (3, 2), (3, 3), (18, 6)):
        yield World(name=f"misses of 10 %, {cells} cells of {programs} programs with 10 jobs",
                    asks=FALSE_ALARMS, kind="contention", metrics=("deadline_miss_ratio",),
                    simulated=True, counts=DIFFERENT,
                    draw=lambda random, c=cells, p=programs: (
                        rare(c, p, 0.1, 0, random), rare(c, p, 0.1, 0, random), []
                    ))  # fmt: skip
    for programs in (3, 6):
        yield World(name=f"misses of 10 % and 30 %, 18 cells of {programs} programs", asks=POWER,
                    kind="contention", metrics=("deadline_miss_ratio",), simulated=True,
                    counts=WORSE,
                    draw=lambda random, p=programs: (
                        rare(18, p, 0.1, 0, random), rare(18, p, 0.1, 0.2, random), []
                    ))  # fmt: skip
    yield World(name="2.99 and 3.01 us in whole microseconds", asks=FALSE_ALARMS, kind="latency",
                metrics=("p50",), simulated=True, counts=DIFFERENT,
                draw=lambda random: (steps(2.99, random), steps(3.01, random), []))  # fmt: skip
    for words, how in (
        ("2 % of the jobs", {"lost": 0.02, "starved": 0.0, "gone": 0.0}),
        ("a task of one set in twenty", {"lost": 0.0, "starved": 0.05, "gone": 0.0}),
        ("every contended cell", {"lost": 0.0, "starved": 0.0, "gone": 1.0}),
        ("three quarters of the contended cells", {"lost": 0.0, "starved": 0.0, "gone": 0.75}),
    ):
        yield World(name=f"the other lost {words}", asks=HARM, kind="contention", counts=HIDING,
                    metrics=("slowdown", "delay_ratio"), simulated=True,
                    draw=_losing(**how))  # fmt: skip


def worlds() -> list[World]:
    return [*recorded(), *drifting(), *moved_apart(), *telling_little()]
