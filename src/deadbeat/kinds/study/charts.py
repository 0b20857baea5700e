"""What the figures of a study show, as plain values: drawn on paper and in the page alike.

A chart is a function registered under the name by which presets ask for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product

import numpy as np
from attrs import frozen

from deadbeat.kinds.study.presets import presets
from deadbeat.kinds.study.results import Mask, Results
from deadbeat.kinds.study.spec import BINS
from deadbeat.kinds.study.statistics import Count, Mean, weighted_schedulability

#: Panels of one chart; more become a further chart.
_PANELS_MAX = 4
_U_AXIS = "total utilisation U by number of processors m"


@frozen(kw_only=True)
class Line:
    """Points with the ends of their 95 % intervals; ``sets``: how many each rests on."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    sets: tuple[int, ...]


@frozen(kw_only=True)
class Heat:
    """A number per cell of a grid, ``values[row][column]``; None: nothing known."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    values: tuple[tuple[float | None, ...], ...]
    texts: tuple[tuple[str, ...], ...]
    top: float


@frozen(kw_only=True)
class Panel:
    """One pair of axes: lines, or a heat map."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...] = ()
    heat: Heat | None = None
    steps: bool = False
    percent: bool = False

    @property
    def limits(self) -> tuple[float, float] | None:
        """Ends of the axis of values; None: the drawing's own.

        Made from the values: the interval of a mean over two sets would squeeze all else flat.
        """
        if self.percent:
            return -2.0, 102.0
        values = [value for line in self.lines for value in line.y]
        if self.steps or not values:
            return None
        low, high = min(0.0, *values), max(0.0, *values)
        margin = 0.3 * (high - low) or 1.0
        return (low - margin if low < 0 else -margin / 12), high + margin


@frozen(kw_only=True)
class Chart:
    """One figure; ``caption`` names the denominators."""

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]


def charts(results: Results) -> tuple[Chart, ...]:
    """The figures that the study's preset asks for, or those of a sweep."""
    preset = presets().get(results.spec.preset)
    wanted = preset.charts if preset else _for_sweep(results)
    return tuple(chart for name in wanted for chart in BUILDERS[name](results))


def _for_sweep(results: Results) -> Iterator[str]:
    yield "curves"
    if len({(c.processors, c.tasks) for c in results.spec.cells}) > 1:
        yield "weighted"
    if results.spec.metrics:
        yield "sweep-migrations"


def _axis(values: Iterable[int]) -> list[int]:
    return sorted({int(value) for value in values})


def _proportions(
    label: str, xs: Sequence[float], counts: Sequence[Count], *, scale: float = 100.0
) -> Line:
    known = [(x, count) for x, count in zip(xs, counts, strict=True) if count.total]
    return Line(
        label=label,
        x=tuple(x for x, _ in known),
        y=tuple(scale * count.share for _, count in known),
        low=tuple(scale * count.interval[0] for _, count in known),
        high=tuple(scale * count.interval[1] for _, count in known),
        sets=tuple(count.total for _, count in known),
    )


def _means(label: str, xs: Sequence[float], means: Sequence[Mean]) -> Line:
    """Means of fewer than two sets have no interval and are left out."""
    known = [(x, mean) for x, mean in zip(xs, means, strict=True) if mean.sets > 1]
    return Line(
        label=label,
        x=tuple(x for x, _ in known),
        y=tuple(mean.value for _, mean in known),
        low=tuple(mean.value - mean.half for _, mean in known),
        high=tuple(mean.value + mean.half for _, mean in known),
        sets=tuple(mean.sets for _, mean in known),
    )


def _curve(results: Results, label: str, mask: Mask, *, name: str = "") -> Line:
    """Schedulable share over U of the sets in ``mask``."""
    loads = _axis(results.load[mask])
    counts = [results.count(label, mask & (results.load == load)) for load in loads]
    return _proportions(name or label, [load / 1000 for load in loads], counts)


def _share_panel(title: str, lines: Iterable[Line]) -> Panel:
    return Panel(
        title=title,
        x_label=_U_AXIS,
        y_label="schedulable sets (% of the decided)",
        lines=tuple(lines),
        percent=True,
    )


def _sets(counts: Iterable[int]) -> str:
    """``30`` or ``28 to 30``: how many sets a point rests on."""
    known = sorted(set(counts)) or [0]
    return f"{known[0]}" if len(known) == 1 else f"{known[0]} to {known[-1]}"


def _resting(panels: Iterable[Panel]) -> str:
    return _sets(count for panel in panels for line in panel.lines for count in line.sets)


def _split(name: str, title: str, caption: str, panels: Sequence[Panel]) -> Iterator[Chart]:
    for at in range(0, len(panels), _PANELS_MAX):
        number = at // _PANELS_MAX + 1
        yield Chart(
            name=name if number == 1 else f"{name}-{number}",
            title=title,
            caption=caption,
            panels=tuple(panels[at : at + _PANELS_MAX]),
        )


def _curves(results: Results) -> Iterator[Chart]:
    """Ratio curves over U: a panel per m and source, a line per scheduler and test."""
    panels = []
    for m, source in product(_axis(results.processors), results.spec.sources):
        mask = (results.processors == m) & (results.source == source)
        if not mask.any() or len(_axis(results.load[mask])) < 1:
            continue
        title = f"m = {m}" + (f", {source}" if len(results.spec.sources) > 1 else "")
        panels.append(
            _share_panel(title, (_curve(results, label, mask) for label in results.labels()))
        )
    counts = _axis(results.tasks)
    tasks = f"n = {counts[0]}" if len(counts) == 1 else f"all n from {counts[0]} to {counts[-1]}"
    caption = (
        f"Share of schedulable task sets, {tasks}; {_resting(panels)} sets a point."
        " Bands: 95 %, Wilson."
    )
    yield from _split("curves", "Schedulable sets by total utilisation", caption, panels)


def _critical(results: Results) -> Iterator[Chart]:
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


def _critical_panel(results: Results, label: str, mask: Mask, title: str) -> Panel:
    loads, counts = _axis(results.load[mask]), _axis(results.tasks[mask])
    sets = results.spec.sets
    grid = [
        [
            results.count(label, mask & (results.tasks == n) & (results.load == load))
            for load in loads
        ]
        for n in counts
    ]
    # A cell in which some sets are not decided is coloured by its share.
    values = [tuple(sets * (1 - c.share) if c.total else None for c in line) for line in grid]
    texts = [tuple(_failed(c, sets) for c in line) for line in grid]
    return Panel(
        title=title,
        x_label=_U_AXIS,
        y_label="tasks n",
        heat=Heat(
            x=tuple(load / 1000 for load in loads),
            y=tuple(float(n) for n in counts),
            values=tuple(values),
            texts=tuple(texts),
            top=float(sets),
        ),
    )


def _failed(count: Count, sets: int) -> str:
    """``7``, or ``7/28`` where fewer than all sets of the cell were decided."""
    if not count.total:
        return "–"
    failed = f"{count.total - count.yes}"
    return failed if count.total == sets else f"{failed}/{count.total}"


def _utilisations(results: Results) -> Iterator[Chart]:
    """As Figure 1: the distributions of task utilisations, and what they do to schedulability."""
    from deadbeat.kinds.study.presets.thesis_fig1 import case_masks  # noqa: PLC0415  its own preset

    label = results.labels()[0]
    cases = list(case_masks(results))
    natural = cases[0][1]
    edges = tuple(k / BINS for k in range(BINS + 1))
    lines = []
    for source, mask in natural.items():
        bins = results.rows["bins"][mask & results.generated].sum(axis=0, dtype=np.int64)
        share = 100.0 * bins / max(1, int(bins.sum()))
        steps = (*map(float, share), 0.0)
        lines.append(
            Line(label=source, x=edges, y=steps, low=steps, high=steps, sets=(int(bins.sum()),))
        )
    histogram = Panel(
        title="Task utilisations",
        x_label="utilisation u of a task",
        y_label="tasks (% of the case's)",
        lines=tuple(lines),
        steps=True,
    )
    curves = [
        _share_panel(
            rule, (_curve(results, label, mask, name=source) for source, mask in masks.items())
        )
        for rule, masks in cases
    ]
    yield Chart(
        name="utilisations",
        title="Three distributions of task utilisations, 8 processors",
        caption=f"Left: {_sets(line.sets[0] for line in lines)} tasks a case. Others: {label};"
        f" {_resting(curves)} sets a point; bands: 95 %, Wilson.",
        panels=(histogram, *curves),
    )


_APPROACHES = ("global", "partitioned", "clustered", "loose clustered")


def _approaches(results: Results) -> Iterator[Chart]:
    """As Figure 4, and the ways to balance the loose approach."""
    loose = [label for label in results.labels() if label.startswith("loose clustered")]
    for name, title, labels in (
        ("approaches", "Schedulable sets by approach, 4 processors", _APPROACHES),
        ("balances", "Loose clustered by its way to balance, and tie rule", ("clustered", *loose)),
    ):
        panels = [
            _share_panel(
                f"utilisations {source}",
                (_curve(results, label, results.source == source) for label in labels),
            )
            for source in results.spec.sources
        ]
        yield Chart(
            name=name,
            title=title,
            caption=f"{_resting(panels)} sets a point, the same for all lines; bands: 95 %, Wilson."
            " Not placed counts as not schedulable.",
            panels=tuple(panels),
        )


def _by_load(
    results: Results, source: str, labels: Iterable[str], of: Callable[[str, Mask], Mean]
) -> tuple[Line, ...]:
    here = results.source == source
    loads = _axis(results.load[here])
    return tuple(
        _means(
            label,
            [load / 1000 for load in loads],
            [of(label, here & (results.load == load)) for load in loads],
        )
        for label in labels
    )


def _migrations(results: Results) -> Iterator[Chart]:
    """As Figure 5, and by job, which does not depend on how long the hyper-period is."""
    yield from _migration_charts(results, _APPROACHES, "migrations")


def _sweep_migrations(results: Results) -> Iterator[Chart]:
    labels = [label for label in results.labels() if not results.is_test(label)]
    yield from _migration_charts(results, labels, "migrations")


def _migration_charts(results: Results, labels: Sequence[str], name: str) -> Iterator[Chart]:
    for source in results.spec.sources:
        panels = tuple(
            Panel(
                title=title,
                x_label=_U_AXIS,
                y_label=unit,
                lines=_by_load(results, source, labels, of),
            )
            for title, unit, of in (
                (
                    "By schedulable set",
                    "migrations by schedulable set",
                    lambda label, mask: results.mean(label, "migrations", mask),
                ),
                (
                    "By job",
                    "migrations by 1000 jobs",
                    lambda label, mask: results.per_job(label, "migrations", mask),
                ),
                (
                    "Tasks: next job starts elsewhere",
                    "task migrations by 1000 jobs",
                    lambda label, mask: results.per_job(label, "task_migrations", mask),
                ),
            )
        )
        yield Chart(
            name=f"{name}-{_word(source)}",
            title=f"Migrations, utilisations {source}",
            caption=f"Means over the sets that the line's scheduler schedules: {_resting(panels)}"
            " sets a point. Bands: 95 % of the mean, cut at the axes.",
            panels=panels,
        )


def _slack(results: Results) -> Iterator[Chart]:
    """As Figure 6, and over the sets that all approaches schedule: others are easier sets."""
    common = results.everything
    for label in _APPROACHES:
        common = common & results.yes(label)
    for source in results.spec.sources:
        panels = tuple(
            Panel(
                title=title,
                x_label=_U_AXIS,
                y_label="slack by period, mean over jobs",
                lines=_by_load(results, source, _APPROACHES, partial(_slack_of, results, only)),
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


def _slack_of(results: Results, only: Mask, label: str, mask: Mask) -> Mean:
    return results.mean(label, "slack_share_mean", mask & only)


def _weighted(results: Results) -> Iterator[Chart]:
    """Weighted schedulability over n, or over m where n does not vary."""
    by_tasks = len(_axis(results.tasks)) > 1
    column, name = (results.tasks, "tasks n") if by_tasks else (results.processors, "processors m")
    outer = _axis(results.processors) if by_tasks else [0]
    panels = []
    for m, source in product(outer, results.spec.sources):
        mask = (results.source == source) & ((results.processors == m) | (not by_tasks))
        lines = []
        for label in results.labels():
            values = _axis(column[mask])
            inside = [mask & (column == value) & results.decided(label) for value in values]
            lines.append(_weighted_line(results, label, values, inside))
        title = ", ".join(
            [
                *([f"m = {m}"] if by_tasks else []),
                *([source] if len(results.spec.sources) > 1 else []),
            ]
        )
        panels.append(
            Panel(title=title, x_label=name, y_label="weighted schedulability", lines=tuple(lines))
        )
    caption = (
        "Sum of U over the schedulable sets by sum of U over all of them (Bastoni, Brandenburg and"
        f" Anderson, 2010), all U; {_resting(panels)} sets a point. No interval is claimed."
    )
    yield from _split("weighted", "Weighted schedulability", caption, panels)


def _weighted_line(
    results: Results, label: str, values: Sequence[int], inside: Sequence[Mask]
) -> Line:
    """Points without a decided set are left out."""
    known = [(x, mask) for x, mask in zip(values, inside, strict=True) if mask.any()]
    y = tuple(
        weighted_schedulability(results.rows["utilisation"][mask], results.yes(label)[mask])
        for _, mask in known
    )
    return Line(
        label=label,
        x=tuple(float(x) for x, _ in known),
        y=y,
        low=y,
        high=y,
        sets=tuple(int(mask.sum()) for _, mask in known),
    )


def _word(text: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in text)


BUILDERS: Mapping[str, Callable[[Results], Iterator[Chart]]] = {
    "approaches": _approaches,
    "critical": _critical,
    "curves": _curves,
    "migrations": _migrations,
    "slack": _slack,
    "sweep-migrations": _sweep_migrations,
    "utilisations": _utilisations,
    "weighted": _weighted,
}
