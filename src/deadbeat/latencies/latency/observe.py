"""Latency matrices as tables of observations.

A cell is a load measured by an engine (with ``per_cpu`` also a CPU); a run is an observation, never
a wake-up: wake-ups of one run share what the machine did. Runs of one repeat are a block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from deadbeat.base.model.comparison import (
    Aligned,
    Comparable,
    ComparedLook,
    Lineup,
    Subject,
    Vocabulary,
)
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.finding import Finding, finding, not_counted, other_work_beside
from deadbeat.base.model.histogram import (
    QUANTILES_PPM,
    Histogram,
    bucket_high,
    bucket_low,
    bucket_of,
    pool,
)
from deadbeat.base.model.observations import Cell, Metric, Observation, Observations
from deadbeat.base.model.platform import LOADED_BY, shortened
from deadbeat.base.model.words import LABELLED, inside
from deadbeat.base.store.runfolder import inventory_in
from deadbeat.base.store.serial import to_plain
from deadbeat.latencies.latency.model import CpuLatency, LatencyRun
from deadbeat.latencies.latency.spec import keys, read_spec
from deadbeat.latencies.latency.store import LatencyStore
from deadbeat.latencies.latency.validity import beside_latency
from deadbeat.machine.settings.hardening import differing


@frozen(kw_only=True)
class Woken:
    """The wake-ups of a run: their latencies, and the share of the periods without one; None: it is
    not known."""

    latencies: Histogram
    missed: float | None


def _timed(name: str) -> Callable[[Woken], float | None]:
    return lambda seen: _value(seen.latencies, name)


#: Metrics of the wake-ups of a run, corrected for missed periods where that is known.
METRICS = (
    *(
        Metric(name=name, title=title, unit="ns", minimum=0.1, of=_timed(name))
        for name, title in (
            ("p50", "Median latency"),
            ("mean", "Mean latency"),
            ("p99", "99 % quantile"),
            ("p99.9", "99.9 % quantile"),
            ("max", "Maximum of a run"),
        )
    ),
    Metric(
        name="missed_ratio",
        title="Missed periods",
        text="missed periods",
        unit="share",
        minimum=0.001,
        log=False,
        rare=True,
        of=attrgetter("missed"),
    ),
    # What a shorter latency costs; of each load as its processes worked beside the run.
    Metric(
        name="rate",
        title="Work of the loads",
        text="work of the loads",
        unit="rate",
        minimum=0.05,
        higher_is_better=True,
        apart="--repeats",
    ),
)
WORDS = Vocabulary(
    results="matrices",
    one="matrix",
    find_lost="see which runs are invalid or missed periods, and why (deadbeat show); the prober"
    " corrects for missed periods",
    lost="of the periods had no wake-up",
    rare="more --repeats, or longer runs, would show more",
)
LAB_WORDS = evolve(
    WORDS, more="runs (--seeds)", rare="more --seeds, or longer runs, would show more"
)
#: Settings under which the same load is another measurement.
_SETTINGS = ("interval", "priority", "policy", "dma_latency", "trace", "seconds")
_CELLS_NAMED = 3


@frozen(kw_only=True)
class Matrix(Subject):
    """A latency matrix; ``runs``: every stored run, those that do not count included;
    ``inventory``: what the system consists of, empty where that was not recorded."""

    runs: tuple[LatencyRun, ...] = field(repr=False)
    inventory: Mapping[str, str] = field(factory=dict, repr=False)

    @property
    def cpus(self) -> tuple[int, ...]:
        """Every CPU that was measured."""
        return tuple(sorted({cpu.cpu for run in self.runs for cpu in run.cpus}))


def read_matrix(path: Path) -> Matrix:
    """The matrix in ``path``."""
    store = LatencyStore.open(path)
    spec = read_spec(store.spec)
    runs = tuple(map(LatencyRun.compact, store.runs()))
    planned = keys(spec)
    left = len(set(planned) - {run.key for run in runs})
    return matrix_of(
        runs,
        name=path.resolve().name,
        path=str(path),
        platform=to_plain(store.platform),
        settings={name: getattr(spec, name) for name in _SETTINGS},
        beside=spec.beside,
        left=f"{left} of {len(planned)} runs are missing" if left else "",
        inventory=inventory_in(path),
    )


def matrix_of(runs: Sequence[LatencyRun], **facts: object) -> Matrix:
    """A matrix of runs; ``facts``: the other attributes, as far as they are known."""
    platform = dict(facts.pop("platform", None) or {})  # type: ignore[call-overload]
    kind = "simulated" if any(r.kind == "simulated" for r in runs) else str(platform.get("kind"))
    labels = [kind] if kind in LABELLED else []
    labels += ["policy other"] if any(run.policy == "other" for run in runs) else []
    return Matrix(
        runs=tuple(runs),
        platform=platform,
        kind=kind,
        counted=sum(run.valid for run in runs),
        stored=len(runs),
        created_at=min((run.started for run in runs if run.started), default=None),
        labels=tuple(labels),
        **facts,  # type: ignore[arg-type]
    )


def align(lineup: Lineup) -> Aligned:
    """Latencies corrected for missed periods where all sides know them; else raw ones."""
    every: tuple[Matrix, ...] = lineup.every
    counted = (run for matrix in every for run in matrix.runs if run.valid)
    corrected = all(cpu.corrected is not None for run in counted for cpu in run.cpus)
    how = {"per_cpu": lineup.per_cpu, "corrected": corrected}
    tables = tuple(observe(matrix, **how) for matrix in every)
    first = tables[0]
    for table in tables[1:]:
        if not set(first.cells) & set(table.cells):
            some = [", ".join(c.group for c in t.cells[:_CELLS_NAMED]) for t in (first, table)]
            raise UsageError(
                f"{first.name} and {table.name} have no load in common that the same engine"
                " measured",
                "measure both with the same --loads and --engine",
                (f"{first.name}: {some[0]}", f"{table.name}: {some[1]}"),
            )
    if not lineup.per_cpu:
        _require_as_many_cpus(every)
    wake_ups = "corrected for missed periods" if corrected else "raw"
    return Aligned(
        tables=tables,
        findings=(
            *(finding for matrix in every for finding in _findings(matrix)),
            *differing_loads(every),
        ),
        differences=tuple(_systems(lineup.subjects)),
        parameters={"per_cpu": lineup.per_cpu, "wake_ups": wake_ups},
    )


def observe(matrix: Matrix, *, per_cpu: bool = False, corrected: bool = True) -> Observations:
    """The runs that count.

    Args:
        per_cpu: An observation for each CPU of a run.
        corrected: Latencies are corrected for missed periods; else raw ones, which do not know
            of the periods that were missed.
    """
    planned = {Cell(group) for run in matrix.runs for group, _ in _groups(run, per_cpu)}
    valid = [run for run in matrix.runs if run.valid]
    rows = [row for run in valid for row in _rows(run, per_cpu, corrected)]
    rates = [row for run in valid for row in _rates(run)]
    planned |= {row.cell for row in rates}
    return Observations(name=matrix.name, rows=(*rows, *rates), cells=planned)


def _rates(run: LatencyRun) -> Iterator[Observation]:
    """What the load's processes did a second."""
    for name, rate in run.load.throughput.items():
        group = f"{run.key.load.text} {run.key.engine} {name}"
        yield Observation(
            run=f"{run.key.text} {name}",
            cell=Cell(group, of="rate"),
            block=f"{run.key.repeat:04d}",
            metric="rate",
            value=rate,
        )


def _groups(run: LatencyRun, per_cpu: bool) -> Iterator[tuple[str, tuple[CpuLatency, ...]]]:
    place = f"{run.key.load.text} {run.key.engine}"
    if not per_cpu:
        yield place, run.cpus
        return
    for cpu in run.cpus:
        yield f"{place} CPU {cpu.cpu}", (cpu,)


def _rows(run: LatencyRun, per_cpu: bool, corrected: bool) -> Iterator[Observation]:
    at = datetime.fromisoformat(run.started).timestamp() if run.started else None
    for group, cpus in _groups(run, per_cpu):
        latencies = pool([cpu.honest if corrected else cpu.raw for cpu in cpus])
        missed, expected = (sum(getattr(c, name) for c in cpus) for name in ("missed", "expected"))
        share = missed / expected if expected else None
        for metric in (each for each in METRICS if not each.apart):
            value = metric.of(Woken(latencies=latencies, missed=share))
            yield Observation(
                run=f"{run.key.text} {group}",
                cell=Cell(group),
                block=f"{run.key.repeat:04d}",
                metric=metric.name,
                value=value,
                slack=_slack(latencies, metric.name, value) if metric.unit == "ns" else 0.0,
                censored=0.0 if corrected else share or 0.0,
                at=at,
            )


def _value(latencies: Histogram, name: str) -> float | None:
    if name == "mean":
        return latencies.mean_ns
    return latencies.max_ns if name == "max" else latencies.quantile(QUANTILES_PPM[name])


def _slack(latencies: Histogram, name: str, value: float | None) -> float:
    """How much larger a value may be.

    The mean too, by a whole step: what is cut off is half a step only where values spread over
    many steps. Buckets do not move it, since the sum of the values is exact.
    """
    if not value:
        return 0.0
    bucket = bucket_of(int(value))
    wide = 0 if name in ("mean", "max") else bucket_high(bucket) - bucket_low(bucket)
    return math.log1p(max(latencies.resolution_ns - 1, wide) / value)


def _require_as_many_cpus(every: Sequence[Matrix]) -> None:
    """The maximum over more CPUs is larger for that alone."""
    baseline = every[0]
    for matrix in every[1:]:
        if len(matrix.cpus) != len(baseline.cpus):
            raise UsageError(
                f"{baseline.name} was measured on {len(baseline.cpus)} CPUs, {matrix.name} on"
                f" {len(matrix.cpus)}: their pooled latencies cannot be compared",
                "--per-cpu compares each CPU with itself; or measure both with the same --cpus",
            )


def differing_loads(every: Sequence[Matrix]) -> Iterator[Finding]:
    """Whether all sides were loaded by one program, as far as they say."""
    details = [(matrix.name, matrix.platform.get("details")) for matrix in every]
    made = {
        name: str(known[LOADED_BY])
        for name, known in details
        if isinstance(known, Mapping) and LOADED_BY in known
    }
    if len({program.partition(" ")[0] for program in made.values()}) > 1:
        sides = ", ".join(f"{name} by {program}" for name, program in made.items())
        yield finding(
            "loads-differ", f"the loads are not the same: {sides}; what differs may be theirs"
        )


def _systems(subjects: Sequence[Matrix]) -> Iterator[str]:
    """Options of hardening that are on on one side only, and what else the systems consist of."""
    baseline, *others = subjects
    for matrix in others:
        prefix = f"{matrix.name}: " if len(others) > 1 else ""
        hardening = (inside(each.platform, "details", "hardening") for each in (baseline, matrix))
        parts = baseline.inventory.keys() & matrix.inventory.keys()
        yield from (prefix + line for line in differing(*hardening))
        for title in (each for each in baseline.inventory if each in parts):
            one, two = baseline.inventory[title], matrix.inventory[title]
            if one != two:
                yield f"{prefix}{title}: {shortened(one)} | {shortened(two)}"


def _findings(matrix: Matrix) -> Iterator[Finding]:
    name, stored = matrix.name, matrix.stored
    yield from not_counted("latency-invalid-runs", name, stored - matrix.counted, stored)
    yield from other_work_beside(name, beside_latency(matrix.runs))


def _overlays(subjects: Sequence[Matrix], _levels: int | None) -> list[Any]:
    from deadbeat.latencies.latency.histograms import overlay_charts  # noqa: PLC0415  heavy
    from deadbeat.latencies.latency.sides import sides_charts  # noqa: PLC0415  heavy

    named = [(subject.name, subject.runs) for subject in subjects]
    return [*overlay_charts(named), *sides_charts(named)]


COMPARABLE = Comparable(
    of="latency",
    noun="latency matrix",
    words=WORDS,
    lab_words=LAB_WORDS,
    look=ComparedLook(
        called="Latency matrices", terms="compare-latency", groups=("By load", "cell")
    ),
    metrics=METRICS,
    main="p99",
    read=read_matrix,
    align=align,
    overlays=_overlays,
    per_cpu=True,
)
