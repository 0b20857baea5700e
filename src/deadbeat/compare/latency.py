"""`deadbeat compare` of latency matrices: two kernels, two settings, hardened and not.

The unit is the run, never the wake-up: wake-ups of one run share what the machine did, so that
tests on pooled wake-ups find a difference between any two hours. A cell is a load measured by an
engine; runs of the same repeat are paired and share a block.
docs/explanation/comparing-latencies.md.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from attrs import frozen

from deadbeat.compare.decide import Options
from deadbeat.compare.findings import not_counted, other_work_beside
from deadbeat.compare.repeated import Way, compare_repeated, require_comparable
from deadbeat.compare.sides import Cell, RunFigure, Side
from deadbeat.compare.vocabulary import LATENCIES
from deadbeat.experiment.beside import beside_latency
from deadbeat.kinds.latency.figures import pool
from deadbeat.kinds.latency.plan import keys
from deadbeat.kinds.latency.spec import read_spec
from deadbeat.model.comparison import LATENCY_METRICS, ComparisonResult
from deadbeat.model.errors import UsageError
from deadbeat.model.finding import Finding
from deadbeat.model.histogram import Histogram, bucket_high, bucket_low, bucket_of
from deadbeat.model.latency import QUANTILES_PPM, CpuLatency, LatencyKey, LatencyRun
from deadbeat.store.latency import LatencyStore
from deadbeat.store.serial import to_plain

#: Relative difference of latencies, and difference of shares of missed periods, that matter where
#: nothing else is asked for.
MINIMUM_EFFECT, MINIMUM_MISS = 0.1, 0.001
#: Settings of a matrix under which the same load is another measurement.
_SETTINGS = ("interval", "priority", "policy", "dma_latency", "trace")
_CELLS_NAMED = 3
_CPU = " CPU "


@frozen(kw_only=True)
class Matrix:
    """A latency matrix as a comparison reads it.

    Attributes:
        name, path: Of its folder.
        runs: Every stored run, those that do not count included.
        settings: What must agree, from its specification.
        platform: Where it was measured, as JSON values.
        planned: Every run there should be.
    """

    name: str
    path: str
    runs: tuple[LatencyRun, ...]
    settings: Mapping[str, Any]
    platform: Mapping[str, Any]
    planned: tuple[LatencyKey, ...]

    @property
    def kind(self) -> str:
        """Of where it ran: ``simulated`` if any run is."""
        simulated = any(run.kind == "simulated" for run in self.runs)
        return "simulated" if simulated else str(self.platform.get("kind"))

    @property
    def cells(self) -> frozenset[str]:
        """Load and engine of every run."""
        return frozenset(_place(run.key) for run in self.runs)

    @property
    def cpus(self) -> tuple[int, ...]:
        """Every CPU that was measured."""
        return tuple(sorted({cpu.cpu for run in self.runs for cpu in run.cpus}))

    @property
    def left(self) -> int:
        """Runs still to come, or failed."""
        return len(set(self.planned) - {run.key for run in self.runs})


def read_matrix(path: Path) -> Matrix:
    """The matrix in ``path``.

    Raises:
        DataError: It is damaged, or no matrix.
        UsageError: Its specification cannot be read.
    """
    store = LatencyStore.open(path)
    spec = read_spec(store.spec)
    return Matrix(
        name=path.resolve().name,
        path=str(path),
        runs=tuple(store.runs()),
        settings={
            **{name: getattr(spec, name) for name in _SETTINGS},
            "seconds": spec.seconds,
        },
        platform=to_plain(store.platform),
        planned=keys(spec),
    )


def compare_latency(
    matrices: Sequence[Matrix],
    repeats: Sequence[Matrix] = (),
    *,
    options: Options,
    per_cpu: bool = False,
    allow_mixed: bool = False,
    partial: bool = False,
) -> ComparisonResult:
    """Compares the first of ``matrices`` with each of the others.

    Args:
        matrices: Two or more; the first is the baseline.
        repeats: Further matrices of the baseline's command on its machine and kernel (A/A).
        options: Of the statistics; ``words`` and ``few_blocks`` are set here.
        per_cpu: A cell for each CPU instead of the pooled wake-ups of all of them.
        allow_mixed: Compare a simulated matrix with a measured one; labelled.
        partial: Compare unfinished matrices; labelled.

    Raises:
        UsageError: They were measured in ways that cannot be compared, a matrix is empty,
            unfinished or named twice, a repeat is none.
    """
    baseline, every = matrices[0], [*matrices, *repeats]
    require_comparable(matrices, repeats, words=LATENCIES, allow_mixed=allow_mixed, partial=partial)
    _require_common_cells(baseline, every)
    if not per_cpu:
        _require_as_many_cpus(baseline, every)
    corrected = all(_is_corrected(matrix) for matrix in every)
    way = Way(
        of="latency",
        words=LATENCIES,
        side=functools.partial(side_of, per_cpu=per_cpu, corrected=corrected),
        planned=functools.partial(_planned, per_cpu=per_cpu),
        place=_without_cpu,
    )
    alone = (found for matrix in matrices[1:] for found in _of_cells(baseline, matrix))
    return compare_repeated(
        matrices,
        repeats,
        way=way,
        options=options,
        findings=[*_of_matrices(every), *alone],
        parameters={
            "per_cpu": per_cpu,
            "wake_ups": "corrected for missed periods" if corrected else "raw",
        },
    )


# -- from a matrix to a side


def side_of(matrix: Matrix, *, per_cpu: bool = False, corrected: bool = True) -> Side:
    """The runs that count, as plain figures.

    Args:
        per_cpu: A figure for each CPU of a run.
        corrected: Of latencies corrected for missed periods; else raw ones, and then a run is
            told to have lost its missed periods.
    """
    runs: dict[str, RunFigure] = {}
    for run in matrix.runs:
        if run.valid:
            runs |= dict(_figures(run, per_cpu=per_cpu, corrected=corrected))
    return Side(name=matrix.name, runs=runs)


def _figures(run: LatencyRun, *, per_cpu: bool, corrected: bool) -> Iterator[tuple[str, RunFigure]]:
    key = run.key
    place = _place(key)
    at_ns = int(datetime.fromisoformat(run.started).timestamp()) * 1_000_000_000
    groups = [((cpu,), f"{_CPU}{cpu.cpu}") for cpu in run.cpus] if per_cpu else [(run.cpus, "")]
    for cpus, suffix in groups:
        missed, expected = (sum(getattr(c, name) for c in cpus) for name in ("missed", "expected"))
        share = missed / expected if expected else None
        yield (
            f"{key.text}{suffix}",
            RunFigure(
                cell=Cell(f"{place}{suffix}", -1, -1.0, -1.0, 0.0),
                block=f"{key.repeat:04d}",
                values={
                    **_values(pool([_chosen(cpu, corrected=corrected) for cpu in cpus])),
                    "missed_ratio": share,
                },
                at_ns=at_ns,
                lost=None if corrected else share,
                hidden=_hidden(pool([_chosen(cpu, corrected=corrected) for cpu in cpus])),
            ),
        )


def _chosen(cpu: CpuLatency, *, corrected: bool) -> Histogram:
    return cpu.corrected if corrected and cpu.corrected is not None else cpu.raw


def _values(latencies: Histogram) -> dict[str, float | None]:
    quantiles = {name: latencies.quantile(QUANTILES_PPM[name]) for name in ("p50", "p99", "p99.9")}
    return {"mean": latencies.mean_ns, **quantiles, "max": latencies.max_ns}


def _hidden(latencies: Histogram) -> dict[str, float]:
    """How much larger each may be, as logarithms.

    The mean too, by a whole step: what is cut off is half a step only where values spread over
    many steps. Buckets do not move it, since the sum of the values is exact.
    """
    found = {}
    for name, value in _values(latencies).items():
        if value:
            bucket = bucket_of(int(value))
            exact = name in ("mean", "max")
            wide = 0 if exact else bucket_high(bucket) - bucket_low(bucket)
            found[name] = math.log1p(max(latencies.resolution_ns - 1, wide) / value)
    return found


def _is_corrected(matrix: Matrix) -> bool:
    return all(cpu.corrected is not None for run in matrix.runs if run.valid for cpu in run.cpus)


def _planned(matrix: Matrix, *, per_cpu: bool) -> list[Cell]:
    """Every cell it measured, runs that do not count included."""
    return [
        figure.cell
        for run in matrix.runs
        for _, figure in _figures(run, per_cpu=per_cpu, corrected=False)
    ]


def _place(key: LatencyKey) -> str:
    return f"{key.load.text} {key.engine}"


def _without_cpu(group: str) -> str:
    return group.split(_CPU, maxsplit=1)[0]


# -- what cannot be compared


def _require_common_cells(baseline: Matrix, every: Sequence[Matrix]) -> None:
    for matrix in every[1:]:
        if not baseline.cells & matrix.cells:
            mine, theirs = (
                ", ".join(sorted(each.cells)[:_CELLS_NAMED]) for each in (baseline, matrix)
            )
            raise UsageError(
                f"{baseline.name} and {matrix.name} have no load in common that the same engine"
                " measured",
                "measure both with the same --loads and --engine",
                (f"{baseline.name}: {mine}", f"{matrix.name}: {theirs}"),
            )


def _require_as_many_cpus(baseline: Matrix, every: Sequence[Matrix]) -> None:
    """The maximum over more CPUs is larger for that alone."""
    for matrix in every[1:]:
        if len(matrix.cpus) != len(baseline.cpus):
            raise UsageError(
                f"{baseline.name} was measured on {len(baseline.cpus)} CPUs, {matrix.name} on"
                f" {len(matrix.cpus)}: their pooled latencies cannot be compared",
                "--per-cpu compares each CPU with itself; or measure both with the same --cpus",
            )


# -- what the reader must know


def _of_matrices(every: Sequence[Matrix]) -> Iterator[Finding]:
    for matrix in every:
        if message := not_counted(matrix.name, matrix.runs):
            yield Finding(
                id="latency-invalid-runs",
                severity="warning",
                message=message,
                cure="the page of the matrix tells why",
                where=matrix.name,
            )
        yield from other_work_beside(matrix.name, beside_latency(matrix.runs))


def _of_cells(one: Matrix, two: Matrix) -> Iterator[Finding]:
    """Cells that only one of the two measured."""
    for mine, theirs in ((one, two), (two, one)):
        alone = sorted(mine.cells - theirs.cells)
        if alone:
            more = ", ..." if len(alone) > _CELLS_NAMED else ""
            yield Finding(
                id="latency-cells-alone",
                severity="warning",
                message=f"{len(alone)} cells were measured in {mine.name} alone"
                f" ({', '.join(alone[:_CELLS_NAMED])}{more}): they are not compared",
                cure="measure both with the same --loads and --engine",
                where=theirs.name,
            )


def latency_options(**changes: Any) -> Options:
    """Options as `compare_latency` uses them, for experiments on sides."""
    return Options(
        **{
            "metrics": LATENCY_METRICS,
            "minimum_effect": MINIMUM_EFFECT,
            "minimum_miss": MINIMUM_MISS,
            "words": LATENCIES,
            "few_blocks": True,
            **changes,
        }
    )
