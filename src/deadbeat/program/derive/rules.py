"""Rules for real-time threads: what makes a job late one day, though none was.

A rule is a function, the gravest first: it yields threads, when each broke the rule, and where; its
docstring says why that matters.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from deadbeat.base.model.words import time_text
from deadbeat.program.derive.judged import BEGIN, RULES, Instances, Judged, called, rule
from deadbeat.program.derive.records import IN_INTERRUPT, NEXT, SHARED, RecordKind
from deadbeat.program.derive.switches import Times
from deadbeat.program.derive.tracks import MEMORY, SLOW

__all__ = ["RULES"]

#: Clocks that whoever may can set; of a futex's operation, that it waits by one.
_REAL_TIME_CLOCKS, _BY_REAL_TIME = (0, 8, 11), 0x100
#: In an interrupt, or a softirq, and not in both.
_HARD, _SOFT = 0x08, 0x10
#: Of a CPU real-time threads have 0.95 of each period (kernel.sched_rt_*), with interrupts in it.
_PERIOD_NS, _LIMIT = 1_000_000_000, 0.94
#: Who runs for so little of the time may end before it waits.
_LITTLE = 0.01
#: Output and errors.
_PRINTS = (1, 2)


@rule(
    "never waits",
    "let it wait for its next job; or make it an ordinary thread on a CPU of its own",
    RecordKind.SWITCH,
)
def never_waits(seen: Judged) -> Instances:
    """No thread that is less urgent runs on its CPU, the kernel's own ones included, until
    throttling stops it."""
    for tid, track in seen.urgent.items():
        begin, end = seen.window(tid)
        ran = float(np.diff(track.on_cpu(np.array([begin, end], np.int64)))[0])
        # a sleep that is over before it begins is of a late job
        sleeps = [place for place, site in enumerate(track.sites) if site.what == "sleep"]
        asked = track.waits["enter"][np.isin(track.waits["site"], sleeps)]
        ends = (track.off[(track.state & 0xFF) > 0], track.blocks["exit"], asked)
        waits = any(seen.steady(tid, at) for at in ends)
        if ran > _LITTLE * track.end and not waits:
            yield tid, None, f"it runs {ran / (end - begin):.0%} of the time"


@rule(
    "loads its CPU up to the limit of throttling",
    "move a thread to another CPU, or make jobs shorter",
    RecordKind.SWITCH,
)
def overload(seen: Judged) -> Instances:
    """Real-time threads that have 0.95 s of a second (kernel.sched_rt_runtime_us) are stopped
    until it is over."""
    end = seen.recording.end_ns - seen.recording.begin_ns
    edges = np.arange(round(BEGIN * end), round((1 - BEGIN) * end), _PERIOD_NS)
    edges = edges if len(edges) > 1 else np.array([BEGIN * end, (1 - BEGIN) * end])
    ran = defaultdict[int, dict[int, NDArray[np.float64]]](dict)
    for tid, track in seen.urgent.items():
        for cpu in np.unique(track.cpu).tolist() if track.thread.policy != "deadline" else ():
            here = track.cpu == cpu
            sums = np.append(0, np.cumsum(track.off[here] - track.on[here]))
            ends = np.column_stack([track.on[here], track.off[here]]).ravel()
            known = np.interp(edges, ends, np.column_stack([sums[:-1], sums[1:]]).ravel())
            ran[cpu][tid] = np.diff(known) / np.diff(edges)
    for cpu, mine in ran.items():
        total = np.sum([*mine.values()], axis=0)
        if (over := total >= _LIMIT).any():
            most = max(mine, key=lambda tid: float(mine[tid][over].sum()))
            yield most, None, f"{total.max():.0%} of CPU {cpu}"


@rule(
    "shares a lock without protocol with a less urgent thread",
    "PTHREAD_PRIO_INHERIT (--try inherit shows what it does)",
    RecordKind.GOT,
    RecordKind.INIT,
)
def lock_without_protocol(seen: Judged) -> Instances:
    """Who holds it may be preempted by any thread of a priority between the two: the wait has
    no bound, whether or not one was seen."""
    symbols, users = seen.recording.symbols, defaultdict[tuple[int, str], dict[int, Times]](dict)
    for tid, track in seen.derived.tracks.items():
        rows = track.of(RecordKind.GOT)
        order = np.argsort(rows["a"], kind="stable")
        found, first = np.unique(rows["a"][order], return_index=True)
        for what, at in zip(found.tolist(), np.split(rows["ns"][order], first[1:]), strict=False):
            pid = 0 if what >= SHARED else track.thread.pid
            users[pid, symbols.get(what, f"{what:#x}")][tid] = at
    named = {name for _, name in users}
    for name, waits in seen.derived.waits.items():  # of locks that no library saw
        for wait in waits if name not in named else ():
            jobs = seen.tasks[wait.waiter].jobs  # else it may begin or end
            for tid in {wait.waiter, wait.holder} & {*seen.tasks} if jobs else ():
                at = users[0, name].get(tid, np.zeros(0, np.int64))
                users[0, name][tid] = np.append(at, wait.at_ns)
    plain = {lock.name for lock in seen.derived.locks if lock.protocol == "none"}
    for (_, name), mine in users.items():
        steady = sorted((t for t, at in mine.items() if seen.steady(t, at)), key=seen.rank)
        lower = [tid for tid in steady if seen.rank(tid) > seen.rank(steady[0])]
        if name in plain and lower and steady[0] in seen.urgent:
            yield steady[0], mine[steady[0]], f"{name}, with {seen.name(lower[-1])}"


@rule(
    "is woken by a less urgent thread",
    "make the waker as urgent; accept it of a thread that only serves others",
    RecordKind.WAKING,
    flags=(_HARD, _SOFT, IN_INTERRUPT),
)
def woken_by_less_urgent(seen: Judged) -> Instances:
    """That thread may be preempted before it wakes this one, which then waits as if it were
    less urgent itself."""
    parked = defaultdict[int, list[int]](list)  # for locks
    for wait in (each for every in seen.derived.waits.values() for each in every):
        parked[wait.waiter].append(wait.at_ns)
    for tid, track in seen.urgent.items():
        waits = track.waits
        sites = [n for n, s in enumerate(track.sites) if s.what in ("event", "unknown")]
        mine = waits[np.isin(waits["site"], sites) & waits["blocked"] & (waits["waker"] > 0)]
        mine = mine[(mine["flags"] & IN_INTERRUPT == 0) & ~np.isin(mine["enter"], parked[tid])]
        for waker in np.unique(mine["waker"]).tolist():
            if seen.rank(waker) > seen.rank(tid):
                yield tid, mine["enter"][mine["waker"] == waker], f"by {seen.name(waker)}"


@rule(
    "has page faults",
    "mlockall(MCL_CURRENT | MCL_FUTURE) before threads start; touch stacks; no new memory in jobs",
    RecordKind.FAULT,
)
def page_fault(seen: Judged) -> Instances:
    """A page that is not there costs microseconds, one that is read from a disk
    milliseconds."""
    for tid, track in seen.urgent.items():
        rows = track.of(RecordKind.FAULT)
        what, names = np.zeros(len(rows), int), ["memory"]
        for each in reversed(seen.maps.get(track.thread.pid, [])):
            names.append("" if each.ours else each.what)
            what[(rows["a"] >= each.begin) & (rows["a"] < each.end)] = len(names) - 1
        for place in np.unique(what).tolist():
            if names[place]:
                yield tid, rows["ns"][what == place], names[place]


@rule(
    "asks the kernel for memory",
    "allocate before the loop; mallopt(M_TRIM_THRESHOLD, -1) and (M_MMAP_MAX, 0)",
    RecordKind.ENTER,
)
def memory_call(seen: Judged) -> Instances:
    """The call waits for other threads of its process that do so, and the new pages fault."""
    yield from called(seen, *MEMORY)


@rule("works on files", "give it to an ordinary thread, through a ring buffer", RecordKind.ENTER)
def file_call(seen: Judged) -> Instances:
    """A write waits for a disk, or for whoever reads what is printed, whenever a buffer is
    full."""
    yield from called(seen, *SLOW)
    files = defaultdict[tuple[int, int], list[tuple[int, bool]]](list)  # process and number
    for track in seen.derived.tracks.values():
        for name, is_file in (("openat", True), ("close", False)):
            numbers = [number for number, known in track.names.items() if known == name]
            rows = track.of(RecordKind.EXIT if is_file else RecordKind.ENTER)
            for ns, number in rows[np.isin(rows["a"], numbers)][["ns", "b"]].tolist():
                files[track.thread.pid, number].append((ns, is_file))
    for tid, track in seen.urgent.items():
        for name, rows in seen.calls(track, "write", "writev"):
            for number in np.unique(rows["b"]).tolist():
                mine = rows["ns"][rows["b"] == number]
                since = [(0, number in _PRINTS), *sorted(files[track.thread.pid, number])]
                last = np.searchsorted([ns for ns, _ in since], mine, "right") - 1
                is_file = np.array([is_file for _, is_file in since])[last]
                yield tid, mine[is_file], f"{name} of {number}"


@rule(
    "makes threads or processes",
    "make them before the loop",
    RecordKind.FORK,
    RecordKind.EXEC,
    RecordKind.END,
)
def makes_threads(seen: Judged) -> Instances:
    """Each needs memory, and locks of the whole process."""
    for tid, track in seen.urgent.items():
        yield tid, track.of(RecordKind.FORK)["ns"], ""
        for made in seen.derived.tracks.values():
            if made.thread.sleeps_in == NEXT:  # as `lives` has it
                yield tid, made.wakes["ns"][made.wakes["a"] == tid], ""


@rule(
    "waits for what a softirq ends",
    "sleep by clock_nanosleep; or make ksoftirqd and threads of interrupts as urgent",
    RecordKind.WAKING,
    flags=(_HARD, _SOFT),
)
def softirq_wait(seen: Judged) -> Instances:
    """Softirqs run behind one another; with PREEMPT_RT, where timers of files and signals are
    theirs too, in a thread that may be less urgent."""
    for tid, track in seen.urgent.items():
        jobs, waits = seen.derived.jobs.get(seen.tasks[tid].name), track.waits
        for place, site in enumerate(track.sites):
            mine = waits[(waits["site"] == place) & waits["blocked"]]
            by = mine["flags"] & IN_INTERRUPT
            if site.what in ("event", "unknown"):
                yield tid, mine["enter"][by == _SOFT], str(site)
            if jobs and jobs.what == "timer" and jobs.site == site:
                yield tid, mine["enter"][(by > 0) & (by != _SOFT)], f"{site}, a timer"


@rule(
    "sleeps for a time",
    "sleep until an instant: clock_nanosleep with TIMER_ABSTIME (C++'s sleep_until has none)",
    RecordKind.ENTER,
)
def relative_sleep(seen: Judged) -> Instances:
    """The time that passes until the call, preemption too, is added to each period."""
    for tid, track in seen.urgent.items():
        sites = [n for n, s in enumerate(track.sites) if s.what == "sleep" and not s.object & 1]
        waits = track.waits
        mine = waits[np.isin(waits["site"], sites) & waits["blocked"]]
        asked = (mine["timer"] - mine["enter"])[mine["timer"] != 0]
        yield tid, mine["enter"], f"for {time_text(int(np.median(asked)))}" if len(asked) else ""


@rule(
    "waits by the time of day",
    "CLOCK_MONOTONIC (of a condition: pthread_condattr_setclock)",
    RecordKind.ENTER,
)
def wall_clock(seen: Judged) -> Instances:
    """Whoever sets the clock makes it wake early, or late."""
    for tid, track in seen.urgent.items():
        both = track.of(RecordKind.ENTER, RecordKind.SLEEP_TIMER)
        timed = both["ns"][:-1][both["kind"][1:] == RecordKind.SLEEP_TIMER]
        for name, rows in seen.calls(track, "clock_nanosleep", "futex"):
            mine = np.isin(rows["ns"], timed) & ((rows["c"] & _BY_REAL_TIME) > 0)
            if name == "clock_nanosleep":
                mine = np.isin(rows["b"], _REAL_TIME_CLOCKS) & ((rows["c"] & 1) > 0)
            yield tid, rows["ns"][mine], name


@rule("is as urgent as another thread on its CPU", "give each a priority of its own")
def equal_priorities(seen: Judged) -> Instances:
    """Whichever comes first runs to its end: the other waits for all of it."""
    found = defaultdict[tuple[int, tuple[int, ...]], list[int]](list)
    for tid, track in seen.urgent.items():
        if track.thread.policy == "fifo" and not seen.tasks[tid].rests:
            found[track.thread.priority, track.thread.cpus].append(tid)
    for (_, cpus), (first, *rest) in found.items():
        if rest and len(cpus) == 1:
            yield first, None, f"{seen.name(rest[0])} on CPU {cpus[0]}"


@rule(
    "runs in a runtime that allocates, locks and sleeps by itself",
    "move what has deadlines to C, C++ or Rust",
)
def interpreter(_: Judged) -> Instances:
    """What is named is done by the interpreter, or by Go, not by the program's own lines."""
    yield from ()
