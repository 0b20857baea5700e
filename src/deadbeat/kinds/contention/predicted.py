"""Predicted beside measured: the section of the page and the figure on paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from attrs import frozen

from deadbeat.kinds.contention.headline import place
from deadbeat.model.results import Summary
from deadbeat.report.charts import COLOURS
from deadbeat.report.charts_paper import MARKERS
from deadbeat.report.facts import factor_of, factors, labels, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEADINGS = (
    "point",
    "task sets",
    "predicted response / C (simulated)",
    "{measured} response / C",
    "{measured} / predicted",
    "misses predicted (simulated)",
    "misses {measured}",
)

#: Predicted ratios that differ by less are one.
_SAME = 1e-3


@frozen(kw_only=True)
class PointPair:
    """One point: means over the task sets that have both sides."""

    place: str
    cores: int
    task_sets: int
    predicted: float
    measured: float
    predicted_misses: int
    measured_misses: int

    @property
    def ratio(self) -> float:
        return self.measured / self.predicted


def pairs(summary: Summary) -> tuple[PointPair, ...]:
    """Points with a prediction, by M, rho and alpha."""
    found = []
    several = len(factors(summary.rows)) > 1
    for row in sorted(summary.rows, key=_axes):
        sets = [each for each in summary.sets if _axes(each) == _axes(row) and _has_both(each)]
        if sets:
            found.append(
                PointPair(
                    place=f"M = {row['cores']}, {place(row)}"
                    + (f", D/C = {factor_of(row):g}" if several else ""),
                    cores=int(row["cores"]),
                    task_sets=len(sets),
                    predicted=_mean(sets, "response_ratio_predicted"),
                    measured=_mean(sets, "response_ratio_mean"),
                    predicted_misses=sum(int(each["deadline_misses_predicted"]) for each in sets),
                    measured_misses=sum(int(each["deadline_misses"]) for each in sets),
                )
            )
    return tuple(found)


def _axes(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["cores"], row["sync_share"], row["contended_ratio"], factor_of(row)


def _has_both(row: Mapping[str, Any]) -> bool:
    return all(
        number(row.get(key)) is not None
        for key in ("response_ratio_predicted", "deadline_misses_predicted", "response_ratio_mean")
    )


def _mean(sets: list[dict[str, Any]], column: str) -> float:
    return sum(float(each[column]) for each in sets) / len(sets)


def title(summary: Summary) -> str:
    """Heading of section and figure: a campaign of the simulator has measured nothing."""
    return f"Predicted beside {_origin(summary)}"


def _origin(summary: Summary) -> str:
    return "campaign (simulated)" if _simulated(summary) else "measured"


def section(summary: Summary) -> str:
    """The table of the page, or why there is none."""
    found = pairs(summary)
    if not found:
        return (
            "<p>Nothing was predicted: no run under SCHED_FIFO with a finished job is in this "
            "campaign.</p>"
        )
    headings = [text.format(measured=_origin(summary)) for text in _HEADINGS]
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in headings)
    body = "".join(_line(pair) for pair in found)
    return (
        "<p>Predicted: the same releases simulated under partitioned SCHED_FIFO, every job taking "
        "exactly C. "
        + (
            ""
            if _simulated(summary)
            else "What lies between the two is what a simulation "
            "leaves out: contention, wake-up latency, the kernel."
        )
        + "</p>"
        f'<div class="scroll" role="region" aria-label="{title(summary)}" tabindex="0">'
        f'<table class="plain" id="predicted-table"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _simulated(summary: Summary) -> bool:
    return "SIMULATED" in labels(summary)


def _line(pair: PointPair) -> str:
    cells: Iterable[str] = (
        str(pair.task_sets),
        f"{pair.predicted:.3f}",
        f"{pair.measured:.3f}",
        f"{pair.ratio:.3f}",
        str(pair.predicted_misses),
        str(pair.measured_misses),
    )
    return (
        f'<tr><th scope="row">{escape(pair.place)}</th>'
        + "".join(f"<td>{cell}</td>" for cell in cells)
        + "</tr>"
    )


def set_ratios(summary: Summary) -> Mapping[int, list[tuple[float, float]]]:
    """Per M, (predicted response / C, measured / predicted) of every set with both sides."""
    found: dict[int, list[tuple[float, float]]] = {}
    for row in summary.sets:
        if _has_both(row):
            predicted = float(row["response_ratio_predicted"])
            measured = float(row["response_ratio_mean"])
            found.setdefault(int(row["cores"]), []).append((predicted, measured / predicted))
    return dict(sorted(found.items()))


def draw(axis: Axes, summary: Summary) -> None:
    """Measured / predicted over predicted, a mark per task set, and the line where they agree.

    Where a simulation predicts the same for every set (a task a core) they are side by side by M.
    """
    ratios = set_ratios(summary)
    every = [predicted for pairs_of in ratios.values() for predicted, _ in pairs_of]
    same = max(every, default=0.0) - min(every, default=0.0) < _SAME
    for look, (cores, pairs_of) in enumerate(ratios.items()):
        aside = [0.6 * place / len(pairs_of) - 0.3 for place in range(len(pairs_of))]
        axis.scatter(
            [look + step for step in aside] if same else [predicted for predicted, _ in pairs_of],
            [ratio for _, ratio in pairs_of],
            marker=MARKERS[look % len(MARKERS)],
            color=COLOURS[look % len(COLOURS)],
            s=20,
            alpha=0.6,
            linewidths=0,
            label=f"M = {cores}",
            zorder=3,
        )
    axis.set_xlabel("predicted (simulated) response / C of a task set")
    if same:
        axis.set_xticks(range(len(ratios)), labels=[f"M = {cores}" for cores in ratios])
        axis.set_xlim(-0.6, len(ratios) - 0.4)
        axis.set_xlabel(f"task sets by ρ and α; predicted (simulated) for each: {every[0]:.3g} C")
    axis.axhline(1.0, color="#59616b", linewidth=1, label="as predicted")
    axis.grid(visible=True, color="#e3e6ea", linewidth=0.6)
    axis.set_ylabel(f"{_origin(summary)} / predicted")
    axis.legend(loc="best", fontsize=8)


def ratio_range(ratios: Mapping[int, list[tuple[float, float]]]) -> tuple[float, float]:
    """Smallest and largest ratio, with 1 between them."""
    every = [ratio for pairs_of in ratios.values() for _, ratio in pairs_of]
    return min(1.0, *every) / 1.15, max(1.0, *every) * 1.15
