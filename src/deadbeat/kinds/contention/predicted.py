"""Predicted beside measured: pairs of every point and task set, and the table of the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any

from attrs import frozen

from deadbeat.kinds.contention.facts import factor_of, factors, labels, number
from deadbeat.kinds.contention.headline import place
from deadbeat.model.results import Summary
from deadbeat.report.document import Part, Sentence, Table, said


@frozen(kw_only=True)
class PointPair:
    """One point: means over the task sets that have both sides."""

    place: str
    cores: int
    tasks: int
    task_sets: int
    predicted: float
    measured: float
    predicted_misses: int
    measured_misses: int

    @property
    def contested(self) -> bool:
        """Whether tasks share a core: else the simulation can say nothing but C."""
        return self.tasks > self.cores

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
                    tasks=max(int(number(each.get("tasks")) or 0) for each in sets),
                    task_sets=len(sets),
                    predicted=_mean(sets, "response_ratio_predicted"),
                    measured=_mean(sets, "response_ratio_mean"),
                    predicted_misses=sum(int(each["deadline_misses_predicted"]) for each in sets),
                    measured_misses=sum(int(each["deadline_misses"]) for each in sets),
                )
            )
    return tuple(found)


#: Predicted ratios that differ by less are one.
_SAME = 1e-3


def _axes(row: Mapping[str, object]) -> tuple[Any, ...]:
    return row["cores"], row["sync_share"], row["contended_ratio"], factor_of(row)


def _has_both(row: Mapping[str, object]) -> bool:
    return all(
        number(row.get(key)) is not None
        for key in ("response_ratio_predicted", "deadline_misses_predicted", "response_ratio_mean")
    )


def _mean(sets: list[dict[str, object]], column: str) -> float:
    return sum(number(each[column]) or 0.0 for each in sets) / len(sets)


def differ(ratios: Iterable[float]) -> bool:
    """Whether the predictions are not all the same, as they are of one task a core."""
    known = sorted(ratios)
    return bool(known) and known[-1] - known[0] >= _SAME


def title(summary: Summary) -> str:
    """Heading of section and figure: a campaign of the simulator has measured nothing."""
    return f"Predicted and {origin(summary)}"


def origin(summary: Summary) -> str:
    """What is beside the predictions."""
    return "campaign (simulated)" if _simulated(summary) else "measured"


def predicted_parts(summary: Summary) -> tuple[Part, ...]:
    """The table of the page without the points with one task a core, or why there is none."""
    found = [pair for pair in pairs(summary) if pair.contested]
    if not found:
        nothing = (
            "no run under SCHED_FIFO with several tasks a core and a finished job is in this"
            " campaign"
        )
        return (Sentence(f"Nothing was predicted: {nothing}."),)
    how = (
        "Predicted: the same releases simulated under partitioned SCHED_FIFO, every job taking"
        " exactly C."
    )
    if not _simulated(summary):
        how += (
            " What lies between the two is what a simulation leaves out: contention, wake-up"
            " latency, the kernel."
        )
    side = origin(summary)
    table = Table(
        name="predicted-table",
        title=title(summary),
        columns=(
            said("point", attrgetter("place")),
            said("task sets", attrgetter("task_sets")),
            said("predicted response / C (simulated)", attrgetter("predicted"), format=_ratio),
            said(f"{side} response / C", attrgetter("measured"), format=_ratio),
            said(f"{side} / predicted", attrgetter("ratio"), format=_ratio),
            said("misses predicted (simulated)", attrgetter("predicted_misses"), format=str),
            said(f"misses {side}", attrgetter("measured_misses"), format=str),
        ),
        rows=found,
        dense=True,
    )
    return Sentence(how), table


def _ratio(value: float) -> str:
    return f"{value:.3f}"


def _simulated(summary: Summary) -> bool:
    return "SIMULATED" in labels(summary)


def set_ratios(summary: Summary) -> Mapping[int, list[tuple[float, float]]]:
    """Per M, (predicted response / C, measured / predicted) of every set with both sides."""
    found: dict[int, list[tuple[float, float]]] = {}
    for row in summary.sets:
        if _has_both(row):
            predicted = float(row["response_ratio_predicted"])
            measured = float(row["response_ratio_mean"])
            found.setdefault(int(row["cores"]), []).append((predicted, measured / predicted))
    return dict(sorted(found.items()))
