"""Timed primitives beside each other: a cell is an operation, a run a repeat of it."""

from __future__ import annotations

from collections.abc import Iterator

from deadbeat.kinds.observed import comparable
from deadbeat.kinds.primitives.results import FOLDERS, PrimitivesSummary, summarise
from deadbeat.model.comparison import ComparedLook, Vocabulary
from deadbeat.model.observations import Cell, Metric, Observation
from deadbeat.model.words import size

METRICS = tuple(
    Metric(name=name, title=title, text=text, unit="ns", shown="ns", minimum=0.05, cellwise=True)
    for name, title, text in (
        ("mean", "Mean time of an operation", "mean time"),
        ("p50", "Median time of an operation", "median time"),
        ("p99", "99 % quantile", "p99"),
        ("max", "Longest time in a run", "longest time"),
    )
)


def observe(found: PrimitivesSummary) -> Iterator[Observation]:
    """The times of an operation in every repeat; of their mean where a sample is many."""
    for cell in found.cells:
        case = cell.case
        names = (case.operation, size(case.size) if case.size else "", cell.where)
        group = ", ".join(filter(None, [*names, *([case.runtime] if _several(found) else [])]))
        columns = (cell.means_ns, cell.medians_ns, cell.p99s_ns, cell.maxima_ns)
        for metric, values in zip(METRICS, columns, strict=True):
            for repeat, value in zip(cell.repeats, values, strict=True):
                yield Observation(
                    run=f"{group} {repeat}",
                    cell=Cell(group),
                    block=f"{repeat:04d}",
                    metric=metric.name,
                    value=value / cell.batch,
                    slack=found.resolution_ns / value if value else 0.0,
                )


def _several(found: PrimitivesSummary) -> bool:
    return len({cell.case.runtime for cell in found.cells}) > 1


COMPARABLE = comparable(
    name="primitives",
    folders=FOLDERS,
    summarise=summarise,
    observe=observe,
    platform=lambda store: store.platform,
    metrics=METRICS,
    words=Vocabulary(
        results="timed primitives",
        one="result of primitives",
        find_lost="see which runs are invalid, and why (deadbeat show)",
        lost="of the operations were lost",
        rare="more --repeats would show more",
    ),
    look=ComparedLook(called="Timed primitives", groups=("By operation", "operation")),
    cure="measure both with the same --tests, --sizes and --placements",
    settings=lambda found: {
        "policy": found.spec.policy,
        "batch": found.spec.batch,
        "work": found.spec.work,
        "clock": found.spec.clock,
    },
)
