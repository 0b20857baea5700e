"""The figures of a load test: the curve of failures, response times, lost time, lost work."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from deadbeat.model.histogram import Histogram
from deadbeat.model.load import ALL, PLAIN, REFERENCE
from deadbeat.model.load_summary import Estimate, LoadCell, LoadSummary
from deadbeat.report.charts import Bars, Chart, Curve, Mark, Panel
from deadbeat.report.load_words import condition_words

#: Points of an exceedance curve; steps closer than that cannot be told apart.
_POINTS = 240


def load_charts(summary: LoadSummary) -> list[Chart]:
    """Every figure that the summary has the numbers for."""
    return [_failures(summary), _responses(summary), _lost(summary), _work(summary)]


def _along(summary: LoadSummary, condition: str) -> list[LoadCell]:
    """Cells of a condition that were measured at several numbers of ordinary threads."""
    found = [cell for cell in summary.cells if cell.condition == condition and cell.runs]
    return sorted(found, key=lambda cell: cell.normal)


def _several(summary: LoadSummary) -> list[str]:
    """Conditions with a curve of their own."""
    names = dict.fromkeys(c.condition for c in summary.cells if c.condition != REFERENCE)
    return [name for name in names if name in (PLAIN, ALL) or len(_along(summary, name)) > 1]


def _curve(
    cells: Sequence[LoadCell],
    label: str,
    look: int,
    value: Callable[[LoadCell], Estimate | None],
    *,
    scale: float = 1.0,
    bounds: bool = False,
) -> Curve:
    """Estimates over the number of ordinary threads."""
    known = [(cell.normal, e) for cell in cells if (e := value(cell)) is not None]
    values = [estimate.value * scale for _, estimate in known]
    return Curve(
        label=label,
        x=tuple(float(normal) for normal, _ in known),
        y=tuple(values),
        low=tuple((e.value if e.low is None else e.low) * scale for _, e in known),
        high=tuple((e.value if e.high is None else e.high) * scale for _, e in known),
        bounded=tuple(bounds and e.value == 0 for _, e in known),
        look=look,
    )


def _failures(summary: LoadSummary) -> Chart:
    curves = tuple(
        _curve(
            _along(summary, name),
            condition_words(name),
            look,
            lambda cell: cell.failures_per_s,
            bounds=True,
        )
        for look, name in enumerate(_several(summary))
    )
    return Chart(
        name="load-failures",
        title="Missed deadlines",
        caption="Bands: 95 %, over runs. A mark above a point at 0: as many may still hide.",
        panels=(
            Panel(
                title="Failures",
                x_label="ordinary threads",
                y_label="failures per second",
                curves=curves,
                y_limits=None if any(any(c.y) for c in curves) else (0.0, 1.0),
            ),
        ),
    )


def _exceeding(response: Histogram, label: str, look: int) -> Curve:
    """Share of rounds that take longer than x, in percent."""
    counts = response.counts
    above = counts[::-1].cumsum()[::-1]
    x = response.highs_ns() / 1e6
    y = 100 * np.append(above[1:], 0) / response.total
    kept = y > 0
    x, y = np.append(response.lows_ns()[0] / 1e6, x[kept]), np.append(100.0, y[kept])
    if response.max_ns is not None:
        # the last step ends at the longest round, at the share that one round is
        x, y = np.append(x, response.max_ns / 1e6), np.append(y, 100 / response.total)
    if len(x) > _POINTS:
        tail = len(x) - 1 - np.geomspace(1, len(x) - 1, _POINTS)
        places = np.unique(np.round(np.append(tail, [0, len(x) - 1])).astype(np.int64))
        x, y = x[places], y[places]
    return Curve(label=label, x=tuple(x.tolist()), y=tuple(y.tolist()), kind="plain", look=look)


def _responses(summary: LoadSummary) -> Chart:
    deadline = Mark(axis="x", at=summary.deadline_ns / 1e6, label="deadline")
    plain = [cell for cell in _along(summary, PLAIN) if cell.response and cell.response.total]
    most = [
        cell
        for cell in summary.cells
        if cell.normal == summary.most and cell.response and cell.response.total
    ]
    panels = [
        Panel(
            title=title,
            x_label="response time (ms)",
            y_label="rounds that take longer (%)",
            curves=tuple(
                _exceeding(cell.response, label(cell), look)
                for look, cell in enumerate(cells)
                if cell.response is not None
            ),
            marks=(deadline,),
            x_log=True,
            y_log=True,
        )
        for title, cells, label in (
            ("As it is, by ordinary threads", plain, _threads),
            (f"With {summary.most} ordinary threads, by remedy", most, _condition),
        )
    ]
    return Chart(
        name="load-responses",
        title="Response times of the real-time thread",
        caption="Every round of all runs that count; the right end of a curve is the longest one.",
        panels=tuple(panels),
    )


def _threads(cell: LoadCell) -> str:
    return f"{cell.normal} threads"


def _condition(cell: LoadCell) -> str:
    return condition_words(cell.condition)


def _lost(summary: LoadSummary) -> Chart:
    cells = [cell for cell in summary.cells if cell.lost is not None]
    parts = (
        ("waiting", "ready, and not running"),
        ("stopped", "running, and nothing moved"),
        ("slower", "slower execution"),
    )
    return Chart(
        name="load-lost",
        title="Where the real-time thread's time went",
        caption="Beyond what its rounds take at the fewest ordinary threads (median CPU time)."
        " Waiting: the scheduler gave its CPU away. Nothing moved: an interrupt or the host.",
        panels=(
            Panel(
                title="Lost time",
                x_label="condition, ordinary threads",
                y_label="ms per second",
                categories=tuple(f"{_short(cell.condition)}, {cell.normal}" for cell in cells),
                bars=tuple(
                    Bars(
                        label=label,
                        look=look,
                        y=tuple(
                            max(getattr(cell.lost, part) * 1000, 0.0) if cell.lost else None
                            for cell in cells
                        ),
                    )
                    for look, (part, label) in enumerate(parts)
                )
                if cells
                else (),
            ),
        ),
    )


def _short(condition: str) -> str:
    return {PLAIN: "as is", ALL: "all"}.get(condition, condition)


def _work(summary: LoadSummary) -> Chart:
    curves = tuple(
        _curve(
            _along(summary, name),
            condition_words(name),
            look,
            lambda cell: cell.work_lost,
            scale=100.0,
        )
        for look, name in enumerate(_several(summary))
    )
    return Chart(
        name="load-work",
        title="What the ordinary threads lose",
        caption="Their work in all, against runs without the real-time thread; pairs of runs of one"
        " repeat. Bands: 95 %.",
        panels=(
            Panel(
                title="Work lost",
                x_label="ordinary threads",
                y_label="work lost (%)",
                curves=tuple(curve for curve in curves if curve.x),
            ),
        ),
    )
