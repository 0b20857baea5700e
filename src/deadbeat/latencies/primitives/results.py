"""What runs of primitives come to: cells of cases, lines between CPUs, contenders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from operator import attrgetter

import numpy as np
from attrs import evolve, frozen

from deadbeat.base.experiment.folders import RunFolders
from deadbeat.base.model.conclusion import Evidence, Judgement, judge
from deadbeat.base.model.finding import Finding
from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.histogram import Histogram, pool
from deadbeat.base.model.specification import read
from deadbeat.base.stats.intervals import Interval, mean_interval
from deadbeat.base.store.folder import EXPERIMENT_FILE
from deadbeat.base.store.place import FolderKind
from deadbeat.latencies.primitives.cases import PrimitiveCase, cases, held_bytes, plan, where
from deadbeat.latencies.primitives.lines import REPEATS_LEAST, Line, contradictions, lines_of
from deadbeat.latencies.primitives.runs import LateSample, PrimitiveRun, PrimitivesStore, ThreadRun
from deadbeat.latencies.primitives.spec import PrimitivesPreset, PrimitivesSpec, presets
from deadbeat.latencies.primitives.topology import Topology, topology_of

#: A median below this many steps of the clock is not resolved.
RESOLVED = 5

FOLDERS = RunFolders(
    kind=FolderKind(EXPERIMENT_FILE, PrimitivesStore.NOUN, PrimitivesStore.KIND),
    store=PrimitivesStore,
    read=partial(read, PrimitivesSpec),
    planned=lambda store: plan(read(PrimitivesSpec, store.spec), topology_of(store.platform)),
)


@frozen(kw_only=True)
class Contender:
    """A thread of all repeats that wants what others want. ``after``: its turns right after each
    thread of its cell; ``own``: after itself."""

    operation: str
    where: str
    thread: int
    cpu: int
    times: Histogram
    after: tuple[int, ...]
    own: int
    longest_row: int

    @property
    def samples(self) -> int:
        return self.times.total

    @property
    def own_share(self) -> float:
        return self.own / max(sum(self.after), 1)


@frozen(kw_only=True)
class PrimitiveCell:
    """All runs and threads of a cell, pooled; times are of a sample.

    Attributes:
        repeats: Their numbers. ``means_ns``, ``medians_ns``, ``p99s_ns``, ``maxima_ns``: for each.
        thread_means_ns: Per repeat the mean of each thread; 0: it had no sample.
        worst: The longest sample, and the longest gap between two.
        faults: Page faults of all threads while it was measured. ``first_faults``: Before.
        fairness: Jain's index of threads' samples, where they want one thing; of the worst repeat.
            1: all had as many, 1/n: one of n had all. ``most_share``: most by fewest.
        allocated_bytes: By all threads, on a heap.
    """

    case: PrimitiveCase
    runs: int
    batch: int
    resolution_ns: int
    times: Histogram
    repeats: tuple[int, ...]
    means_ns: tuple[float, ...]
    thread_means_ns: tuple[tuple[float, ...], ...]
    medians_ns: tuple[int, ...]
    p99s_ns: tuple[int, ...]
    maxima_ns: tuple[int, ...]
    stall_ns: int
    looked: int
    tagged: int
    worst: LateSample | None
    fairness: float | None = None
    most_share: float | None = None
    allocated_bytes: int | None = None
    faults: int | None = None
    first_faults: int | None = None
    part: str = ""
    footprint_bytes: int | None = None
    contenders: tuple[Contender, ...] = ()

    @property
    def where(self) -> str:
        return where(self.case, self.part)

    @property
    def bytes_per_ns(self) -> float | None:
        """GB/s of a copy at its median."""
        middle = self.quantile_ns(500_000)
        return self.case.size / middle if self.case.copies and middle else None

    def interval(self, values_ns: Sequence[int]) -> Interval | None:
        """Interval of the mean over repeats like these; None with fewer than three."""
        if len(values_ns) < REPEATS_LEAST:
            return None
        return mean_interval(np.array(values_ns, float) / self.batch)

    @property
    def samples(self) -> int:
        return self.times.total

    def quantile_ns(self, share_ppm: int) -> float:
        """Quantile of an operation; of their mean where a sample is many."""
        return (self.times.quantile(share_ppm) or 0) / self.batch

    @property
    def mean_ns(self) -> float:
        """Mean of an operation over all samples."""
        return mean_of(self.times) / self.batch

    @property
    def resolved(self) -> bool:
        """Whether the clock's steps are small beside the median."""
        return (self.times.quantile(500_000) or 0) >= RESOLVED * self.resolution_ns


@frozen(kw_only=True)
class PrimitivesSummary:
    """What is known of the primitives of a machine."""

    name: str
    spec: PrimitivesSpec
    done: int
    labels: tuple[str, ...]
    findings: tuple[Finding, ...]
    refused: dict[str, str]
    cells: tuple[PrimitiveCell, ...]
    #: Those of two groups at once, not apart.
    wholes: tuple[PrimitiveCell, ...] = ()
    clock_cost_ps: int
    sample_cost_ps: int
    resolution_ns: int
    lines: tuple[Line, ...] = ()
    runtimes: tuple[tuple[str, str], ...] = ()
    #: Runtimes of which a run was not steady when it was measured.
    unsteady: tuple[str, ...] = ()

    @property
    def preset(self) -> PrimitivesPreset[PrimitivesSummary] | None:
        """Owner of these figures; None: there is none."""
        return presets().get(self.spec.preset)

    @cached_property
    def judgements(self) -> tuple[Judgement, ...]:
        """What became of the preset's conclusions."""
        asked = self.preset.conclusions if self.preset else ()
        found = (judge(each, self, doubt=self._unsteady) for each in asked)
        return tuple(evolve(each, labels=self.labels) for each in found if each)

    def _unsteady(self, evidence: Evidence) -> str:
        """Why nothing is decided by what a runtime showed that never got steady; "": it did."""
        said = f"{evidence.variant.get('runtime')} {evidence.figures}"
        names = [each for each in self.unsteady if each in said]
        return f"{', '.join(names)} never got steady" if names else ""


def summarise(store: PrimitivesStore) -> PrimitivesSummary:
    """All stored runs that count, pooled by cell."""
    spec = read(PrimitivesSpec, store.spec)
    runs = list(store.runs())
    counted = [run for run in runs if run.valid]
    groups = grouped(counted, lambda run: run.key.case)
    marks = {
        "SIMULATED": store.platform.kind == "simulated",
        "SCHED_OTHER": spec.policy == "other",
        "MEMORY_NOT_LOCKED": any(run.memory_locked is False for run in runs),
    }
    topology = topology_of(store.platform)
    lines = lines_of(counted, topology)
    return PrimitivesSummary(
        name=store.path.name,
        spec=spec,
        done=len(runs),
        labels=tuple(mark for mark, holds in marks.items() if holds),
        findings=(
            *(each for run in runs for each in run.problems),
            *contradictions(lines, topology),
        ),
        refused=cases(spec, topology)[1],
        cells=tuple(
            cell
            for case, group in sorted(groups.items())
            for cell in cells_of(case, group, topology)
        ),
        wholes=tuple(cell_of(c, own) for c, own in sorted(groups.items()) if c.placement == "both"),
        clock_cost_ps=max((run.clock_cost_ps for run in runs), default=0),
        sample_cost_ps=max((run.sample_cost_ps for run in runs), default=0),
        resolution_ns=max((run.resolution_ns for run in runs), default=0),
        lines=lines,
        unsteady=tuple(
            sorted({r.key.case.runtime for r in counted if r.warm_up and not r.warm_up.steady})
        ),
        # from the last run of each
        runtimes=tuple(
            sorted({run.key.case.runtime: run.runtime.words for run in runs if run.runtime}.items())
        ),
    )


def mean_of(times: Histogram) -> float:
    return times.sum_ns / max(times.total, 1)


def _total(counts: Iterable[int | None]) -> int | None:
    known = list(counts)
    return None if None in known else sum(filter(None, known))


def part_of(topology: Topology, run: PrimitiveRun, thread: ThreadRun) -> str:
    """What of a case a thread belongs to: the first half of ``both`` is ``cache``'s; a pair of a
    matrix to those that share as much. "": all are alike."""
    if run.key.case.placement == "both":
        return "cache" if thread.thread < len(run.threads) // 2 else "apart"
    return "" if thread.partner is None else topology.relation(thread.cpu, thread.partner)


def cells_of(
    case: PrimitiveCase, group: list[PrimitiveRun], topology: Topology
) -> list[PrimitiveCell]:
    if case.placement not in ("both", "each"):
        return [cell_of(case, group)]
    parts: dict[str, list[PrimitiveRun]] = {}
    for run in group:
        for part, own in grouped(run.threads, partial(part_of, topology, run)).items():
            parts.setdefault(part, []).append(evolve(run, threads=tuple(own)))
    return [cell_of(case, runs, part) for part, runs in sorted(parts.items(), reverse=True)]


def _contenders(cell: str, where: str, group: list[PrimitiveRun]) -> tuple[Contender, ...]:
    found = grouped((each for run in group for each in run.threads), attrgetter("thread"))
    return tuple(
        Contender(
            operation=cell,
            where=where,
            thread=number,
            cpu=same[0].cpu,
            times=pool([each.times for each in same]),
            after=tuple(sum(each.after[other] for each in same) for other in found),
            own=sum(each.after[number] for each in same),
            longest_row=max(each.longest_row for each in same),
        )
        for number, same in found.items()
        if all(each.after for each in same)
    )


def cell_of(case: PrimitiveCase, group: list[PrimitiveRun], part: str = "") -> PrimitiveCell:
    each = [pool([thread.times for thread in run.threads]) for run in group]
    threads = [thread for run in group for thread in run.threads]
    counts = [[thread.times.total for thread in run.threads] for run in group]
    contends = case.primitive.contends and max(map(len, counts)) > 1
    late = [sample for thread in threads for sample in thread.late_times]
    allocated = [each.allocated_bytes for each in threads if each.allocated_bytes is not None]
    return PrimitiveCell(
        case=case,
        part=part,
        footprint_bytes=held_bytes(case, max(map(len, counts))) if case.size else None,
        contenders=_contenders(case.operation, where(case, part), group) if contends else (),
        runs=len(group),
        batch=group[0].batch,
        resolution_ns=max(run.resolution_ns for run in group),
        times=pool(each),
        repeats=tuple(run.key.repeat for run in group),
        means_ns=tuple(map(mean_of, each)),
        thread_means_ns=tuple(
            tuple(mean_of(thread.times) for thread in run.threads) for run in group
        ),
        medians_ns=tuple(one.quantile(500_000) or 0 for one in each),
        p99s_ns=tuple(one.quantile(990_000) or 0 for one in each),
        maxima_ns=tuple(one.max_ns or 0 for one in each),
        stall_ns=max(thread.gaps.max_ns or 0 for thread in threads),
        looked=sum(thread.looked for thread in threads),
        tagged=sum(thread.preempted + thread.migrated + thread.waited for thread in threads),
        worst=max(late, key=lambda sample: sample.value_ns, default=None),
        # Jain, Chiu, Hawe: A quantitative measure of fairness, 1984
        fairness=min(sum(c) ** 2 / (len(c) * sum(n**2 for n in c)) for c in counts)
        if contends
        else None,
        most_share=max(max(each) / max(min(each), 1) for each in counts) if contends else None,
        allocated_bytes=sum(allocated) if allocated else None,
        faults=_total(n for each in threads for n in (each.minor_faults, each.major_faults)),
        first_faults=_total(each.first_faults for each in threads),
    )
