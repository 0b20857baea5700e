"""The engine of comparisons, asked of sides that are drawn from pools or made up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from attrs import evolve

from deadbeat.base.model.comparison import Comparison
from deadbeat.base.model.observations import Cell, Metric, Observation, Observations
from deadbeat.base.verdicts.engine import CompareOptions, compare_tables
from deadbeat.latencies.latency import observe as latency
from deadbeat.latencies.load import observe as interference
from deadbeat.tasksets.contention import observe as contention
from helpers.aa import Side

KINDS = {"contention": contention, "latency": latency, "interference": interference}


def options_of(
    kind: str,
    names: Collection[str] = (),
    *,
    minimum: float | None = None,
    simulated: bool = False,
    ungated: bool = False,
) -> CompareOptions:
    """Of a kind; ``names``: of its metrics, ``minimum``: of all of them."""
    metrics = [each for each in KINDS[kind].METRICS if not names or each.name in names]
    if minimum is not None:
        metrics = [evolve(each, minimum=minimum) for each in metrics]
    rare = [each.minimum for each in KINDS[kind].METRICS if each.rare]
    return CompareOptions(
        metrics=tuple(metrics),
        words=KINDS[kind].WORDS,
        lost_max=rare[0],
        cells_alike=KINDS[kind].COMPARABLE.cells_alike,
        lacking_max=KINDS[kind].COMPARABLE.lacking_max,
        undisturbed="simulated" if simulated else "",
        ungated=ungated,
    )


def table(side: Side, metrics: Sequence[Metric], planned: Iterable[Cell] = ()) -> Observations:
    """The side as a table of observations."""

    def rows() -> Iterator[Observation]:
        for key, run in side.runs.items():
            for metric in metrics:
                yield Observation(
                    run=key,
                    cell=run.cell,
                    block=run.block,
                    metric=metric.name,
                    value=run.values.get(metric.name),
                    slack=run.hidden.get(metric.name, 0.0),
                    at=None if run.at_ns is None else run.at_ns / 1e9,
                    censored=1.0 if run.starved else run.lost or 0.0,
                )

    return Observations(name=side.name, rows=rows(), cells=planned)


def compare_sides(
    baseline: Side,
    other: Side,
    repeats: Sequence[Side] = (),
    *,
    options: CompareOptions,
    planned: Iterable[Cell] = (),
) -> Comparison:
    """What the engine says of sides.

    Args:
        planned: Cells that all of them were to have; none: baseline and other those of either, a
            repeat its own.
    """
    every = set(planned)
    both = every or {run.cell for side in (baseline, other) for run in side.runs.values()}
    keys = baseline.runs.keys() & other.runs.keys()
    shift = contention.log_shift(
        (baseline.runs[key].witness_ps, other.runs[key].witness_ps) for key in keys
    )
    doubts = contention.host_doubts(shift)
    return compare_tables(
        table(baseline, options.metrics, both),
        evolve(table(other, options.metrics, both), doubts=doubts),
        [table(repeat, options.metrics, every) for repeat in repeats],
        options=options,
    )


def judge_of(
    options: CompareOptions, planned: Iterable[Cell] = ()
) -> Callable[[Side, Side, Sequence[Side]], str]:
    """The verdict of `compare_sides`, as `aa.verdicts` asks for it."""
    every = set(planned)
    return lambda baseline, other, repeats: (
        compare_sides(baseline, other, repeats, options=options, planned=every).verdict
    )
