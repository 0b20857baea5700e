"""Faults of real-time threads that need no miss: what makes a job late one day, though none was.

A rule is a row of `RULES`: its function yields threads and when each broke the rule. What is usual
while a program begins or ends is left out: `_told` says how.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from deadbeat.program.derive import deeds
from deadbeat.program.derive.deeds import Instances, Judged
from deadbeat.program.derive.records import IN_INTERRUPT, Recording, RecordKind
from deadbeat.program.derive.switches import Times
from deadbeat.program.derive.tasks import DerivedRun
from deadbeat.program.derive.tracks import MEMORY

#: Places that are named, of each thread.
_PLACES = 2


@frozen(kw_only=True)
class BrokenRule:
    """``count``: how often; ``jobs``: in how many jobs; ``accepted``: the user knows of it."""

    rule: str
    thread: str
    count: int
    jobs: int
    where: str
    cure: str
    accepted: bool = False


@frozen(kw_only=True)
class RulesSeen:
    """``broken``: the gravest first; ``judged``: rules that were; ``not_seen``: those that were
    not, as the recording has no event of those they need."""

    broken: tuple[BrokenRule, ...] = ()
    judged: tuple[str, ...] = ()
    not_seen: tuple[str, ...] = ()


@frozen(kw_only=True)
class ThreadRule:
    """``needs``: kinds of records, one of which at least must be there for it to be judged;
    ``flags``: it must be known which wake-ups came in interrupts, too."""

    name: str
    title: str
    why: str
    cure: str
    needs: tuple[RecordKind, ...] = ()
    flags: bool = False
    find: Callable[[Judged], Instances] = field(repr=False)


#: The gravest first.
_EVERY = (
    ThreadRule(
        name="never-waits",
        title="never waits",
        why="No thread that is less urgent runs on its CPU, the kernel's own ones included, until"
        " throttling stops it.",
        cure="let it wait for its next job; or make it an ordinary thread on a CPU of its own",
        needs=(RecordKind.SWITCH,),
        find=deeds.never_waits,
    ),
    ThreadRule(
        name="overload",
        title="loads its CPU up to the limit of throttling",
        why="Real-time threads that have 0.95 s of a second (kernel.sched_rt_runtime_us) are"
        " stopped until it is over.",
        cure="move a thread to another CPU, or make jobs shorter",
        needs=(RecordKind.SWITCH,),
        find=deeds.overload,
    ),
    ThreadRule(
        name="lock-without-protocol",
        title="shares a lock without protocol with a less urgent thread",
        why="Who holds it may be preempted by any thread of a priority between the two: the wait"
        " has no bound, whether or not one was seen.",
        cure="PTHREAD_PRIO_INHERIT (--try inherit shows what it does)",
        needs=(RecordKind.GOT, RecordKind.INIT),
        find=deeds.locks,
    ),
    ThreadRule(
        name="woken-by-less-urgent",
        title="is woken by a less urgent thread",
        why="That thread may be preempted before it wakes this one, which then waits as if it were"
        " less urgent itself.",
        cure="make the waker as urgent; accept it of a thread that only serves others",
        needs=(RecordKind.WAKING,),
        flags=True,
        find=deeds.less_urgent,
    ),
    ThreadRule(
        name="page-fault",
        title="has page faults",
        why="A page that is not there costs microseconds, one that is read from a disk"
        " milliseconds.",
        cure="mlockall(MCL_CURRENT | MCL_FUTURE) before threads start; touch stacks; no new memory"
        " in jobs",
        needs=(RecordKind.FAULT,),
        find=deeds.faults,
    ),
    ThreadRule(
        name="memory-call",
        title="asks the kernel for memory",
        why="The call waits for other threads of its process that do so, and the new pages fault.",
        cure="allocate before the loop; mallopt(M_TRIM_THRESHOLD, -1) and (M_MMAP_MAX, 0)",
        needs=(RecordKind.ENTER,),
        find=deeds.called(*MEMORY),
    ),
    ThreadRule(
        name="file-call",
        title="works on files",
        why="A write waits for a disk, or for whoever reads what is printed, whenever a buffer is"
        " full.",
        cure="give it to an ordinary thread, through a ring buffer",
        needs=(RecordKind.ENTER,),
        find=deeds.writes,
    ),
    ThreadRule(
        name="makes-threads",
        title="makes threads or processes",
        why="Each needs memory, and locks of the whole process.",
        cure="make them before the loop",
        needs=(RecordKind.FORK, RecordKind.EXEC, RecordKind.END),
        find=deeds.forks,
    ),
    ThreadRule(
        name="softirq-wait",
        title="waits for what a softirq ends",
        why="Softirqs run behind one another; with PREEMPT_RT, where timers of files and signals"
        " are theirs too, in a thread that may be less urgent.",
        cure="sleep by clock_nanosleep; or make ksoftirqd and threads of interrupts as urgent",
        needs=(RecordKind.WAKING,),
        flags=True,
        find=deeds.softirq,
    ),
    ThreadRule(
        name="relative-sleep",
        title="sleeps for a time",
        why="The time that passes until the call, preemption too, is added to each period.",
        cure="sleep until an instant: clock_nanosleep with TIMER_ABSTIME",
        needs=(RecordKind.ENTER,),
        find=deeds.relative,
    ),
    ThreadRule(
        name="wall-clock",
        title="waits by the time of day",
        why="Whoever sets the clock makes it wake early, or late.",
        cure="CLOCK_MONOTONIC (of a condition: pthread_condattr_setclock)",
        needs=(RecordKind.ENTER,),
        find=deeds.wall_clock,
    ),
    ThreadRule(
        name="equal-priorities",
        title="is as urgent as another thread on its CPU",
        why="Whichever comes first runs to its end: the other waits for all of it.",
        cure="give each a priority of its own",
        find=deeds.equal,
    ),
    ThreadRule(
        name="interpreter",
        title="runs in a runtime that allocates, locks and sleeps by itself",
        why="What is named is done by the interpreter, or by Go, not by the program's own lines.",
        cure="move what has deadlines to C, C++ or Rust",
        find=deeds.nothing,
    ),
)
RULES = {rule.name: rule for rule in _EVERY}


def rules_of(recording: Recording, derived: DerivedRun, allow: Sequence[str] = ()) -> RulesSeen:
    """Which rules the real-time threads broke; of a program without any none is judged. ``allow``:
    RULE:THREAD that the user accepts."""
    seen = Judged(recording, derived)
    if not seen.urgent:
        return RulesSeen()
    events, kinds = recording.events, {*np.unique(recording.events["kind"]).tolist()}
    flags = (events["b"][events["kind"] == RecordKind.WAKING] & IN_INTERRUPT).any()
    rules = [rule for rule in RULES.values() if flags or not rule.flags]
    found = {rule.name: [*_broken(rule, seen)] for rule in rules}
    judged = [
        rule.name for rule in rules if found[rule.name] or not rule.needs or kinds & {*rule.needs}
    ]
    every = [each for rows in found.values() for each in rows]
    own = [row for tid, row in every if derived.tracks[tid].thread.pid not in seen.runtimes]
    for pid, name in seen.runtimes.items():  # one line for all that its threads broke
        if mine := [row for tid, row in every if derived.tracks[tid].thread.pid == pid]:
            own.append(
                BrokenRule(
                    rule="interpreter",
                    thread=name,
                    count=sum(row.count for row in mine),
                    jobs=max(row.jobs for row in mine),
                    where=", ".join(dict.fromkeys(row.rule for row in mine)),
                    cure=RULES["interpreter"].cure,
                )
            )
    return RulesSeen(
        broken=tuple(
            evolve(row, accepted=not {*allow}.isdisjoint(f"{row.rule}:{name}" for name in names))
            for row in own
            for names in [(row.thread, row.thread.partition("#")[0])]
        ),
        judged=tuple(judged),
        not_seen=tuple(name for name in RULES if name not in judged),
    )


def _broken(rule: ThreadRule, seen: Judged) -> Iterator[tuple[int, BrokenRule]]:
    """By thread: those with most jobs first."""
    found: dict[int, list[tuple[Times | None, str]]] = defaultdict(list)
    for tid, at, where in rule.find(seen):
        found[tid].append((at, where))
    rows = []
    for tid, each in found.items():
        places = Counter[str]()
        for at, where in each:
            places[where] += _told(seen, tid, [at])[0]
        count, jobs = _told(seen, tid, [at for at, _ in each])
        if count:
            where = ", ".join(place for place, many in places.most_common(_PLACES) if many)
            row = BrokenRule(rule=rule.name, thread=seen.name(tid), count=count, jobs=jobs,
                             where=where, cure=rule.cure)  # fmt: skip
            rows.append((tid, row))
    yield from sorted(rows, key=lambda row: (-row[1].jobs, row[1].thread))


def _told(seen: Judged, tid: int, every: Iterable[Times | None]) -> tuple[int, int]:
    """How often a thread broke a rule, and in how many jobs: until its last job ended; while its
    jobs began no more often than later on. What one without jobs does may be its begin or end."""
    task, rows = seen.tasks[tid], seen.derived.rows.get(seen.tasks[tid].name)
    instants = [at for at in every if at is not None]
    if not instants:
        return max(task.jobs, 1), task.jobs
    if rows is None:
        return 0, 0
    at, (begin, end) = np.concatenate(instants), seen.window(tid)
    at = at[(at >= rows["before"][0]) & (at < end)]
    per_job = np.bincount(np.searchsorted(rows["before"], at, "right") - 1, minlength=len(rows))
    early = int(np.searchsorted(rows["before"], begin))
    return _usual(per_job, early), _usual(per_job > 0, early)


def _usual(counts: NDArray[np.int64] | NDArray[np.bool_], early: int) -> int:
    """Sum of ``counts``; of the ``early`` ones at most what later ones have on average."""
    later = int(counts[early:].sum())
    return later + min(
        int(counts[:early].sum()), round(later * early / max(len(counts) - early, 1))
    )
