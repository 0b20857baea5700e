"""What a figure shows, as plain values: drawn on paper (`report.paper`) and in pages alike.

A chart is a row of panels; a panel holds curves, bars, a heat map or a surface. Colour never stands
alone: every look has its own marker and dash, every bar its own hatching, every cell its number.

A builder is a function from a summary to charts. `curve`, `stacked`, `cumulative`, `percentiles`
and `histogram` make what most of them need.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import attrs
import numpy as np
from attrs import evolve, field, frozen

from deadbeat.model.moment import WorstMoment
from deadbeat.model.words import time_text

T = TypeVar("T")

#: Okabe and Ito's colours, which the colour-blind tell apart; black last, yellow left out.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

#: States of a cell. The colour counts in a SHOWN one and in one that is AT_LEAST that, which is
#: hatched too; a FAINT one is grey, one that is AT_MOST that is hatched and has no colour.
SHOWN, FAINT, AT_LEAST, AT_MOST = "shown", "faint", "at-least", "at-most"
ABSENT = "absent"
#: A cell of them has a value.
MEASURED = (SHOWN, FAINT, AT_LEAST, AT_MOST)

#: Points of a curve on a page or on paper: more cannot be told apart.
_CURVE_POINTS = 240
_DIGITS = 5
_TICKS = 12


@frozen(kw_only=True)
class Curve:
    """Points in order; ``low`` and ``high``: ends of their 95 % intervals, empty without.

    Attributes:
        kind: ``line`` (with marks), ``plain`` (without), ``steps`` (level until the next x),
            ``points``, or ``errors`` (points with bars).
        look: Which colour, marker and dash; the same number looks the same in every panel.
        n: How many samples each point rests on; empty: not told.
        texts: What the pointer shows at each point; empty: the numbers.
        bounded: Points at which nothing was seen: their ``high`` is what may hide at most, which
            is no interval around a value. It has a mark of its own. Empty: no such point.
    """

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    bounded: tuple[bool, ...] = ()
    kind: str = "line"
    look: int = 0
    n: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()

    @property
    def bands(self) -> tuple[tuple[int, ...], ...]:
        """Places of neighbours with an interval each: a band joins like with like only."""
        if not self.low:
            return ()
        runs: list[list[int]] = [[]]
        for place in range(len(self.x)):
            if self.bounded and self.bounded[place]:
                runs.append([])
            else:
                runs[-1].append(place)
        return tuple(tuple(run) for run in runs if run)

    @property
    def limits(self) -> tuple[int, ...]:
        """Places at which nothing was seen."""
        return tuple(place for place, bounded in enumerate(self.bounded) if bounded)


@frozen(kw_only=True)
class Spans:
    """Stretches of x on rows of the panel, all of one look, that take a share of a row's height;
    ``texts``: what the pointer shows."""

    label: str
    rows: tuple[int, ...]
    begin: tuple[float, ...]
    end: tuple[float, ...]
    texts: tuple[str, ...] = ()
    look: int = 0
    height: float = 0.62


#: Name of the mark at the high end of a point at which nothing was seen.
BOUND = "95 % upper bound, none seen"


@frozen(kw_only=True)
class Bars:
    """One layer of stacked bars, a value for each category of the panel; None: nothing known."""

    label: str
    y: tuple[float | None, ...]
    texts: tuple[str, ...] = ()
    look: int = 0


@frozen
class HeatCell:
    """A cell of a heat map.

    Attributes:
        state: SHOWN, FAINT (within the noise: grey), AT_LEAST, AT_MOST, UNDECIDED or ABSENT.
        text: Written into it. ``note``: below that, in small print, where there is room.
            ``hover``: what the pointer shows.
        key: What a click tells the page; "": nothing.
    """

    value: float | None = None
    state: str = ABSENT
    text: str = ""
    hover: str = ""
    key: str = ""
    note: str = ""


def _rows(rows: Iterable[Iterable[HeatCell]]) -> tuple[tuple[HeatCell, ...], ...]:
    return tuple(map(tuple, rows))


def _texts(names: Iterable[object]) -> tuple[str, ...]:
    return tuple(map(str, names))


@frozen(kw_only=True)
class Heat:
    """Rows of cells with a number each: a heat map, or a surface over it.

    Attributes:
        x, y: Names of columns and rows.
        low, high: Ends of the colours; of a scale centred on 0 they are those of differences.
        unit: Of the values, for the colour bar.
        x_at, y_at: Where columns and rows lie on their axes, ascending; empty: evenly spaced.
        levels: Values that contour lines join; their neighbours must lie at x_at and y_at.
        sortable: On a page rows and columns can be put in another order than this, which is called
            so; "": they cannot.
    """

    cells: tuple[tuple[HeatCell, ...], ...] = field(converter=_rows)
    x: tuple[str, ...] = field(converter=_texts)
    y: tuple[str, ...] = field(converter=_texts)
    low: float
    high: float
    unit: str
    x_at: tuple[float, ...] = ()
    y_at: tuple[float, ...] = ()
    levels: tuple[float, ...] = ()
    sortable: str = ""

    @property
    def diverging(self) -> bool:
        """Whether 0 is the middle of the colours."""
        return self.low == -self.high

    @property
    def x_places(self) -> tuple[float, ...]:
        """Centre of every column."""
        return self.x_at or tuple(map(float, range(len(self.x))))

    @property
    def y_places(self) -> tuple[float, ...]:
        """Centre of every row."""
        return self.y_at or tuple(map(float, range(len(self.y))))

    @property
    def x_edges(self) -> tuple[float, ...]:
        """Borders of the columns."""
        return edges(self.x_places)

    @property
    def y_edges(self) -> tuple[float, ...]:
        """Borders of the rows."""
        return edges(self.y_places)


@frozen(kw_only=True)
class Mark:
    """A line across the panel at a value of ``axis`` (x or y), or a band from ``at`` to ``to``."""

    axis: str
    at: float
    label: str
    to: float | None = None


@frozen(kw_only=True)
class Panel:
    """One pair of axes.

    Attributes:
        surface: Whether ``heat`` is drawn in space, straight between shown cells; it stands beside
            the panel of its heat map.
        rows: Names of the rows of ``spans``, from the top. Marks of x have their names beside them.
        empty: Stands in it where there is nothing to draw.
    """

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...] = ()
    rows: tuple[str, ...] = ()
    spans: tuple[Spans, ...] = ()
    bars: tuple[Bars, ...] = ()
    categories: tuple[str, ...] = ()
    heat: Heat | None = None
    surface: bool = False
    marks: tuple[Mark, ...] = ()
    x_log: bool = False
    y_log: bool = False
    x_limits: tuple[float, float] | None = None
    y_limits: tuple[float, float] | None = None
    empty: str = "nothing to draw"

    @property
    def x_ticks(self) -> tuple[float, ...]:
        """Where lines have their few points: no tick between them says that more was run."""
        if self.x_log or any(curve.kind not in ("line", "plain") for curve in self.curves):
            return ()
        places = tuple(sorted({x for curve in self.curves for x in curve.x}))
        return places if len(places) <= _TICKS else ()

    @property
    def x_span(self) -> tuple[float, float]:
        """Ends of the x axis where it is logarithmic."""
        drawn = (x for each in self.curves for x in each.x)
        return self.x_limits or self._span("x", drawn)

    @property
    def y_span(self) -> tuple[float, float]:
        """Ends of the y axis where it is logarithmic."""
        drawn = (y for each in self.curves for y in (*each.y, *each.low, *each.high))
        return self.y_limits or self._span("y", drawn)

    def _span(self, axis: str, drawn: Iterable[float]) -> tuple[float, float]:
        """A little around what is drawn and marked."""
        marks = (mark.at for mark in self.marks if mark.axis == axis)
        values = [v for v in (*drawn, *marks) if math.isfinite(v) and v > 0]
        if not values:
            return 0.5, 2.0
        low, high = min(values), max(values)
        room = max((high / low) ** 0.04, 1.01)
        return low / room, high * room

    @property
    def blank(self) -> bool:
        """Whether there is nothing to draw."""
        return not (any(c.x for c in self.curves) or self.bars or self.heat or self.spans)


#: Between the parts of an option.
OPTION = " · "


@frozen(kw_only=True)
class Chart:
    """A figure.

    Attributes:
        name: Identifier and file name.
        caption: What it rests on and how to read it; the smallest effect is put before it.
        family, option: A page shows one chart of a family at a time, chosen by its option. Parts
            of an option that `OPTION` separates have a choice each.
    """

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    family: str = ""
    option: str = ""

    @property
    def whole_title(self) -> str:
        """With what tells it from others of its family."""
        return ", ".join(filter(None, (self.title, *self.option.split(OPTION))))


#: What a page needs beside the attributes.
_DERIVED: Mapping[type, tuple[str, ...]] = {
    Curve: ("bands", "limits"),
    Heat: ("diverging", "x_places", "y_places", "x_edges", "y_edges"),
    Panel: ("x_ticks", "x_span", "y_span", "blank"),
}


def chart_data(charts: Iterable[Chart]) -> list[dict[str, object]]:
    """The charts as plain values of a page; numbers with five significant digits."""
    kept = ("name", "panels")
    return [
        {"bound": BOUND} | {name: _plain(getattr(chart, name)) for name in kept} for chart in charts
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Panel) and value.surface:
        return _plain(evolve(value, surface=False, heat=None)) | {"surface": True}
    if attrs.has(type(value)):
        names = (each.name for each in attrs.fields(type(value)))
        every = (*names, *_DERIVED.get(type(value), ()))
        return {name: _plain(getattr(value, name)) for name in every}
    return value


# ---------- what builders have in common ----------


@frozen
class CurvePoint:
    """A point of a curve; an end of its interval that is not known is the value itself.

    Attributes:
        bounded: Nothing was seen: ``high`` is what may hide at most.
        n: How many samples it rests on; 0: not told.
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
    told = any(p.low is not None or p.high is not None for p in known) or kind == "errors"
    return Curve(
        label=label,
        kind=kind,
        look=look,
        x=tuple(float(p.x) for p in known),
        y=tuple(p.y * scale for p in known),
        low=tuple(low * scale for low, _ in ends) if told else (),
        high=tuple(high * scale for _, high in ends) if told else (),
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


def nice_step(at_least: float) -> float:
    """The smallest of 1, 2, 5 x 10^n that is not below ``at_least`` > 0."""
    power: float = 10.0 ** math.floor(math.log10(at_least))
    for factor in (1.0, 2.0, 5.0):
        if factor * power >= at_least * (1 - 1e-9):
            return factor * power
    return 10 * power


def edges(centres: tuple[float, ...]) -> tuple[float, ...]:
    """Borders of cells around ascending centres: half way between, and as far outside."""
    if len(centres) < 2:
        return tuple(end for centre in centres for end in (centre - 0.05, centre + 0.05))
    middle = [(a + b) / 2 for a, b in pairwise(centres)]
    first = centres[0] - (middle[0] - centres[0])
    last = centres[-1] + (centres[-1] - middle[-1])
    return (first, *middle, last)


#: A mark so much later than everything else is told, not drawn: the rest would be a line.
_FAR = 2.5


def moment_chart(moment: WorstMoment, *, name: str, title: str) -> Chart:
    """Bars over time on rows (CPUs, threads, causes); release, deadline and finish are marked."""
    last = max([each.end_ns for each in moment.stretches] + [moment.marks.get("finish", 1)])
    size, unit = (1e6, "ms") if last >= 2_000_000 else (1e3, "µs")
    far = {mark: at for mark, at in moment.marks.items() if at > _FAR * last}
    near = {mark: at for mark, at in moment.marks.items() if mark not in far}
    kinds = list(dict.fromkeys(each.kind for each in moment.stretches))
    spans = []
    for look, kind in enumerate(kinds):
        own = [each for each in moment.stretches if each.kind == kind]
        spans.append(
            Spans(
                label=kind,
                look=look,
                rows=tuple(each.row for each in own),
                begin=tuple(each.begin_ns / size for each in own),
                end=tuple(each.end_ns / size for each in own),
                texts=tuple(
                    f"{each.text or kind}: {time_text(each.end_ns - each.begin_ns)}" for each in own
                ),
            )
        )
    first = min([0, *(each.begin_ns for each in moment.stretches)])
    end = max([last, *near.values()])
    room = 0.04 * (end - first)
    told = "".join(
        f" The {mark} is at {time_text(at)}, beyond the chart." for mark, at in far.items()
    )
    panel = Panel(
        title="",
        x_label=f"time since the release ({unit})",
        y_label="",
        rows=moment.rows,
        spans=tuple(spans),
        marks=tuple(Mark(axis="x", at=at / size, label=mark) for mark, at in near.items()),
        x_limits=((first - room) / size, (end + room) / size),
    )
    return Chart(
        name=name, title=title, caption=f"{moment.what}.{told} {moment.source}", panels=(panel,)
    )


# ---------- distributions ----------


def cumulative(values: Sequence[float], *, of: int | None = None) -> Curve:
    """Share of values at or below x, in percent, as steps.

    Args:
        of: What 100 % is, where the values are part of more; those not given lie below them all.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    whole = of or len(ordered)
    if not len(ordered):
        return Curve(label="", x=(), y=(), kind="steps")
    ranks = _kept(len(ordered))
    share = 100 * (whole - len(ordered) + ranks + 1) / whole
    x = (float(ordered[0]), *map(float, ordered[ranks]))
    return Curve(
        label="",
        x=x,
        y=(100 * (whole - len(ordered)) / whole, *map(float, share)),
        kind="steps",
    )


def percentiles(values: Sequence[float], *, of: int | None = None) -> Curve:
    """The value over its percentile (x, in percent): the cumulative curve turned."""
    turned = cumulative(values, of=of)
    return evolve(turned, x=turned.y[1:], y=turned.x[1:], kind="plain")


def histogram(values: Sequence[float], edges: Sequence[float], *, of: int | None = None) -> Curve:
    """Percent of values in each bin, as steps; ``of``: what 100 % is."""
    counts, _ = np.histogram(np.asarray(values, dtype=np.float64), bins=np.asarray(edges))
    share = 100 * counts / max(1, of or len(values))
    return Curve(
        label="",
        x=tuple(map(float, edges)),
        y=(*map(float, share), 0.0),
        kind="steps",
    )


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


def _kept(count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Ranks that a curve keeps: evenly spread, denser towards the worst, the last for certain."""
    if count <= _CURVE_POINTS:
        return np.arange(count)
    even = np.linspace(0, count - 1, _CURVE_POINTS // 2)
    tail = count - 1 - np.geomspace(1, count / 2, _CURVE_POINTS // 2)
    return np.unique(np.round(np.concatenate((even, tail, [count - 1]))).astype(np.int64))
