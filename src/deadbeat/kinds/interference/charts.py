"""The figures of a load test: the curve of failures, response times, lost time, lost work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from deadbeat.kinds.interference.words import condition_words
from deadbeat.model.histogram import Histogram
from deadbeat.model.load import ALL, PLAIN, REFERENCE
from deadbeat.model.load_summary import Estimate, LoadCell, LoadSummary
from deadbeat.report.charts import Chart, Curve, CurvePoint, Mark, Panel, curve, spread, stacked

#: Points of an exceedance curve; steps closer than that cannot be told apart.
_POINTS = 240
#: Curves of one panel: more cannot be told apart.
_CURVES = 5


def load_charts(summary: LoadSummary) -> list[Chart]:
    """Every figure that the summary has the numbers for."""
    return [_failures(summary), *_responses(summary), _lost(summary), _work(summary)]


def _along(summary: LoadSummary, condition: str) -> list[LoadCell]:
    """Cells of a condition that were measured at several numbers of ordinary threads."""
    found = [cell for cell in summary.cells if cell.condition == condition and cell.runs]
    return sorted(found, key=lambda cell: cell.normal)


def _several(summary: LoadSummary) -> list[str]:
    """Conditions with a curve of their own."""
    names = dict.fromkeys(c.condition for c in summary.cells if c.condition != REFERENCE)
    return [name for name in names if name in (PLAIN, ALL) or len(_along(summary, name)) > 1]


def estimate_curve(
    cells: Sequence[LoadCell],
    label: str,
    look: int,
    value: Callable[[LoadCell], Estimate | None],
    *,
    scale: float = 1.0,
    bounds: bool = False,
) -> Curve:
    """Estimates over the number of ordinary threads."""
    found = ((cell.normal, value(cell)) for cell in cells)
    points = (
        CurvePoint(x, e.value, e.low, e.high, bounds and e.value == 0)
        for x, e in found
        if e is not None
    )
    return curve(label, points, look=look, scale=scale)


def along_panel(
    title: str,
    y_label: str,
    sides: Iterable[tuple[str, Sequence[LoadCell]]],
    value: Callable[[LoadCell], Estimate | None],
    *,
    scale: float = 1.0,
    bounds: bool = False,
) -> Panel:
    """Estimates over the number of ordinary threads, a curve for each name with its cells."""
    curves = [
        estimate_curve(cells, name, look, value, scale=scale, bounds=bounds)
        for look, (name, cells) in enumerate(sides)
    ]
    return Panel(
        title=title,
        x_label="ordinary threads",
        y_label=y_label,
        curves=tuple(curve for curve in curves if curve.x),
        y_limits=(0.0, 1.0) if bounds and not any(any(c.y) for c in curves) else None,
    )


def failures_panel(sides: Iterable[tuple[str, Sequence[LoadCell]]]) -> Panel:
    """Failures per second; bounds where none was seen."""
    return along_panel(
        "Failures", "failures per second", sides, lambda cell: cell.failures_per_s, bounds=True
    )


def work_panel(sides: Iterable[tuple[str, Sequence[LoadCell]]]) -> Panel:
    """What the ordinary threads lose."""
    return along_panel("Work lost", "work lost (%)", sides, lambda cell: cell.work_lost, scale=100)


def responses_panel(title: str, curves: Iterable[Curve], deadline_ns: int) -> Panel:
    """Shares of rounds that take longer, beside the deadline."""
    return Panel(
        title=title,
        x_label="response time (ms)",
        y_label="rounds that take longer (%)",
        curves=tuple(curves),
        marks=(Mark(axis="x", at=deadline_ns / 1e6, label="deadline"),),
        x_log=True,
        y_log=True,
    )


def _by_condition(summary: LoadSummary) -> list[tuple[str, list[LoadCell]]]:
    return [(condition_words(name), _along(summary, name)) for name in _several(summary)]


def _failures(summary: LoadSummary) -> Chart:
    panel = failures_panel(_by_condition(summary))
    return Chart(
        name="load-failures",
        title="Missed deadlines",
        caption=_failures_caption(panel.curves),
        panels=(panel,),
    )


def _failures_caption(curves: Sequence[Curve]) -> str:
    text = "Bands: 95 %, over runs."
    if any(any(curve.bounded) for curve in curves):
        text += (
            " Arrows, where none was seen: as many occasions of failure per second may still hide"
            " (failures in a row are one occasion)."
        )
    return text


def exceeding_curve(response: Histogram, label: str, look: int) -> Curve:
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
    return Curve(label=label, x=tuple(x.tolist()), y=tuple(y.tolist()), kind="steps", look=look)


def _responses(summary: LoadSummary) -> list[Chart]:
    plain, most = _plain_and_most(summary)
    return [
        _response_chart(
            summary,
            "load-responses",
            ("Response times by ordinary threads", "As it is"),
            [(cell, f"{cell.normal} threads") for cell in spread(plain, _CURVES)],
        ),
        _response_chart(
            summary,
            "load-remedies",
            ("Response times by remedy", f"With {summary.most} ordinary threads"),
            [(cell, condition_words(cell.condition)) for cell in most],
        ),
    ]


def _plain_and_most(summary: LoadSummary) -> tuple[list[LoadCell], list[LoadCell]]:
    """Cells with rounds: those without a remedy, and those at the most ordinary threads."""
    known = [cell for cell in summary.cells if cell.response and cell.response.total]
    return (
        [cell for cell in known if cell.condition == PLAIN],
        [cell for cell in known if cell.normal == summary.most],
    )


def _response_chart(
    summary: LoadSummary,
    name: str,
    titles: tuple[str, str],
    cells: Sequence[tuple[LoadCell, str]],
) -> Chart:
    """Titles: of the figure, of its panel."""
    curves = [
        exceeding_curve(cell.response, label, look)
        for look, (cell, label) in enumerate(cells)
        if cell.response is not None
    ]
    return Chart(
        name=name,
        title=titles[0],
        caption="Every round of all runs that count; the right end of a curve is the longest one.",
        panels=(responses_panel(titles[1], curves, summary.deadline_ns),),
    )


_PARTS = (
    ("waiting", "ready, and not running"),
    ("stopped", "running, and nothing moved"),
    ("slower", "slower execution"),
)


def _lost(summary: LoadSummary) -> Chart:
    plain, most = _plain_and_most(summary)
    return Chart(
        name="load-lost",
        title="Where the real-time thread's time went",
        caption="Beyond what its rounds take at the fewest ordinary threads (median CPU time)."
        " Waiting: the scheduler gave its CPU away. Nothing moved: an interrupt or the host.",
        panels=(
            _lost_panel("As it is", "ordinary threads", [(c, str(c.normal)) for c in plain]),
            _lost_panel(
                f"With {summary.most} ordinary threads",
                "remedy",
                [(c, _SHORT.get(c.condition, c.condition)) for c in most],
            ),
        ),
    )


_SHORT = {PLAIN: "none", ALL: "all"}


def _lost_panel(title: str, x_label: str, cells: Sequence[tuple[LoadCell, str]]) -> Panel:
    known = [(cell.lost, label) for cell, label in cells if cell.lost is not None]
    layers = {
        label: [max(getattr(lost, part) * 1000, 0.0) for lost, _ in known] for part, label in _PARTS
    }
    return Panel(
        title=title,
        x_label=x_label,
        y_label="lost time (ms per second)",
        categories=tuple(label for _, label in known),
        bars=stacked(layers) if known else (),
    )


def _work(summary: LoadSummary) -> Chart:
    return Chart(
        name="load-work",
        title="What the ordinary threads lose",
        caption="Their work in all, against runs without the real-time thread; pairs of runs of one"
        " repeat. Bands: 95 %.",
        panels=(work_panel(_by_condition(summary)),),
    )
