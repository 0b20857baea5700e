"""Task sets taken together under one name, and how a figure of theirs is spread over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from statistics import mean, median
from typing import TypeVar

from attrs import evolve, frozen

from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.words import inside
from deadbeat.base.report.building import (
    CurvePoint,
    aside,
    cumulative,
    curve,
)
from deadbeat.base.report.charts import COLOURS, Bars, Chart, Curve, Mark, Panel
from deadbeat.tasksets.contention import grids
from deadbeat.tasksets.contention.facts import Level, NoiseFloor, levels
from deadbeat.tasksets.contention.point import set_misses
from deadbeat.tasksets.model.figures import CellFigures, SetFigures
from deadbeat.tasksets.model.results import Summary

T = TypeVar("T")

#: Column of a task set, name, axis label.
RATIOS = (
    ("slowdown", "slowdown_mean", "Slowdown", "slowdown of a task set (together / alone)"),
    ("delay_ratio", "delay_ratio_mean", "Delay ratio", "delay ratio of a task set (span / C)"),
)
MISS = "deadline_miss_ratio"
_MISS_AXIS = "deadline miss ratio (% of jobs, sets with a miss)"


@frozen(kw_only=True)
class SetSample:
    """Task sets under one name; ``look`` is theirs in every figure."""

    label: str
    look: int
    sets: tuple[SetFigures, ...]

    def values(self, column: str) -> list[float]:
        """What is known of a column, in the order of the sets."""
        found = (each.column(column) for each in self.sets)
        return [value for value in found if value is not None]


def samples(
    sets: Iterable[SetFigures], labels: Sequence[str], label_of: Callable[[SetFigures], str]
) -> tuple[SetSample, ...]:
    """The sets by label, in the order of ``labels``; those of other labels are left out."""
    found = grouped(sets, label_of)
    return tuple(
        SetSample(label=label, look=look, sets=tuple(found.get(label, ())))
        for look, label in enumerate(dict.fromkeys(labels))
    )


def of_option(charts: Iterable[Chart], option: str, suffix: str) -> list[Chart]:
    """Charts of one option of their families; "": they have no other."""
    return [
        evolve(chart, name=chart.name + suffix, family=chart.name if option else "", option=option)
        for chart in charts
    ]


def distribution_charts(made_of: Sequence[SetSample], floor: NoiseFloor) -> list[Chart]:
    """The cumulative distribution of each figure, a curve per sample."""

    def known(column: str) -> bool:
        return any(sample.values(column) for sample in made_of)

    charts = [_ratio_chart(made_of, floor, entry) for entry in RATIOS if known(entry[1])]
    return [*charts, *([_miss_chart(made_of)] if known(MISS) else [])]


#: Samples with the number of their sets and those values of them that are drawn.
_Drawn = Sequence[tuple[SetSample, int, list[float]]]


def _curves(drawn: _Drawn) -> tuple[Curve, ...]:
    """A curve for each sample; all of its sets are 100 %."""
    made = ((sample, cumulative(own, of=count)) for sample, count, own in drawn)
    return tuple(evolve(each, label=sample.label, look=sample.look) for sample, each in made)


def _ratio_chart(
    made_of: Sequence[SetSample], floor: NoiseFloor, entry: tuple[str, str, str, str]
) -> Chart:
    name, column, title, axis = entry
    finished = [
        evolve(sample, sets=tuple(each for each in sample.sets if not each.censored))
        for sample in made_of
    ]
    values = [(sample, sample.values(column)) for sample in finished]
    beyond = [len(all_.sets) - len(own.sets) for all_, own in zip(made_of, finished, strict=True)]
    marks: tuple[Mark, ...] = (Mark(axis="x", at=1.0, label="1: no effect"),)
    if name == "slowdown":
        marks = (*floor.marks("x"), *marks)
    drawn = [
        (sample, len(own) + more, own)
        for (sample, own), more in zip(values, beyond, strict=True)
        if own
    ]
    panel = Panel(
        title="",
        x_label=axis,
        y_label="task sets at or below (%)",
        x_log=True,
        curves=_curves(drawn),
        marks=marks,
        y_limits=(-1.0, 101.0),
    )
    counts = ", ".join(f"{sample.label}: {len(own):,} sets" for sample, own in values)
    return Chart(
        name=f"distribution-{name}",
        title=f"{title} over task sets",
        caption=f"{counts}. At 50 % a curve has the median, at 95 % what the slowest 5 % exceed,"
        " at 100 % the worst. Logarithmic axis; one value a task set.",
        panels=(panel,),
    )


def _miss_chart(made_of: Sequence[SetSample]) -> Chart:
    """Zeros do not stand on a logarithmic axis and would hide the rest: they have their own bar."""
    every = [(sample, sample.values(MISS)) for sample in made_of]
    parts = [(sample, len(own), [100 * v for v in own if v > 0]) for sample, own in every]
    missed = [(sample, count, own) for sample, count, own in parts if own]
    # Most of a curve from 0 to 100 % would be the zeros, which have their bar.
    least = min((100 * (1 - len(own) / count) for _, count, own in missed), default=0.0)
    ends = (least - 0.06 * (100 - least) - 0.1, 101 - 0.01 * least)
    panels = (
        Panel(
            title="Sets without a miss", x_label="task sets of", y_label="task sets (%)",
            categories=tuple(sample.label for sample, _, _ in parts),
            bars=tuple(_calm_bar(parts, place) for place in range(len(parts))),
        ),
        Panel(
            title="Cumulative, from the share without a miss", x_label=_MISS_AXIS,
            y_label="task sets at or below (%)", x_log=True, y_limits=ends,
            curves=_curves(missed),
        ),
    )  # fmt: skip
    made = Chart(
        name="distribution-misses",
        title="Deadline miss ratio over task sets",
        caption="Sets without a miss have their own bar: a logarithmic axis has no zero."
        " The curve begins at their share.",
        panels=panels,
    )
    return made if missed else evolve(made, caption="No set missed a deadline.", panels=panels[:1])


def _calm_bar(parts: Sequence[tuple[SetSample, int, list[float]]], place: int) -> Bars:
    """The sets of one sample without a miss, at its place among the others."""
    sample, count, own = parts[place]
    calm, here = count - len(own), [at == place and count > 0 for at in range(len(parts))]
    return Bars(
        label=sample.label,
        look=sample.look,
        y=tuple(100 * calm / count if mine else None for mine in here),
        texts=tuple(f"{calm:,} of {count:,}" if mine else "" for mine in here),
    )


def thinned(items: Sequence[T], key: Callable[[T], float], most: int) -> list[T]:
    """At most about ``most`` of the items: evenly spread by ``key``, the worst all kept."""
    if len(items) <= most:
        return list(items)
    ordered, worst = sorted(items, key=key), most // 8
    every = (len(ordered) - worst) / (most - worst)
    spread = [ordered[int(place * every)] for place in range(most - worst)]
    return spread + ordered[len(ordered) - worst :]


#: Parameter and column of a task set, and what it is called.
_LISTED = {"sync_share": "ρ", "contended_ratio": "α"}


def groups(summary: Summary) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cell.group for cell in summary.cells))


def places(summary: Summary) -> tuple[str, ...]:
    if summary.mode == "stress":
        return groups(summary)
    return tuple(f"M = {m}" for m in grids.cores_of(summary))


def place_of(summary: Summary, item: CellFigures | SetFigures) -> str:
    """That of a point, group or task set of such a campaign."""
    return item.group if summary.mode == "stress" else f"M = {item.cores}"


def group_samples(summary: Summary, level: Level) -> tuple[SetSample, ...]:
    sets = level.of(summary.sets)
    return samples(sets, groups(summary), attrgetter("group"))


def configuration_samples(summary: Summary, level: Level) -> tuple[SetSample, ...]:
    """The task sets of each group at one deadline factor, those apart that picked other values from
    lists."""
    if names := _configurations(summary):
        return samples(level.of(summary.sets), names, lambda item: _label(summary, item))
    return group_samples(summary, level)


def factor_cells(summary: Summary) -> Sequence[CellFigures]:
    """Misses of each configuration, named as a group, at each deadline factor."""
    if not _configurations(summary):
        return summary.cells
    return [
        CellFigures(group=each.label, deadline_factor=level.factor, figures=set_misses(each.sets))
        for level in levels(summary.cells)
        for each in configuration_samples(summary, level)
        if each.sets
    ]


def _configurations(summary: Summary) -> tuple[str, ...]:
    """The groups in order, each with the values that its sets picked from lists; none where they
    are the groups, or more than curves can be distinguished."""
    columns, order = _columns(summary), groups(summary)
    if not columns:
        return ()
    known = {
        _label(summary, item): ((*order, item.group).index(item.group), attrgetter(*columns)(item))
        for item in summary.sets
    }
    names = tuple(sorted(known, key=known.__getitem__))
    return names if len(names) <= len(COLOURS) and names != order else ()


def _columns(summary: Summary) -> tuple[str, ...]:
    """What each task set picked from a list of several values."""
    stress = inside(summary.meta, "parameters", "stress")
    picked = ((name, stress.get(name)) for name in _LISTED if not stress.get("per_task"))
    return tuple(name for name, each in picked if isinstance(each, list | tuple) and len(each) > 1)


def _label(summary: Summary, item: SetFigures) -> str:
    values = ((name, getattr(item, name)) for name in _columns(summary))
    return ", ".join((item.group, *(f"{_LISTED[name]} = {value:g}" for name, value in values)))


#: Part of a set's contended time from which on an object stands for the set.
_PART = 0.25
#: Marks of one object, and objects of one figure.
_MARKS, _OBJECTS = 200, 24


def object_charts(made_of: Sequence[SetSample]) -> Iterator[Chart]:
    found: dict[str, list[tuple[SetSample, float]]] = {}
    for sample in made_of:
        for item in sample.sets:
            for text in (item.shared_objects or "").split():
                name, _, part = text.partition("=")
                if float(part) >= _PART and item.slowdown_mean:
                    found.setdefault(name, []).append((sample, item.slowdown_mean))
    ordered = sorted(found.items(), key=lambda item: -mean(value for _, value in item[1]))
    shown = ordered[:_OBJECTS]
    if len(shown) < 2:
        return

    def points(sample: SetSample, place: int) -> Iterable[CurvePoint]:
        for at, (name, every) in enumerate(shown):
            own = sorted((v for each, v in every if each is sample), reverse=True)[:_MARKS]
            for k, value in enumerate(own):
                x = at + aside(place, len(made_of)) + aside(k, len(own), room=0.5 / len(made_of))
                yield CurvePoint(x, value, text=f"{name}: {value:.3f}")

    left_out = len(ordered) - len(shown)
    more = f" {left_out} objects with less are left out." if left_out else ""
    yield Chart(
        name="objects",
        title="Which shared object goes with it",
        caption="A mark is a task set that spends a quarter or more of its contended time in"
        " the object; most share several, so this says what goes together, not why." + more,
        panels=(
            Panel(
                title="",
                x_label="object, by the mean over its sets",
                y_label="slowdown of a task set",
                categories=tuple(f"{name} ({len(every)})" for name, every in shown),
                curves=tuple(
                    curve(each.label, points(each, place), look=each.look, kind="points")
                    for place, each in enumerate(made_of)
                ),
                marks=(Mark(axis="y", at=1.0, label="no slowdown"),),
                y_log=True,
            ),
        ),
    )


def speed_charts(sets: Sequence[SetFigures]) -> Iterator[Chart]:
    """How fast the host computed while the sets ran, over the time of the run."""
    known = sorted(
        (each.began_ns, each.witness_ps) for each in sets if each.began_ns and each.witness_ps
    )
    if len(known) < 3:
        return
    first, usual = known[0][0], median(pace for _, pace in known)
    points = [CurvePoint((began - first) / 60e9, 100 * (usual / pace - 1)) for began, pace in known]
    low, high = min(point.y for point in points), max(point.y for point in points)
    room = 0.05 * (high - low)
    yield Chart(
        name="host-speed",
        title="Speed of the host over the run",
        caption="Each mark is a task set: the median time of a fixed computation after its"
        " jobs, alone, against the median of all sets.",
        panels=(
            Panel(
                title="",
                x_label="minutes since the first set",
                y_label="faster or slower than usual (%)",
                curves=(curve("", points, kind="points"),),
                marks=(Mark(axis="y", at=0.0, label=""),),
                # at least 5 % each way: noise must not fill it
                y_limits=(min(-5.0, low - room), max(5.0, high + room)),
            ),
        ),
    )
