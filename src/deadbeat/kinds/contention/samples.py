"""Task sets taken together under one name, and how a figure of theirs is spread over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from attrs import evolve, frozen

from deadbeat.kinds.contention.facts import NoiseFloor
from deadbeat.model.figures import SetFigures
from deadbeat.report.building import cumulative, histogram, log_edges, percentiles
from deadbeat.report.charts import Bars, Chart, Curve, Mark, Panel

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
    found: dict[str, list[SetFigures]] = {label: [] for label in labels}
    for item in sets:
        if (label := label_of(item)) in found:
            found[label].append(item)
    return tuple(
        SetSample(label=label, look=look, sets=tuple(own))
        for look, (label, own) in enumerate(found.items())
    )


def of_option(charts: Iterable[Chart], option: str, suffix: str) -> list[Chart]:
    """Charts of one option of their families; "": they have no other."""
    return [
        evolve(chart, name=chart.name + suffix, family=chart.name if option else "", option=option)
        for chart in charts
    ]


def distribution_charts(made_of: Sequence[SetSample], floor: NoiseFloor) -> list[Chart]:
    """Histogram, cumulative distribution and percentiles of each figure, a curve per sample."""
    charts = [_ratio_chart(made_of, floor, entry) for entry in RATIOS if _known(made_of, entry[1])]
    return [*charts, *([_miss_chart(made_of)] if _known(made_of, MISS) else [])]


def _known(made_of: Iterable[SetSample], column: str) -> bool:
    return any(sample.values(column) for sample in made_of)


#: Samples with the number of their sets and those values of them that are drawn.
_Drawn = Sequence[tuple[SetSample, int, list[float]]]


def _curves(drawn: _Drawn, draw: Callable[..., Curve]) -> tuple[Curve, ...]:
    """A curve for each sample; all of its sets are 100 %."""
    made = ((sample, draw(own, of=count)) for sample, count, own in drawn)
    return tuple(evolve(each, label=sample.label, look=sample.look) for sample, each in made)


def _ratio_chart(
    made_of: Sequence[SetSample], floor: NoiseFloor, entry: tuple[str, str, str, str]
) -> Chart:
    name, column, title, axis = entry
    values = [(sample, sample.values(column)) for sample in made_of]
    edges = log_edges([value for _, own in values for value in own])
    marks: tuple[Mark, ...] = (Mark(axis="x", at=1.0, label="1: no effect"),)
    if name == "slowdown":
        marks = (*floor.marks("x"), *marks)
    turned = tuple(evolve(mark, axis="y") for mark in marks)
    drawn = [(sample, len(own), own) for sample, own in values if own]
    panels = (
        Panel(
            title="Histogram", x_label=axis, y_label="task sets per bin (%)", x_log=True,
            curves=_curves(drawn, partial(histogram, edges=edges)), marks=marks,
        ),
        Panel(
            title="Cumulative", x_label=axis, y_label="task sets at or below (%)", x_log=True,
            curves=_curves(drawn, cumulative), marks=marks, y_limits=(-1.0, 101.0),
        ),
        Panel(
            title="Percentiles", x_label="percentile of the task sets (%)", y_label=axis,
            curves=_curves(drawn, percentiles), y_log=True, marks=turned, x_limits=(-1.0, 101.0),
        ),
    )  # fmt: skip
    counts = ", ".join(f"{sample.label}: {len(own):,} sets" for sample, own in values)
    return Chart(
        name=f"distribution-{name}",
        title=f"{title} over task sets",
        caption=f"{counts}. Ratios on a logarithmic axis; one value a task set.",
        panels=panels,
    )


def _miss_chart(made_of: Sequence[SetSample]) -> Chart:
    """Zeros do not stand on a logarithmic axis and would hide the rest: they have their own bar."""
    parts = []
    for sample in made_of:
        every = sample.values(MISS)
        parts.append((sample, len(every), [100 * value for value in every if value > 0]))
    edges = log_edges([value for _, _, own in parts for value in own])
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
            title="Histogram, zeros left out", x_label=_MISS_AXIS, x_log=True,
            y_label="task sets per bin (% of all)",
            curves=_curves(missed, partial(histogram, edges=edges)),
        ),
        Panel(
            title="Cumulative, from the share without a miss", x_label=_MISS_AXIS,
            y_label="task sets at or below (%)", x_log=True, y_limits=ends,
            curves=_curves(missed, cumulative),
        ),
        Panel(
            title="Percentiles, zeros left out", x_label="percentile of the task sets (%)",
            y_label="deadline miss ratio (% of jobs)", y_log=True, x_limits=ends,
            curves=_curves(missed, percentiles),
        ),
    )  # fmt: skip
    return Chart(
        name="distribution-misses",
        title="Deadline miss ratio over task sets",
        caption=(
            "Sets without a miss have their own bar: a logarithmic axis has no zero."
            " A curve of the cumulative distribution begins at their share, one of the percentiles"
            " where they end."
            if missed
            else "No set missed a deadline."
        ),
        panels=panels if missed else panels[:1],
    )


def _calm_bar(parts: Sequence[tuple[SetSample, int, list[float]]], place: int) -> Bars:
    """The sets of one sample without a miss, at its place among the others."""
    sample, count, own = parts[place]
    blank: list[float | None] = [None] * len(parts)
    texts = [""] * len(parts)
    if count:
        blank[place] = 100 * (count - len(own)) / count
        texts[place] = f"{count - len(own):,} of {count:,}"
    return Bars(label=sample.label, y=tuple(blank), texts=tuple(texts), look=sample.look)


def thinned(items: Sequence[T], key: Callable[[T], float], most: int) -> list[T]:
    """At most about ``most`` of the items: evenly spread by ``key``, the worst all kept."""
    if len(items) <= most:
        return list(items)
    ordered, worst = sorted(items, key=key), most // 8
    every = (len(ordered) - worst) / (most - worst)
    spread = [ordered[int(place * every)] for place in range(most - worst)]
    return spread + ordered[len(ordered) - worst :]
