"""What the figures of a study show, as plain values: drawn on paper and in the page alike.

A chart is a function registered under the name by which presets ask for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from deadbeat.kinds.study.preset import presets
from deadbeat.kinds.study.results import Mask, StudyResults
from deadbeat.kinds.study.spec import BINS
from deadbeat.report.charts import (
    ABSENT,
    SHOWN,
    Chart,
    Curve,
    CurvePoint,
    HeatCell,
    Panel,
    curve,
    heat,
)
from deadbeat.stats.proportions import Count, Mean, weighted_schedulability

#: Panels of one chart; more become a further chart.
_PANELS_MAX = 4
_U_AXIS = "total utilisation U by number of processors m"


def charts(results: StudyResults) -> tuple[Chart, ...]:
    """The figures that the study's preset asks for, or those of a sweep."""
    preset = presets().get(results.spec.preset)
    wanted = preset.charts if preset else _for_sweep(results)
    return tuple(chart for name in wanted for chart in BUILDERS[name](results))


def _for_sweep(results: StudyResults) -> Iterator[str]:
    yield "curves"
    if len({(c.processors, c.tasks) for c in results.spec.cells}) > 1:
        yield "weighted"
    if results.spec.metrics:
        yield "sweep-migrations"


def _axis(values: Iterable[int]) -> list[int]:
    return sorted({int(value) for value in values})


#: Value, ends of its interval, and how many sets it rests on, of the sets in a mask.
_Known = tuple[float, float | None, float | None, int]
_Measure = Callable[[Mask], _Known | None]
#: Name of a curve, its sets, and what is drawn of them.
_Line = tuple[str, Mask, _Measure]


def _share(results: StudyResults, label: str) -> _Measure:
    """Schedulable sets in percent of the decided."""

    def of(mask: Mask) -> _Known | None:
        count = results.count(label, mask)
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
        return weighted, None, None, int(mask.sum())

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
        known = ((x, of(mask & (column == x))) for x in _axis(column[mask]))
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


def _over_load(results: StudyResults, title: str, y_label: str, lines: Iterable[_Line]) -> Panel:
    return _panel(title, y_label, lines, results.load, _U_AXIS, per=1000)


def _shares(results: StudyResults, title: str, labels: Iterable[str], mask: Mask) -> Panel:
    return _share_panel(results, title, ((name, mask, _share(results, name)) for name in labels))


def _share_panel(results: StudyResults, title: str, lines: Iterable[_Line]) -> Panel:
    panel = _over_load(results, title, "schedulable sets (% of the decided)", lines)
    return evolve(panel, y_limits=(-2.0, 102.0))


def _sets(counts: Iterable[int]) -> str:
    """``30`` or ``28 to 30``: how many sets a point rests on."""
    known = sorted(set(counts)) or [0]
    return f"{known[0]}" if len(known) == 1 else f"{known[0]} to {known[-1]}"


def _resting(panels: Iterable[Panel]) -> str:
    return _sets(count for panel in panels for each in panel.curves for count in each.n)


def _split(name: str, title: str, caption: str, panels: Sequence[Panel]) -> Iterator[Chart]:
    for at in range(0, len(panels), _PANELS_MAX):
        number = at // _PANELS_MAX + 1
        yield Chart(
            name=name if number == 1 else f"{name}-{number}",
            title=title,
            caption=caption,
            panels=tuple(panels[at : at + _PANELS_MAX]),
        )


def _curves(results: StudyResults) -> Iterator[Chart]:
    """Ratio curves over U: a panel per m and source, a line per scheduler and test."""
    panels = []
    for m, source in product(_axis(results.processors), results.spec.sources):
        mask = (results.processors == m) & (results.source == source)
        if not mask.any() or len(_axis(results.load[mask])) < 1:
            continue
        title = f"m = {m}" + (f", {source}" if len(results.spec.sources) > 1 else "")
        panels.append(_shares(results, title, results.labels(), mask))
    counts = _axis(results.tasks)
    tasks = f"n = {counts[0]}" if len(counts) == 1 else f"all n from {counts[0]} to {counts[-1]}"
    caption = (
        f"Share of schedulable task sets, {tasks}; {_resting(panels)} sets a point."
        " Bands: 95 %, Wilson."
    )
    yield from _split("curves", "Schedulable sets by total utilisation", caption, panels)


def _critical(results: StudyResults) -> Iterator[Chart]:
    """As Figures 2 and 3: how many sets of a cell are not schedulable."""
    label = results.labels()[0]
    tests = [name for name in results.labels() if results.is_test(name)]
    for m in _axis(results.processors):
        mask = results.processors == m
        panels = [
            _critical_panel(results, label, mask, f"a. simulated, {label}"),
            *(_critical_panel(results, name, mask, "b. equation (1)") for name in tests[:1]),
        ]
        yield Chart(
            name=f"critical-m{m}",
            title=f"Task sets that are not found schedulable, m = {m}",
            caption=f"Number of sets not found schedulable, of the {results.spec.sets} of a cell.",
            panels=tuple(panels),
        )


def _critical_panel(results: StudyResults, label: str, mask: Mask, title: str) -> Panel:
    loads, counts = _axis(results.load[mask]), _axis(results.tasks[mask])
    sets = results.spec.sets

    def cell(n: int, load: int) -> HeatCell:
        own = mask & (results.tasks == n) & (results.load == load)
        made = _critical_cell(results.count(label, own), sets)
        return evolve(made, hover=f"U/m {load / 1000:g}, n {n}\n{made.hover}")

    return Panel(
        title=title,
        x_label=_U_AXIS,
        y_label="tasks n",
        heat=heat(
            [[cell(n, load) for load in loads] for n in counts],
            x=[f"{load / 1000:g}" for load in loads],
            y=counts,
            ends=(0.0, float(sets)),
            unit="sets not found schedulable",
        ),
    )


def _critical_cell(count: Count, sets: int) -> HeatCell:
    """``7``, or ``7/28`` where fewer than all sets are decided: coloured by the share of those."""
    if not count.total:
        return HeatCell(state=ABSENT, text="–", hover="no set is decided")
    failed = count.total - count.yes
    text = f"{failed}" if count.total == sets else f"{failed}/{count.total}"
    return HeatCell(
        sets * (1 - count.share), SHOWN, text, f"{failed} of {count.total} not schedulable"
    )


def _utilisations(results: StudyResults) -> Iterator[Chart]:
    """As Figure 1: the distributions of task utilisations, and what they do to schedulability."""
    cases_of = presets()[results.spec.preset].cases
    assert cases_of is not None, "a preset that asks for this chart says its cases"
    label, cases = results.labels()[0], list(cases_of(results))
    natural = cases[0][1]
    edges = tuple(k / BINS for k in range(BINS + 1))
    steps, tasks = [], []
    for look, (source, mask) in enumerate(natural.items()):
        bins = results.rows["bins"][mask & results.generated].sum(axis=0, dtype=np.int64)
        tasks.append(int(bins.sum()))
        share = (*(100.0 * bins / max(1, tasks[-1])).tolist(), 0.0)
        steps.append(Curve(label=source, kind="steps", look=look, x=edges, y=share))
    histogram = Panel(
        title="Task utilisations",
        x_label="utilisation u of a task",
        y_label="tasks (% of the case's)",
        curves=tuple(steps),
    )
    curves = [
        _share_panel(
            results,
            rule,
            ((source, mask, _share(results, label)) for source, mask in masks.items()),
        )
        for rule, masks in cases
    ]
    yield Chart(
        name="utilisations",
        title="Three distributions of task utilisations, 8 processors",
        caption=f"Left: {_sets(tasks)} tasks a case. Others: {label};"
        f" {_resting(curves)} sets a point; bands: 95 %, Wilson.",
        panels=(histogram, *curves),
    )


_APPROACHES = ("global", "partitioned", "clustered", "loose clustered")


def _approaches(results: StudyResults) -> Iterator[Chart]:
    """As Figure 4, and the ways to balance the loose approach."""
    loose = [label for label in results.labels() if label.startswith("loose clustered")]
    for name, title, labels in (
        ("approaches", "Schedulable sets by approach, 4 processors", _APPROACHES),
        ("balances", "Loose clustered by its way to balance, and tie rule", ("clustered", *loose)),
    ):
        panels = [
            _shares(results, f"utilisations {source}", labels, results.source == source)
            for source in results.spec.sources
        ]
        yield Chart(
            name=name,
            title=title,
            caption=f"{_resting(panels)} sets a point, the same for all lines; bands: 95 %, Wilson."
            " Not placed counts as not schedulable.",
            panels=tuple(panels),
        )


def _migrations(results: StudyResults) -> Iterator[Chart]:
    """As Figure 5, and by job, which does not depend on how long the hyper-period is."""
    yield from _migration_charts(results, _APPROACHES)


def _sweep_migrations(results: StudyResults) -> Iterator[Chart]:
    labels = [label for label in results.labels() if not results.is_test(label)]
    yield from _migration_charts(results, labels)


def _migration_charts(results: StudyResults, labels: Sequence[str]) -> Iterator[Chart]:
    for source in results.spec.sources:
        here = results.source == source
        panels = tuple(
            _over_load(
                results,
                title,
                unit,
                ((name, here, _mean(partial(of, name, metric))) for name in labels),
            )
            for title, unit, of, metric in (
                ("By schedulable set", "migrations by schedulable set", results.mean, "migrations"),
                ("By job", "migrations by 1000 jobs", results.per_job, "migrations"),
                (
                    "Tasks: next job starts elsewhere",
                    "task migrations by 1000 jobs",
                    results.per_job,
                    "task_migrations",
                ),
            )
        )
        yield Chart(
            name=f"migrations-{_word(source)}",
            title=f"Migrations, utilisations {source}",
            caption=f"Means over the sets that the line's scheduler schedules: {_resting(panels)}"
            " sets a point. Bands: 95 % of the mean, cut at the axes.",
            panels=panels,
        )


def _slack(results: StudyResults) -> Iterator[Chart]:
    """As Figure 6, and over the sets that all approaches schedule: others are easier sets."""
    common = results.everything
    for label in _APPROACHES:
        common = common & results.yes(label)
    for source in results.spec.sources:
        here = results.source == source
        panels = tuple(
            _over_load(
                results,
                title,
                "slack by period, mean over jobs",
                (
                    (name, here & only, _mean(partial(results.mean, name, "slack_share_mean")))
                    for name in _APPROACHES
                ),
            )
            for title, only in (
                ("Sets that the approach schedules", results.everything),
                ("Sets that all four schedule", common),
            )
        )
        yield Chart(
            name=f"slack-{_word(source)}",
            title=f"Average slack, utilisations {source}",
            caption=f"{_resting(panels)} sets a point. Bands: 95 % of the mean, cut at the axes.",
            panels=panels,
        )


def _weighted(results: StudyResults) -> Iterator[Chart]:
    """Weighted schedulability over n, or over m where n does not vary."""
    by_tasks = len(_axis(results.tasks)) > 1
    column, name = (results.tasks, "tasks n") if by_tasks else (results.processors, "processors m")
    outer = _axis(results.processors) if by_tasks else [0]
    panels = []
    for m, source in product(outer, results.spec.sources):
        mask = (results.source == source) & ((results.processors == m) | (not by_tasks))
        several = len(results.spec.sources) > 1
        title = ", ".join([*([f"m = {m}"] if by_tasks else []), *([source] if several else [])])
        lines = ((label, mask, _weight(results, label)) for label in results.labels())
        panels.append(_panel(title, "weighted schedulability", lines, column, name))
    caption = (
        "Sum of U over the schedulable sets by sum of U over all of them (Bastoni, Brandenburg and"
        f" Anderson, 2010), all U; {_resting(panels)} sets a point. No interval is claimed."
    )
    yield from _split("weighted", "Weighted schedulability", caption, panels)


def _word(text: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in text)


BUILDERS: Mapping[str, Callable[[StudyResults], Iterator[Chart]]] = {
    "approaches": _approaches,
    "critical": _critical,
    "curves": _curves,
    "migrations": _migrations,
    "slack": _slack,
    "sweep-migrations": _sweep_migrations,
    "utilisations": _utilisations,
    "weighted": _weighted,
}
