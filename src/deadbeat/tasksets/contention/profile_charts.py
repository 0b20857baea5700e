"""The figures of a profile, and why jobs were late: the split of responses, the worst jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve

from deadbeat.base.model.lateness import LateJob
from deadbeat.base.model.traces import PARTS
from deadbeat.base.model.words import origin, time_text
from deadbeat.base.report.building import curve, spread, stacked
from deadbeat.base.report.charts import COLOURS, OPTION, Chart, Curve, Panel
from deadbeat.base.report.document import Lines, Part, Sentence, Subsection, Table, said
from deadbeat.tasksets.contention import grids
from deadbeat.tasksets.contention.facts import Level, factors, labels, levels, noise_floor
from deadbeat.tasksets.contention.grids import (
    METRICS,
    GridMetric,
    Scale,
    at_places,
    axis_of,
    cores_of,
    grid,
    metric_point,
    milli,
    scale,
)
from deadbeat.tasksets.contention.samples import object_charts, of_option, samples
from deadbeat.tasksets.contention.stress_charts import factor_charts
from deadbeat.tasksets.model.figures import CellFigures
from deadbeat.tasksets.model.results import JobHistogram, Summary

#: Curves in one panel.
_CURVES = 6
_ALPHAS = 5
_RHO, _ALPHA = "synchronisation share ρ", "contended ratio α"
#: Distributions of fewer jobs are drawn as steps.
_FEW_JOBS = 300

#: Metric of a distribution, heading of its panel, axis label.
_OVER_JOBS: tuple[tuple[str, str, str], ...] = (
    ("slowdown", "Slowdown", "slowdown of a job (span / median span alone)"),
    ("delay_ratio", "Delay ratio", "delay ratio of a job (span / C)"),
    ("response_ratio", "Response ratio", "response ratio of a job ((f − r) / C)"),
)


#: Fewest values of rho and of alpha of which a surface is drawn.
SURFACE_POINTS = 5


def grid_charts(summary: Summary, most: int | None = None) -> Iterator[Chart]:
    """Heat map of every metric at every M, most cores first; beside it a surface, where there are
    points enough for it to show more. ``most``: most deadline factors that have figures of
    their own; None: all."""
    raise_it = all(
        len(axis_of(summary, column)) >= SURFACE_POINTS
        for column in ("sync_share", "contended_ratio")
    )
    for metric in METRICS:
        range_of = scale(summary, metric, noise_floor(summary))
        for m in reversed(cores_of(summary)):
            for level in levels(summary.cells, most):
                own = grid(summary, metric, m, range_of, level)
                flat = Panel(title="Heat map", x_label=_ALPHA, y_label=_RHO, heat=own)
                raised = evolve(flat, title="Surface", y_label="sync share ρ", surface=True)
                yield Chart(
                    name=f"{metric.id}-m{m:03d}{level.suffix}",
                    title="Grid of points",
                    option=OPTION.join(filter(None, (metric.name, f"M = {m}", level.option))),
                    family="grid",
                    caption=_grid_caption(summary, metric, range_of, raised=raise_it),
                    panels=(raised, flat) if raise_it else (flat,),
                )


def _grid_caption(summary: Summary, metric: GridMetric, range_of: Scale, *, raised: bool) -> str:
    source = origin(labels(summary))
    text = (
        f"A cell: the {source} value, its 95 % interval, the number of task sets. Grey: within the"
        " noise, or without an interval. Hatched: a bound (<, ≥), n.m. not measured, ? undecided."
        " Every M has the same colours."
    )
    if raised:
        text += " A surface is straight between points, with holes where one is missing."
    if range_of.levels:
        unit = " %" if metric.scale == 100 else ""
        first, *more = range_of.levels
        every = f"every {more[0] - first:.3g}{unit} from {first:g}{unit}" if more else ""
        text += (
            f" White lines join points of equal value ({every or f'at {first:g}{unit}'}); between"
            " points they are interpolated."
        )
    if metric.from_below:
        return text + " ≥ means: at least that, the end was not seen."
    return text + (" < means: none seen, at most that." if metric.scale == 100 else "")


#: Metrics that are drawn over the number of cores.
_OVER_CORES = ("slowdown", "deadline_needed", "deadline_miss_ratio")


def core_charts(summary: Summary, most: int | None = None) -> Iterator[Chart]:
    """Slowdown, deadline needed and misses over the number of cores, each with its 95 % interval:
    a curve without synchronisation, and a curve per alpha at the largest rho."""
    if len(cores_of(summary)) < 2:
        return
    shares, ratios = axis_of(summary, "sync_share"), axis_of(summary, "contended_ratio")
    places = [(shares[0], ratios[0])] if len(shares) > 1 else []
    places += [(shares[-1], alpha) for alpha in spread(ratios, _ALPHAS)]
    floor = noise_floor(summary)
    for level in levels(summary.cells, most):
        cells = level.of(summary.cells)
        panels = tuple(
            Panel(
                title=metric.name,
                x_label="cores M",
                y_label=metric.axis,
                y_limits=_above_one(cells, metric) if metric.neutral else None,
                curves=tuple(
                    _over_cores(metric, cells, place, look) for look, place in enumerate(places)
                ),
                marks=floor.marks("y") if metric.of_noise else (),
            )
            for metric in METRICS
            if metric.id in _OVER_CORES
        )
        chart = Chart(
            name="cores",
            title="Over the number of cores",
            caption="Bands: 95 % intervals. Where nothing is drawn above a deadline needed, it is"
            " at least that.",
            panels=panels,
        )
        yield from of_option([chart], level.option, level.suffix)


def _above_one(cells: Sequence[CellFigures], metric: GridMetric) -> tuple[float, float]:
    """Ends of the axis of a ratio: 1 and all values, at least 10 % of them."""
    points = [point for cell in cells if (point := metric_point(cell, metric))]
    ends = [v for p in points for v in (p.y, p.low, p.high) if v is not None]
    low, high = min([1.0, *ends]), max([1.1, *ends])
    return low - 0.05 * (high - low), high + 0.05 * (high - low)


def _over_cores(
    metric: GridMetric, cells: Sequence[CellFigures], place: tuple[float, float], look: int
) -> Curve:
    rho, alpha = place
    every = (at_places(cells, m) for m in sorted({cell.cores for cell in cells}))
    own = [found[key] for found in every if (key := (milli(rho), milli(alpha))) in found]
    label = f"ρ = {rho:g}, α = {alpha:g}"
    return curve(label, (metric_point(cell, metric) for cell in own), look=look)


def shared_charts(summary: Summary) -> Iterator[Chart]:
    """Slowdown of the sets by the object that they share, by M."""
    sharing = [each for each in summary.sets if each.contends]
    names = [f"M = {m}" for m in cores_of(summary) if m > 1]
    return object_charts(samples(sharing, names, lambda item: f"M = {item.cores}"))


def overview_charts(summary: Summary, most: int | None = None) -> Iterator[Chart]:
    for metric in METRICS if summary.cells else ():
        range_of = scale(summary, metric, noise_floor(summary))
        for level in levels(summary.cells, most):
            yield Chart(
                name=f"overview-{metric.id}{level.suffix}",
                title=f"{metric.name} by cores M",
                option=level.option,
                caption="",
                panels=tuple(
                    Panel(
                        title=f"M = {m}",
                        x_label=_ALPHA,
                        y_label=_RHO,
                        heat=grid(summary, metric, m, range_of, level),
                    )
                    for m in cores_of(summary)
                ),
            )


def distribution_charts(summary: Summary, most: int | None = None) -> Iterator[Chart]:
    """Cumulative distributions over jobs at the largest rho, from the lowest alpha to the highest;
    a chart per M."""
    for m in cores_of(summary):
        for level in levels(summary.cells, most):
            own = [each for each in summary.distributions if each["cores"] == m]
            if own := [each for each in own if level.holds(each.get("deadline_factor"))]:
                yield _distribution_chart(own, m, level)


def _distribution_chart(items: Sequence[JobHistogram], m: int, level: Level) -> Chart:
    rho = max(item["sync_share"] for item in items)
    panels = []
    for metric, title, x_label in _OVER_JOBS:
        own = [
            item
            for item in items
            if item["sync_share"] == rho and item["metric"] == metric and any(item["counts"])
        ]
        own.sort(key=lambda item: item["contended_ratio"])
        found = []
        for look, item in enumerate(spread(own, _ALPHAS)):
            # Share of jobs at or below the edges of the bins, from the first that holds any.
            counts = item["counts"]
            filled = [place for place, count in enumerate(counts) if count]
            first, last = filled[0], filled[-1] + 1
            below, shares = 0, [0.0]
            for count in counts[first:last]:
                below += count
                shares.append(100 * below / sum(counts))
            edges = tuple(item["edges"][first : last + 1])
            label = f"α = {item['contended_ratio']:g} ({sum(counts):,} jobs)"
            # With few jobs every step shows; a line between bins would promise more.
            kind = "steps" if below < _FEW_JOBS else "plain"
            shown = Curve(label=label, kind=kind, look=look, x=edges, y=tuple(shares))
            found.append(shown)
        curves = tuple(found)
        known = [x for each in curves for x in each.x]
        panels.append(
            Panel(
                title=title,
                x_label=x_label,
                y_label="jobs at or below (%)",
                curves=curves,
                x_log=True,
                x_limits=(min([0.97, *known]), max([1.03, *known])),
                y_limits=(-1.0, 101.0),
                empty="not measured",
            )
        )
    return Chart(
        name=f"distributions-m{m:03d}{level.suffix}",
        title=f"Distributions over jobs, M = {m}, ρ = {rho:g}",
        option=level.option,
        caption="",
        panels=tuple(panels),
    )


def profile_charts(summary: Summary) -> Iterator[Chart]:
    """Miss ratio over D / C at the largest rho, a curve per alpha, a chart per M."""
    if len(factors(summary.cells)) < 2:
        return
    shares = axis_of(summary, "sync_share")
    ratios = spread(axis_of(summary, "contended_ratio"), _CURVES)
    for m in reversed(cores_of(summary)):
        every = [at_places(level.of(summary.cells), m) for level in levels(summary.cells)]
        keys = [(milli(shares[-1]), milli(alpha)) for alpha in ratios]
        charts = factor_charts(
            [found[key] for key in keys for found in every if key in found],
            label=lambda cell: f"α = {cell.contended_ratio:g}",
            name=f"deadline-factor-m{m:03d}",
            title=f"Deadline misses over the deadline factor, ρ = {shares[-1]:g}",
        )
        for chart in charts:
            yield evolve(chart, family="deadline-factor", option=f"M = {m}")


#: Part, its name, what it means.
PART_NAMES: Mapping[str, str] = {
    "wake_up": "wake-up",
    "core_wait": "waiting for its core",
    "resource_wait": "waiting for a resource",
    "execution": "own execution",
    "stall": "suspected host stall",
}
_UNIT = "part of the response time / C"
_SHARES_SHOWN = 4
_CAPTION = (
    "Means over the jobs of a set, then over sets; the parts of a bar sum to the response time"
    " ((f − r) / C). A part that is a small share shows in the panels without the execution."
)


def recorded(summary: Summary) -> bool:
    return any(_part(cell, part) is not None for cell in summary.cells for part in PARTS)


def _part(cell: CellFigures, part: str) -> float | None:
    return cell.value(f"{part}_ratio")


def split_charts(summary: Summary, *, most: int | None = None) -> list[Chart]:
    """The split over groups (stress) or over the grid (profile); empty where not recorded.
    ``most``: most deadline factors that are drawn; None: all."""
    if not recorded(summary):
        return []
    split = _stress_split if summary.mode == "stress" else _profile_split
    shown = levels(summary.cells, most)
    found = [
        Chart(
            name=f"split{name}{level.suffix}",
            title="Where the response time goes",
            caption=_CAPTION,
            panels=tuple(panels),
            family="split",
            option=", ".join(filter(None, (option, level.option))),
        )
        for name, option, level, panels in split(summary, shown)
    ]
    # A single chart needs no choice.
    return found if len(found) > 1 else [evolve(each, family="") for each in found]


#: End of a name, option, deadline factor and panels of a chart.
_Split = tuple[str, str, Level, list[Panel]]


def _stress_split(summary: Summary, shown: Sequence[Level]) -> Iterator[_Split]:
    for level in shown:
        cells = level.of(summary.cells)
        names = tuple(cell.group for cell in cells)
        made = (("Whole response", PARTS), ("Without the execution", _WAITS))
        panels = [_bars_panel(title, "task sets of", names, cells, parts) for title, parts in made]
        yield "", "", level, panels


_WAITS = tuple(part for part in PARTS if part != "execution")


def _profile_split(summary: Summary, shown: Sequence[Level]) -> Iterator[_Split]:
    """Small multiples: a panel per rho (some of them), a bar per alpha; a chart per M."""
    shares = spread(grids.axis_of(summary, "sync_share"), _SHARES_SHOWN)
    ratios = grids.axis_of(summary, "contended_ratio")
    names = tuple(f"{alpha:g}" for alpha in ratios)
    tops = {}
    for parts in (PARTS, _WAITS):
        tops[parts] = (
            max(
                (sum(_part(cell, part) or 0.0 for part in parts) for cell in summary.cells),
                default=1.0,
            )
            or 1.0
        )
    for m in reversed(grids.cores_of(summary)):
        for level in shown:
            cells = grids.at_places(level.of(summary.cells), m)
            panels = []
            for parts, words in ((PARTS, ""), (_WAITS, ", without the execution")):
                for rho in shares:
                    keys = [(grids.milli(rho), grids.milli(alpha)) for alpha in ratios]
                    own = [cells.get(key, CellFigures()) for key in keys]
                    panel = _bars_panel(
                        f"ρ = {rho:g}{words}", "contended ratio α", names, own, parts
                    )
                    panels.append(evolve(panel, y_limits=(0.0, 1.08 * tops[parts])))
            yield f"-m{m:03d}", f"M = {m}", level, panels


def _bars_panel(
    title: str,
    axis: str,
    names: tuple[str, ...],
    cells: Sequence[CellFigures],
    parts: Sequence[str],
) -> Panel:
    return Panel(
        title=title,
        x_label=axis,
        y_label=_UNIT,
        categories=names,
        bars=stacked(
            {PART_NAMES[part]: [_part(cell, part) for cell in cells] for part in parts},
            looks=[PARTS.index(part) for part in parts],
        ),
    )


# ---------- the worst jobs ----------


def worst_jobs(summary: Summary) -> tuple[Part, ...]:
    jobs = [LateJob(**job) for job in summary.meta.get("causes") or ()]
    refused, notes = (summary.meta.get(f"causes_{name}") for name in ("unavailable", "notes"))
    return (
        *(() if recorded(summary) else (Sentence(_ABSENT),)),
        *((Sentence(f"No scheduling events: {refused}."),) if refused else ()),
        *((Subsection("The worst jobs", (jobs_table(jobs),)),) if jobs else ()),
        *((Lines(notes),) if notes else ()),
    )


_ABSENT = (
    "How response times split was not recorded: run with --causes to see the wake-up, waiting and"
    " execution apart."
)
_HOW = (
    "By lateness (response − deadline), then by response / deadline. Releases in a row that never"
    " finished are one line: their response is at least (≥) what is given. What a job is put down"
    " to without a trace rests on its split alone."
)


def jobs_table(jobs: Sequence[LateJob]) -> Table:
    return Table(
        name="late-table",
        title="The worst jobs",
        columns=(
            said("run", _place, words=True),
            said("response", lambda job: job_time(job, job.response_ns)),
            said("deadline", lambda job: job.deadline_ns, format=time_text),
            said("late by", lambda j: job_time(j, j.lateness_ns) if j.lateness_ns > 0 else None),
            said("put down to", lambda job: job.cause, long=True),
            said("held by", lambda job: job.holder or None, long=True),
            said("evidence", lambda job: job.evidence or None, long=True),
            said("parts of the response", _split, long=True, markup=_split_bar),
            said("traced", _traced, words=True),
        ),
        rows=jobs,
        dense=True,
        hint=_HOW,
    )


def job_time(job: LateJob, ns: int) -> str:
    """Time in a job; "at least" where it never finished."""
    return ("" if job.finished else "≥ ") + time_text(ns)


def _place(job: LateJob) -> str:
    """The run, to be copied whole, and which of its jobs."""
    text = f"{job.run} t{job.task}, job {job.job}"
    return f"{text} and {job.skipped - 1} more" if job.skipped > 1 else text


def _traced(job: LateJob) -> str:
    """Whether there were events, and how many of its run the kernel lost."""
    lost = job.details.get("events_lost")
    return ("yes" if job.traced else "no") + (f", {lost} lost" if lost else "")


def _split(job: LateJob) -> str:
    known = ((name, job.parts_ns.get(part)) for part, name in PART_NAMES.items())
    return ", ".join(f"{name} {time_text(ns)}" for name, ns in known if ns) or "not recorded"


def _split_bar(job: LateJob) -> str:
    whole = sum(job.parts_ns.values())
    bar = "".join(
        f'<i style="width:{100 * job.parts_ns[part] / whole:.1f}%;background:{colour}"></i>'
        for part, colour in zip(PARTS, COLOURS, strict=False)
        if job.parts_ns.get(part)
    )
    return f'<span class="split">{bar}</span>' if bar else ""
