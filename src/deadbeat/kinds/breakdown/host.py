"""What the machine itself adds to a search: its scheduler's overheads, and the pace of its host.

Both are measured where nothing is shared: on the jobs of the sets of one core, and of those without
contention, while all tasks of a set run. A prediction takes the pace from the runs of other sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.executors.metrics import Bools, Floats, JobColumns, job_columns
from deadbeat.kinds.breakdown.search import SearchResults
from deadbeat.kinds.breakdown.spec import set_of, shares
from deadbeat.model import jobs as j
from deadbeat.model.results import RunKey
from deadbeat.prices.replay import Overheads


@frozen(kw_only=True)
class Host:
    """The machine during a search.

    Attributes:
        overheads: Medians over all jobs of sets that share nothing.
        paces: Such a set -> of each of its runs the pace of every slot: how many times as long as
            overhead and C the jobs of its most urgent tasks had their core.
    """

    overheads: Overheads
    paces: Mapping[RunKey, Sequence[Floats]]


def host_of(results: SearchResults) -> Host:
    """By the runs that are stored."""
    woken, waited, sums = [], [], []
    for run in sorted(results.stored):
        if not shares(run):
            table = results.store.table(run)
            columns, tasks = job_columns(table), table.tasks
            late, after = _late(columns, tasks)
            together = columns.started & ~columns.solo
            woken.append(late[together & ~after])
            waited.append(late[together & after])
            used = most_urgent(tasks)[columns.task] & columns.finished & ~columns.solo
            cost = tasks["wcet_ns"][columns.task]
            parts = [(late + columns.span_ns)[used], cost[used], used[used]]
            slots, place = np.unique(columns.slot[used], return_inverse=True)
            sums.append((set_of(run), [np.bincount(place, each, len(slots)) for each in parts]))
    wake, switch = (
        float(np.median(np.concatenate(found))) if any(map(len, found)) else 0.0
        for found in (woken, waited)
    )
    paces: dict[RunKey, list[Floats]] = {}
    for key, (taken, cost, jobs) in sums:
        if len(taken):
            paces.setdefault(key, []).append(taken / (cost + jobs * wake))
    return Host(overheads=Overheads(wake_up_ns=wake, switch_ns=switch), paces=paces)


def most_urgent(tasks: NDArray[Any]) -> Bools:
    """Tasks that no other one of their core preempts."""
    most = [tasks["priority"][tasks["core"] == core].max() for core in tasks["core"]]
    return np.asarray(tasks["priority"] == most)


def _late(columns: JobColumns, tasks: NDArray[Any]) -> tuple[Floats, Bools]:
    """How long each job that started did so after its release, or after the end of the job before
    it on its core where that was later; which ones those are."""
    core = tasks["core"][columns.task]
    late, after = np.full(len(core), np.nan), np.zeros(len(core), np.bool_)
    for each in np.unique(core):
        own = np.flatnonzero((core == each) & columns.started)
        ends = np.sort(columns.finish_ns[(core == each) & columns.finished])
        places = np.searchsorted(ends, columns.start_ns[own], "right")
        before = np.concatenate(([j.NEVER], ends))[places]
        after[own] = before > columns.release_ns[own]
        late[own] = columns.start_ns[own] - np.maximum(before, columns.release_ns[own])
    return late, after
