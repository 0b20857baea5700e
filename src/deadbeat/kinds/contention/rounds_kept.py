"""What the rounds of a run say: which jobs count, how slow the set is, and how well that is known.

Formulas and worked examples: docs/reference/metrics.md.
"""

from __future__ import annotations

import attrs
import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.executors.metrics import Bools, Floats, Integers, JobColumns
from deadbeat.executors.tables import SLOT_MAX_NS
from deadbeat.model import jobs as j
from deadbeat.model.jobs import JobTable
from deadbeat.store.jobfile import LAST_WITH_WINDOWS


def without_overlapped(table: JobTable) -> tuple[JobTable, int]:
    """The table with no job counted that a straggler of an earlier slot overlaps; how many.

    A straggler is a job that finishes after a later slot's start. Counted jobs of later slots do
    not count if they were released before it finished. Nothing is asked of those jobs themselves,
    so nothing is selected by its outcome. A job that started and never finished lasts until the
    end of the table. Before version 3 a slot waited for the one before: nothing is left out.
    """
    if _of_windows(table) or not len(table.slots):
        return table, 0
    jobs, slots = table.jobs, table.slots
    flags = jobs["flags"]
    started = flags & j.JOB_STARTED != 0
    finished = flags & j.JOB_FINISHED != 0
    last_ns = max(int(slots["end_ns"].max()), int(jobs["finish_ns"].max(initial=0)))
    until = np.where(finished, jobs["finish_ns"], last_ns)[started]
    reach = np.full(len(slots), j.NEVER)
    np.maximum.at(reach, jobs["slot"][started], until)
    before = np.concatenate(([j.NEVER], np.maximum.accumulate(reach)[:-1]))
    overlapped = (flags & j.JOB_COUNTED != 0) & (jobs["release_ns"] < before[jobs["slot"]])
    if not overlapped.any():
        return table, 0
    kept = jobs.copy()
    kept["flags"][overlapped] &= ~np.uint32(j.JOB_COUNTED)
    return attrs.evolve(table, jobs=kept), int(overlapped.sum())


@frozen(kw_only=True)
class RunMean:
    """A figure of one run and what the run alone says of its error.

    Attributes:
        value: None where no task has jobs on both sides.
        error: Standard error, by deleting one round at a time (jackknife: B. Efron and C. Stein,
            Annals of Statistics 9, 1981); None of fewer than two rounds.
        rounds: Rounds with a job that counts.
    """

    value: float | None = None
    error: float | None = None
    rounds: int = 0


Sums = tuple[Floats, Floats]


@frozen(kw_only=True, eq=False)
class RoundSums:
    """Spans of the counted, finished jobs by task and round.

    Attributes:
        together, alone: Their sums, ns, and their numbers, each tasks x rounds.
    """

    together: Sums
    alone: Sums

    @classmethod
    def of(cls, columns: JobColumns, table: JobTable) -> RoundSums:
        usable = columns.counted & columns.finished
        return cls(
            together=_sums(columns, table, usable & ~columns.solo),
            alone=_sums(columns, table, usable & columns.solo),
        )

    def with_unfinished(self, columns: JobColumns, table: JobTable) -> RoundSums:
        """With jobs together that started and never finished, each as long as it lasted at least:
        until the end of the table."""
        open_ = columns.counted & ~columns.solo & columns.started & ~columns.finished
        if not open_.any():
            return self
        last_ns = max(int(table.slots["end_ns"].max()), int(columns.finish_ns.max()))
        spans = attrs.evolve(columns, span_ns=(last_ns - columns.start_ns).astype(np.float64))
        (sums, counts), (more, others) = self.together, _sums(spans, table, open_)
        return attrs.evolve(self, together=(sums + more, counts + others))

    def slowdown(self) -> RunMean:
        """Mean over tasks of (mean span together / mean span alone), over all rounds.

        A task without a job on either side has no ratio and is left out. One whose only solo slots
        lie in the deleted round is left out of that replicate with it: where tasks have a solo
        slot in few rounds only, the error holds what tasks differ by.
        """
        used = (self.together[1] + self.alone[1]).any(axis=0)
        whole, replicates = (
            _ratio_of_means(*map(part, (*self.together, *self.alone)))
            for part in (_all_rounds, _all_but_one)
        )
        return _jackknife(float(whole[0]), replicates[used])

    def slowdown_of(self, chosen: Bools) -> float | None:
        """The slowdown in the ``chosen`` rounds."""
        sums = (_all_rounds(values[:, chosen]) for values in (*self.together, *self.alone))
        (found,) = _ratio_of_means(*sums)
        return float(found) if np.isfinite(found) else None

    def mean_over(self, cost_ns: Floats) -> RunMean:
        """Mean over all jobs together of span / cost; ``cost_ns`` of each task."""
        sums, counts = self.together
        above = (sums / cost_ns[:, None]).sum(axis=0, keepdims=True)
        below = counts.sum(axis=0, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            whole, replicates = (part(above) / part(below) for part in (_all_rounds, _all_but_one))
        return _jackknife(float(whole[0, 0]), replicates[0][below[0] > 0])


def _sums(columns: JobColumns, table: JobTable, chosen: Bools) -> Sums:
    """Sums and numbers of the spans of the chosen jobs."""
    rounds = round_count(table)
    place = columns.task[chosen] * rounds + round_of(columns, table)[chosen]
    shape, size = (len(table.tasks), rounds), len(table.tasks) * rounds
    spans = columns.span_ns[chosen]
    sums, counts = (
        np.bincount(place, weights=weights, minlength=size).reshape(shape).astype(np.float64)
        for weights in (spans, np.ones_like(spans))
    )
    return sums, counts


def round_of(columns: JobColumns, table: JobTable) -> Integers:
    """Round of every job."""
    return table.slots["round"].astype(np.int64)[columns.slot]


def clusters_of(columns: JobColumns, table: JobTable) -> Integers:
    """Which jobs share their fate: a number for each, that of its round.

    A round of version 3 has slots of 5 to 20 ms. The windows before were longer than a burst of the
    host: they are cut into pieces of 20 ms.
    """
    rounds = round_of(columns, table)
    if not _of_windows(table) or not len(rounds):
        return rounds
    since = columns.release_ns - table.slots["start_ns"][columns.slot]
    place = np.stack((rounds, columns.slot, since // SLOT_MAX_NS))
    found: Integers = np.unique(place, axis=1, return_inverse=True)[1].reshape(-1)
    return found


def _of_windows(table: JobTable) -> bool:
    """Whether the table was read from a file of version 1 or 2; one just made has version 0."""
    return 0 < int(table.header["version"]) <= LAST_WITH_WINDOWS


def round_count(table: JobTable) -> int:
    """Rounds of a run, from 1 on."""
    return 1 + int(table.slots["round"].max(initial=0))


def _all_rounds(values: Floats) -> Floats:
    found: Floats = values.sum(axis=1, keepdims=True)
    return found


def _all_but_one(values: Floats) -> Floats:
    return _all_rounds(values) - values


def _ratio_of_means(above_ns: Floats, above: Floats, below_ns: Floats, below: Floats) -> Floats:
    """Mean over the tasks of (above_ns / above) / (below_ns / below), column by column."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (above_ns / above) / (below_ns / below)
    known = np.isfinite(ratios) & (above > 0) & (below > 0)
    number = known.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean: Floats = np.where(known, ratios, 0.0).sum(axis=0) / number
    return mean


def _jackknife(value: float, replicates: Floats) -> RunMean:
    rounds = len(replicates)
    if not np.isfinite(value):
        return RunMean(rounds=rounds)
    if rounds < 2 or not np.isfinite(replicates).all():
        return RunMean(value=value, rounds=rounds)
    squares = ((replicates - replicates.mean()) ** 2).sum()
    return RunMean(
        value=value, error=float(np.sqrt((rounds - 1) / rounds * squares)), rounds=rounds
    )


# -- the witness: pure computation beside the jobs


@frozen(kw_only=True, eq=False)
class Witness:
    """What the witnesses of a run say: a fixed computation timed beside each counted job.

    Attributes:
        compute_ratio: Mean over tasks of (mean witness together / mean witness alone); None
            where there are none on either side.
        alone_ps: Median of the witnesses alone.
        pace: Per round, how slow computation was: the mean of its witnesses, each over the mean
            of its task and kind of slot; NaN without one. None: no witness.
    """

    compute_ratio: float | None = None
    alone_ps: float | None = None
    pace: Floats | None = None

    @classmethod
    def of(cls, table: JobTable, chosen: Bools | None = None) -> Witness:
        """Those of a table; ``chosen``: of these tasks."""
        if _of_windows(table):
            return cls()  # they had another length and were compared with the calibration
        probes = table.probes[
            (table.probes["kind"] == j.PROBE_WITNESS)
            & (table.probes["slot"] < len(table.slots))
            & (table.probes["core_b"] < len(table.tasks))
            & (table.probes["value_ps"] > 0)
        ]
        if chosen is not None:
            probes = probes[chosen[probes["core_b"]]]
        if not len(probes):
            return cls()
        slots = table.slots[probes["slot"]]
        group = 2 * probes["core_b"].astype(np.int64) + (slots["kind"] == j.SLOT_SOLO)
        values = probes["value_ps"].astype(np.float64)
        alone = values[group % 2 == 1]
        means = _group_means(group, values, 2 * len(table.tasks))
        ratios = means[0::2] / means[1::2]
        known = ratios[np.isfinite(ratios)]
        rounds = slots["round"].astype(np.int64)
        return cls(
            compute_ratio=float(known.mean()) if len(known) else None,
            alone_ps=float(np.median(alone)) if len(alone) else None,
            pace=_group_means(rounds, values / means[group], round_count(table)),
        )

    def calm_rounds(self) -> Bools | None:
        """The half of the rounds in which computation was faster; None without a witness.

        By the witness and not by the spans: to choose rounds by the spans alone would choose small
        denominators, and by those together, little contention.
        """
        if self.pace is None or not np.isfinite(self.pace).all() or len(self.pace) < 2:
            return None
        calm = np.zeros(len(self.pace), np.bool_)
        calm[np.argsort(self.pace, kind="stable")[: len(calm) // 2]] = True
        return calm


def _group_means(group: Integers, values: Floats, groups: int) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        means: NDArray[np.float64] = np.bincount(group, weights=values, minlength=groups) / (
            np.bincount(group, minlength=groups)
        )
    return means
