"""Predicted beside measured: the section of the page and the figure on paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from attrs import frozen

from deadbeat.model.results import Summary
from deadbeat.report.facts import number
from deadbeat.report.headline import place

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEADINGS = (
    "point",
    "task sets",
    "predicted response / C (simulated)",
    "measured response / C",
    "measured / predicted",
    "misses predicted (simulated)",
    "misses measured",
)


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
    for row in sorted(summary.rows, key=_axes):
        sets = [each for each in summary.sets if _axes(each) == _axes(row) and _has_both(each)]
        if sets:
            found.append(
                PointPair(
                    place=f"M = {row['cores']}, {place(row)}",
                    cores=int(row["cores"]),
                    task_sets=len(sets),
                    predicted=_mean(sets, "response_ratio_predicted"),
                    measured=_mean(sets, "response_ratio_mean"),
                    predicted_misses=sum(int(each["deadline_misses_predicted"]) for each in sets),
                    measured_misses=sum(int(each["deadline_misses"]) for each in sets),
                )
            )
    return tuple(found)


def _axes(row: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    return row["cores"], row["sync_share"], row["contended_ratio"]


def _has_both(row: Mapping[str, Any]) -> bool:
    return all(
        number(row.get(key)) is not None
        for key in ("response_ratio_predicted", "deadline_misses_predicted", "response_ratio_mean")
    )


def _mean(sets: list[dict[str, Any]], column: str) -> float:
    return sum(float(each[column]) for each in sets) / len(sets)


def section(summary: Summary) -> str:
    """The table of the page, or why there is none."""
    found = pairs(summary)
    if not found:
        return (
            "<p>Nothing was predicted: no run under SCHED_FIFO with a finished job is in this "
            "campaign.</p>"
        )
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in _HEADINGS)
    body = "".join(_line(pair) for pair in found)
    return (
        "<p>Predicted: the same releases simulated under partitioned SCHED_FIFO, every job taking "
        "exactly C. What lies between the two is what a simulation leaves out: contention, wake-up "
        "latency, the kernel.</p>"
        '<div class="scroll" role="region" aria-label="Predicted beside measured" tabindex="0">'
        f'<table class="plain" id="predicted-table"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


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


def draw(axis: Axes, found: Iterable[PointPair]) -> None:
    """Measured against predicted response, a mark per point, the diagonal where both agree."""
    markers = "osD^v<>P*X"
    known = list(found)
    for index, cores in enumerate(sorted({pair.cores for pair in known})):
        own = [pair for pair in known if pair.cores == cores]
        axis.scatter(
            [pair.predicted for pair in own],
            [pair.measured for pair in own],
            marker=markers[index % len(markers)],
            s=26,
            alpha=0.75,
            label=f"M = {cores}",
        )
    low = min(min(pair.predicted, pair.measured) for pair in known) / 1.05
    high = max(max(pair.predicted, pair.measured) for pair in known) * 1.05
    axis.plot([low, high], [low, high], color="#59616b", linewidth=1, label="as predicted")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlim(low, high)
    axis.set_ylim(low, high)
    axis.set_xlabel("predicted response / C (simulated)")
    axis.set_ylabel("measured response / C")
    axis.legend(loc="upper left", fontsize=8)
