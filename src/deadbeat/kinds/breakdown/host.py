"""What the machine itself adds to a search: its scheduler's overheads, and the pace of its host.

Both are measured where nothing is shared: on the jobs of the sets of one core, and of those without
contention, while all tasks of a set run. A prediction takes the pace from the runs of other sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import frozen

from deadbeat.executors.metrics import Bools, Floats, Integers, JobColumns, job_columns
from deadbeat.kinds.breakdown.search import SearchResults
from deadbeat.kinds.breakdown.spec import keys, set_of, shares
from deadbeat.model import jobs as j
from deadbeat.model.jobs import JobTable
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

    def plain(self) -> dict[str, float | int]:
        """What is listed of it; the pace at the median, and at the slowest of 20 slots."""
        runs = [run for each in self.paces.values() for run in each]
        p50, p95 = np.quantile(np.concatenate(runs), [0.5, 0.95]) if runs else (1.0, 1.0)
        return {
            "wake_up_ns": self.overheads.wake_up_ns,
            "switch_ns": self.overheads.switch_ns,
            "pace_p50": float(p50),
            "pace_p95": float(p95),
            "runs": len(runs),
        }


def host_of(results: SearchResults) -> Host:
    """By the runs that are stored."""
    known = set(keys(results.spec))
    runs = sorted(run for run in results.stored if set_of(run) in known and not shares(run))
    parts = [(set_of(run), _Part.of(results.store.table(run))) for run in runs]
    wake, switch = (
        float(np.median(np.concatenate(found))) if any(map(len, found)) else 0.0
        for found in ([part.woken for _, part in parts], [part.waited for _, part in parts])
    )
    paces: dict[RunKey, list[Floats]] = {}
    for key, part in parts:
        if part.sums.size:
            paces.setdefault(key, []).append(part.pace(wake))
    return Host(overheads=Overheads(wake_up_ns=wake, switch_ns=switch), paces=paces)


@frozen(kw_only=True, eq=False)
class _Part:
    """What one run says, ns.

    Attributes:
        woken: From release to start, of jobs that found nothing as urgent; ``waited``: of others
            from the end of the job before.
        sums: Of each slot the time that its most urgent jobs had the core, their C, their number.
    """

    woken: Floats
    waited: Floats
    sums: Floats

    @classmethod
    def of(cls, table: JobTable) -> _Part:
        columns, tasks = job_columns(table), table.tasks
        late, waited = _late(columns, tasks["core"][columns.task])
        most = [tasks["priority"][tasks["core"] == core].max() for core in tasks["core"]]
        used = (tasks["priority"] == most)[columns.task] & columns.finished & ~columns.solo
        slots, cost = columns.slot[used], tasks["wcet_ns"][columns.task][used]
        taken = (late + columns.span_ns)[used]
        sums = [np.bincount(slots, each) for each in (taken, cost, cost > 0)]
        together = columns.started & ~columns.solo
        return cls(
            woken=late[together & ~waited],
            waited=late[together & waited],
            sums=np.array(sums, np.float64)[:, np.unique(slots)],
        )

    def pace(self, wake_up_ns: float) -> Floats:
        taken, cost, jobs = self.sums
        return np.asarray(taken / (cost + jobs * wake_up_ns))


def _late(columns: JobColumns, core: Integers) -> tuple[Floats, Bools]:
    """How long each job that started did so after its release, or after the end of the job before
    it on its core where that was later; which ones those are."""
    late, waited = np.full(len(core), np.nan), np.zeros(len(core), np.bool_)
    for each in np.unique(core):
        own = np.flatnonzero((core == each) & columns.started)
        ends = np.sort(columns.finish_ns[(core == each) & columns.finished])
        last = np.concatenate(([j.NEVER], ends))
        before = last[np.searchsorted(ends, columns.start_ns[own], "right")]
        waited[own] = before > columns.release_ns[own]
        late[own] = columns.start_ns[own] - np.maximum(before, columns.release_ns[own])
    return late, waited
