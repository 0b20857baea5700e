"""What a run says: every figure of a task set, from its job table.

Meaning, formulas and weighting: docs/reference/metrics.md; the worked examples there are the tests.
Times are nanoseconds; ratios are plain numbers; what was not measured is None (NaN inside arrays).
"""

from __future__ import annotations

import numpy as np
from attrs import frozen

from deadbeat.executors.metrics import Bools, Floats, Integers, JobColumns, quantiles
from deadbeat.kinds.contention.rounds_kept import RoundSums, Witness, clusters_of
from deadbeat.model.figures import SetFigures
from deadbeat.model.jobs import JobTable


def count_episodes(missed: Bools, task: Integers, slot: Integers) -> int:
    """Longest possible runs of consecutive misses of one task within one slot.

    Args:
        missed, task, slot: Counted jobs in order of task and release.
    """
    if len(missed) == 0:
        return 0
    starts = missed.copy()
    related = (task[1:] == task[:-1]) & (slot[1:] == slot[:-1])
    starts[1:] &= ~(missed[:-1] & related)
    return int(starts.sum())


@frozen(eq=False)
class Responses:
    """Responses of the counted jobs of one side of a run; infinite: never finished.

    Attributes:
        of_deadline: Response over deadline: above 1 is a miss.
        of_cost: Response over C: the deadline the job needs, as a multiple of C.
        clusters: Round of each job: jobs of one share their fate.
    """

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
            clusters_of(columns, table)[chosen],
        )


@frozen(kw_only=True, eq=False)
class RunFigures:
    """Figures of one run, and the job samples that a point pools.

    Attributes:
        of_set: The set's own figures, without its plan.
        delay_ratio, slowdown, response_ratio: Of the counted, finished jobs of together slots
            (slowdown: of those whose task has a solo reference).
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

    Args:
        chosen: The tasks whose figures these are, ``columns`` being theirs; None: all.
    """
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
    slowdown, calm = sums.slowdown(), witness.calm_rounds()
    period_ns = table.tasks["period_ns"].astype(np.float64)[columns.task[together]]
    unfinished = ~(columns.response_ns[together] <= period_ns)
    figures = SetFigures(
        tasks=len(table.tasks),
        jobs=int(done.sum()),
        released=int(together.sum()),
        delay_ratio_mean=mean_of(delay),
        delay_ratio_p50=delay_p50,
        delay_ratio_p95=delay_p95,
        delay_ratio_max=delay_max,
        delay_ratio_error=sums.mean_over(table.tasks["wcet_ns"].astype(np.float64)).error,
        slowdown_mean=slowdown.value,
        slowdown_error=slowdown.error,
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
        unfinished_share=mean_of(unfinished.astype(np.float64)),
        slowdown_bound=sums.with_unfinished(columns, table).slowdown().value,
        starved_tasks=len(np.setdiff1d(columns.task[together], columns.task[done])),
        solo_jobs=int((alone & columns.finished).sum()),
        tasks_without_solo=int(np.isnan(own_cost_ratio).sum()),
        solo_cost_ratio_p50=float(np.median(solo_known)) if len(solo_known) else None,
        wake_up_p50_ns=wake_up_p50,
        wake_up_max_ns=wake_up_max,
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


def mean_of(values: Floats) -> float | None:
    """None of nothing."""
    return float(values.mean()) if len(values) else None
