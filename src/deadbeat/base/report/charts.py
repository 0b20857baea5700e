"""What a figure shows, as plain values: drawn on paper (`report.paper`) and in pages alike.

A chart is a row of panels; a panel holds curves, bars, a heat map or a surface. Colour never stands
alone: every look has its own marker and dash, every bar its own hatching, every cell its number.

A builder is a function from a summary to charts. `curve`, `stacked`, `cumulative` and `histogram`
make what most of them need.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, TypeVar

import attrs
from attrs import evolve, field, frozen

from deadbeat.base.model.words import Json
from deadbeat.base.report.scales import log_ticks

T = TypeVar("T")

#: Okabe and Ito's colours, which the colour-blind tell apart; black last, yellow left out.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

BLACK = len(COLOURS) - 1

#: States of a cell. The colour counts in a SHOWN one and in one that is AT_LEAST that, which is
#: hatched too; a FAINT one is grey, one that is AT_MOST that is hatched and has no colour.
SHOWN, FAINT, AT_LEAST, AT_MOST = "shown", "faint", "at-least", "at-most"
ABSENT = "absent"
#: A cell of them has a value.
MEASURED = (SHOWN, FAINT, AT_LEAST, AT_MOST)

_DIGITS = 5
_TICKS = 12


@frozen(kw_only=True)
class Curve:
    """Points in order; ``low`` and ``high``: ends of their 95 % intervals, empty without.

    Attributes:
        kind: ``line`` (with marks), ``plain`` (without), ``steps`` (level until the next x),
            ``points``, or ``errors`` (points with bars).
        look: Which colour, marker and dash; the same number looks the same in every panel.
        n: How many samples each point rests on; empty: unknown.
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
        low, high: Ends of the colours; of a scale centred on 0 they are those of differences.
        x_at, y_at: Where columns and rows lie on their axes, ascending; empty: evenly spaced.
        levels: Values that contour lines join; their neighbours must lie at x_at and y_at.
        log: Colours and heights are on a logarithmic scale.
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
    log: bool = False
    sortable: str = ""

    @property
    def diverging(self) -> bool:
        """Whether 0 is the middle of the colours."""
        return self.low == -self.high

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Values of a logarithmic scale that have a text; without any the drawing chooses."""
        return log_ticks(self.low, self.high) if self.log else ()

    def height(self, value: float | None) -> float | None:
        """Where a value lies on the scale of the colours, and in space."""
        return math.log2(value) if self.log and value else value

    @property
    def x_places(self) -> tuple[float, ...]:
        return self.x_at or tuple(map(float, range(len(self.x))))

    @property
    def y_places(self) -> tuple[float, ...]:
        return self.y_at or tuple(map(float, range(len(self.y))))

    @property
    def x_edges(self) -> tuple[float, ...]:
        return edges(self.x_places)

    @property
    def y_edges(self) -> tuple[float, ...]:
        return edges(self.y_places)


@frozen(kw_only=True)
class Mark:
    """A line across the panel at a value of ``axis`` (x or y), or a band from ``at`` to ``to``.
    ``look``: a clear line of that look, of BLACK without dashes; None: a thin one."""

    axis: str
    at: float
    label: str
    to: float | None = None
    look: int | None = None


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
    def x_ticks(self) -> tuple[tuple[float, str], ...]:
        """Values with their texts; where lines have their few points no tick between them says that
        more was run. Without any the drawing chooses."""
        if self.x_log:
            return log_ticks(*self.x_span)
        if any(curve.kind not in ("line", "plain") for curve in self.curves):
            return ()
        places = sorted({x for curve in self.curves for x in curve.x})
        return tuple((x, f"{x:g}") for x in places) if len(places) <= _TICKS else ()

    @property
    def y_ticks(self) -> tuple[tuple[float, str], ...]:
        return log_ticks(*self.y_span) if self.y_log else ()

    @property
    def x_span(self) -> tuple[float, float]:
        drawn = (x for each in self.curves for x in each.x)
        return self.x_limits or self._span("x", drawn)

    @property
    def y_span(self) -> tuple[float, float]:
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
    Heat: ("diverging", "ticks", "x_places", "y_places", "x_edges", "y_edges"),
    Panel: ("x_ticks", "y_ticks", "x_span", "y_span", "blank"),
}


def chart_data(charts: Iterable[Chart]) -> list[dict[str, Json]]:
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


def edges(centres: tuple[float, ...]) -> tuple[float, ...]:
    """Borders of cells around ascending centres: half way between, and as far outside."""
    if len(centres) < 2:
        return tuple(end for centre in centres for end in (centre - 0.05, centre + 0.05))
    middle = [(a + b) / 2 for a, b in pairwise(centres)]
    first = centres[0] - (middle[0] - centres[0])
    last = centres[-1] + (centres[-1] - middle[-1])
    return (first, *middle, last)
