"""Load tests that are compared, laid over each other: failures, response times, remedies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from deadbeat.kinds.interference.charts import estimate_curve, exceeding_curve
from deadbeat.kinds.interference.words import condition_words, ranged
from deadbeat.model.load import ALL, PLAIN
from deadbeat.model.load_summary import Effect, Estimate, LoadCell, LoadSummary
from deadbeat.report.charts import Chart, Curve, Mark, Panel

_SIDES = "Whether sides differ is said by the verdicts, which compare run by run."


def overlay_charts(summaries: Sequence[LoadSummary]) -> list[Chart]:
    """Every figure in which two load tests at least have something to show, the baseline first."""
    return [_along(summaries), *_responses(summaries), *_remedies(summaries)]


def _plain(summary: LoadSummary) -> dict[int, LoadCell]:
    """By number of ordinary threads."""
    found = (cell for cell in summary.cells if cell.condition == PLAIN and cell.runs)
    return {cell.normal: cell for cell in found}


def _along(summaries: Sequence[LoadSummary]) -> Chart:
    def panel(
        title: str,
        y_label: str,
        value: Callable[[LoadCell], Estimate | None],
        *,
        scale: float = 1.0,
        bounds: bool = False,
    ) -> Panel:
        curves = [
            estimate_curve(
                sorted(_plain(summary).values(), key=lambda cell: cell.normal),
                summary.name,
                look,
                value,
                scale=scale,
                bounds=bounds,
            )
            for look, summary in enumerate(summaries)
        ]
        return Panel(
            title=title,
            x_label="ordinary threads",
            y_label=y_label,
            curves=tuple(curve for curve in curves if curve.x),
            y_limits=(0.0, 1.0) if bounds and not any(any(c.y) for c in curves) else None,
        )

    return Chart(
        name="load-sides",
        title="Missed deadlines and lost work over each other",
        caption="Without a remedy. Bands: 95 % of each load test alone, over runs; arrows: as many"
        f" occasions of failure may hide where none was seen. {_SIDES}",
        panels=(
            panel("Failures", "failures per second", lambda cell: cell.failures_per_s, bounds=True),
            panel("Work lost", "work lost (%)", lambda cell: cell.work_lost, scale=100.0),
        ),
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
        panels=(
            Panel(
                title="Without a remedy",
                x_label="response time (ms)",
                y_label="rounds that take longer (%)",
                curves=tuple(curves),
                marks=(Mark(axis="x", at=deadline_ns / 1e6, label="deadline"),),
                x_log=True,
                y_log=True,
            ),
        ),
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
    step = 0.6 / len(sides)
    for look, (side, own) in enumerate(sides.items()):
        # Beside each other, so that no bar hides another.
        shift = step * (look - (len(sides) - 1) / 2)
        here = [
            (place, estimate)
            for place, name in enumerate(names)
            if name in own and (estimate := value(own[name])) is not None
        ]
        yield Curve(
            label=side,
            look=look,
            kind="errors",
            x=tuple(place + shift for place, _ in here),
            y=tuple(e.value * scale for _, e in here),
            low=tuple((e.value if e.low is None else e.low) * scale for _, e in here),
            high=tuple((e.value if e.high is None else e.high) * scale for _, e in here),
            texts=tuple(
                f"{condition_words(names[place])}: {ranged(e, 3, scale=scale)}" for place, e in here
            ),
        )
