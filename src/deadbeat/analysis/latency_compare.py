"""`deadbeat compare` of latency matrices: two kernels, two settings, hardened and not.

The unit is the run, never the wake-up: wake-ups of one run share what the machine did, so that
tests on pooled wake-ups find a difference between any two hours. A cell is a load measured by an
engine; runs of the same repeat are paired and share a block.
docs/explanation/comparing-latencies.md.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen

from deadbeat.analysis.compare_sides import FALSE_ALARMS, Options, compare_sides
from deadbeat.analysis.compare_words import metric_text, size_text
from deadbeat.analysis.identity import differing_platforms
from deadbeat.analysis.latency_figures import pool
from deadbeat.analysis.sides import Cell, RunFigure, Side
from deadbeat.analysis.vocabulary import LATENCIES
from deadbeat.latency.plan import keys
from deadbeat.latency.spec import read_spec
from deadbeat.model.comparison import LATENCY_METRICS, Comparison, ComparisonResult
from deadbeat.model.errors import UsageError
from deadbeat.model.histogram import Histogram, bucket_high, bucket_low, bucket_of
from deadbeat.model.latency import QUANTILES_PPM, CpuLatency, LatencyKey, LatencyRun
from deadbeat.model.results import Finding
from deadbeat.store.latency import LatencyStore
from deadbeat.store.serial import to_plain

#: Relative difference of latencies, and difference of shares of missed periods, that matter where
#: nothing else is asked for.
MINIMUM_EFFECT, MINIMUM_MISS = 0.1, 0.001
_WORST_FIRST = ("worse", "undecided", "equal", "better")
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
    def simulated(self) -> bool:
        return any(run.kind == "simulated" for run in self.runs)

    @property
    def cells(self) -> set[tuple[str, str]]:
        """Load and engine of every run."""
        return {(run.key.load.text, run.key.engine) for run in self.runs}

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
    baseline, others = matrices[0], matrices[1:]
    every = [*matrices, *repeats]
    _require(baseline, every, repeats, allow_mixed=allow_mixed, partial=partial)
    if not per_cpu:
        _require_as_many_cpus(baseline, every)
    corrected = all(_is_corrected(matrix) for matrix in every)
    side, *sides = (side_of(matrix, per_cpu=per_cpu, corrected=corrected) for matrix in matrices)
    again = [side_of(matrix, per_cpu=per_cpu, corrected=corrected) for matrix in repeats]
    comparisons = []
    findings = list(_of_matrices(every))
    for matrix, other in zip(others, sides, strict=True):
        own = attrs.evolve(
            options,
            words=LATENCIES,
            few_blocks=True,
            simulated=baseline.simulated and matrix.simulated,
            same_machine=_same(baseline, matrix, "fingerprint"),
        )
        places = baseline.cells & matrix.cells
        one, two = _within(side, places), _within(other, places)
        planned = _planned(baseline, matrix, per_cpu=per_cpu)
        found = compare_sides(one, two, again, options=own, planned=planned)
        found = attrs.evolve(found, reason=found.reason + _left_out(baseline, matrix))
        comparisons.append(found)
        findings += _of_comparison(baseline, found, own, repeats)
        findings += _of_cells(baseline, matrix)
    verdicts = {comparison.verdict for comparison in comparisons}
    return ComparisonResult(
        campaigns=tuple(_facts(matrix) for matrix in matrices),
        comparisons=tuple(comparisons),
        differences=tuple(_differences(baseline, others)),
        findings=tuple(dict.fromkeys(findings)),
        labels=tuple(_labels(every, ungated=options.ungated and not repeats)),
        verdict=next(verdict for verdict in _WORST_FIRST if verdict in verdicts),
        parameters={
            "of": "latency",
            "metrics": list(options.metrics),
            "minimum_effect": options.minimum_effect,
            "minimum_miss": options.minimum_miss,
            "resamples": options.resamples,
            "seed": options.seed,
            "aa": [matrix.name for matrix in repeats],
            "ungated": options.ungated,
            "per_cpu": per_cpu,
            "wake_ups": "corrected for missed periods" if corrected else "raw",
            "settings": dict(baseline.settings),
            "false_alarms": FALSE_ALARMS,
            "metric_level": FALSE_ALARMS / 2,
            "cell_level": options.cell_level,
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
    place = f"{key.load.text} {key.engine}"
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
    """How much larger quantiles and the maximum may be, as logarithms.

    The mean is moved by half a step on either side alike.
    """
    found = {}
    for name, value in _values(latencies).items():
        if value and name != "mean":
            bucket = bucket_of(int(value))
            wide = 0 if name == "max" else bucket_high(bucket) - bucket_low(bucket)
            found[name] = math.log1p(max(latencies.resolution_ns - 1, wide) / value)
    return found


def _is_corrected(matrix: Matrix) -> bool:
    return all(cpu.corrected is not None for run in matrix.runs if run.valid for cpu in run.cpus)


def _within(side: Side, places: Collection[tuple[str, str]]) -> Side:
    """Without what only one of two matrices measured; a cell whose runs are invalid stays."""
    groups = {" ".join(place) for place in places}
    kept = {key: run for key, run in side.runs.items() if run.cell.group.split(_CPU)[0] in groups}
    return attrs.evolve(side, runs=kept)


def _planned(one: Matrix, two: Matrix, *, per_cpu: bool) -> list[Cell]:
    """Every cell that both measured, runs that do not count included."""
    groups = {" ".join(place) for place in one.cells & two.cells}
    return sorted(
        {
            figure.cell
            for matrix in (one, two)
            for run in matrix.runs
            for _, figure in _figures(run, per_cpu=per_cpu, corrected=False)
            if figure.cell.group.split(_CPU)[0] in groups
        }
    )


def _left_out(one: Matrix, two: Matrix) -> str:
    """``; left out as invalid: 20 of 25 runs of a``; "" where none is."""
    told = [
        f"{count} of {len(matrix.runs)} runs of {matrix.name}"
        for matrix in (one, two)
        if (count := sum(not run.valid for run in matrix.runs))
    ]
    return f"; left out as invalid: {', '.join(told)}" if told else ""


# -- what cannot be compared


def _require(
    baseline: Matrix,
    every: Sequence[Matrix],
    repeats: Sequence[Matrix],
    *,
    allow_mixed: bool,
    partial: bool,
) -> None:
    seen: set[str] = set()
    for matrix in every:
        place = str(Path(matrix.path).resolve())
        if place in seen:
            raise UsageError(
                f"{matrix.name} is named twice: a matrix compared with itself differs in nothing",
                "name another run of its command",
            )
        seen.add(place)
        if not any(run.valid for run in matrix.runs):
            raise UsageError(
                f"{matrix.name} has no run that counts: there is nothing to compare",
                "deadbeat show tells why; repeat the command that began it",
            )
    _require_alike(baseline, every)
    if not allow_mixed and len({matrix.simulated for matrix in every}) > 1:
        names = ", ".join(matrix.name for matrix in every if matrix.simulated)
        raise UsageError(
            f"{names} is simulated, the other matrix is measured: they say nothing of each other's"
            " machine",
            "--allow-mixed compares the two all the same, and labels it",
        )
    open_ = [matrix for matrix in every if matrix.left]
    if open_ and not partial:
        raise UsageError(
            "; ".join(f"{m.name} is unfinished: {m.left} of {len(m.planned)} runs are missing"
                      for m in open_),
            "repeat the command that began it: it continues; deadbeat compare --partial takes what"
            " is there, and labels it",
        )  # fmt: skip
    for matrix in repeats:
        other = [
            name
            for name in ("fingerprint", "kernel", "preemption")
            if not _same(baseline, matrix, name)
        ]
        if other:
            raise UsageError(
                f"--aa {matrix.name} is no repeat of {baseline.name}: another"
                f" {', another '.join(other)}",
                "repeat the baseline's command where the baseline ran, under another --name",
            )


def _require_alike(baseline: Matrix, every: Sequence[Matrix]) -> None:
    """Raises UsageError where settings differ that move latency by themselves."""
    wrong = [
        f"{name}: {baseline.settings.get(name)} ({baseline.name}) |"
        f" {matrix.settings.get(name)} ({matrix.name})"
        for matrix in every[1:]
        for name in baseline.settings
        if baseline.settings.get(name) != matrix.settings.get(name)
    ]
    if wrong:
        raise UsageError(
            "the matrices were measured in different ways: a latency depends on each of these",
            "measure both with the same options",
            tuple(wrong),
        )
    for matrix in every[1:]:
        if not baseline.cells & matrix.cells:
            mine, theirs = (
                ", ".join(" ".join(cell) for cell in sorted(m.cells)[:_CELLS_NAMED])
                for m in (baseline, matrix)
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


def _same(baseline: Matrix, matrix: Matrix, name: str) -> bool:
    return bool(baseline.platform.get(name) == matrix.platform.get(name))


# -- what the reader must know


def _facts(matrix: Matrix) -> dict[str, Any]:
    return {
        "name": matrix.name,
        "path": matrix.path,
        **{key: matrix.platform.get(key) for key in ("kernel", "preemption", "fingerprint")},
        "platform": matrix.platform.get("name"),
        "kind": "simulated" if matrix.simulated else matrix.platform.get("kind"),
        "labels": ["simulated"] if matrix.simulated else [],
        "runs": sum(run.valid for run in matrix.runs),
        "created_at": min((run.started for run in matrix.runs), default=None),
    }


def _labels(every: Sequence[Matrix], *, ungated: bool) -> Iterator[str]:
    simulated = [matrix.name for matrix in every if matrix.simulated]
    if simulated and len(simulated) < len(every):
        yield "simulated beside measured"
    elif simulated:
        yield "simulated"
    if ungated and len(simulated) < len(every):
        yield "ungated: no A/A repeats"
    open_ = [matrix.name for matrix in every if matrix.left]
    if open_:
        yield f"partial: {', '.join(open_)} unfinished"
    if any(run.policy == "other" for matrix in every for run in matrix.runs):
        yield "policy other"


def _differences(baseline: Matrix, others: Sequence[Matrix]) -> Iterator[str]:
    for matrix in others:
        prefix = f"{matrix.name}: " if len(others) > 1 else ""
        lines = differing_platforms(baseline.platform, matrix.platform)
        yield from (prefix + line for line in lines)


def _of_matrices(every: Sequence[Matrix]) -> Iterator[Finding]:
    for matrix in every:
        invalid = sum(not run.valid for run in matrix.runs)
        if invalid:
            yield Finding(
                id="latency-invalid-runs",
                severity="warning",
                message=f"{invalid} of {len(matrix.runs)} runs of {matrix.name} do not count",
                cure="the page of the matrix tells why",
                where=matrix.name,
            )
        repeated = sum(bool(run.replaced) for run in matrix.runs)
        if repeated:
            yield Finding(
                id="latency-repeated-runs",
                severity="warning",
                message=f"{repeated} of {len(matrix.runs)} runs of {matrix.name} were invalid and"
                " measured again: a selection that the other side may not have",
                cure="compare matrices that were measured in one go (--fresh)",
                where=matrix.name,
            )


def _of_comparison(
    baseline: Matrix, comparison: Comparison, options: Options, repeats: Sequence[Matrix]
) -> Iterator[Finding]:
    where = comparison.other
    if not repeats and not options.simulated:
        effect = (
            "is guessed from within the matrices (--ungated)"
            if options.ungated
            else "is not known, and nothing is decided"
        )
        yield Finding(
            id="no-aa-repeat",
            severity="serious" if options.ungated else "warning",
            message="no repeat of the baseline was given: how far two sessions differ here without"
            f" a reason {effect}",
            cure=f"repeat the command of {baseline.name} under another --name, then --aa NAME",
            where=where,
        )
    lost = dict.fromkeys(
        line
        for metric in comparison.metrics
        for line in metric.capped
        if line != LATENCIES.no_repeats
    )
    if lost:
        yield Finding(
            id="survivors-differ",
            severity="warning",
            message=f"more was lost on one side: {'; '.join(lost)}: what is left does not show how"
            " the matrices compare",
            cure=LATENCIES.find_lost,
            where=where,
        )
    for metric in comparison.metrics:
        if metric.gate is not None and metric.gate > metric.minimum:
            yield Finding(
                id="gate-above-minimum",
                severity="warning",
                message=f"{metric_text(metric.metric)}: matrices that differ in nothing may differ"
                f" by {size_text(metric.metric, metric.gate)} here, more than the minimum effect of"
                f" {size_text(metric.metric, metric.minimum)}",
                cure="a quieter machine, more --repeats, or more repeats of the baseline (--aa)",
                where=where,
            )


def _of_cells(one: Matrix, two: Matrix) -> Iterator[Finding]:
    """Cells that only one of the two measured."""
    for mine, theirs in ((one, two), (two, one)):
        alone = sorted(" ".join(cell) for cell in mine.cells - theirs.cells)
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
