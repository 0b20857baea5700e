"""Runs of a latency matrix -> its summary. Pure.

docs/reference/latency.md has the formulas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any

from attrs import asdict, evolve

from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.histogram import pool
from deadbeat.base.model.lateness import counted, word_of
from deadbeat.base.model.words import Json, beside_label
from deadbeat.base.report.document import Column, records
from deadbeat.latencies.latency.figures import distribution
from deadbeat.latencies.latency.findings import findings_of
from deadbeat.latencies.latency.model import LatencyRun
from deadbeat.latencies.latency.summary import (
    QUANTITIES,
    CellSummary,
    Distribution,
    LatencyRow,
    LatencySummary,
    MatrixFacts,
)
from deadbeat.latencies.latency.tail import Part, tail_statements
from deadbeat.latencies.latency.validity import beside_latency
from deadbeat.latencies.latency.words import load_order
from deadbeat.machine.trace.paths import PathSplit


def summarise_latency(
    runs: Iterable[LatencyRun],
    *,
    name: str = "",
    beside: object = (),
    deadlines_ns: Sequence[int] = (),
) -> LatencySummary:
    """All runs of a matrix, those that do not count included, as one summary.

    Args:
        name: Name of the matrix.
        beside: The program that ran beside all runs, as stored.
        deadlines_ns: Deadlines of which the tail statements are to speak beside the maximum.
    """
    ordered = sorted(map(LatencyRun.compact, runs), key=lambda run: run.key)
    places = grouped(ordered, attrgetter("key.load", "key.engine"))
    cells = tuple(
        _cell(places[place], deadlines_ns)
        for place in sorted(places, key=lambda place: (load_order(place[0]), place[1]))
    )

    def every(name: str) -> tuple[Any, ...]:
        return tuple(sorted({getattr(run, name) for run in ordered}))

    times = every("started")
    facts = MatrixFacts(
        interval_ns=every("interval_ns"),
        priority=every("priority"),
        policy=every("policy"),
        seconds=every("seconds"),
        cpus=tuple(sorted({cpu.cpu for run in ordered for cpu in run.cpus})),
        engines={run.key.engine: run.engine_version for run in ordered},
        kinds=every("kind"),
        started=(times[0], times[-1]) if times else (),
    )
    summary = LatencySummary(
        name=name,
        cells=cells,
        labels=(
            *sorted({run.kind for run in ordered} - {"hardware"}),
            *["policy other"] * any(run.policy == "other" for run in ordered),
            *beside_label(beside),
        ),
        deadlines_ns=tuple(deadlines_ns),
        runs=len(ordered),
        invalid_runs=sum(not run.valid for run in ordered),
        beside=beside_latency(ordered),
        meta=facts,
    )
    return evolve(summary, findings=tuple(findings_of(summary, ordered)))


# -- a cell


def _cell(runs: Sequence[LatencyRun], deadlines_ns: Sequence[int]) -> CellSummary:
    first = runs[0].key
    valid = [run for run in runs if run.valid]
    numbers = sorted({cpu.cpu for run in valid for cpu in run.cpus})
    shares = [share for run in valid if (share := reached(run)) is not None]
    # Per CPU the parts of all traced runs pooled, and the worst wake-up of any of them.
    splits = grouped((split for run in valid for split in run.split), attrgetter("cpu"))
    return CellSummary(
        load=first.load,
        engine=first.engine,
        whole=_row(runs, None, deadlines_ns),
        cpus=tuple(_row(runs, number, deadlines_ns) for number in numbers),
        invalid=tuple(run for run in runs if not run.valid),
        warnings=dict(Counter(name for run in valid for name in {p.id for p in run.problems})),
        achieved=sum(shares) / len(shares) if shares else None,
        achieved_min=min(shares, default=None),
        achieved_max=max(shares, default=None),
        split=tuple(_joined(splits[cpu]) for cpu in sorted(splits)),
        causes=tuple(counted(first.load.text, _late(valid))),
    )


def _late(runs: Sequence[LatencyRun]) -> Iterator[tuple[str, str, int, int]]:
    """The worst traced wake-up of every run and CPU: of the others no events are kept."""
    for worst in (split.worst for run in runs for split in run.split):
        if worst.total_ns:
            yield word_of(worst.cause), "", worst.total_ns, 1


def reached(run: LatencyRun) -> float | None:
    """What the load had of the CPU time that it asked for; None: of none, or it is not known."""
    share, load = run.circumstances.load_share, run.load
    wants = load.asked and (load.judged or load.computes)
    return 100 * share / load.asked if wants and share is not None else None


def _row(runs: Sequence[LatencyRun], cpu: int | None, deadlines_ns: Sequence[int]) -> LatencyRow:
    every = (
        Part(run=run, cpus=tuple(each for each in run.cpus if cpu in (None, each.cpu)))
        for run in runs
        if run.valid
    )
    parts = [part for part in every if part.cpus]
    each = [(cpu, part.run.key) for part in parts for cpu in part.cpus]
    # one that is not known counts as the largest of all
    known = [
        (cpu.raw.exceeds_ns is not None, cpu.raw.exceeds_ns or cpu.raw.max_ns or 0, cpu.cpu, key)
        for cpu, key in each
        if cpu.raw.total
    ]
    tops = [top for _, top, _, _ in known]
    *_, top_cpu, top_run = max(known, key=itemgetter(0, 1)) if known else (None, None)
    raw = [pool([cpu.raw for cpu in part.cpus]) for part in parts]
    shown = all(cpu.corrected is not None for cpu, _ in each)
    corrected = [pool([cpu.honest for cpu in part.cpus]) for part in parts] if shown else []
    return LatencyRow(
        cpu=cpu,
        runs=tuple(part.run.key for part in parts),
        hours=sum(part.run.seconds for part in parts) / 3600,
        expected=sum(cpu.expected for cpu, _ in each),
        cycles=sum(cpu.cycles for cpu, _ in each),
        missed=sum(cpu.missed for cpu, _ in each),
        raw=distribution(raw),
        corrected=distribution(corrected) if corrected else None,
        exceeds_ns=max(tops) if any(unknown for unknown, *_ in known) else None,
        max_cpu=top_cpu,
        max_run=top_run,
        tail=tuple(tail_statements(parts, deadlines_ns)),
    )


def _joined(splits: Sequence[PathSplit]) -> PathSplit:
    having = [split for split in splits if not split.unavailable]
    if not having:
        return splits[0]
    parts = grouped((pair for split in having for pair in split.parts.items()), itemgetter(0))
    latencies = [split.latency for split in having if split.latency is not None]
    return PathSplit(
        cpu=having[0].cpu,
        parts={name: pool([each for _, each in pairs]) for name, pairs in parts.items()},
        worst=max((split.worst for split in having), key=lambda worst: worst.total_ns),
        latency=pool(latencies) if latencies else None,
        left_out=sum(split.left_out for split in having),
        lost=sum(split.lost for split in having),
    )


# -- rows for CSV and tables


#: A row of latency.csv: a cell, and all of its CPUs or one.
Line = tuple[CellSummary, LatencyRow]


def _of_cell(key: str, value: Callable[[CellSummary], Any]) -> Column:
    return Column(key=key, value=lambda line: value(line[0]))


def _of_row(key: str, value: Callable[[LatencyRow], Any] | None = None) -> Column:
    return Column(key=key, value=lambda line: (value or attrgetter(key))(line[1]))


def _tail(key: str, name: str) -> Column:
    return _of_row(key, lambda row: getattr(row.tail[0], name) if row.tail else None)


def _quantities(kind: str) -> Iterator[Column]:
    """A quantity and, but for minimum and maximum, the ends of its interval."""

    def figure(name: str, field: str, row: LatencyRow) -> float | None:
        shown: Distribution | None = getattr(row, kind)
        return getattr(shown[name], field) if shown is not None else None

    for name in QUANTITIES:
        for end in ("",) if name in ("min", "max") else ("", "low_", "high_"):
            value = partial(figure, name, f"{end or 'value_'}ns")
            yield _of_row(f"{kind}_{name}_{end}ns", value)


#: Columns of latency.csv, in order: docs/reference/latency.md.
LATENCY_COLUMNS = (
    _of_cell("load", lambda cell: cell.load.text),
    _of_cell("profile", lambda cell: cell.load.profile),
    _of_cell("percent", lambda cell: cell.load.percent if cell.load.percent >= 0 else None),
    _of_cell("engine", lambda cell: cell.engine),
    _of_row("cpu", lambda row: "all" if row.cpu is None else row.cpu),
    _of_row("runs", lambda row: len(row.runs)),
    _of_cell("invalid_runs", lambda cell: len(cell.invalid)),
    *map(_of_row, ("hours", "expected", "cycles", "missed")),
    *_quantities("raw"),
    *_quantities("corrected"),
    _of_row("max_cpu"),
    _of_row("max_run", lambda row: row.max_run.text if row.max_run else None),
    _tail("tail_limit_ns", "limit_ns"),
    _tail("tail_bound", "bound"),
    _tail("tail_run_bound", "run_bound"),
    _tail("tail_condition", "condition"),
    _tail("effective_wake_ups", "effective"),
    _tail("hours_for_tenth", "hours_for_tenth"),
    _of_cell("achieved", lambda cell: cell.achieved),
)


def lines_of(summary: LatencySummary) -> list[Line]:
    """All CPUs of a cell first, then each."""
    return [(cell, row) for cell in summary.cells for row in (cell.whole, *cell.cpus)]


def latency_rows(summary: LatencySummary) -> list[dict[str, Json]]:
    """A row per cell and CPU, by the keys of LATENCY_COLUMNS."""
    return list(records(LATENCY_COLUMNS, lines_of(summary)))


def tail_rows(summary: LatencySummary) -> list[dict[str, Json]]:
    """What the tail of each cell and CPU allows to say, as JSON values; all CPUs of a cell first.

    ``statements`` are `TailStatement`, field by field.
    """
    return [
        {
            "load": cell.load.text,
            "engine": cell.engine,
            "cpu": "all" if row.cpu is None else row.cpu,
            "statements": [asdict(statement) for statement in row.tail],
        }
        for cell in summary.cells
        for row in (cell.whole, *cell.cpus)
    ]
