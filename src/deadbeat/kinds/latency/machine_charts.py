"""Whether the loads were there and what the machine did meanwhile, against load."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve

from deadbeat.kinds.latency.data import load_order, load_words
from deadbeat.model.latency import LatencyRun, LoadPoint
from deadbeat.report import facts
from deadbeat.report.charts import Chart, Curve, Panel

#: Thermal zones (or the like) with a curve of their own.
_CURVES = 6
#: Key of LatencyRun.circumstances, title, axis, factor; a curve for each name below the key where
#: ``each``, else one over all of them. Drawn only where something was read.
_QUANTITIES: tuple[tuple[str, str, str, float, bool], ...] = (
    ("temperature_mc", "Temperature", "temperature (°C)", 1e-3, True),
    ("frequency_khz", "Frequency", "frequency, all CPUs (MHz)", 1e-3, False),
    ("steal_share", "Taken by the host", "stolen time, all CPUs (%)", 100, False),
)


def machine_charts(runs: Iterable[LatencyRun]) -> list[Chart]:
    """One figure of the valid runs: load reached beside what was asked, temperature, ..."""
    by_load: dict[LoadPoint, list[LatencyRun]] = {}
    for run in runs:
        if run.valid:
            by_load.setdefault(run.key.load, []).append(run)
    loads = sorted(by_load, key=load_order)
    reached = _ranges(loads, lambda load: _reached(by_load[load]))
    busy = _panel("Load reached", "busy, all CPUs (%)", loads, (*_asked(loads, reached), *reached))
    panels = [evolve(busy, y_limits=(-4.0, 104.0))]
    for key, title, axis, factor, each in _QUANTITIES:
        names = sorted({name for load in loads for name in _values(by_load[load], key)})
        wanted: Sequence[str | None] = names[:_CURVES] if each else [None] if names else []
        curves = [
            curve
            for look, name in enumerate(wanted)
            for curve in _ranges(loads, _reader(by_load, key, name, factor), name or "", look)
        ]
        if any(value for curve in curves for value in curve.high):
            panels.append(_panel(title, axis, loads, curves))
    if not reached and len(panels) == 1:
        return []
    return [
        Chart(
            name="latency-machine",
            title="What the machine did",
            caption="Of valid runs, without the measuring threads. Points: mean over runs; bars:"
            " from the least to the greatest that was read, over runs and CPUs. Only what could be"
            " read is drawn.",
            panels=tuple(panels),
        )
    ]


def _panel(title: str, axis: str, loads: Sequence[LoadPoint], curves: Sequence[Curve]) -> Panel:
    return Panel(
        title=title,
        x_label="load",
        y_label=axis,
        categories=tuple(load_words(load) for load in loads),
        curves=tuple(curves),
        empty="not recorded",
    )


def _asked(loads: Sequence[LoadPoint], reached: Sequence[Curve]) -> tuple[Curve, ...]:
    """Of CPU loads alone: others are no share of the CPUs' time."""
    found = [(place, load) for place, load in enumerate(loads) if load.profile == "cpu"]
    if not found or not reached:
        return ()
    return (
        Curve(
            label="asked",
            kind="points",
            look=1,
            x=tuple(float(place) for place, _ in found),
            y=tuple(float(load.percent) for _, load in found),
            texts=tuple(f"{load_words(load)} was asked for" for _, load in found),
        ),
    )


def _ranges(
    loads: Sequence[LoadPoint],
    read: Callable[[LoadPoint], Sequence[float]],
    label: str = "reached",
    look: int = 0,
) -> tuple[Curve, ...]:
    """Mean and range at each load that has values."""
    found = [(place, values) for place, load in enumerate(loads) if (values := read(load))]
    if not found:
        return ()
    return (
        Curve(
            label=label,
            kind="errors",
            look=look,
            x=tuple(float(place) for place, _ in found),
            y=tuple(sum(values) / len(values) for _, values in found),
            low=tuple(min(values) for _, values in found),
            high=tuple(max(values) for _, values in found),
        ),
    )


def _reader(
    by_load: Mapping[LoadPoint, Sequence[LatencyRun]], key: str, name: str | None, factor: float
) -> Callable[[LoadPoint], list[float]]:
    def read(load: LoadPoint) -> list[float]:
        values = _values(by_load[load], key)
        chosen = values.get(name, []) if name else [v for each in values.values() for v in each]
        return [factor * value for value in chosen]

    return read


def _reached(runs: Iterable[LatencyRun]) -> list[float]:
    found = []
    for run in runs:
        achieved = run.load.get("achieved")
        for share in achieved.values() if isinstance(achieved, Mapping) else ():
            known = facts.number(share)
            if known is not None:
                found.append(100 * known)
    return found


def _values(runs: Iterable[LatencyRun], key: str) -> dict[str, list[float]]:
    """Name below ``key`` -> every number of every run."""
    found: dict[str, list[float]] = {}
    for run in runs:
        below: Any = run.circumstances.get(key)
        for name, value in below.items() if isinstance(below, Mapping) else ():
            for one in value if isinstance(value, list) else [value]:
                known = facts.number(one)
                if known is not None:
                    found.setdefault(str(name), []).append(known)
    return found
