"""When the latest wake-ups were."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from attrs import frozen

from deadbeat.kinds.latency.data import LATENCY, US, load_order, load_words
from deadbeat.model.latency import LatencyRun, LateWakeUp, LoadPoint
from deadbeat.report.charts import Chart, Curve, CurvePoint, Mark, Panel, curve
from deadbeat.report.times import time_text

#: Beginnings of runs that are marked; more would hide what is drawn.
_BEGINNINGS = 24
_POINTS = 1500
#: Stretches of time whose maxima are drawn.
_STRETCHES = 200
_CPUS = 6
_WORST_LOOK = 6


@frozen(kw_only=True)
class Event:
    """A late wake-up on the time axis of a cell, whose runs stand one after another."""

    at_s: float
    late: LateWakeUp
    cpu: int
    run: LatencyRun

    @property
    def words(self) -> str:
        """What the pointer shows."""
        missed = f", {self.late.missed} periods missed" if self.late.missed else ""
        return (
            f"{time_text(self.late.latency_ns)} on CPU {self.cpu}, repeat {self.run.key.repeat},"
            f" {self.late.due_ns / 1e9:.3f} s after its start{missed}"
        )


def events_of(runs: Iterable[LatencyRun]) -> tuple[Event, ...]:
    """The latest wake-ups that the runs keep, in order of time."""
    found, start = [], 0.0
    for run in runs:
        found += [
            Event(at_s=start + late.due_ns / 1e9, late=late, cpu=item.cpu, run=run)
            for item in run.cpus
            for late in item.worst
        ]
        start += run.seconds
    return tuple(sorted(found, key=lambda event: (event.at_s, event.cpu)))


def timeline_charts(runs: Iterable[LatencyRun]) -> list[Chart]:
    """For every load when its latest wake-ups were, of valid runs; a panel an engine."""
    found: dict[LoadPoint, dict[str, list[LatencyRun]]] = {}
    for run in sorted(runs, key=lambda run: run.key.repeat):
        if run.valid and any(item.worst for item in run.cpus):
            found.setdefault(run.key.load, {}).setdefault(run.key.engine, []).append(run)
    return [_chart(load, found[load]) for load in sorted(found, key=load_order)]


def _chart(load: LoadPoint, by_engine: dict[str, list[LatencyRun]]) -> Chart:
    kept = max(len(item.worst) for runs in by_engine.values() for run in runs for item in run.cpus)
    return Chart(
        name=f"latency-timeline-{load.text}",
        title="When the latest wake-ups were",
        option=load_words(load),
        family="latency-timeline",
        caption=f"Points: the {kept} latest wake-ups of every run and CPU; lines, where the engine"
        " keeps them: the latest of each stretch of time. Runs stand one after another as if"
        " nothing lay between them. Points at even distances have a timer behind them; points"
        " of several CPUs at one moment, something that holds them all.",
        panels=tuple(_timeline(engine, by_engine[engine]) for engine in sorted(by_engine)),
    )


def _timeline(engine: str, runs: Sequence[LatencyRun]) -> Panel:
    events = events_of(runs)
    worst = max(events, key=lambda event: event.late.latency_ns)
    seconds = sum(run.seconds for run in runs)
    unit, size = _time_unit(seconds)
    cpus = sorted({event.cpu for event in events})
    curves = [level_curve(runs, cpu, look=look, size=size) for look, cpu in enumerate(cpus[:_CPUS])]
    for look, own in enumerate(_by_cpu(events, cpus)):
        label = f"CPU {cpus[look]}" if look < _CPUS else f"the other {len(cpus) - _CPUS} CPUs"
        curves.append(_points(own, label=label, look=look, size=size))
    curves.append(
        Curve(
            label="the latest of all",
            kind="line",
            look=_WORST_LOOK,
            x=(worst.at_s / size,),
            y=(worst.late.latency_ns / US,),
            texts=(worst.words,),
        )
    )
    return Panel(
        title=f"{engine}: the latest is {worst.words}",
        x_label=f"time measured beside this load ({unit})",
        y_label=LATENCY,
        curves=tuple(each for each in curves if each.x),
        marks=_beginnings(runs, size),
        y_log=True,
        x_limits=(0.0, max(seconds / size, 1e-9)),
    )


def level_curve(runs: Sequence[LatencyRun], cpu: int, *, look: int, size: float) -> Curve:
    """The latest wake-up of every stretch of time on a CPU; empty where no engine keeps it."""
    each = -(-_STRETCHES // max(len(runs), 1))
    starts: list[float] = []
    tops: list[int] = []
    start = 0.0
    for run in runs:
        for item in run.cpus:
            if item.cpu == cpu and item.block_ns and item.block_maxima:
                blocks = np.asarray(item.block_maxima, np.int64)
                first = np.arange(0, len(blocks), -(-len(blocks) // each))
                starts += (start + first * item.block_ns / 1e9).tolist()
                tops += np.maximum.reduceat(blocks, first).tolist()
        start += run.seconds
    if not any(tops):
        return Curve(label="", kind="steps", x=(), y=())
    # Of more runs than stretches several stand for one.
    step = -(-len(tops) // (2 * _STRETCHES))
    shown = [max(tops[k : k + step]) for k in range(0, len(tops), step)]
    drawn = _carried(shown)
    return Curve(
        label="",
        kind="steps",
        look=look,
        x=(*(at / size for at in starts[::step]), start / size),
        y=(*(top / US for top in drawn), drawn[-1] / US),
        texts=(*(_level_words(cpu, top) for top in shown), ""),
    )


def _carried(tops: Sequence[int]) -> list[int]:
    """A level for stretches that have none: a line of a logarithmic axis needs one."""
    level = next(top for top in tops if top)
    found = []
    for top in tops:
        level = top or level
        found.append(level)
    return found


def _level_words(cpu: int, top: int) -> str:
    if not top:
        return f"CPU {cpu}: no wake-up is known here"
    return f"CPU {cpu}: none later than {time_text(top)} here"


def _by_cpu(events: Sequence[Event], cpus: Sequence[int]) -> list[list[Event]]:
    """A list for each of the first CPUs, the others together in one more."""
    place = {cpu: min(index, _CPUS) for index, cpu in enumerate(cpus)}
    found: list[list[Event]] = [[] for _ in range(min(len(cpus), _CPUS + 1))]
    for event in events:
        found[place[event.cpu]].append(event)
    return found


def _points(events: Sequence[Event], *, label: str, look: int, size: float) -> Curve:
    """At most so many, the latest of them."""
    kept = sorted(events, key=lambda event: -event.late.latency_ns)[:_POINTS]
    points = (CurvePoint(e.at_s / size, e.late.latency_ns / US, text=e.words) for e in kept)
    return curve(label, points, look=look, kind="points")


def _beginnings(runs: Sequence[LatencyRun], size: float) -> tuple[Mark, ...]:
    starts, start = [], 0.0
    for run in runs[:-1]:
        start += run.seconds
        starts.append(start / size)
    if len(starts) > _BEGINNINGS:
        return ()
    return tuple(Mark(axis="x", at=at, label="the next run begins") for at in starts)


def _time_unit(seconds: float) -> tuple[str, float]:
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 3 * size:
            return unit, size
    return "s", 1.0
