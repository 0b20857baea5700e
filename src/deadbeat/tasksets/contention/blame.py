"""What a late job is put down to: rules from the parts of its response and the events around it.

The part that exceeds the task's usual most is looked into; the rules, in order, and what they rest
on: docs/explanation/why-late.md. Without events only the part itself can be named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple, TypedDict

import numpy as np
from attrs import frozen

from deadbeat.base.model import jobs as j
from deadbeat.base.model.jobs import JobTable
from deadbeat.base.model.lateness import (
    BEFORE,
    INTERRUPT,
    LOCK,
    MIGRATED,
    NOT_SEEN,
    PREEMPTED,
    STOLEN,
    THROTTLED,
    WAKE_UP,
    WORK,
    LateJob,
)
from deadbeat.base.model.traces import PARTS, JobTotals, JobTrace, RunTrace, ThreadShare
from deadbeat.base.model.words import time_text as _time
from deadbeat.machine.trace import timeline
from deadbeat.machine.trace.jobs import Lateness
from deadbeat.machine.trace.why import Span, add_up, named, task_matcher
from deadbeat.tasksets.contention.others import has_split
from deadbeat.tasksets.contention.run_parts import behind_own, split_parts
from deadbeat.tasksets.executors.metrics import Integers, JobColumns, job_columns
from deadbeat.tasksets.model.tasks import Access, TaskSet

#: An excess below this share of the response explains nothing.
LEAST_SHARE = 0.1
#: Misses of a run that are looked at.
_LOOKED = 50
#: Events that show less of an excess than this name no thread: most were lost or left out.
EXPLAINED = 0.5
#: Cause and words of a part of which nothing more is known.
_OF_PART = {
    "wake_up": (WAKE_UP, "between release and start"),
    "core_wait": (PREEMPTED, "waiting for its core"),
    "resource_wait": (LOCK, "asleep within the job"),
}


@frozen(eq=False)
class BlamedRun:
    """A run as blame needs it: jobs and their parts; trace and plan where there are any."""

    text: str
    table: JobTable
    trace: RunTrace | None = None
    task_set: TaskSet | None = None

    @cached_property
    def columns(self) -> JobColumns:
        return job_columns(self.table)

    @cached_property
    def parts(self) -> dict[str, Integers]:
        return split_parts(self.table, self.columns)

    @cached_property
    def usual(self) -> dict[int, list[dict[str, int]]]:
        """Medians of the parts, by task: of its together jobs, then of its solo jobs, or its C."""
        columns, found = self.columns, defaultdict[int, list[dict[str, int]]](list)
        known = has_split(self.table, columns)
        for task in range(len(self.table.tasks)):
            for solo in (~columns.solo & columns.counted, columns.solo):
                chosen = known & solo & (columns.task == task)
                if chosen.any():
                    medians = {part: int(np.median(self.parts[part][chosen])) for part in PARTS}
                    found[task].append(medians)
            if not (known & columns.solo & (columns.task == task)).any():
                cost = int(self.table.tasks["wcet_ns"][task])
                found[task].append(dict.fromkeys(PARTS, 0) | {"execution": cost})
        return found


class _Verdict(NamedTuple):
    cause: str
    evidence: str = ""
    holder: str = ""


def blame(run: BlamedRun, job: int, trace: JobTrace | None) -> LateJob:
    """What the job of this index, which finished, is put down to."""
    columns, task = run.columns, int(run.columns.task[job])
    own = {part: int(run.parts[part][job]) for part in PARTS}
    # Each part over the median of the task's own together jobs; where nothing stands out from
    # them, over the median of its solo jobs: then the usual itself is what is long.
    whole, excess = sum(own.values()), dict.fromkeys(PARTS, 0)
    for usual in run.usual[int(run.columns.task[job])]:
        excess = {part: max(0, own[part] - usual[part]) for part in PARTS}
        if max(excess.values()) >= LEAST_SHARE * whole:
            break
    part = max(PARTS, key=lambda name: excess[name])
    response = int(columns.finish_ns[job] - columns.release_ns[job])
    totals = _totals(run, job, trace)
    if not whole:
        own, verdict = {}, _Verdict(NOT_SEEN, "the accounts of its thread are missing")
    elif excess[part] < LEAST_SHARE * response:
        verdict = _Verdict(NOT_SEEN, "no part stands out from the task's usual")
    else:
        verdict = _name(run, job, part, excess[part], totals)
    return LateJob(
        run=run.text,
        job=job,
        task=task,
        response_ns=response,
        deadline_ns=int(run.table.tasks[task]["deadline_ns"]),
        parts_ns=own,
        cause=verdict.cause,
        holder=verdict.holder,
        evidence=verdict.evidence,
        traced=totals is not None,
        details={"excess_ns": excess, **_use_of(run, job), **event_facts(trace)},
    )


def event_facts(trace: JobTrace | None) -> dict[str, int]:
    """How many events a job has; how many the kernel lost in its run; how many of its own are in
    their sums alone, and for how long of it there are none (both only where there are sums)."""
    if trace is None:
        return {}
    found = {"events": len(trace.events), "events_lost": trace.lost}
    if trace.totals is not None:
        found |= {"events_left_out": trace.left_out, "unknown_ns": trace.totals.unknown_ns}
    return found


def _totals(run: BlamedRun, job: int, trace: JobTrace | None) -> JobTotals | None:
    """What the job's events add up to; None where it has none, or they never show its thread on a
    CPU. Where some were lost it is the sum of the rest (``unknown_ns`` says for how long)."""
    if trace is None or run.trace is None:
        return None
    totals = trace.totals
    if totals is None:  # a file of an earlier version: from the events that were kept
        columns, task = run.columns, int(run.columns.task[job])
        names = ("release_ns", "start_ns", "finish_ns")
        times = {name: int(getattr(columns, name)[job]) for name in names}
        span = Span(cpu=int(run.table.tasks[task]["cpu"]), **times)
        totals = add_up(trace.events, task_matcher(run.trace.threads, task), span)
    return totals if totals.seen else None


def _name(
    run: BlamedRun, job: int, part: str, excess_ns: int, totals: JobTotals | None
) -> _Verdict:
    moved = _moved(run, job, totals)
    if moved and part in ("wake_up", "core_wait", "execution"):
        return moved
    if part in ("stall", "execution"):
        stall = f"{_time(excess_ns)} more than usual in which its thread neither ran, was ready nor"
        stall += " slept, or pure computation stood still"
        rest = _of_execution(run, job, excess_ns), _Verdict(STOLEN, stall)
        return _interrupts(excess_ns, totals) or rest[part == "stall"]
    if part in ("wake_up", "core_wait") and (own := _own_previous(run, job, excess_ns)):
        return own
    if totals is None:
        cause, where = _OF_PART[part]
        words = f"{_time(excess_ns)} more than usual {where}; no events say who"
        objects = _object_words(run, job) if part == "resource_wait" else ""
        return _Verdict(cause, words + objects)
    rules = {"core_wait": _of_core, "resource_wait": _of_resource, "wake_up": _of_wake_up}
    return rules[part](run, job, totals, excess_ns)


def _moved(run: BlamedRun, job: int, totals: JobTotals | None) -> _Verdict | None:
    """A task belongs on one CPU: wherever else it was, it was moved."""
    home = int(run.table.tasks[run.columns.task[job]]["cpu"])
    if totals is not None and (move := totals.move) is not None:
        after = _time(move.at_ns - int(run.columns.release_ns[job]))
        words = f"moved from CPU {move.from_cpu} to CPU {move.to_cpu} {after} after its release"
        return _Verdict(MIGRATED, words, f"CPU {move.to_cpu}")
    if not len(run.table.details):
        return None
    detail = run.table.details[job]
    cpus = [int(detail["start_cpu"]), int(detail["finish_cpu"])]
    away = [cpu for cpu in cpus if cpu != home]
    if not away:
        return None
    words = f"belongs on CPU {home}, started on CPU {cpus[0]} and finished on CPU {cpus[1]}"
    return _Verdict(MIGRATED, words, f"CPU {away[0]}")


def _of_core(run: BlamedRun, job: int, totals: JobTotals, excess_ns: int) -> _Verdict:
    names = _by_name(run, totals, lambda share: share.ready_ns)
    if not names:
        return _Verdict(PREEMPTED, f"{_time(excess_ns)} ready; events do not say who")
    whole = sum(names.values())
    if whole < EXPLAINED * excess_ns:
        return _Verdict(PREEMPTED, _shown(totals, excess_ns, whole, "ready"))
    realtime = int(run.table.tasks[run.columns.task[job]]["policy"]) != 0
    instead = _by_name(run, totals, lambda share: share.instead_ns) if realtime else {}
    if sum(instead.values()) > whole / 2:
        holder = max(instead, key=lambda name: instead[name])
        words = (
            f"ready for {_time(whole)}; for {_time(instead[holder])} of it the kernel ran {holder}"
        )
        words += ", to which a real-time thread has precedence"
        return _Verdict(THROTTLED, words, holder)
    idle_ns = sum(share.ready_ns for share in totals.threads if share.pid == timeline.IDLE)
    if idle_ns > whole / 2:
        words = f"ready for {_time(whole)}, its core idle for {_time(idle_ns)}: the way out of idle"
        return _Verdict(WAKE_UP, words, "idle")
    holder = max(names, key=lambda name: names[name])
    words = f"ready for {_time(whole)}; {holder} ran for {_time(names[holder])} of it"
    return _Verdict(PREEMPTED, words, holder)


def _shown(totals: JobTotals, excess_ns: int, seen_ns: int, state: str) -> str:
    """How little events show of an excess, and how much of them is missing."""
    words = f"{_time(excess_ns)} more than usual {state}; events show {_time(seen_ns)} of it"
    unknown = totals.unknown_ns
    return words + (f"; events of {_time(unknown)} of the job are missing" if unknown else "")


def _by_name(
    run: BlamedRun, totals: JobTotals, length_ns: Callable[[ThreadShare], int]
) -> dict[str, int]:
    """What threads had, by what they are called; without those that had nothing."""
    assert run.trace is not None
    found: dict[str, int] = defaultdict(int)
    for share in totals.threads:
        if length_ns(share):
            found[named(share, run.trace.threads)] += length_ns(share)
    return found


def _of_resource(run: BlamedRun, job: int, totals: JobTotals, excess_ns: int) -> _Verdict:
    by_waker = _by_name(run, totals, lambda share: share.slept_ns)
    if not by_waker:
        words = f"{_time(excess_ns)} more than usual asleep; events do not say on what"
        return _Verdict(LOCK, words + _object_words(run, job))
    slept = sum(by_waker.values())
    if slept + totals.roused_ns < EXPLAINED * excess_ns:
        words = _shown(totals, excess_ns, slept, "asleep")
        return _Verdict(LOCK, words + _object_words(run, job))
    longest = max(totals.threads, key=lambda share: share.longest_ns)
    sleeps = sum(share.sleeps for share in totals.threads)
    holder = max(by_waker, key=by_waker.__getitem__)
    words = f"slept {_time(slept)} in {sleeps} waits, {_time(longest.longest_ns)} in the longest"
    if holder:
        by = "an interrupt" if holder == timeline.INTERRUPT else holder
        part = "" if len(by_waker) == 1 else f"{_time(by_waker[holder])} of it "
        words += f", {part}ended by {by}"
    if totals.roused_ns > slept / 10:
        words += f"; its core idle for {_time(totals.roused_ns)} after them"
    words += _object_words(run, job, longest.longest_to_ns)
    return _Verdict(LOCK, words, holder)


def _of_wake_up(run: BlamedRun, job: int, totals: JobTotals, excess_ns: int) -> _Verdict:
    release = int(run.columns.release_ns[job])
    start = int(run.columns.start_ns[job])
    woken = totals.woken_ns
    if woken is None or woken > start:
        words = f"{_time(excess_ns)} more than usual before its start; its wake-up was not seen"
        return _Verdict(WAKE_UP, words)
    before = _by_name(run, totals, lambda share: share.before_ns)
    holder = max(before, key=lambda name: before[name]) if before else ""
    words = (
        f"woken {_time(woken - release)} after its release, started {_time(start - woken)} later"
    )
    if holder:
        words += f"; until then {holder} had the core"
    return _Verdict(WAKE_UP, words, holder)


def _own_previous(run: BlamedRun, job: int, excess_ns: int) -> _Verdict | None:
    """The job before it, where that one still ran at its release: known without events."""
    late_ns = int(behind_own(run.columns)[job])
    if not late_ns or late_ns < EXPLAINED * excess_ns:
        return None
    words = f"its own job before it finished {_time(late_ns)} after this release"
    return _Verdict(BEFORE, words)


def _interrupts(excess_ns: int, totals: JobTotals | None) -> _Verdict | None:
    """Interrupts, where they took most of what is too long."""
    interrupts = totals.interrupts_ns if totals else {}
    if sum(interrupts.values()) <= excess_ns / 2:
        return None
    name = max(interrupts, key=lambda key: interrupts[key])
    words = f"{_time(sum(interrupts.values()))} of its time went to interrupts, mostly {name}"
    return _Verdict(INTERRUPT, words, name)


def _of_execution(run: BlamedRun, job: int, excess_ns: int) -> _Verdict:
    use = _use_of(run, job)
    name = str(use.get("use", ""))
    words = f"its own code took {_time(excess_ns)} longer than usual"
    if not use:
        if shared := _shared(run, job):
            words += f"; it shares {', '.join(shared)} with other cores: spinning, or cache lines"
            words += " from there"
        return _Verdict(WORK, words)
    what, why = "a computing use", "caches, memory, or a slower processor"
    if use["sync"]:
        what, why = "a synchronising use", "spinning, or cache lines from other cores"
    return _Verdict(WORK, f"{words}; most in {name or what}: {why}", name)


def _shared(run: BlamedRun, job: int) -> list[str]:
    """Fragments of the objects that the job's task shares with other cores, as far as known."""
    if run.task_set is None:
        return []
    objects, task = run.task_set.resources, run.task_set.tasks[int(run.columns.task[job])]
    used = (objects[use.resource] for use in task.uses if use.resource is not None)
    return [*dict.fromkeys(each.fragment for each in used if each.access is Access.CON)]


class _WorstUse(TypedDict, total=False):
    use: str
    use_index: int
    use_excess_ns: int
    use_start_ns: int
    sync: bool
    resource: int | None


def _use_of(run: BlamedRun, job: int) -> _WorstUse:
    """The use that took longest over its usual time: its fragment and object, as far as known."""
    if not len(run.table.details):
        return {}
    detail = run.table.details[job]
    number = int(detail["worst_use"])
    if number == j.NO_USE:
        return {}
    found: _WorstUse = {
        "use": "",
        "use_index": number,
        "use_excess_ns": int(detail["worst_use_ns"]),
        "use_start_ns": int(detail["worst_use_start_ns"]),
        "sync": bool(int(detail["flags"]) & j.DETAIL_SY),
    }
    tasks, task = run.task_set.tasks if run.task_set else (), int(run.columns.task[job])
    uses = tasks[task].uses if task < len(tasks) else []
    if number < len(uses):
        found["use"] = uses[number].entry.fragment
        found["resource"] = uses[number].resource
    return found


def _object_words(run: BlamedRun, job: int, until_ns: int | None = None) -> str:
    """``; in futex (object 2)``: the use it was in, where it is known and synchronises."""
    use = _use_of(run, job)
    if not use or not use["sync"] or not use["use"]:
        return ""
    if until_ns is not None and until_ns < use["use_start_ns"]:
        return ""
    number = use.get("resource")
    return f"; in {use['use']}" + ("" if number is None else f" (object {number})")


def misses_of(run: BlamedRun) -> Iterator[tuple[str, str, int, int]]:
    """Cause, by whom, ns more than usual and number of the misses beside others, of very many of
    some evenly over time; by the parts of their responses alone."""
    columns = run.columns
    missed = np.flatnonzero(columns.missed & columns.counted & ~columns.solo)
    looked = missed[:: -(-len(missed) // _LOOKED) or 1]
    known = has_split(run.table, columns)
    started = np.maximum.accumulate(np.where(columns.started, np.arange(len(known)), -1))
    for number, job in enumerate(map(int, looked)):
        many = (number + 1) * len(missed) // len(looked) - number * len(missed) // len(looked)
        if known[job]:
            found = blame(run, job, None)
            yield found.cause, "", max(found.details["excess_ns"].values()), many
        elif columns.skipped[job] and (before := int(started[job])) >= 0:
            by = blame(run, before, None).cause if known[before] else ""
            slot_end = run.table.slots["end_ns"][columns.slot[job]]
            until = columns.finish_ns[before] if columns.finished[before] else slot_end
            yield BEFORE, by, max(0, int(until - columns.release_ns[job])), many
        else:
            yield NOT_SEEN, "", 0, many


# --- late jobs by what they are ---------------------------------------------------------------


def blame_late(run: BlamedRun, late: Lateness, traces: Mapping[int, JobTrace]) -> LateJob:
    """What ``late`` is put down to; ``traces`` are those of its run, by job.

    A row of jobs that never finished stood behind one job of its task. Its response is known from
    below: had its first job been started, it would have been when that job finished, at the
    earliest, or not within its slot. All of that is core wait, and the cause of it is that of the
    job it stood behind.
    """
    if late.finished:
        return blame(run, late.job, traces.get(late.job))
    if late.blocker == late.job:
        return _late_job(run, late, "started, and not finished when its slot ended")
    if late.blocker == -1:
        words = f"{_row(late)} never started, and no job of its task before them in their slot"
        return _late_job(run, late, words)
    trace = traces.get(late.blocker)
    columns, response = run.columns, late.until_ns - int(run.columns.release_ns[late.job])
    words = f"{_row(late)} skipped: job {late.blocker} of its task"
    if not columns.finished[late.blocker]:
        words += f" still ran {_time(response)} later, when its slot ended"
        return _late_job(run, late, words, waited_ns=response)
    took = late.until_ns - int(columns.release_ns[late.blocker])
    words += f" took {_time(took)} and finished {_time(response)} after this release"
    if not has_split(run.table, columns)[late.blocker]:
        return _late_job(run, late, words, waited_ns=response)
    before = blame(run, late.blocker, trace)
    words += f"; that one: {before.cause}" + (f": {before.holder}" if before.holder else "")
    words += f" ({before.evidence})" if before.evidence else ""
    return _late_job(run, late, words, waited_ns=response, trace=trace, behind=before)


def _row(late: Lateness) -> str:
    return f"{late.skipped} release{'s in a row' if late.skipped > 1 else ''}"


def _late_job(
    run: BlamedRun,
    late: Lateness,
    words: str,
    *,
    waited_ns: int | None = None,
    trace: JobTrace | None = None,
    behind: LateJob | None = None,
) -> LateJob:
    """``waited_ns``: how long it waited for the core that its own previous job had."""
    task = int(run.columns.task[late.job])
    parts_ns = {} if waited_ns is None else dict.fromkeys(PARTS, 0) | {"core_wait": waited_ns}
    facts: dict[str, Any] = {"behind": late.blocker} if late.blocker >= 0 else {}
    if behind is not None:
        facts |= {"behind_cause": behind.cause, "behind_holder": behind.holder}
    return LateJob(
        run=run.text,
        job=late.job,
        task=task,
        response_ns=late.until_ns - int(run.columns.release_ns[late.job]),
        deadline_ns=int(run.table.tasks[task]["deadline_ns"]),
        parts_ns=parts_ns,
        cause=BEFORE if parts_ns else NOT_SEEN,
        evidence=words,
        traced=behind is not None and behind.traced,
        finished=False,
        skipped=late.skipped,
        details={**facts, **event_facts(trace)},
    )
