"""The figures of a load test, alone and laid over others: failures, response times, lost time and
work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from deadbeat.base.report.building import (
    CurvePoint,
    curve,
    exceeding,
    moment_chart,
    spread,
    stacked,
)
from deadbeat.base.report.charts import BLACK, Chart, Mark, Panel
from deadbeat.base.stats.estimate import Estimate
from deadbeat.latencies.load.model import ALL, PLAIN, REFERENCE, LoadCell, LoadSummary
from deadbeat.latencies.load.words import condition_words

#: Most curves of one panel that can be distinguished.
_CURVES = 5
_PARTS = {
    "ready, and not running": "waiting",
    "running, and nothing moved": "stopped",
    "slower execution": "slower",
}
_SHORT = {PLAIN: "none", ALL: "all"}
_EVERY = "Every round of all runs that count; the right end of a curve is the longest one"
_SIDES = "The verdicts say whether sides differ; they compare run by run."

#: Name of a curve, and its cells.
Sides = Sequence[tuple[str, Sequence[LoadCell]]]


# ---------- a load test ----------


def load_charts(summary: LoadSummary) -> list[Chart]:
    """Every figure that the summary has the numbers for."""
    names = dict.fromkeys(c.condition for c in summary.cells if c.condition != REFERENCE)
    along = {name: _along(summary, name) for name in names}
    sides = [
        (condition_words(name), cells)
        for name, cells in along.items()
        if name in (PLAIN, ALL) or len(cells) > 1
    ]
    failures, crowded = _failures(sides), f"With {summary.most} ordinary threads"
    known = [cell for cell in summary.cells if cell.response and cell.response.total]
    plain = [cell for cell in known if cell.condition == PLAIN]
    most = [cell for cell in known if cell.normal == summary.most]
    by_number = [(f"{cell.normal} threads", cell) for cell in spread(plain, _CURVES)]
    by_remedy = [(condition_words(cell.condition), cell) for cell in most]
    caption = "Bands: 95 %, over runs."
    if any(any(each.bounded) for each in failures.curves):
        caption += (
            " Arrows, where none was seen: as many occasions of failure per second may still hide"
            " (failures in a row are one occasion)."
        )
    worst = summary.worst
    title = "The longest round over time"
    return [
        Chart(name="load-failures", title="Missed deadlines", caption=caption, panels=(failures,)),
        *(
            Chart(
                name=name,
                title=title,
                caption=f"{_EVERY}.",
                panels=(_responses(panel, shown, summary.deadline_ns),),
            )
            for name, title, panel, shown in (
                ("load-responses", "Response times by ordinary threads", "As it is", by_number),
                ("load-remedies", "Response times by remedy", crowded, by_remedy),
            )
        ),
        Chart(
            name="load-lost",
            title="Where the real-time thread's time went",
            caption="Beyond what its rounds take at the fewest ordinary threads (median CPU time)."
            " Waiting: the scheduler gave its CPU away. Nothing moved: an interrupt or the host.",
            panels=(
                _lost("As it is", "ordinary threads", plain, lambda c: str(c.normal)),
                _lost(crowded, "remedy", most, lambda c: _SHORT.get(c.condition, c.condition)),
            ),
        ),
        Chart(
            name="load-work",
            title="What the ordinary threads lose",
            caption="Work of all ordinary threads, compared with runs without the real-time thread,"
            " in pairs of runs of one repeat. Bands: 95 %.",
            panels=(_work(sides),),
        ),
        *([moment_chart(worst, name="load-worst", title=title)] if worst else []),
    ]


def _along(summary: LoadSummary, condition: str) -> list[LoadCell]:
    found = (cell for cell in summary.cells if cell.condition == condition and cell.runs)
    return sorted(found, key=lambda cell: cell.normal)


def _over_normal(
    title: str,
    y_label: str,
    sides: Sides,
    value: Callable[[LoadCell], Estimate | None],
    *,
    scale: float = 1.0,
    bounds: bool = False,
) -> Panel:
    """Estimates over the number of ordinary threads; ``bounds``: at 0 they are bounds."""
    curves = []
    for look, (name, cells) in enumerate(sides):
        known = [(cell.normal, e) for cell in cells if (e := value(cell)) is not None]
        points = [CurvePoint(x, e.value, e.low, e.high, bounds and not e.value) for x, e in known]
        if points:
            curves.append(curve(name, points, look=look, scale=scale))
    return Panel(
        title=title,
        x_label="ordinary threads",
        y_label=y_label,
        curves=tuple(curves),
        y_limits=(0.0, 1.0) if bounds and not any(any(each.y) for each in curves) else None,
    )


def _failures(sides: Sides) -> Panel:
    return _over_normal(
        "Failures", "failures per second", sides, lambda cell: cell.failures_per_s, bounds=True
    )


def _work(sides: Sides) -> Panel:
    return _over_normal("Work lost", "work lost (%)", sides, lambda cell: cell.work_lost, scale=100)


def _responses(title: str, cells: Iterable[tuple[str, LoadCell]], deadline_ns: int) -> Panel:
    """Shares of rounds that take longer, beside the deadline."""
    return Panel(
        title=title,
        x_label="response time (ms)",
        y_label="rounds that take longer (%)",
        curves=tuple(
            exceeding(cell.response, f"{label} (n = {cell.response.total:,})", look)
            for look, (label, cell) in enumerate(cells)
            if cell.response and cell.response.total
        ),
        marks=(Mark(axis="x", at=deadline_ns / 1e6, label="deadline", look=BLACK),),
        x_log=True,
        y_log=True,
    )


def _lost(
    title: str, x_label: str, cells: Sequence[LoadCell], label: Callable[[LoadCell], str]
) -> Panel:
    known = [(cell.lost, label(cell)) for cell in cells if cell.lost is not None]
    layers = {
        name: [max(getattr(lost, part) * 1000, 0.0) for lost, _ in known]
        for name, part in _PARTS.items()
    }
    return Panel(
        title=title,
        x_label=x_label,
        y_label="lost time (ms per second)",
        categories=tuple(each for _, each in known),
        bars=stacked(layers) if known else (),
    )


# ---------- several laid over each other ----------


def overlay_charts(summaries: Sequence[LoadSummary]) -> list[Chart]:
    """Every figure in which two load tests at least have something to show, the baseline first."""
    sides = [(summary.name, _along(summary, PLAIN)) for summary in summaries]
    along = Chart(
        name="load-sides",
        title="Missed deadlines and lost work over each other",
        caption="Without a remedy. Bands: 95 % of each load test alone, over runs; arrows: upper"
        f" bounds where no failure was seen. {_SIDES}",
        panels=(_failures(sides), _work(sides)),
    )
    responses = _responses_beside(sides, summaries[0].deadline_ns)
    return [*responses, along]


def _responses_beside(sides: Sides, deadline_ns: int) -> Iterator[Chart]:
    """For every number of ordinary threads that two sides have; the highest first."""
    for normal in sorted({cell.normal for _, cells in sides for cell in cells}, reverse=True):
        panel = _responses(
            "Without a remedy",
            [
                (name, next((c for c in cells if c.normal == normal), _NONE))
                for name, cells in sides
            ],
            deadline_ns,
        )
        if len(panel.curves) > 1:
            yield Chart(
                name=f"load-responses-{normal:04d}",
                title="Response times laid over each other",
                option=f"{normal} ordinary thread{'' if normal == 1 else 's'}",
                family="load-responses",
                caption=f"{_EVERY}, which is one sample. {_SIDES}",
                panels=(panel,),
            )


#: A side without rounds, which has no curve and keeps its look.
_NONE = LoadCell(normal=0, condition=PLAIN, runs=0, invalid=0, seconds=0.0)
