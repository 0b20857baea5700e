"""What builders of charts have in common: curves, bars, distributions, moments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import evolve, frozen

from deadbeat.base.model.histogram import Histogram
from deadbeat.base.model.traces import WorstMoment
from deadbeat.base.model.words import time_text
from deadbeat.base.report.charts import BLACK, Bars, Chart, Curve, Mark, Panel, Spans, T

#: Points of a curve on a page or on paper: more are too close to see.
_CURVE_POINTS = 240


@frozen
class CurvePoint:
    """A point of a curve; an end of its interval that is not known is the value itself.

    Attributes:
        bounded: Nothing was seen: ``high`` is what may hide at most.
        n: How many samples it rests on; 0: unknown.
    """

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    bounded: bool = False
    n: int = 0
    text: str = ""


def curve(
    label: str,
    points: Iterable[CurvePoint | None],
    *,
    look: int = 0,
    kind: str = "line",
    scale: float = 1.0,
) -> Curve:
    """The points that are known, with a band or bars where any has an interval.

    Args:
        scale: Factor from the unit of the points to that of the axis.
    """
    known = [point for point in points if point is not None]
    ends = [(p.y if p.low is None else p.low, p.y if p.high is None else p.high) for p in known]
    shown = any(p.low is not None or p.high is not None for p in known) or kind == "errors"
    return Curve(
        label=label,
        kind=kind,
        look=look,
        x=tuple(float(p.x) for p in known),
        y=tuple(p.y * scale for p in known),
        low=tuple(low * scale for low, _ in ends) if shown else (),
        high=tuple(high * scale for _, high in ends) if shown else (),
        bounded=tuple(p.bounded for p in known) if any(p.bounded for p in known) else (),
        n=tuple(p.n for p in known) if any(p.n for p in known) else (),
        texts=tuple(p.text for p in known) if any(p.text for p in known) else (),
    )


def stacked(
    layers: Mapping[str, Iterable[float | None]],
    *,
    totals: Sequence[str] = (),
    looks: Sequence[int] = (),
) -> tuple[Bars, ...]:
    """Layers over each other in order, a value for each category; ``totals`` stand on top."""
    made = [
        Bars(label=label, look=look, y=tuple(y))
        for look, (label, y) in zip(looks or range(len(layers)), layers.items(), strict=True)
    ]
    return (*made[:-1], *(evolve(top, texts=tuple(totals)) for top in made[-1:]))


def aside(place: int, count: int, *, room: float = 0.6) -> float:
    """How far beside its category one of ``count`` points stands, so that all are seen."""
    return (place - (count - 1) / 2) * room / count


def spread(values: Sequence[T], most: int) -> tuple[T, ...]:
    """At most ``most`` of the values, the first and the last among them."""
    if len(values) <= most:
        return tuple(values)
    return tuple(values[round(index * (len(values) - 1) / (most - 1))] for index in range(most))


#: A mark this much later than everything else is a note, not drawn: the rest would be a line.
_FAR = 2.5
#: What bars and lines take of a row, and how far from its middle instants stand.
_BAR, _THIN, _BESIDE = 0.62, 0.08, 0.36


def moment_chart(moment: WorstMoment, *, name: str, title: str) -> Chart:
    """Bars over time on rows (CPUs, threads, causes); release, deadline and finish are marked.
    Instants of a schedule stand below their row, of kinds after the first above it."""
    last = max([each.end_ns for each in moment.stretches] + [moment.marks.get("finish", 1)])
    size, unit = (1e6, "ms") if last >= 2_000_000 else (1e3, "µs")
    if moment.unit:
        size, unit = 1.0, moment.unit
    far = {mark: at for mark, at in moment.marks.items() if at > _FAR * last}
    near = {mark: at for mark, at in moment.marks.items() if mark not in far}
    first = min([*near.values(), *(each.begin_ns for each in moment.stretches)], default=0)
    end = max([last, *near.values()])
    room = 0.04 * (end - first)
    kinds = dict.fromkeys(each.kind for each in moment.stretches)
    looks = {kind: look for look, kind in enumerate(k for k in kinds if k not in moment.looks)}
    spans: list[Spans] = []
    curves: list[Curve] = []
    for kind in kinds:
        own = [each for each in moment.stretches if each.kind == kind]
        look = moment.looks.get(kind, looks.get(kind, 0))
        if moment.unit and all(each.begin_ns == each.end_ns for each in own):
            beside = -_BESIDE if curves else _BESIDE
            points = [
                CurvePoint(each.begin_ns / size, each.row + beside, text=each.text) for each in own
            ]
            curves.append(curve(kind, points, look=look, kind="points"))
            continue
        spans.append(
            Spans(
                label=kind,
                look=look,
                height=_THIN if kind in moment.thin else _BAR,
                rows=tuple(each.row for each in own),
                begin=tuple(each.begin_ns / size for each in own),
                end=tuple(each.end_ns / size for each in own),
                texts=tuple(each.text for each in own)
                if moment.unit or any(each.text for each in own)
                else (),
            )
        )
    text = "".join(
        f" The {mark} is at {time_text(at)}, beyond the chart." for mark, at in far.items()
    )
    panel = Panel(
        title="",
        x_label=f"time since {moment.since} ({unit})" if moment.since else f"time in {unit}",
        y_label="",
        rows=moment.rows,
        spans=tuple(spans),
        curves=tuple(curves),
        marks=tuple(
            Mark(axis="x", at=at / size, label=mark, look=BLACK if mark == "deadline" else None)
            for mark, at in near.items()
        ),
        x_limits=((first - room) / size, (end + room) / size),
    )
    caption = f"{moment.what}.{text} {moment.source}".strip()
    return Chart(name=name, title=title, caption=caption, panels=(panel,))


def exceeding(values: Histogram, label: str, look: int, *, size: float = 1e6) -> Curve:
    """Share of values above x, in percent, down to the largest; ``size``: ns of a unit of x."""
    above = values.counts[::-1].cumsum()[::-1]
    x = values.highs_ns() / size
    y = 100 * np.append(above[1:], 0) / values.total
    kept = y > 0
    x, y = np.append(values.lows_ns()[0] / size, x[kept]), np.append(100.0, y[kept])
    if values.max_ns is not None:
        # the last step ends at the largest, at the share that one is
        x, y = np.append(x, values.max_ns / size), np.append(y, 100 / values.total)
    if len(x) > _CURVE_POINTS:
        tail = len(x) - 1 - np.geomspace(1, len(x) - 1, _CURVE_POINTS)
        places = np.unique(np.round(np.append(tail, [0, len(x) - 1])).astype(np.int64))
        x, y = x[places], y[places]
    return Curve(label=label, x=tuple(x.tolist()), y=tuple(y.tolist()), kind="steps", look=look)


def cumulative(values: Sequence[float], *, of: int | None = None) -> Curve:
    """Share of values at or below x, in percent, as steps.

    Args:
        of: What 100 % is, where the values are part of more; those not given lie below them all.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    whole = of or len(ordered)
    if not len(ordered):
        return Curve(label="", x=(), y=(), kind="steps")
    # Ranks that a curve keeps: evenly spread, denser towards the worst, the last for certain.
    count = len(ordered)
    if count <= _CURVE_POINTS:
        ranks = np.arange(count)
    else:
        even = np.linspace(0, count - 1, _CURVE_POINTS // 2)
        tail = count - 1 - np.geomspace(1, count / 2, _CURVE_POINTS // 2)
        ranks = np.unique(np.round(np.concatenate((even, tail, [count - 1]))).astype(np.int64))
    share = 100 * (whole - len(ordered) + ranks + 1) / whole
    x = (float(ordered[0]), *map(float, ordered[ranks]))
    return Curve(
        label="", x=x, y=(100 * (whole - len(ordered)) / whole, *map(float, share)), kind="steps"
    )


def histogram(
    values: Sequence[float], edges: Sequence[float], *, of: int | None = None, weights: Any = None
) -> Curve:
    """Percent of values in each bin, as steps; ``of``: what 100 % is."""
    counts, _ = np.histogram(np.asarray(values, np.float64), np.asarray(edges), weights=weights)
    share = 100 * counts / max(1, of or len(values))
    return Curve(label="", x=tuple(map(float, edges)), y=(*map(float, share), 0.0), kind="steps")


def log_edges(values: Sequence[float]) -> tuple[float, ...]:
    """Edges of evenly wide bins on a logarithmic axis around all positive ``values``."""
    known = [value for value in values if value > 0]
    if not known:
        return (0.9, 1.1)
    low, high = min(known), max(known)
    if high / low < 1.05:
        low, high = low * 0.975, high * 1.025
    bins = min(48, max(12, round(2 * len(known) ** (1 / 3))))
    edges = np.geomspace(low, high, bins + 1)
    edges[0], edges[-1] = low * (1 - 1e-9), high * (1 + 1e-9)
    return tuple(map(float, edges))
