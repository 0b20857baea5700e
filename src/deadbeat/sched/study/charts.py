"""The figures of a sweep, and what those of presets are made from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import product

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from deadbeat.base.report.building import CurvePoint, curve
from deadbeat.base.report.charts import Chart, Panel
from deadbeat.base.stats.proportions import Count, Mean, weighted_schedulability
from deadbeat.sched.study.preset import ChartBuilder, presets
from deadbeat.sched.study.results import Mask, StudyResults

#: Panels of one chart; more become a further chart.
_PANELS_MAX = 4
_LIMIT = ":lcm-limit=[0-9]+"
_U_AXIS = "total utilisation U by number of processors m"


def charts(results: StudyResults) -> tuple[Chart, ...]:
    """The figures that the study's preset asks for, or those of a sweep."""
    preset = presets().get(results.spec.preset)
    wanted = preset.charts if preset else _for_sweep(results)
    return tuple(chart for builder in wanted for chart in builder(results))


def _for_sweep(results: StudyResults) -> Iterator[ChartBuilder]:
    yield curves
    if len({(c.processors, c.tasks) for c in results.spec.cells}) > 1:
        yield _weighted
    if len({source.lcm_limit for source in results.spec.sources.values()}) > 1:
        yield _by_limit
    if results.spec.metrics:
        yield lambda results: migrations(results, list(results.spec.contenders))
    if results.spec.run_on:
        yield late
    if next(results.regions(), None):
        yield region


#: Value, ends of its interval, and how many sets it rests on, of the sets in a mask.
_Known = tuple[float, float | None, float | None, int]
_Measure = Callable[[Mask], _Known | None]
#: Name of a curve, its sets, and what is drawn of them.
_Line = tuple[str, Mask, _Measure]


def _part(results: StudyResults, whole: Mask, part: Mask) -> _Measure:
    """Sets of ``part`` in percent of ``whole``."""

    def of(mask: Mask) -> _Known | None:
        count = Count(results.sets(mask & whole & part), results.sets(mask & whole))
        if not count.total:
            return None
        low, high = (100 * end for end in count.interval)
        return 100 * count.share, low, high, count.total

    return of


def _mean(mean_of: Callable[[Mask], Mean]) -> _Measure:
    """A mean of fewer than two sets has no interval and is left out."""

    def of(mask: Mask) -> _Known | None:
        mean = mean_of(mask)
        ends = mean.value - mean.half, mean.value + mean.half
        return (mean.value, *ends, mean.sets) if mean.sets > 1 else None

    return of


def _weight(results: StudyResults, label: str) -> _Measure:
    """Weighted schedulability over the decided sets."""

    def of(mask: Mask) -> _Known | None:
        mask = mask & results.decided(label)
        if not mask.any():
            return None
        yes = results.yes(label)[mask]
        weighted = weighted_schedulability(results.rows["utilisation"][mask], yes)
        return weighted, None, None, results.sets(mask)

    return of


def _panel(
    title: str,
    y_label: str,
    lines: Iterable[_Line],
    column: NDArray[np.int64],
    x_label: str,
    *,
    per: int = 1,
) -> Panel:
    """Lines over the values of ``column``, by ``per``.

    Their axis is made from the values: the interval of a mean over two sets would squeeze all else
    flat.
    """
    curves = []
    for look, (name, mask, of) in enumerate(lines):
        known = ((x, of(mask & (column == x))) for x in np.unique(column[mask]).tolist())
        points = (CurvePoint(x / per, *each[:3], n=each[3]) for x, each in known if each)
        curves.append(curve(name, points, look=look))
    return Panel(
        title=title,
        x_label=x_label,
        y_label=y_label,
        curves=tuple(curves),
        y_limits=framed([value for each in curves for value in each.y]),
    )


def framed(values: Sequence[float]) -> tuple[float, float] | None:
    """Ends of an axis around the values and 0; None: the drawing's own."""
    if not values:
        return None
    low, high = min(0.0, *values), max(0.0, *values)
    margin = 0.3 * (high - low) or 1.0
    return (low - margin if low < 0 else -margin / 12), high + margin


def shares_panel(
    results: StudyResults, title: str, lines: Iterable[tuple[str, str, Mask]]
) -> Panel:
    """Schedulable sets over U: name, label and sets of each line."""
    known = (
        (name, mask, _part(results, results.decided(label), results.yes(label)))
        for name, label, mask in lines
    )
    y_label = "schedulable sets (% of the decided)"
    panel = _panel(title, y_label, known, results.load, _U_AXIS, per=1000)
    return evolve(panel, y_limits=(-2.0, 102.0))


def means_panel(
    results: StudyResults,
    titles: tuple[str, str],
    lines: Iterable[tuple[str, Mask]],
    mean_of: Callable[[str, Mask], Mean],
) -> Panel:
    """Means over U: label and sets of each line; titles of the panel and its axis."""
    known = ((label, mask, _mean(partial(mean_of, label))) for label, mask in lines)
    return _panel(*titles, known, results.load, _U_AXIS, per=1000)


def sets_text(counts: Iterable[int]) -> str:
    """``30`` or ``28 to 30``: how many sets a point rests on."""
    known = sorted(set(counts)) or [0]
    return f"{known[0]}" if len(known) == 1 else f"{known[0]} to {known[-1]}"


def resting(panels: Iterable[Panel]) -> str:
    return sets_text(count for panel in panels for each in panel.curves for count in each.n)


def _split(name: str, title: str, caption: str, panels: Sequence[Panel]) -> Iterator[Chart]:
    for at in range(0, len(panels), _PANELS_MAX):
        number = at // _PANELS_MAX + 1
        yield Chart(
            name=name if number == 1 else f"{name}-{number}",
            title=title,
            caption=caption,
            panels=tuple(panels[at : at + _PANELS_MAX]),
        )


def curves(results: StudyResults) -> Iterator[Chart]:
    """Ratio curves over U: a panel per m and source, a line per scheduler and test."""
    panels = []
    for m, source in product(np.unique(results.processors), results.spec.sources):
        mask = (results.processors == m) & (results.source == source)
        if not mask.any():
            continue
        title = f"m = {m}" + (f", {source}" if len(results.spec.sources) > 1 else "")
        lines = ((results.title(label), label, mask) for label in results.labels())
        panels.append(shares_panel(results, title, lines))
    counts = np.unique(results.tasks)
    tasks = f"n = {counts[0]}" if len(counts) == 1 else f"all n from {counts[0]} to {counts[-1]}"
    caption = (
        f"Share of schedulable task sets, {tasks}; {resting(panels)} sets a point."
        " Bands: 95 %, Wilson."
    )
    yield from _split("curves", "Schedulable sets by total utilisation", caption, panels)


#: Title of a panel and of its axis; the mean of which figure, of the sets of a label in a mask.
_Means = tuple[str, str, Callable[[str, str, Mask], Mean], str]


def _by_source(
    results: StudyResults,
    names: tuple[str, str],
    over: str,
    labels: Iterable[str],
    figures: Sequence[_Means],
) -> Iterator[Chart]:
    """Means over U: a chart a source, a panel a figure, a line a label."""

    def panel(source: str, figure: _Means) -> Panel:
        title, y_label, of, name = figure
        lines = ((label, results.source == source) for label in labels)
        return means_panel(results, (title, y_label), lines, lambda it, mask: of(it, name, mask))

    for source in results.spec.sources:
        panels = tuple(panel(source, figure) for figure in figures)
        yield Chart(
            name=f"{names[0]}-{word(source)}",
            title=f"{names[1]}, utilisations {source}",
            caption=f"Means over {over}: {resting(panels)} sets a point. Bands: 95 % of the mean,"
            " cut at the axes.",
            panels=panels,
        )


def migrations(results: StudyResults, labels: Sequence[str]) -> Iterator[Chart]:
    """By set, and by job, which does not depend on how long the hyper-period is."""
    elsewhere, by_thousand = "Tasks: next job starts elsewhere", "task migrations by 1000 jobs"
    figures = (
        ("By schedulable set", "migrations by schedulable set", results.mean, "migrations"),
        ("By job", "migrations by 1000 jobs", results.per_job, "migrations"),
        (elsewhere, by_thousand, results.per_job, "task_migrations"),
    )
    over = "the sets that the line's scheduler schedules"
    yield from _by_source(results, ("migrations", "Migrations"), over, labels, figures)


def _weighted(results: StudyResults) -> Iterator[Chart]:
    """Weighted schedulability over n, or over m where n does not vary."""
    by_tasks = len(np.unique(results.tasks)) > 1
    column, name = (results.tasks, "tasks n") if by_tasks else (results.processors, "processors m")
    outer = results.processors if by_tasks else None
    yield from _over(results, "weighted", (name, column), outer, results.source)


def _by_limit(results: StudyResults) -> Iterator[Chart]:
    """Weighted schedulability over the bound of the hyper-period."""
    family = {it: re.sub(_LIMIT, "", it) if re.search(_LIMIT, it) else ""
              for it in results.spec.sources}  # fmt: skip
    axis = ("bound of the hyper-period", results.lcm_limit)
    group = np.array([family[source] for source in results.source])
    yield from _over(results, "hyper-periods", axis, results.processors, group)


def _over(
    results: StudyResults,
    chart: str,
    axis: tuple[str, NDArray[np.int64]],
    outer: NDArray[np.int64] | None,
    group: NDArray[np.str_],
) -> Iterator[Chart]:
    """Weighted schedulability over an axis: a panel per value of ``outer`` and ``group``."""
    name, column = axis
    groups, panels = [each for each in dict.fromkeys(group) if each], []
    for m, source in product([None] if outer is None else np.unique(outer), groups):
        mask = (group == source) & (True if outer is None else outer == m)
        title = ", ".join([*([f"m = {m}"] if m else []), *([str(source)] if groups[1:] else [])])
        lines = ((label, mask, _weight(results, label)) for label in results.labels())
        panel = _panel(title, "weighted schedulability", lines, column, name)
        panels.append(evolve(panel, x_log=chart == "hyper-periods"))
    caption = (
        "Sum of U over the schedulable sets by sum of U over all of them (Bastoni, Brandenburg and"
        f" Anderson, 2010), all U; {resting(panels)} sets a point. It has no interval."
    )
    yield from _split(chart, f"Weighted schedulability by {name}", caption, panels)


def region(results: StudyResults) -> Iterator[Chart]:
    """What tests accept, refute and leave undecided, and what simulation schedules, over U."""
    panels = []
    for it in results.regions():
        every = it.accepted | it.refuted | it.between
        locks = results.only_refutes(it.label)
        refuted = f"refuted by {'simulation' if locks else 'a test'}"
        parts = {"accepted by a test": it.accepted, refuted: it.refuted, "between": it.between}
        simulated = "schedulable by simulation"
        parts |= {} if locks else {simulated: results.yes(it.label)}
        decided = dict.fromkeys(parts, every) | {simulated: results.decided(it.label)}
        known = [(name, every, _part(results, decided[name], part)) for name, part in parts.items()]
        several = len(results.spec.sources) > 1
        name = results.title(it.label).removesuffix(", not refuted")
        title = f"{name}, m = {it.processors}" + f", {it.source}" * several
        panel = _panel(title, "sets (%)", known, results.load, _U_AXIS, per=1000)
        panels.append(evolve(panel, y_limits=(-2.0, 102.0)))
    caption = (
        "Share of the sets that a test accepts, that one refutes, and that lie between; where"
        f" simulation proves it, of those that it schedules. {resting(panels)} sets a point."
        " Bands: 95 %, Wilson."
    )
    yield from _split("region", "The region that tests leave undecided", caption, panels)


def late(results: StudyResults) -> Iterator[Chart]:
    """Late jobs, response and tardiness, of all sets that were simulated."""
    figures = (
        ("Late jobs", "late jobs by jobs", results.late, "miss_ratio"),
        ("Response", "mean response by set", results.late, "response_mean"),
        ("Tardiness", "mean tardiness by set", results.late, "tardiness_mean"),
    )
    names, over = ("late", "Response and lateness"), "all sets simulated, past misses too"
    yield from _by_source(results, names, over, results.spec.contenders, figures)


def word(text: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in text)
