"""Where the time of a run's jobs went: responses as sums of parts, counted events, overlap."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from deadbeat.base.model import jobs as j
from deadbeat.base.model.jobs import JobTable
from deadbeat.base.model.traces import COUNTER_EVENTS, PARTS
from deadbeat.tasksets.contention.others import has_split
from deadbeat.tasksets.executors.metrics import Bools, Floats, Integers, JobColumns
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.figures import COUNTER_COLUMNS, PART_COLUMNS
from deadbeat.tasksets.model.tasks import TaskSet


def split_parts(table: JobTable, columns: JobColumns) -> dict[str, Integers]:
    """Part -> ns per job, 0 where the response cannot be split (:func:`has_split`).

    ``wake_up``: from release to start, without what is core wait. ``core_wait``: ready, and not
    running. ``resource_wait``: asleep within the job. ``stall``: in no account of a thread that
    never slept, and with job details what computing uses took beyond their usual time, as far as
    it lies beyond C or in what else would be sleep. ``execution``: the rest.
    """
    known = has_split(table, columns)
    jobs = table.jobs
    before = np.where(known, columns.start_ns - columns.release_ns, 0)
    span = np.where(known, columns.finish_ns - columns.start_ns, 0)
    behind = np.minimum(behind_own(columns), before)
    waited_before = behind + np.clip(jobs["run_delay_before_ns"], 0, before - behind)
    waited_within = np.clip(jobs["run_delay_within_ns"], 0, span)
    cpu = np.clip(jobs["cpu_ns"], 0, span - waited_within)
    away = span - waited_within - cpu
    # A thread that never gave up its core did not sleep: what no account holds, its host or an
    # interrupt had (a paravirtual clock takes stolen time out of the CPU time).
    slept = np.where(jobs["voluntary_switches"] > 0, away, 0)
    stolen = away - slept
    cost = table.tasks["wcet_ns"].astype(np.int64)[columns.task]
    # Suspected stall of each job, ns; 0 where no details were recorded.
    if len(table.details) != len(table.jobs):
        stalls = np.zeros(len(table.jobs), np.int64)
    else:
        stalls = np.asarray(np.maximum(table.details["stall_ns"], 0))
    suspected = np.maximum(stalls - stolen, 0)
    within_cpu = np.minimum(suspected, np.maximum(cpu - cost, 0))
    within_sleep = np.minimum(suspected - within_cpu, slept)
    return {
        "wake_up": before - waited_before,
        "core_wait": waited_before + waited_within,
        "resource_wait": slept - within_sleep,
        "execution": cpu - within_cpu,
        "stall": stolen + within_cpu + within_sleep,
    }


def behind_own(columns: JobColumns) -> Integers:
    """How long after each job's release the job of its task before it still ran, ns: its core was
    held by its own past, which no account of the kernel says."""
    found = np.zeros(len(columns.task), np.int64)
    after, before = slice(1, None), slice(None, -1)
    related = (columns.task[after] == columns.task[before]) & columns.finished[before]
    related &= columns.slot[after] == columns.slot[before]
    late = columns.finish_ns[before][related] - columns.release_ns[after][related]
    found[after][related] = np.maximum(late, 0)
    return found


def part_figures(
    table: JobTable, columns: JobColumns, *, tasks: Bools | None = None
) -> dict[str, float | None]:
    """Mean of part / C over the counted, finished jobs of together slots; None without a split.

    They sum to the set's ``response_ratio_mean`` where every job was split. ``tasks``: the tasks
    that the figures are about; None: all."""
    chosen = columns.counted & ~columns.solo & has_split(table, columns)
    if tasks is not None:
        chosen &= tasks[columns.task]
    if not chosen.any():
        return dict.fromkeys(PART_COLUMNS)
    parts = split_parts(table, columns)
    cost = table.tasks["wcet_ns"].astype(np.float64)[columns.task[chosen]]
    return {f"{part}_ratio": float((parts[part][chosen] / cost).mean()) for part in PARTS}


COUNTED, UNSUPPORTED, REFUSED = "counted", "not supported here", "refused"
FAILED, PARTLY = "failed", "failed in part"

_STATE = {
    j.COUNTER_COUNTED: COUNTED,
    j.COUNTER_SCALED: COUNTED,
    j.COUNTER_UNSUPPORTED: UNSUPPORTED,
    j.COUNTER_REFUSED: f"{REFUSED}: kernel.perf_event_paranoid or a container's seccomp filter",
}


def counter_figures(table: JobTable, *, tasks: Bools | None = None) -> dict[str, float | None]:
    """Mean count of each event per started job, over together slots with a counted job. ``tasks``:
    the tasks that the figures are about; None: all."""
    figures: dict[str, float | None] = dict.fromkeys(COUNTER_COLUMNS)
    rows = table.counters
    if not len(rows):
        return figures
    # Started jobs by task and slot; 0 where the slot or the task is not looked at.
    jobs = np.zeros((len(table.tasks), max(1, len(table.slots))), np.int64)
    flags = table.jobs["flags"]
    started = flags & j.JOB_STARTED != 0
    np.add.at(jobs, (table.jobs["task"][started], table.jobs["slot"][started]), 1)
    counted = (flags & j.JOB_COUNTED != 0) & (flags & j.JOB_SOLO == 0)
    # A slot without any job left in has no counted job, and its events are of a straggler too.
    looked_at = np.isin(np.arange(jobs.shape[1]), np.unique(table.jobs["slot"][counted]))
    jobs[:, ~looked_at] = 0
    if tasks is not None:
        jobs[~tasks] = 0
    own = jobs[rows["task"], rows["slot"]]
    known = (rows["status"] == j.COUNTER_COUNTED) | (rows["status"] == j.COUNTER_SCALED)
    failed = rows["status"] == j.COUNTER_FAILED
    for event, column in enumerate(COUNTER_COLUMNS):
        wanted = (rows["event"] == event) & (own > 0)
        chosen = known & wanted
        # Counters that could still be opened are no sample: no figure rather than theirs.
        if chosen.any() and not (failed & wanted).any():
            figures[column] = float(rows["value"][chosen].sum() / own[chosen].sum())
    return figures


@frozen(eq=False)
class EventStates:
    """What became of each event over the runs of a campaign."""

    seen: dict[int, Counter[str]] = field(factory=dict)

    def add(self, table: JobTable) -> None:
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


#: Jobs of a run beyond which slices are used, and the length of a slice in longest periods: long
#: beside a job, so that the jobs cut off from their neighbours at its ends (about 1 %) do not show.
JOBS_MAX = 2000
SLICE_PERIODS = 16


@frozen(eq=False)
class ContendedUses:
    """Where one task is inside one contended object, as shares of its span (low < high)."""

    task: int
    low: Floats
    high: Floats


#: Contended object (index of the set's resources) -> the tasks that use it.
Plan = Mapping[int, list[ContendedUses]]


def contended_plan(task_set: TaskSet, calibration: Calibration) -> Plan:
    """Where the tasks of ``task_set`` are inside contended objects. Raises DataError:
    ``calibration`` does not hold an entry that is used."""
    contended = {
        index for index, resource in enumerate(task_set.resources) if resource.core is None
    }
    plan: dict[int, list[ContendedUses]] = {}
    for index, task in enumerate(task_set.tasks):
        # Intervals of [0, 1] in which `task` is inside each object; neighbours are one.
        found: dict[int, list[tuple[int, int]]] = {}
        position = 0
        for segment, costs in zip(task.segments, calibration.job_costs_ps(task), strict=True):
            for use, cost in zip(segment.uses, costs, strict=True):
                end = position + cost
                if use.resource in contended:
                    parts = found.setdefault(use.resource, [])
                    follows = parts and parts[-1][1] == position
                    parts.append((parts.pop()[0] if follows else position, end))
                position = end
        task_intervals = {
            resource: [(low / position, high / position) for low, high in intervals]
            for resource, intervals in found.items()
        }
        for resource, intervals in task_intervals.items():
            shares = np.array(intervals)
            uses = ContendedUses(index, shares[:, 0], shares[:, 1])
            plan.setdefault(resource, []).append(uses)
    return plan


def overlap_share(
    columns: JobColumns, tasks: NDArray[Any], plan: Plan, *, jobs_max: int = JOBS_MAX
) -> float | None:
    """Share of the time inside contended objects in which another core is inside the same one, in
    [0, 1]; None: no time was spent inside contended objects. Of ``columns`` all finished jobs of
    together slots are used, warm-up included, since they contend too. ``tasks``: task rows;
    ``plan``: from `contended_plan`; ``jobs_max``: jobs beyond which slices of time are used."""
    if not plan:
        return None
    # Indices of the finished jobs of together slots; if they are many, of those that start in
    # every k-th slice of time, k such that about ``jobs_max`` remain.
    slices_used = np.flatnonzero(columns.finished & ~columns.solo)
    step = -(-len(slices_used) // jobs_max)
    if step <= 1:
        used = slices_used
    else:
        starts = columns.start_ns[slices_used]
        length = SLICE_PERIODS * int(tasks["period_ns"].max())
        used = np.asarray(slices_used[(starts - starts.min()) // length % step == 0])
    owners = columns.task[used]
    starts, finishes = columns.start_ns[used], columns.finish_ns[used]
    bounds = np.searchsorted(owners, np.arange(len(tasks) + 1))
    inside = shared = 0
    for users in plan.values():
        by_core: dict[int, list[tuple[Integers, Integers]]] = {}
        for uses in users:
            own = slice(bounds[uses.task], bounds[uses.task + 1])
            # Absolute times of the uses of all jobs of a task, ascending; those under 1 ns are
            # none.
            starts_ns = starts[own]
            spans = (finishes[own] - starts_ns)[:, None]
            enter = starts_ns[:, None] + (spans * uses.low).astype(np.int64)
            leave = starts_ns[:, None] + (spans * uses.high).astype(np.int64)
            real = leave > enter
            placed = (enter[real], leave[real])
            by_core.setdefault(int(tasks["core"][uses.task]), []).append(placed)
        # Core-nanoseconds inside an object, and those of them with another core inside it too.
        unions = (_union(intervals) for intervals in by_core.values())
        edges = _edges(unions)
        if len(edges) == 0:
            busy, overlapped = (0, 0)
        else:
            depth = _depth(edges)[:-1]
            sweep_inside = np.diff(edges >> 1) * depth
            busy, overlapped = (int(sweep_inside.sum()), int(sweep_inside[depth >= 2].sum()))
        inside, shared = inside + busy, shared + overlapped
    return shared / inside if inside else None


def _edges(intervals: Iterable[tuple[Integers, Integers]]) -> Integers:
    """Sorted edges, twice the time, odd where something begins: an end sorts before a beginning
    at the same moment. Plain integers sort several times faster than indices."""
    parts = (part for enter, leave in intervals for part in (2 * enter + 1, 2 * leave))
    return np.sort(np.concatenate([np.empty(0, np.int64), *parts]))


def _depth(edges: Integers) -> Integers:
    return np.cumsum(2 * (edges & 1) - 1)


def _union(intervals: list[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
    """Disjoint intervals that cover the same time: a core is inside an object or it is not, even if
    one of its tasks preempted another there."""
    enter, leave = intervals[0]
    if len(intervals) == 1 and (enter[1:] >= leave[:-1]).all():
        return enter, leave
    edges = _edges(intervals)
    depth = _depth(edges)
    begins = edges[(depth == 1) & (edges & 1 == 1)]
    ends = edges[depth == 0]
    return begins >> 1, ends >> 1


def shared_objects(task_set: TaskSet, plan: Plan) -> str:
    """``futex=0.62 pipe=0.38``: shares of the time inside contended objects, by fragment; "":
    nothing is contended."""
    inside: dict[str, float] = {}
    for resource, users in plan.items():
        name = task_set.resources[resource].fragment
        spent = (
            float((uses.high - uses.low).sum()) * task_set.tasks[uses.task].wcet_ns
            / task_set.tasks[uses.task].period_ns
            for uses in users
        )  # fmt: skip
        inside[name] = inside.get(name, 0.0) + sum(spent)
    whole = sum(inside.values())
    ordered = sorted(inside.items(), key=lambda item: (-item[1], item[0]))
    return " ".join(f"{name}={spent / whole:.2g}" for name, spent in ordered)
