"""Load tests that are compared, laid over each other: failures, response times, remedies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from deadbeat.kinds.interference.charts import (
    exceeding_curve,
    failures_panel,
    responses_panel,
    work_panel,
)
from deadbeat.kinds.interference.words import condition_words, ranged
from deadbeat.model.load import ALL, PLAIN
from deadbeat.model.load_summary import Effect, Estimate, LoadCell, LoadSummary
from deadbeat.report.charts import Chart, Curve, CurvePoint, Mark, Panel, aside, curve

_SIDES = "Whether sides differ is said by the verdicts, which compare run by run."


def overlay_charts(summaries: Sequence[LoadSummary]) -> list[Chart]:
    """Every figure in which two load tests at least have something to show, the baseline first."""
    return [_along(summaries), *_responses(summaries), *_remedies(summaries)]


def _plain(summary: LoadSummary) -> dict[int, LoadCell]:
    """By number of ordinary threads."""
    found = (cell for cell in summary.cells if cell.condition == PLAIN and cell.runs)
    return {cell.normal: cell for cell in found}


def _along(summaries: Sequence[LoadSummary]) -> Chart:
    sides = [
        (summary.name, sorted(_plain(summary).values(), key=lambda cell: cell.normal))
        for summary in summaries
    ]
    return Chart(
        name="load-sides",
        title="Missed deadlines and lost work over each other",
        caption="Without a remedy. Bands: 95 % of each load test alone, over runs; arrows: as many"
        f" occasions of failure may hide where none was seen. {_SIDES}",
        panels=(failures_panel(sides), work_panel(sides)),
    )


def _responses(summaries: Sequence[LoadSummary]) -> list[Chart]:
    """For every number of ordinary threads that two sides have; the highest first."""
    cells = [_plain(summary) for summary in summaries]
    charts = []
    for normal in sorted({number for own in cells for number in own}, reverse=True):
        curves = [
            exceeding_curve(response, summary.name, look)
            for look, (summary, own) in enumerate(zip(summaries, cells, strict=True))
            if normal in own and (response := own[normal].response) is not None and response.total
        ]
        if len(curves) > 1:
            charts.append(_response_chart(normal, curves, summaries[0].deadline_ns))
    return charts


def _response_chart(normal: int, curves: Sequence[Curve], deadline_ns: int) -> Chart:
    return Chart(
        name=f"load-responses-{normal:04d}",
        title="Response times laid over each other",
        option=f"{normal} ordinary thread{'' if normal == 1 else 's'}",
        family="load-responses",
        caption="Every round of all runs that count; the right end of a curve is the longest one,"
        f" which is one sample. {_SIDES}",
        panels=(responses_panel("Without a remedy", curves, deadline_ns),),
    )


def _remedies(summaries: Sequence[LoadSummary]) -> list[Chart]:
    """What each remedy changes at the most ordinary threads, a look for each side."""
    most = summaries[0].most
    sides = {
        summary.name: {e.condition: e for e in summary.effects if e.normal == most}
        for summary in summaries
    }
    first, *others = sides.values()
    names = [name for name in first if any(name in own for own in others)]
    if not names:
        return []
    panels = (
        Panel(
            title=title,
            x_label="remedy",
            y_label=y_label,
            categories=tuple(_SHORT.get(name, name) for name in names),
            curves=tuple(_effect_curves(sides, names, value, scale)),
            marks=(Mark(axis="y", at=0.0, label=""),),
        )
        for title, y_label, value, scale in _EFFECTS
    )
    return [
        Chart(
            name="load-remedies-sides",
            title=f"What remedies change on each side, at {most} ordinary threads",
            caption="Each against runs of its own load test without it; below 0 is better. Bars:"
            " 95 %, left out where there is no interval. No verdict compares the sides here.",
            panels=tuple(panels),
        )
    ]


_SHORT = {ALL: "all"}
_EFFECTS: tuple[tuple[str, str, Callable[[Effect], Estimate | None], float], ...] = (
    ("Failures", "difference, per second", lambda effect: effect.failures, 1.0),
    ("99 % quantile of response times", "difference (ms)", lambda effect: effect.p99_ns, 1e-6),
)


def _effect_curves(
    sides: Mapping[str, Mapping[str, Effect]],
    names: Sequence[str],
    value: Callable[[Effect], Estimate | None],
    scale: float,
) -> Iterator[Curve]:
    for look, (side, own) in enumerate(sides.items()):
        points = []
        for place, name in enumerate(names):
            estimate = value(own[name]) if name in own else None
            if estimate is not None:
                # Beside each other, so that no bar hides another.
                x = place + aside(look, len(sides))
                words = f"{condition_words(name)}: {ranged(estimate, 3, scale=scale)}"
                points.append(
                    CurvePoint(x, estimate.value, estimate.low, estimate.high, text=words)
                )
        yield curve(side, points, look=look, kind="errors", scale=scale)
