"""What a run says: which jobs count, and every figure of a task set, from its job table.

Meaning, formulas, weighting and worked examples (which are the tests): docs/reference/campaign.md.
Times are nanoseconds; ratios are plain numbers; what was not measured is None (NaN inside arrays).
"""

from __future__ import annotations

import attrs
import numpy as np
from attrs import frozen

from deadbeat.base.model import jobs as j
from deadbeat.base.model.jobs import JobTable
from deadbeat.tasksets.contention.others import taken_by_others, unfinished
from deadbeat.tasksets.executors.metrics import (
    Bools,
    Floats,
    Integers,
    JobColumns,
    job_columns,
    quantiles,
)
from deadbeat.tasksets.model.figures import SetFigures


def without_overlapped(table: JobTable) -> tuple[JobTable, int]:
    """The table with no job counted that a straggler of an earlier slot overlaps; how many.

    A straggler is a job that finishes after a later slot's start. Counted jobs of later slots do
    not count if they were released before it finished. Nothing is asked of those jobs themselves,
    so nothing is selected by its outcome. A job that started and never finished lasts until the
    end of the table.
    """
    if not len(table.slots):
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
    """A figure of one run and what the run alone says of its error. ``value``: None where no task
    has jobs on both sides. ``error``: standard error, by deleting one round at a time (jackknife:
    B. Efron and C. Stein, Annals of Statistics 9, 1981); None of fewer than two rounds. ``rounds``:
    rounds with a job that counts."""

    value: float | None = None
    error: float | None = None
    rounds: int = 0


Sums = tuple[Floats, Floats]


@frozen(kw_only=True, eq=False)
class RoundSums:
    """Spans of the counted, finished jobs by task and round. ``together``, ``alone``: their sums,
    ns, and their numbers, each tasks x rounds."""

    together: Sums
    alone: Sums

    @classmethod
    def of(cls, columns: JobColumns, table: JobTable) -> RoundSums:
        usable = columns.counted & columns.finished
        return cls(
            together=_sums(columns, table, usable & ~columns.solo),
            alone=_sums(columns, table, usable & columns.solo),
        )

    def at_least(self, columns: JobColumns, table: JobTable) -> RoundSums:
        """The sums over all jobs together that started, also in the warm-up, where those start that
        keep others from it: as long as each lasted, an unfinished one until the end of the table. A
        task without a job alone has its C, at the pace of the others."""
        last_ns = max(int(table.slots["end_ns"].max()), int(columns.finish_ns.max()))
        spans = np.where(columns.finished, columns.span_ns, last_ns - columns.start_ns)
        every = attrs.evolve(columns, span_ns=spans.astype(np.float64))
        (sums, counts), cost = self.alone, table.tasks["wcet_ns"].astype(np.float64)[:, None]
        lacking = counts.sum(axis=1, keepdims=True) == 0
        done, known = (_all_rounds(values).sum() for values in (sums, counts * cost))
        pace = done / known if known else 1.0
        return RoundSums(
            together=_sums(every, table, columns.started & ~columns.solo),
            alone=(np.where(lacking, cost * pace, sums), np.where(lacking, 1.0, counts)),
        )

    def slowdown(self) -> RunMean:
        """Mean over tasks of (mean span together / mean span alone), over all rounds.

        A task without a job on either side has no ratio and is left out. One with all solo slots
        in the deleted round is left out of that replicate with it: where tasks have a solo
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
    return table.slots["round"].astype(np.int64)[columns.slot]


def round_count(table: JobTable) -> int:
    return 1 + int(table.slots["round"].max(initial=0))


def _all_rounds(values: Floats) -> Floats:
    return np.asarray(values.sum(axis=1, keepdims=True))


def _all_but_one(values: Floats) -> Floats:
    return _all_rounds(values) - values


def _ratio_of_means(above_ns: Floats, above: Floats, below_ns: Floats, below: Floats) -> Floats:
    """Mean over the tasks of (above_ns / above) / (below_ns / below), column by column."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (above_ns / above) / (below_ns / below)
        known = np.isfinite(ratios) & (above > 0) & (below > 0)
        return np.asarray(np.where(known, ratios, 0.0).sum(axis=0) / known.sum(axis=0))


def _jackknife(value: float, replicates: Floats) -> RunMean:
    rounds = len(replicates)
    if not np.isfinite(value):
        return RunMean(rounds=rounds)
    if rounds < 2 or not np.isfinite(replicates).all():
        return RunMean(value=value, rounds=rounds)
    squares = ((replicates - replicates.mean()) ** 2).sum()
    error = float(np.sqrt((rounds - 1) / rounds * squares))
    return RunMean(value=value, error=error, rounds=rounds)


# -- the witness: pure computation beside the jobs


@frozen(kw_only=True, eq=False)
class Witness:
    """What the witnesses of a run say: a fixed computation timed beside each counted job.
    ``compute_ratio``: mean over tasks of (mean witness together / mean witness alone); None where
    there are none on either side. ``alone_ps``: median of the witnesses alone. ``pace``: per round,
    how slow computation was: the mean of its witnesses, each over the mean of its task and kind of
    slot; NaN without one. None: no witness."""

    compute_ratio: float | None = None
    alone_ps: float | None = None
    pace: Floats | None = None

    @classmethod
    def of(cls, table: JobTable, chosen: Bools | None = None) -> Witness:
        """Witness of a table; ``chosen``: of these tasks."""
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
    sums, counts = (np.bincount(group, each, minlength=groups) for each in (values, None))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums / counts)


def count_episodes(missed: Bools, task: Integers, slot: Integers) -> int:
    """Longest possible runs of consecutive misses of one task within one slot. ``missed``,
    ``task``, ``slot``: counted jobs in order of task and release."""
    if len(missed) == 0:
        return 0
    starts = missed.copy()
    related = (task[1:] == task[:-1]) & (slot[1:] == slot[:-1])
    starts[1:] &= ~(missed[:-1] & related)
    return int(starts.sum())


@frozen(eq=False)
class Responses:
    """Responses of the counted jobs of one side of a run; infinite: never finished.
    ``of_deadline``: response over deadline: above 1 is a miss. ``of_cost``: response over C: the
    deadline the job needs, as a multiple of C. ``clusters``: round of each job: jobs of one share
    their fate."""

    of_deadline: Floats
    of_cost: Floats
    clusters: Integers

    @classmethod
    def of(cls, columns: JobColumns, table: JobTable, chosen: Bools) -> Responses:
        deadline = table.tasks["deadline_ns"].astype(np.float64)[columns.task[chosen]]
        response = columns.response_ns[chosen]
        return cls(
            np.where(np.isnan(response), np.inf, response / deadline),
            np.where(np.isnan(response), np.inf, columns.response_ratio[chosen]),
            round_of(columns, table)[chosen],
        )


@frozen(kw_only=True, eq=False)
class RunFigures:
    """Figures of one run, and the job samples that a point pools.

    Attributes:
        of_set: The set's own figures, without its plan.
        delay_ratio, slowdown, response_ratio: For counted, finished jobs of together slots
            (slowdown: only jobs of a task with a solo reference).
        solo_cost_ratio: Per task, median solo span / C; NaN without a solo job.
        together, alone: Responses of the counted jobs.
    """

    of_set: SetFigures
    delay_ratio: Floats
    slowdown: Floats
    response_ratio: Floats
    solo_cost_ratio: Floats
    together: Responses
    alone: Responses


def run_figures(table: JobTable, columns: JobColumns, *, chosen: Bools | None = None) -> RunFigures:
    """Everything that one run says without its plan; ``columns`` are those of ``table``.
    ``chosen``: the tasks that the figures are for, ``columns`` being theirs; None: all."""
    together, alone = columns.counted & ~columns.solo, columns.counted & columns.solo
    done = together & columns.finished
    delay, slow = columns.delay_ratio[done], columns.slowdown[done]
    slow = slow[~np.isnan(slow)]
    response = columns.response_ratio[done]
    missed = columns.missed[together]
    solo_cost_ratio = columns.solo_median_ns / table.tasks["wcet_ns"]
    own_cost_ratio = solo_cost_ratio if chosen is None else solo_cost_ratio[chosen]
    solo_known = solo_cost_ratio[np.isfinite(solo_cost_ratio)]
    wake_up = (columns.start_ns - columns.release_ns)[together & columns.started]
    delay_p50, delay_p95, delay_max = quantiles(delay, 0.5, 0.95, 1.0)
    wake_up_p50, wake_up_max = quantiles(wake_up, 0.5, 1.0)
    sums, witness = RoundSums.of(columns, table), Witness.of(table, chosen)
    cost_ns = table.tasks["wcet_ns"].astype(np.float64)
    slowdown, calm = sums.slowdown(), witness.calm_rounds()
    everyone = columns if chosen is None else job_columns(table)
    taken = taken_by_others(table, everyone)
    late = unfinished(table, everyone, taken)
    if chosen is not None:
        taken, late = taken[chosen[everyone.task]], late[chosen[everyone.task]]
    usable = columns.counted & columns.finished
    others = taken[usable]
    known = len(others) > 0 and bool(np.isfinite(others).all())
    left = RoundSums.of(attrs.evolve(columns, span_ns=columns.span_ns - taken), table)
    figures = SetFigures(
        tasks=len(table.tasks),
        jobs=int(done.sum()),
        released=int(together.sum()),
        delay_ratio_mean=mean_of(delay),
        delay_ratio_p50=delay_p50,
        delay_ratio_p95=delay_p95,
        delay_ratio_max=delay_max,
        delay_ratio_error=sums.mean_over(cost_ns).error,
        slowdown_mean=slowdown.value,
        slowdown_error=slowdown.error,
        slowdown_undisturbed=left.slowdown().value if known else None,
        others_share=float(others.sum() / columns.span_ns[usable].sum()) if known else None,
        slowdown_p50=quantiles(slow, 0.5)[0],
        slowdown_calm=None if calm is None else sums.slowdown_of(calm),
        slowdown_rough=None if calm is None else sums.slowdown_of(~calm),
        witness_ps=witness.alone_ps,
        compute_ratio=witness.compute_ratio,
        rounds=slowdown.rounds,
        response_ratio_mean=mean_of(response),
        deadline_misses=int(missed.sum()),
        deadline_miss_ratio=mean_of(missed.astype(np.float64)),
        alone_released=int(alone.sum()),
        alone_misses=int(columns.missed[alone].sum()),
        miss_episodes=count_episodes(missed, columns.task[together], columns.slot[together]),
        overruns=int(columns.overrun[together].sum()),
        skipped=int(columns.skipped[together].sum()),
        unfinished=int((together & columns.started & ~columns.finished).sum()),
        unfinished_share=mean_of(late[together].astype(np.float64)),
        slowdown_bound=slowdown.value,
        slowdown_low=_at_end(table, j.PROBE_LOW, chosen),
        slowdown_high=_at_end(table, j.PROBE_HIGH, chosen),
        delay_ratio_bound=mean_of(delay),
        starved_tasks=len(np.setdiff1d(columns.task[together], columns.task[done])),
        solo_jobs=int((alone & columns.finished).sum()),
        tasks_without_solo=int(np.isnan(own_cost_ratio).sum()),
        solo_cost_ratio_p50=float(np.median(solo_known)) if len(solo_known) else None,
        wake_up_p50_ns=wake_up_p50,
        wake_up_max_ns=wake_up_max,
    )
    if figures.censored:
        least = sums.at_least(columns, table)
        figures = attrs.evolve(
            figures,
            slowdown_bound=least.slowdown().value,
            delay_ratio_bound=least.mean_over(cost_ns).value,
        )
    return RunFigures(
        of_set=figures,
        delay_ratio=delay,
        slowdown=slow,
        response_ratio=response,
        solo_cost_ratio=solo_cost_ratio,
        together=Responses.of(columns, table, together),
        alone=Responses.of(columns, table, alone),
    )


def _at_end(table: JobTable, kind: int, chosen: Bools | None) -> float | None:
    """Slowdown at an end of a replay's range, in which jobs alone take C."""
    rows = table.probes[table.probes["kind"] == kind]
    if chosen is not None:
        rows = rows[chosen[rows["core_b"]]]
    ratios = rows["value_ps"] / 1000 / table.tasks["wcet_ns"][rows["core_b"]]
    means = _group_means(rows["core_b"].astype(np.int64), ratios, len(table.tasks))
    return mean_of(means[np.isfinite(means)])


def mean_of(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None
