"""Why jobs were late, by the records from their release to their end."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from operator import itemgetter

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.base.model.lateness import (
    BEFORE,
    BLIND,
    EITHER,
    FAULT,
    INTERRUPT,
    LOCK,
    PREEMPTED,
    QUOTA,
    STOLEN,
    THROTTLED,
    TIMER,
    WAITED,
    WAKE_UP,
    WORK,
    MissCause,
    counted,
)
from deadbeat.base.model.lateness import NOT_SEEN as NOWHERE
from deadbeat.base.model.words import time_text
from deadbeat.program.derive.jobs import JOB, ThreadJobs, single_jobs
from deadbeat.program.derive.records import IN_INTERRUPT, Recording, RecordKind
from deadbeat.program.derive.sections import LockWait
from deadbeat.program.derive.switches import Times, switches_of
from deadbeat.program.derive.tasks import NOT_SEEN, DerivedRun, DerivedTask, names_of
from deadbeat.program.derive.tracks import FAULTING, NEVER, PARKED, STOPPED, Track

#: Jobs that say what is usual; late ones of a task that are looked at.
_SAMPLE, _MOST = 50, 2000
_FAIR_PRIO = 100
#: A charge in an interrupt counts until its begin; over as many that is little.
_CHARGES = 10
#: Of INTERRUPT.c, and of softirqs their numbers.
_HANDLERS = ("interrupt {}", "softirq {}", "local timer", "call of a CPU", "reschedule", "irq work")
_SOFT = ("hi", "timer", "net_tx", "net_rx", "block", "poll", "tasklet", "sched", "hrtimer", "rcu")


Parts = Counter[tuple[str, str]]


@frozen(kw_only=True)
class Late:
    """A late job: its number, release since the recording's begin, and how long the ``cause`` took
    more than usual. ``since``: the job of which these are; those after it began late. ``by``:
    thread, lock and holder, or call; ``shares``: all causes, ns."""

    task: str
    job: int
    since: int
    at_ns: int
    response_ns: int
    cause: str
    by: str
    ns: int
    shares: dict[str, int]


def late(recording: Recording, derived: DerivedRun) -> tuple[Late, ...]:
    """The late jobs of each task that missed its deadline, the worst first; of very many some."""
    tasks = [task for task in derived.tasks if task.misses]
    seen = Stretches(recording, derived) if tasks else None
    found: list[Late] = []
    for task in tasks:
        if seen and task.deadline_ns is not None:
            found += _of_task(seen, task, derived.jobs[task.name], task.deadline_ns)
    return tuple(found)


def causes(found: Iterable[Late], derived: DerivedRun) -> Iterator[MissCause]:
    """Why each task missed: how many misses have which cause, the commonest first. Jobs that
    nothing separates were late for the same one."""
    every = [*found]
    for task in derived.tasks:
        mine = [each for each in every if each.task == task.name]
        if mine:
            release, end, first = single_jobs(derived.jobs[task.name], task.period_ns or 0)
            late_jobs = np.add.reduceat(
                (end - release > (task.deadline_ns or 0)).astype(int), first
            )
            rows = ((each.cause, each.by, each.ns, int(late_jobs[each.job])) for each in mine)
            yield from counted(task.name, rows)


def _of_task(seen: Stretches, task: DerivedTask, jobs: ThreadJobs, deadline: int) -> list[Late]:
    rows, (release, end, first) = jobs.rows, single_jobs(jobs, task.period_ns or 0)
    response = np.maximum.reduceat(end - release, first)
    missed = np.flatnonzero(response > deadline)
    missed = missed[:: -(-len(missed) // _MOST) or 1]
    worst = missed[np.argsort(-response[missed], kind="stable")]
    timely = np.flatnonzero(response <= deadline)
    usual_ones = timely if len(timely) else missed
    sample = usual_ones[:: max(len(usual_ones) // _SAMPLE, 1)]
    causes = [_by_cause(seen.parts(task.tid, rows[place])) for place in sample]
    usual = {
        cause: int(np.median([each[cause] for each in causes]))
        for cause in {cause for each in causes for cause in each}
    }
    if not len(timely):  # work is no reason, but where it takes more than there is
        usual = {WORK: usual[WORK]} if usual.get(WORK, deadline) < deadline else {}

    @cache
    def judged(at: int) -> tuple[str, Parts, dict[str, int]]:
        parts = seen.parts(task.tid, rows[at])
        more = {c: ns - usual.get(c, 0) for c, ns in _by_cause(parts).items()}
        return max(more, key=lambda each: more[each]), parts, more

    # late since the one before was: why that one was; no other cause took as much
    before = rows["before"] - rows["release"] - usual.get(BEFORE, 0) > rows["end"] - rows["before"]
    found = []
    for place in worst:
        at = int(place)
        while at > 0 and (before[at] or judged(at)[0] == BEFORE):
            at -= 1
        cause, parts, more = judged(at)
        lateness = int(response[at]) - deadline
        if sum(max(ns, 0) for ns in more.values()) < lateness / 2:  # it is not in the recording
            cause = BLIND if seen.blind else NOWHERE
            parts, more = Counter({(cause, ""): lateness}), {cause: lateness}
        by, took = max(((k[1], ns) for k, ns in parts.items() if k[0] == cause), key=itemgetter(1))
        found.append(
            Late(
                task=task.name,
                job=int(place),
                since=at,
                at_ns=int(rows["release"][place]),
                response_ns=int(response[place]),
                cause=cause,
                by=by,
                ns=min(more[cause], took),
                shares={each: ns for each, ns in more.items() if ns > 0},
            )
        )
    return found


def _by_cause(parts: Parts) -> Counter[str]:
    found: Counter[str] = Counter()
    for (cause, _), ns in parts.items():
        found[cause] += ns
    return found


class Stretches:
    """Who ran where, and what each thread waited for."""

    def __init__(self, recording: Recording, derived: DerivedRun) -> None:
        self.tracks = derived.tracks
        self.names = recording.names | names_of(recording.threads)
        self.locks = defaultdict[int, list[tuple[LockWait, str]]](list)  # tid -> waits, in order
        for wait, name in sorted(
            ((wait, name) for name, waits in derived.waits.items() for wait in waits),
            key=lambda each: each[0].at_ns,
        ):
            self.locks[wait.waiter].append((wait, name))
        switches = switches_of(recording)
        on = {int(cpu): switches[switches["cpu"] == cpu] for cpu in np.unique(switches["cpu"])}
        self.switches = {
            cpu: (rows, rows["ns"].astype(np.int64) - recording.begin_ns)
            for cpu, rows in on.items()
        }
        self.known = {tid: track.of(*FAULTING) for tid, track in self.tracks.items()}
        #: Instants in a row, as a search copies those of a column.
        self.when = {
            tid: tuple(
                np.ascontiguousarray(column, np.int64)
                for column in (
                    track.of(RecordKind.MIGRATE)["ns"],
                    track.blocks["enter"],
                    track.waits["enter"],
                    self.known[tid]["ns"],
                )
            )
            for tid, track in self.tracks.items()
        }
        self.blind = recording.blind
        self.quota = "its CPU quota" if recording.throttled else ""
        #: Who is held back by a quota is away like one that is preempted.
        self.preempted = QUOTA if self.quota else PREEMPTED
        self.kinds = {*np.unique(recording.events["kind"]).tolist()}
        self.handlers = {tid: _handlers(track) for tid, track in self.tracks.items()}
        each = [_charged(track, *self.handlers[tid]) for tid, track in self.tracks.items()]
        #: Whether the kernel charges interrupts to whom they hit: no CONFIG_IRQ_TIME_ACCOUNTING.
        self.charged = bool(np.concatenate([[True], *each]).mean() > 1 / 2)

    def name(self, tid: int) -> str:
        return self.names.get(tid, f"thread {tid}" if tid else NOT_SEEN)

    def parts(self, tid: int, row: NDArray[np.void]) -> Parts:
        """What a job's time went to."""
        track, found = self.tracks[tid], Counter[tuple[str, str]]()
        begin, end = int(row["release"]), int(row["end"])
        if row["before"] > begin:  # released while the job before went on
            found[BEFORE, ""] = int(row["before"]) - begin
            begin = int(row["before"])
        first = int(np.searchsorted(track.on[1:], begin, "right"))
        for place in range(first, int(np.searchsorted(track.off[:-1], end))):
            off, on = max(int(track.off[place]), begin), min(int(track.on[place + 1]), end)
            ready = off
            if track.state[place] & 0xFF:
                ready = self._asleep(found, track, place, (begin, on))
            self._ready(found, track, place, ready, on)
        self._on_cpu(found, track, np.array([begin, end]))
        return found

    def most(self, tid: int, begin: int, end: int) -> str:
        """What most of a thread's time went to, if that was not its own work: cause and who."""
        row = np.zeros(1, JOB)[0]
        row["before"] = row["release"] = row["begin"] = begin
        row["end"] = end
        parts = self.parts(tid, row)
        (cause, by), took = max(parts.items(), key=itemgetter(1), default=(("", ""), 0))
        plain = cause == WORK or 2 * took < end - begin
        return "" if plain else f"{cause}{f' ({by})' if by else ''} {time_text(took)}"

    def _on_cpu(self, found: Parts, track: Track, edges: Times) -> None:
        """Add the time on CPUs: work, page faults, interrupts, and what a hypervisor took."""
        on_cpu, charged = (float(np.diff(f(edges))[0]) for f in (track.on_cpu, track.cpu_time))
        rows, lengths = self.handlers[track.thread.tid]
        within = slice(*np.searchsorted(rows["ns"], edges))
        handled, longest = int(lengths[within].sum()), int(lengths[within].max(initial=0))
        gone = max(int(on_cpu - charged) - (0 if self.charged else handled), 0)
        either = RecordKind.INTERRUPT not in self.kinds or (self.charged and 2 * longest > gone)
        found[BLIND if self.blind else EITHER if either else STOLEN, ""] = gone
        for ns, which, kind in zip(
            lengths[within].tolist(), rows["a"][within], rows["c"][within], strict=True
        ):
            word = _SOFT[which] if kind == 1 and which < len(_SOFT) else which
            found[INTERRUPT, _HANDLERS[kind].format(word)] += ns
        if either and handled:  # the longest may be the steal
            found[max((k for k in found if k[0] == INTERRUPT), key=found.__getitem__)] -= min(
                gone, longest
            )
        at, sums = track.faults
        faults = int(np.diff(sums[np.searchsorted(at, edges)])[0])
        found[FAULT, ""] += faults
        found[WORK, ""] = max(int(charged) - (handled if self.charged else 0) - faults, 0)

    def _asleep(self, found: Parts, track: Track, place: int, within: tuple[int, int]) -> int:
        """Add a stretch of sleep; until when it was."""
        left, (begin, on), waits = int(track.off[place]), within, track.waits
        _, blocks, enters, known = self.when[track.thread.tid]
        block = track.blocks[np.searchsorted(blocks, left)]
        woken = min(max(int(block["wake"]), begin), on)
        ns = woken - max(left, begin)
        number = int(np.searchsorted(enters, left, "right")) - 1
        wait = waits[max(number, 0)]
        site = track.sites[int(wait["site"])]
        inside = number >= 0 and left <= wait["exit"]
        by_thread = block["waker"] and not (block["flags"] & IN_INTERRUPT or self.blind)
        mine = self.locks[track.thread.tid]
        last_one = bisect_right(mine, left, key=lambda each: each[0].at_ns)
        held = [each for each in mine[:last_one][-1:] if left <= each[0].at_ns + each[0].ns]
        last = self.known[track.thread.tid]
        before = int(np.searchsorted(known, left, "right")) - 1
        if before >= 0 and last["kind"][before] == RecordKind.FAULT:
            found[FAULT, ""] += ns
        elif track.state[place] & STOPPED:
            found[WAITED, "a stop by a signal (SIGSTOP)"] += ns
        elif inside and (site.what == "lock" or (held and site.call == PARKED)):
            holder = held[0][0].holder if held else int(block["waker"])
            name = held[0][1] if held else str(site)
            at = held[0][0].site.rpartition("(")[2].rstrip(")") if held else ""
            where = f" ({at})" if at else ""
            found[LOCK, f"{name}, held by {self.name(holder)}{where}"] += ns
        elif inside and wait["timer"] and wait["exit"] != NEVER and begin < wait["timer"] + ns + 1:
            after = max(woken - max(int(wait["timer"]), begin, left), 0)
            found[(BLIND, "") if self.blind else (TIMER, str(site))] += after
            found[WAITED, str(site)] += ns - after
        elif inside and site.what == "unknown" and by_thread:
            found[WAITED, f"a call that {self.name(int(block['waker']))} ended"] += ns
        else:
            found[WAITED, str(site)] += ns
        return woken

    def _ready(self, found: Parts, track: Track, place: int, begin: int, end: int) -> None:
        """Add a stretch in which it could have run: by who ran there instead."""
        moves, *_ = self.when[track.thread.tid]
        last = int(np.searchsorted(moves, end)) - 1
        moved = min(max(int(moves[last]), begin), end) if last >= 0 else begin
        # what it left while it could run, after its release, was taken from it
        taken = not track.state[place] & 0xFF and track.off[place] == begin
        for cpu, since, until in ((place, begin, moved), (place + 1, moved, end)):
            for other, others, fair, ns in self._ran(int(track.cpu[cpu]), since, until):
                real_time = track.thread.policy in ("fifo", "rr", "deadline")
                who = self.name(other) + others
                if other == track.thread.tid:
                    continue
                if other and not (real_time and fair):
                    found[self.preempted if fair else PREEMPTED, who] += ns
                elif taken:
                    by = self.quota if not real_time else ""
                    found[THROTTLED, by or f"policy {track.thread.policy}"] += ns
                else:
                    found[WAKE_UP, who if other else ""] += ns

    def _ran(self, cpu: int, begin: int, end: int) -> Iterator[tuple[int, str, bool, int]]:
        """Who ran on a CPU, and others, whether at no real-time priority, and how long. Switches
        between other programs are not recorded: who came at its begin, else who left at its end."""
        here, ns = self.switches[cpu]
        first = int(np.searchsorted(ns, begin, "right")) - 1
        for number in range(first, int(np.searchsorted(ns, end))):
            since = max(int(ns[number]), begin) if number >= 0 else begin
            until = min(int(ns[number + 1]) if number + 1 < len(ns) else end, end)
            if until <= since:
                continue
            came, left = here[max(number, 0)], here[min(number + 1, len(ns) - 1)]
            known = number >= 0 and number + 1 < len(ns)
            others = " and others" * bool(known and came["a"] != left["tid"])
            if number < 0 or (others and since > ns[number]):
                other, prio = int(left["tid"]), int(left["c"]) & 0xFFFFFFFF
            else:
                other, prio = int(came["a"]), int(came["c"]) >> 32
            yield other, others, prio >= _FAIR_PRIO, until - since


def _handlers(track: Track) -> tuple[NDArray[np.void], Times]:
    """Records of interrupts, and how long one was handled from each on."""
    rows = track.of(RecordKind.INTERRUPT, RecordKind.INTERRUPT_END)
    if not len(rows):
        return rows, np.zeros(0, np.int64)
    step = np.where(rows["kind"] == RecordKind.INTERRUPT, 1, -1)
    stretch = np.searchsorted(track.on, rows["ns"], "right")
    first = np.flatnonzero(np.diff(stretch, prepend=-1))
    depth = np.cumsum(step)
    depth -= np.repeat((depth - step)[first], np.diff(np.append(first, len(rows))))
    inside = (depth[:-1] > 0) & (np.diff(stretch) == 0)
    return rows, np.append(np.where(inside, np.diff(rows["ns"]), 0), 0)


def _charged(track: Track, rows: NDArray[np.void], lengths: Times) -> NDArray[np.bool_]:
    """For each some charges with interrupts between them: whether these were charged."""
    charges = track.of(RecordKind.RUNTIME)[::_CHARGES]
    if len(charges) < 2 or not len(rows):
        return np.zeros(0, bool)
    handled = np.diff(np.append(0, np.cumsum(lengths))[np.searchsorted(rows["ns"], charges["ns"])])
    gaps = np.diff(track.on_cpu(charges["ns"])) - np.diff(track.cpu_time(charges["ns"]))
    return np.asarray((2 * gaps < handled)[handled > 0])
