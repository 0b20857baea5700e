"""Chains of tasks: bounds of data age and reaction, and both measured in a schedule.

Job k of a task arrives at a(k) = O + k T, is released within its jitter J, reads when it starts,
writes when it ends, at a(k) + R at the latest. *Age* is from the arrival of the first task's job to
the end of the last task's job that uses its data; *reaction* from that arrival to the first such
end, with its data or newer. An event may come just after a sample: *from event* is its reaction,
one period of the first task longer, and equally the age of data until the next output (Günzel et
al., "On the equivalence of maximum reaction time and maximum data age", ECRTS 2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import lcm

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

#: Jobs of a hyper-period up to which bounds at offsets are looked for.
_JOBS_MAX = 20_000


@frozen(kw_only=True)
class Stage:
    """A task of a chain; times in one unit.

    Attributes:
        period: Distance of arrivals, exactly: of what may come later no age has a bound.
        response: From an arrival to the end, at most; of a triggered task from the arrival of the
            first of its run. With logical execution time: the deadline.
        offset: Of the first arrival.
        triggered: The end of the stage before releases it; period and offset are that one's.
        urgent: No job of the next sampled stage starts between release and end of one of its own:
            on one processor, by fixed priority, never suspended.
    """

    period: int
    response: int
    jitter: int = 0
    offset: int = 0
    triggered: bool = False
    urgent: bool = False


@frozen(kw_only=True)
class ChainBounds:
    """Most that age, reaction and reaction from an event can be, and who showed it."""

    age: int
    reaction: int
    from_event: int
    by: str


def chain_bounds(stages: Sequence[Stage]) -> ChainBounds:
    """Bounds at any offsets.

    A job of the next stage that starts at s does not read job k + 1 of this one, so that ends after
    s: a(k) > s - T - R (Davare et al., DAC 2007). Where this one is urgent, job k + 1 is not even
    released at s: a(k) > s - T - J (Dürr et al., CASES 2019). Sums of these are the age; forward
    they have the period of the next stage instead of its own. A triggered run is one stage: from
    the arrival of its first task to the end of its last.
    """
    runs = _runs(stages)
    waits = sum(map(_wait, runs[:-1])) + runs[-1].response
    periods = [run.period for run in runs]
    gain = any(run.urgent and run.jitter < run.response for run in runs[:-1])
    return ChainBounds(
        age=sum(periods[:-1]) + waits,
        reaction=sum(periods[1:]) + waits,
        from_event=sum(periods) + waits,
        by="Dürr 2019" if gain else "Davare 2007" if len(runs) > 1 else "response time",
    )


def bounds_at_offsets(stages: Sequence[Stage]) -> ChainBounds | None:
    """Bounds where jobs arrive at these offsets, by one clock; None: too many jobs.

    Forward, the first job that arrives R (urgent: J) after an arrival starts when the data are
    there; backward, so does the last job that arrived that long before (Günzel et al., "Timing
    analysis of cause-effect chains with heterogeneous communication mechanisms", RTNS 2023).
    """
    runs = _runs(stages)
    cycle = lcm(*(run.period for run in runs))
    first, last = runs[0], runs[-1]
    if cycle // first.period + cycle // last.period > _JOBS_MAX:
        return None
    reaction = age = 0
    for start in range(first.offset, first.offset + cycle, first.period):
        at = start
        for run, reader in pairwise(runs):
            at += _wait(run)
            at += (reader.offset - at) % reader.period
        reaction = max(reaction, at + last.response - start)
    for end in range(last.offset, last.offset + cycle, last.period):
        at = end
        for run in reversed(runs[:-1]):
            at -= _wait(run)
            at -= (at - run.offset) % run.period
        age = max(age, end + last.response - at)
    event = reaction + first.period
    return ChainBounds(age=age, reaction=reaction, from_event=event, by="Günzel 2023")


def _wait(run: Stage) -> int:
    """From an arrival until what starts reads this job or a newer one."""
    return run.jitter if run.urgent else run.response


def _runs(stages: Sequence[Stage]) -> list[Stage]:
    """Stages that sample, each with those that it triggers."""
    runs: list[Stage] = []
    for stage in stages:
        if stage.triggered and runs:
            urgent = runs[-1].urgent and stage.urgent
            runs[-1] = evolve(runs[-1], response=stage.response, urgent=urgent)
        else:
            runs.append(stage)
    return runs


@frozen(kw_only=True)
class ChainTimes:
    """Ages and reactions of a chain in one schedule, of all jobs that have one."""

    ages: NDArray[np.int64]
    reactions: NDArray[np.int64]
    from_events: NDArray[np.int64]


def chain_times(tasks: Sequence[int], jobs: NDArray[np.int64]) -> ChainTimes:
    """What a schedule does: ``jobs`` are rows of JOB_FIELDS. A job reads, when it starts, what
    ended by then. The time until all tasks of the chain have come once does not count."""
    own = [jobs[(jobs[:, 0] == task) & (jobs[:, 3] >= 0) & (jobs[:, 4] >= 0)] for task in tasks]
    own = [rows[np.argsort(rows[:, 1], kind="stable")] for rows in own]
    first, last = own[0], own[-1]
    used = np.arange(len(last))
    for writer, reader in zip(own[-2::-1], own[:0:-1], strict=True):
        newest = np.searchsorted(writer[:, 4], reader[:, 3], side="right") - 1
        used = np.append(newest, -1)[used]  # -1: nothing yet
    ends, data = last[used >= 0, 4], used[used >= 0]
    ages = ends - first[data, 2]
    begin = max((rows[0, 2] for rows in own if len(rows)), default=0)
    counted = np.flatnonzero(first[:, 2] >= begin)
    outputs = np.searchsorted(data, counted, side="left")
    counted, outputs = counted[outputs < len(data)], outputs[outputs < len(data)]
    before = counted > 0
    return ChainTimes(
        ages=ages,
        reactions=ends[outputs] - first[counted, 2],
        from_events=ends[outputs[before]] - first[counted[before] - 1, 2],
    )
