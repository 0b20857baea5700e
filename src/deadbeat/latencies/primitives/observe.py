"""Timed primitives beside each other: a cell is an operation, a run a repeat of it."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter, methodcaller

from attrs import frozen

from deadbeat.base.kinds.observed import comparable
from deadbeat.base.model.comparison import ComparedLook, Vocabulary
from deadbeat.base.model.observations import Cell, Metric, Observation
from deadbeat.base.model.words import size
from deadbeat.latencies.primitives.results import FOLDERS, PrimitiveCell, cells_of, summarise
from deadbeat.latencies.primitives.runs import PrimitivesStore
from deadbeat.latencies.primitives.spec import PrimitivesSpec
from deadbeat.latencies.primitives.topology import topology_of

METRICS = tuple(
    Metric(
        name=name,
        title=title,
        text=text,
        unit="ns",
        shown="ns",
        minimum=0.05,
        cellwise=True,
        of=of,
    )
    for name, title, text, of in (
        ("mean", "Mean time of an operation", "mean time", attrgetter("mean_ns")),
        ("p50", "Median time of an operation", "median time", methodcaller("quantile_ns", 500_000)),
        ("p99", "99 % quantile", "p99", methodcaller("quantile_ns", 990_000)),
        (
            *("max", "Longest time in a run", "longest time"),
            lambda cell: (cell.times.max_ns or 0) / cell.batch,
        ),
    )
)


@frozen(kw_only=True)
class Timed:
    """Timed primitives: their specification, and the cells of every run that counts by itself."""

    spec: PrimitivesSpec
    labels: tuple[str, ...]
    cells: tuple[PrimitiveCell, ...]


def timed(store: PrimitivesStore) -> Timed:
    topology = topology_of(store.platform)
    found = summarise(store)
    return Timed(
        spec=found.spec,
        labels=found.labels,
        cells=tuple(
            cell
            for run in store.runs()
            if run.valid
            for cell in cells_of(run.key.case, [run], topology)
        ),
    )


def observe(found: Timed) -> Iterator[Observation]:
    """The times of an operation in every repeat; of their mean where a sample is many."""
    several = len({cell.case.runtime for cell in found.cells}) > 1
    for cell in found.cells:
        case, (repeat,) = cell.case, cell.repeats
        names = (case.operation, size(case.size) if case.size else "", cell.where)
        group = ", ".join(filter(None, [*names, case.runtime if several else ""]))
        for metric in METRICS:
            value = metric.of(cell)
            yield Observation(
                run=f"{group} {repeat}",
                cell=Cell(group),
                block=f"{repeat:04d}",
                metric=metric.name,
                value=value,
                slack=cell.resolution_ns / (value * cell.batch) if value else 0.0,
            )


COMPARABLE = comparable(
    name="primitives",
    folders=FOLDERS,
    summarise=timed,
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
