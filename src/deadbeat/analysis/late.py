"""The worst jobs of a campaign and what each is put down to."""

from __future__ import annotations

import heapq
from typing import Any

import attrs

from deadbeat.analysis.blame import Run, blame
from deadbeat.analysis.quiet import only_quiet, tolerance_of
from deadbeat.executors.events import worst_jobs
from deadbeat.model import jobs as j
from deadbeat.model.jobs import JobTable
from deadbeat.model.results import RunKey
from deadbeat.model.traces import LateJob
from deadbeat.store.campaign import CampaignStore

#: Jobs that are named, unless asked otherwise.
WORST = 20


@attrs.define
class Worst:
    """The worst jobs of the runs seen so far, no more than ``count``; named only at the end."""

    count: int = WORST
    _heap: list[tuple[tuple[int, float], int, RunKey, int]] = attrs.field(factory=list)
    _seen: int = 0

    def consider(self, key: RunKey, table: JobTable) -> None:
        """Takes the jobs of ``table`` that belong to the worst and whose response was split."""
        for late in worst_jobs(table, self.count):
            if not table.jobs["flags"][late.job] & j.JOB_SPLIT:
                continue
            # of equals the first stays: runs come in a fixed order
            self._seen -= 1
            entry = ((late.tardiness_ns, late.response_share), self._seen, key, late.job)
            if len(self._heap) < self.count:
                heapq.heappush(self._heap, entry)
            elif entry > self._heap[0]:
                heapq.heapreplace(self._heap, entry)
            else:
                break

    def keys(self) -> set[RunKey]:
        """The runs they belong to."""
        return {key for _, _, key, _ in self._heap}

    def named(self, store: CampaignStore) -> list[LateJob]:
        """What each is put down to, the worst first.

        Raises:
            DataError: A file of the campaign is damaged.
        """
        runs: dict[RunKey, Run] = {}
        found = []
        for _, _, key, job in sorted(self._heap, key=lambda one: one[:2], reverse=True):
            if key not in runs:
                runs[key] = run_of(store, key)
            run = runs[key]
            traces = {one.job: one for one in (run.trace.jobs if run.trace else ())}
            found.append(blame(run, job, traces.get(job)))
        return found


def late_of(store: CampaignStore, *, count: int = WORST) -> tuple[list[LateJob], str]:
    """The worst jobs of the campaign in ``store``, and why some were not traced ("": all were).

    Raises:
        DataError: A file of the campaign is damaged.
    """
    worst = Worst(count)
    calibration, tolerance = store.load_calibration(), tolerance_of(store.spec)
    for key in sorted(store.committed()):
        worst.consider(key, only_quiet(store.table(key), calibration, tolerance)[0])
    return worst.named(store), untraced(store)


def untraced(store: CampaignStore) -> str:
    """Why there may be no events: "" where they were asked for and not refused."""
    run = store.spec.get("run")
    if not isinstance(run, dict) or not run.get("causes"):
        return "scheduling events were not asked for (--causes)"
    return store.traces.unavailable()


def run_of(store: CampaignStore, key: RunKey) -> Run:
    """``key`` with its trace and its plan, as far as they are there."""
    calibration = store.load_calibration()
    table, _ = only_quiet(store.table(key), calibration, tolerance_of(store.spec))
    planned = store.planned_set(key)
    return Run.of(
        key.text,
        table,
        trace=store.traces.load(key),
        task_set=planned.task_set if planned else None,
    )


def late_facts(store: CampaignStore, worst: Worst) -> dict[str, Any]:
    """``causes`` and ``causes_unavailable`` of a summary's meta; nothing where no response was
    split.

    Raises:
        DataError: A file of the campaign is damaged.
    """
    jobs = worst.named(store)
    if not jobs:
        return {}
    return {"causes": [attrs.asdict(job) for job in jobs], "causes_unavailable": untraced(store)}
