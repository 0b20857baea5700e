"""What a figure shows, as plain values: drawn on paper (charts_paper) and in pages alike.

A chart is a row of panels; a panel holds curves, bars or a heat map. Colour never stands alone:
every look has its own marker and dash, every bar its own hatching, every cell its number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from attrs import evolve, frozen

#: Okabe and Ito's colours, which the colour-blind tell apart; black last, yellow left out.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

#: States of a cell. Only in a SHOWN cell the colour counts; a FAINT one is greyed.
SHOWN, FAINT, UNDECIDED, ABSENT = "shown", "faint", "undecided", "absent"

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


#: Name of the mark at the high end of a point at which nothing was seen.
BOUND = "95 % upper bound, none seen"


@frozen(kw_only=True)
class Bars:
    """One layer of stacked bars, a value for each category of the panel; None: nothing known."""

    label: str
    y: tuple[float | None, ...]
    texts: tuple[str, ...] = ()
    look: int = 0


@frozen(kw_only=True)
class Heat:
    """A number per cell, ``values[row][column]``, evenly spaced whatever the distance of x and y.

    Attributes:
        x, y: Names of columns and rows.
        states: SHOWN, FAINT (a value that says nothing: greyed), UNDECIDED or ABSENT.
        texts: What is written into the cell. hover: what the pointer shows.
        span: The colours reach from -span to span, centred on 0.
        unit: Of the values, for the colour bar.
    """

    x: tuple[str, ...]
    y: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    states: tuple[tuple[str, ...], ...]
    texts: tuple[tuple[str, ...], ...]
    hover: tuple[tuple[str, ...], ...]
    span: float
    unit: str


@frozen(kw_only=True)
class Mark:
    """A line across the panel at a value of ``axis`` (x or y), or a band from ``at`` to ``to``."""

    axis: str
    at: float
    label: str
    to: float | None = None


@frozen(kw_only=True)
class Panel:
    """One pair of axes. ``empty`` stands in it where there is nothing to draw."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...] = ()
    bars: tuple[Bars, ...] = ()
    categories: tuple[str, ...] = ()
    heat: Heat | None = None
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
    def blank(self) -> bool:
        """Whether there is nothing to draw."""
        return not (any(c.x for c in self.curves) or self.bars or self.heat)


@frozen(kw_only=True)
class Chart:
    """A figure.

    Attributes:
        name: Identifier and file name.
        caption: What it rests on and how to read it; the smallest effect is put before it.
        family, option: A page shows one chart of a family at a time, chosen by its option.
    """

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    family: str = ""
    option: str = ""


def chart_data(charts: Iterable[Chart]) -> list[dict[str, Any]]:
    """The charts as plain values of a page; numbers with five significant digits."""
    return [
        {
            "name": chart.name,
            "bound": BOUND,
            "panels": [_panel(panel) for panel in chart.panels],
        }
        for chart in charts
    ]


def _panel(panel: Panel) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "x": panel.x_label, "y": panel.y_label, "x_log": panel.x_log, "y_log": panel.y_log,
        "x_limits": panel.x_limits, "y_limits": panel.y_limits, "categories": panel.categories,
        "empty": panel.empty if panel.blank else "", "x_ticks": _numbers(panel.x_ticks),
        "marks": [
            {"axis": m.axis, "at": _short(m.at), "to": _short(m.to), "label": m.label}
            for m in panel.marks
        ],
    }  # fmt: skip
    if panel.heat is not None:
        heat = panel.heat
        plain["heat"] = {
            "x": heat.x, "y": heat.y, "z": [_numbers(row) for row in heat.values],
            "states": heat.states, "texts": heat.texts, "hover": heat.hover,
            "span": _short(heat.span), "unit": heat.unit,
        }  # fmt: skip
    plain["curves"] = [
        {
            "label": c.label, "kind": c.kind, "look": c.look, "texts": c.texts,
            "x": _numbers(c.x), "y": _numbers(c.y),
            "low": _numbers(c.low), "high": _numbers(c.high),
            "bands": c.bands, "limits": c.limits,
        }
        for c in panel.curves
    ]  # fmt: skip
    plain["bars"] = [
        {"label": b.label, "look": b.look, "y": _numbers(b.y), "texts": b.texts} for b in panel.bars
    ]
    return plain


def _numbers(values: Iterable[float | None]) -> list[float | None]:
    return [_short(value) for value in values]


def _short(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{_DIGITS}g}")


# ---------- distributions over task sets ----------


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


def log_edges(values: Sequence[float], *, most: int = 48) -> tuple[float, ...]:
    """Edges of evenly wide bins on a logarithmic axis around all positive ``values``."""
    known = [value for value in values if value > 0]
    if not known:
        return (0.9, 1.1)
    low, high = min(known), max(known)
    if high / low < 1.05:
        low, high = low * 0.975, high * 1.025
    bins = min(most, max(12, round(2 * len(known) ** (1 / 3))))
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
