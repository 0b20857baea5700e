"""The worst jobs of a campaign and what each is put down to."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

import attrs

from deadbeat.kinds.contention.blame import BlamedRun, blame_late
from deadbeat.kinds.contention.causes import in_us
from deadbeat.kinds.contention.rounds_kept import without_overlapped
from deadbeat.kinds.contention.worst_job import moment_of
from deadbeat.model import jobs as j
from deadbeat.model.errors import DataError
from deadbeat.model.jobs import JobTable
from deadbeat.model.results import RunKey
from deadbeat.model.traces import LateJob, RunTrace, WorstMoment
from deadbeat.model.words import Json, inside
from deadbeat.store.campaign import CampaignStore
from deadbeat.store.serial import to_plain
from deadbeat.store.traces import MOST
from deadbeat.trace.jobs import JOBS_PER_RUN, Lateness, worst_jobs

#: Jobs that are named, unless asked otherwise.
WORST = 20
_NOT_KEPT = (
    f"no events of {{}} of these jobs: kept are those of the {JOBS_PER_RUN} worst jobs of a run,"
    f" of the {MOST} runs with the worst jobs"
)


@attrs.define
class Worst:
    """The worst jobs of the runs seen so far, no more than ``count``; named only at the end."""

    count: int = WORST
    _heap: list[tuple[tuple[int, float], int, RunKey, Lateness]] = attrs.field(factory=list)
    _seen: int = 0
    _first: tuple[tuple[int, float], RunKey, Lateness, JobTable] | None = None

    def consider(self, key: RunKey, table: JobTable) -> None:
        """Takes the jobs of ``table`` that belong to the worst: those whose response was split, and
        rows of such as never finished, of a run whose responses are split."""
        split = bool(int(table.header["flags"]) & j.RUN_SPLIT)
        for late in worst_jobs(table, self.count):
            score = (late.tardiness_ns, late.response_share)
            if self._first is None or score > self._first[0]:
                self._first = score, key, late, table
            if not (table.jobs["flags"][late.job] & j.JOB_SPLIT if late.finished else split):
                continue
            # of equals the first stays: runs come in a fixed order
            self._seen -= 1
            entry = (score, self._seen, key, late)
            if len(self._heap) < self.count:
                heapq.heappush(self._heap, entry)
            elif entry > self._heap[0]:
                heapq.heapreplace(self._heap, entry)
            else:
                break

    def keys(self) -> set[RunKey]:
        """The runs they belong to."""
        return {key for _, _, key, _ in self._heap}

    def moment(self, store: CampaignStore) -> WorstMoment | None:
        """The worst job of all over time, whether its response was split or not.

        Raises:
            DataError: A file of the campaign is damaged, other than those of events.
        """
        if self._first is None:
            return None
        _, key, late, table = self._first
        return moment_of(key.text, table, late, _trace_of(store, key)[0])

    def named(self, store: CampaignStore) -> LateJobs:
        """What each is put down to, the worst first, and what is to be known of their events.

        Raises:
            DataError: A file of the campaign is damaged, other than those of events.
        """
        runs: dict[RunKey, BlamedRun] = {}
        damaged: list[str] = []
        found = []
        for _, _, key, late in sorted(self._heap, key=lambda one: one[:2], reverse=True):
            if key not in runs:
                trace, reason = _trace_of(store, key)
                damaged += [reason] if reason else []
                runs[key] = run_of(store, key, trace)
            run = runs[key]
            traces = {one.job: one for one in (run.trace.jobs if run.trace else ())}
            found.append(blame_late(run, late, traces))
        untraced = [run.text for run in runs.values() if run.trace is None]
        reason = _unavailable(store, some=len(untraced) < len(runs)) if untraced else ""
        none = [job for job in found if "events" not in job.details]
        if none and not reason and not damaged:
            damaged.append(_NOT_KEPT.format(len(none)))
        return LateJobs(jobs=found, unavailable=reason, notes=(*damaged, *_notes(found)))


@attrs.frozen(kw_only=True)
class LateJobs:
    """The worst jobs of a campaign.

    Attributes:
        jobs: The worst first.
        unavailable: Why there are no events, or none of some runs; "": there are.
        notes: What else the events do not say: files that are damaged, events that were lost, and
            events that were left out.
    """

    jobs: list[LateJob]
    unavailable: str = ""
    notes: tuple[str, ...] = ()


def late_of(store: CampaignStore, *, count: int = WORST) -> LateJobs:
    """The worst jobs of the campaign in ``store``.

    Raises:
        DataError: A file of the campaign is damaged, other than those of events.
    """
    worst = Worst(count)
    for key in sorted(store.committed()):
        worst.consider(key, _table(store, key))
    return worst.named(store)


def _trace_of(store: CampaignStore, key: RunKey) -> tuple[RunTrace | None, str]:
    """The trace of a run, and what is wrong with its file ("": nothing)."""
    try:
        return store.traces.load(key), ""
    except DataError as error:
        return None, f"no events of run {key.text}: {_inside(store, error)}"


def _inside(store: CampaignStore, error: DataError) -> str:
    """What is wrong, with the file's name within the campaign."""
    return error.message.replace(f"{store.path}/", "")


def _unavailable(store: CampaignStore, *, some: bool) -> str:
    """Why there are no events; ``some``: of other runs there are."""
    if not inside(store.spec, "run").get("causes"):
        return "scheduling events were not recorded (--causes)"
    try:
        refused = store.traces.unavailable()
    except DataError as error:
        refused = _inside(store, error)
    return f"{refused} (of some runs; others have events)" if refused and some else refused


def _notes(jobs: Sequence[LateJob]) -> Iterator[str]:
    """Lost by the kernel, and left out by us: of how many jobs, and how many of one at most."""
    lost, unknown, left_out = (
        [job.details.get(name, 0) for job in jobs]
        for name in ("events_lost", "unknown_ns", "events_left_out")
    )
    if any(lost):
        words = (
            f"the kernel's buffers lost events (up to {max(lost)} a run, the oldest) in the runs"
        )
        words += f" of {sum(map(bool, lost))} of these jobs"
        if any(unknown):
            words += f"; up to {in_us(max(unknown))} of a job are without events"
        yield words
    if any(left_out):
        yield (
            f"of {sum(map(bool, left_out))} of these jobs not all events are kept: up to"
            f" {max(left_out)} were left out; the sums that name the cause are of all of them"
        )


def _table(store: CampaignStore, key: RunKey) -> JobTable:
    return without_overlapped(store.table(key))[0]


def run_of(store: CampaignStore, key: RunKey, trace: RunTrace | None) -> BlamedRun:
    """``key`` with its trace and its plan, as far as they are there."""
    table = _table(store, key)
    planned = store.programs.planned(key)
    return BlamedRun(key.text, table, trace, planned.task_set if planned else None)


def late_facts(store: CampaignStore, worst: Worst) -> dict[str, Json]:
    """``worst_job`` of a summary's meta; where responses were split also ``causes``,
    ``causes_unavailable`` and ``causes_notes``.

    Raises:
        DataError: A file of the campaign is damaged, other than those of events.
    """
    late, moment = worst.named(store), worst.moment(store)
    drawn: dict[str, Json] = {"worst_job": to_plain(moment)} if moment else {}
    if not late.jobs:
        return drawn
    return {
        **drawn,
        "causes": [attrs.asdict(job) for job in late.jobs],
        "causes_unavailable": late.unavailable,
        "causes_notes": list(late.notes),
    }
