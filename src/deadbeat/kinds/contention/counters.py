"""Perf events of a run's tasks as figures of the set: the rate of each event per job.

A value is the total of a task in a slot: all its jobs with warm-up, and the way into and out of
sleep between them (docs/explanation/how-it-measures.md). It is divided by the jobs that started in
that slot; what was not counted is None and never zero.
"""

from __future__ import annotations

import os
from collections import Counter

import numpy as np
from attrs import field, frozen

from deadbeat.executors.metrics import Bools
from deadbeat.model import jobs as j
from deadbeat.model.figures import COUNTER_COLUMNS
from deadbeat.model.jobs import JobTable
from deadbeat.model.traces import COUNTER_EVENTS

COUNTED, UNSUPPORTED, REFUSED = "counted", "not supported here", "refused"
FAILED, PARTLY = "failed", "failed in part"

_STATE = {
    j.COUNTER_COUNTED: COUNTED,
    j.COUNTER_SCALED: COUNTED,
    j.COUNTER_UNSUPPORTED: UNSUPPORTED,
    j.COUNTER_REFUSED: f"{REFUSED}: kernel.perf_event_paranoid or a container's seccomp filter",
}


def counter_figures(table: JobTable, *, tasks: Bools | None = None) -> dict[str, float | None]:
    """Mean count of each event per started job, over together slots with a counted job.

    Args:
        tasks: The tasks that the figures are about; None: all.
    """
    figures: dict[str, float | None] = dict.fromkeys(COUNTER_COLUMNS)
    rows = table.counters
    if not len(rows):
        return figures
    jobs = _started_jobs(table, tasks)
    own = jobs[rows["task"], rows["slot"]]
    known = (rows["status"] == j.COUNTER_COUNTED) | (rows["status"] == j.COUNTER_SCALED)
    failed = rows["status"] == j.COUNTER_FAILED
    for event, column in enumerate(COUNTER_COLUMNS):
        wanted = (rows["event"] == event) & (own > 0)
        chosen = known & wanted
        # Those that could still be opened are no sample of the tasks: no figure rather than theirs.
        if chosen.any() and not (failed & wanted).any():
            figures[column] = float(rows["value"][chosen].sum() / own[chosen].sum())
    return figures


def _started_jobs(table: JobTable, tasks: Bools | None) -> np.ndarray[tuple[int, int], np.dtype]:
    """Started jobs by task and slot; 0 where the slot or the task is not looked at."""
    count = np.zeros((len(table.tasks), max(1, len(table.slots))), np.int64)
    flags = table.jobs["flags"]
    started = flags & j.JOB_STARTED != 0
    np.add.at(count, (table.jobs["task"][started], table.jobs["slot"][started]), 1)
    counted = (flags & j.JOB_COUNTED != 0) & (flags & j.JOB_SOLO == 0)
    # A slot whose jobs are all left out has no counted job, and its events are of a straggler too.
    looked_at = np.isin(np.arange(count.shape[1]), np.unique(table.jobs["slot"][counted]))
    count[:, ~looked_at] = 0
    if tasks is not None:
        count[~tasks] = 0
    return count


@frozen(eq=False)
class EventStates:
    """What became of each event over the runs of a campaign."""

    seen: dict[int, Counter[str]] = field(factory=dict)

    def add(self, table: JobTable) -> None:
        """The counters of one run."""
        rows = table.counters
        error = np.where(rows["status"] == j.COUNTER_FAILED, rows["value"], 0)
        kinds = np.unique(np.stack([rows["event"], rows["status"], error], axis=1), axis=0)
        for event, status, number in kinds.tolist():
            state = f"{FAILED}: {os.strerror(number)}" if number else _STATE[status]
            self.seen.setdefault(event, Counter())[state] += 1

    def states(self) -> dict[str, str]:
        """Event -> its state; empty: no run asked.

        ``counted`` where any run has it and in none it failed, else why not.
        """
        return {COUNTER_EVENTS[event]: _state(self.seen[event]) for event in sorted(self.seen)}


def _state(states: Counter[str]) -> str:
    """The commonest reason, if any; a failure is never hidden by what was counted elsewhere."""
    if COUNTED not in states:
        return min(states, key=lambda s: (-states[s], s))
    failures = {s: times for s, times in states.items() if s.startswith(FAILED)}
    if not failures:
        return COUNTED
    worst = min(failures, key=lambda s: (-failures[s], s))
    return PARTLY + worst.removeprefix(FAILED)
