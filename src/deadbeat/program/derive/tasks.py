"""The task set of a program that ran: its tasks, locks and chains."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from deadbeat.base.model.words import time_text
from deadbeat.program.derive import arrivals
from deadbeat.program.derive.arrivals import Grid
from deadbeat.program.derive.channels import MESSAGE, Rows, Traffic, shared_memory, traffic
from deadbeat.program.derive.jobs import (
    EVEN,
    JOBS_MIN,
    SURE_JOBS,
    ThreadJobs,
    job_site,
    jobs_of,
    merge,
    released,
    single_jobs,
    started,
)
from deadbeat.program.derive.outside import helpers_of, jobless, naps, rests
from deadbeat.program.derive.records import REAL_TIME, RecordedThread, Recording, RecordKind
from deadbeat.program.derive.sections import DerivedSection, HeldLock, LockWait, locks_of
from deadbeat.program.derive.switches import missing_ns
from deadbeat.program.derive.tracks import NEVER, RESTARTED, Track, tracks

#: First jobs are warm-up where they took so much longer than any later one; at most WARM_UP_MAX.
WARM_UP, WARM_UP_MAX = 1.2, 3
#: A link has this share of the jobs at least; of a chained task all links have the second.
LINK_MIN, CHAINED_MIN = 0.05, 0.5
#: Where a deadline is from that nothing states, of a task with no fewer jobs.
ASSUMED = "assumed: the period"
#: So does such a share on the grid.
UNSURE = (0.6, 0.9)
#: Releases so near their grid, which the thread asks for, are no sum of its sleep and its work.
PLANNED_NS = 1_000
#: Holder of a lock that is none of the threads.
NOT_SEEN = "a thread not seen"
_CONFIDENCE = 0.05
#: A thread that ends later after its last wait than these periods, or longest jobs, may hang.
_REST = 3
#: A real-time thread that ended before such a part of the time is said.
_GONE = 0.1


@frozen(kw_only=True)
class DerivedTask:
    """A thread and what its jobs were; times in ns. None: not known.

    Attributes:
        kind: One of arrivals.KINDS; ``unsure``: why it may be another; "": it is sure.
        site: Where it waits for its next job.
        gaps_ns: Least time in which n jobs were released, n = 2..32.
        typical_gap_ns: Median from one release to the next; ``even``: half are about as long.
        jitter_ns: From the earliest release to the latest, by the grid.
        jobs: With those that nothing separates from the job before: ``merged`` of them.
        skipped: Releases left out.
        mode: In long runs it has this multiple of the period; 1: none.
        burst: Most jobs of a burst; then ``period_ns`` is the distance of bursts.
        warm_up: First jobs left out of C, since they took longer than any later one, at most
            ``warm_up_max_ns``.
        c_max_ns: Largest of the ``jobs``; a job is longer with a probability of at most
            1 - ``quantile``, with a confidence of 95 %. ``charged``: with system calls and wake-up.
        rests: It hardly runs between the first tenth of the time and the last.
        charged_share: Sum of charges over the thread's CPU time as the kernel has it.
        left_out: Why it is not judged though it runs; "": it is a task, or hardly runs.
        unended: How long it ended no job at last, and what it did: a job may hang; "": none does.
        comm: Its name by the kernel, where it has that of the function it ``starts`` in.
    """

    name: str
    tid: int
    comm: str = ""
    starts: str = ""
    kind: str
    unsure: str = ""
    site: str = ""
    period_ns: int | None = None
    min_gap_ns: int | None = None
    typical_gap_ns: int | None = None
    gaps_ns: tuple[int, ...] = ()
    even: bool = False
    jitter_ns: int | None = None
    offset_ns: int | None = None
    jobs: int = 0
    merged: int = 0
    skipped: int = 0
    mode: int = 1
    burst: int = 1
    warm_up: int = 0
    warm_up_max_ns: int = 0
    c_mean_ns: float | None = None
    c_max_ns: int | None = None
    charged_mean_ns: float | None = None
    charged_max_ns: int | None = None
    quantile: float | None = None
    charged_share: float | None = None
    rests: bool = False
    left_out: str = ""
    unended: str = ""
    deadline_ns: int | None = None
    deadline_from: str = ""
    policy: str
    priority: int
    cpus: tuple[int, ...]
    runtime_ns: int = 0
    suspension_mean_ns: float = 0.0
    suspension_max_ns: int = 0
    sections: tuple[DerivedSection, ...] = ()
    response_max_ns: int | None = None
    response_p50_ns: int | None = None
    response_p99_ns: int | None = None
    misses: int | None = None

    def demand(self, spent_ns: float, jobs: int, ns: float) -> float:
        """C over T, of ``jobs`` in ``ns``; the share of that time where T is not one."""
        steady = self.kind == "periodic" and self.mode == 1 and self.period_ns
        return spent_ns / (max(jobs, 1) * steady if steady else ns)


@frozen(kw_only=True)
class Waited:
    """How often ``waiter`` waited for ``holder``, which took the lock at ``site``."""

    waiter: str
    holder: str
    site: str
    count: int
    max_ns: int


@frozen(kw_only=True)
class DerivedLock:
    """``count`` sections, the ``longest_ns`` in CPU time (None: none was seen); ``users`` hold it
    or wait for it; ``waited``: the longest wait first;
    ``changed``, ``foreign``: see sections.HeldLock."""

    name: str
    protocol: str
    changed: str = ""
    foreign: bool = False
    users: tuple[str, ...]
    longest_ns: int | None
    count: int | None
    waited: tuple[Waited, ...] = ()


@frozen(kw_only=True)
class Link:
    """Data of ``from_`` that reach ``to``. Their age as a job of ``to`` ends, since the release of
    theirs, and the reaction to a release of ``from_``, at most (None: not seen).

    Attributes:
        kind: woken: the data release its job; queued: it takes one at a time, and more wait;
            sampled: it takes all there are, when it looks; may: it had a lock after ``from_``.
        channel: Through what; "": not seen.
        messages: That it took; ``lost``: that were dropped on the way.
        share: Of the jobs of ``to``, those that ``from_`` released.
        mean_ns: Of these, from the release of the first to the end of the second.
        at_least: Data may be older: more may have lain there before recording began.
    """

    from_: str
    to: str
    kind: str = "woken"
    channel: str = ""
    share: float = 0.0
    mean_ns: float | None = None
    max_ns: int | None = None
    messages: int = 0
    lost: int = 0
    age_ns: int | None = None
    reaction_ns: int | None = None
    at_least: bool = False


@frozen(kw_only=True, eq=False)
class Flow:
    """A link, and its messages as channels.MESSAGE, in order of ``put``."""

    link: Link
    rows: NDArray[np.void]


@frozen(kw_only=True)
class DerivedSet:
    """The task set. ``lost``: events, and ``dropped``: jobs that were left out therefore;
    ``seconds``: of which events are kept."""

    tasks: tuple[DerivedTask, ...]
    locks: tuple[DerivedLock, ...]
    chains: tuple[Link, ...]
    lost: int = 0
    dropped: int = 0
    seconds: float = 0.0
    not_seen: tuple[str, ...] = ()


@frozen(kw_only=True)
class DerivedRun(DerivedSet):
    """``rows``: name -> jobs, as jobs.JOB; ``jobs``: the same with their site."""

    begin_ns: int
    rows: dict[str, NDArray[np.void]] = field(factory=dict, eq=False, repr=False)
    jobs: dict[str, ThreadJobs] = field(factory=dict, eq=False, repr=False)
    waits: dict[str, tuple[LockWait, ...]] = field(factory=dict, eq=False, repr=False)
    tracks: dict[int, Track] = field(factory=dict, eq=False, repr=False)
    flows: tuple[Flow, ...] = field(default=(), eq=False, repr=False)

    def ended(self, name: str) -> int:
        """When a thread that ended within the recording would have had its next job; NEVER: it goes
        on."""
        task = next(task for task in self.tasks if task.name == name)
        ends = self.tracks[task.tid].of(RecordKind.END)["ns"]
        if not len(ends):
            return NEVER
        last = self.rows[name]["end"][-1] if name in self.rows else ends[-1]
        return int(last) + (task.typical_gap_ns or 0)

    def flow(self, name: str, to: str) -> Flow:
        """What goes from one thread to another; through several channels: most of it."""
        between = (e for e in self.flows if (e.link.from_, e.link.to) == (name, to))
        return max(between, key=lambda each: (each.link.kind != "may", len(each.rows)))


def names_of(threads: tuple[RecordedThread, ...], *, kernel: bool = False) -> dict[int, str]:
    """tid -> name, several of one name numbered in order of creation: that of its own, or the
    function in which it starts. ``kernel``: its own always."""
    functions = {thread.tid: thread.start.partition(" (")[0] for thread in threads}
    every = {
        each.tid: each.name if kernel else functions[each.tid] or each.name for each in threads
    }
    count = Counter(every.values())
    place: Counter[str] = Counter()
    found = {}
    for thread in sorted(threads, key=lambda each: (each.begin_ns, each.tid)):
        name = every[thread.tid]
        place[name] += 1
        found[thread.tid] = name + f"#{place[name]}" * (count[name] > 1)
    return found


def derive(recording: Recording, *, deadlines: Mapping[str, int] | None = None) -> DerivedRun:
    """The task set.

    Args:
        deadlines: Name of a task -> its deadline, ns. ``worker`` is every worker#n as well, ""
            every task that is not named.
    """
    all_tracks, names = tracks(recording), recording.names | names_of(recording.threads)
    moved = traffic(recording, all_tracks)
    by_kernel = names_of(recording.threads, kernel=True)
    found = {}
    for tid, track in all_tracks.items():
        if (chosen := job_site(track, all_tracks)) is not None:
            jobs = _released(jobs_of(track, *chosen), moved.wakers(tid))
            if len(jobs.rows) >= JOBS_MIN:
                found[tid] = jobs
    dropped, early = 0, list[str]()
    for tid, every in found.items():
        jobs = released(every, all_tracks, tid)
        whole = all_tracks[tid].known(jobs.rows["before"], jobs.rows["end"])
        dropped += int((~whole).sum())
        first = started(jobs)
        whole[:first] = False
        if first > WARM_UP_MAX:
            since = time_text(int(jobs.rows["release"][first]))
            early.append(f"jobs of {names[tid]} before {since}: its loop had not begun")
        found[tid] = evolve(jobs, rows=jobs.rows[whole], sleep=jobs.sleep[whole])
    found = {tid: jobs for tid, jobs in found.items() if len(jobs.rows) >= JOBS_MIN}
    threads = {thread.tid: thread for thread in recording.threads}
    left_out = {
        tid: why
        for tid, track in all_tracks.items()
        if tid not in found
        if (why := jobless(track, recording.blind))
    }
    moving = {threads[tid].pid for tid, track in all_tracks.items() if naps(track)}
    apart = [
        f"chains within {names[pid]}: its runtime moves work between threads"
        for pid in sorted(moving & {*names})
    ]
    apart += [
        f"{names[tid]} from {time_text(track.stopped)} on: a signal stopped it (SIGSTOP)"
        for tid, track in all_tracks.items()
        if track.stopped is not None
    ]
    helpers = helpers_of(found, threads, moving)
    left_out |= dict.fromkeys(helpers, "serves its runtime")
    found = {tid: jobs for tid, jobs in found.items() if tid not in helpers}
    for jobs in found.values():
        merge(jobs, arrivals.fit(jobs.rows["release"]))
    rows = {tid: jobs.rows for tid, jobs in found.items()}
    fixed = {tid for tid in rows if threads[tid].pid not in moving}
    aged = any("<-" in name for name in deadlines or ())
    held = locks_of(all_tracks, recording.symbols, rows, fixed, within=aged)
    woken = [
        _link(found, names, waker, tid)
        for tid, jobs in found.items()
        for waker, count in Counter(jobs.rows["waker"].tolist()).items()
        if waker in found and waker != tid
        if threads[tid].pid not in moving or threads[tid].pid != threads[waker].pid
        if count >= max(JOBS_MIN, LINK_MIN * len(jobs.rows))
    ]
    flows, doubts = _flows(moved, woken, found, names)
    flows = (*flows, *_by_locks(held, names))
    tasks = []
    for tid, track in all_tracks.items():
        name = names[tid]
        sections = tuple(each for lock in held for each in lock.sections.get(tid, ()))
        chained = sum(flow.link.share for flow in woken if flow.link.to == name) >= CHAINED_MIN
        plain = evolve(_thread(track, name, sections), left_out=left_out.get(tid, ""))
        task = _task(plain, track, found[tid], chained) if tid in found else plain
        if tid in found and track.thread.pid in moving:
            task = evolve(
                task,
                unsure="its runtime may move work between threads",
                left_out="its runtime moves work between threads: mark its jobs",
            )
        if track.thread.start:
            task = evolve(task, comm=by_kernel[tid], starts=track.thread.start)
        task = _judged(task, found.get(tid), track.thread, deadlines or {})
        last, hangs = _at_last(task, track, found.get(tid))
        early += [f"{name} {last}"] * (last > "" and not hangs)
        tasks.append(evolve(task, unended=last * hangs))
    return DerivedRun(
        tasks=tuple(tasks),
        locks=tuple(_lock(lock, names) for lock in held),
        chains=tuple(flow.link for flow in flows),
        lost=recording.lost,
        dropped=dropped,
        seconds=(recording.end_ns - recording.begin_ns - missing_ns(recording)) / 1e9,
        not_seen=(
            *recording.not_seen,
            *apart,
            *early,
            *moved.not_seen,
            *doubts,
            *shared_memory(recording),
        ),
        begin_ns=recording.begin_ns,
        rows={names[tid]: mine for tid, mine in rows.items()},
        jobs={names[tid]: mine for tid, mine in found.items()},
        waits={lock.name: lock.waits for lock in held},
        tracks=all_tracks,
        flows=flows,
    )


def _released(jobs: ThreadJobs, senders: Rows) -> ThreadJobs:
    """With who sent what it waited for, where that came in an interrupt: by UDP and TCP."""
    rows = jobs.rows
    if jobs.what not in ("event", "timer") or not len(senders):
        return jobs
    last = np.maximum(np.searchsorted(senders["put"], rows["release"], "right") - 1, 0)
    mine = (senders["put"][last] <= rows["release"]) & (rows["release"] <= senders["until"][last])
    mine &= rows["waited"] & (rows["waker"] == 0)
    rows["waker"][mine] = senders["sender"][last[mine]]
    return evolve(jobs, what="event") if mine.mean() >= CHAINED_MIN else jobs


def _flows(
    moved: Traffic, woken: Sequence[Flow], found: Mapping[int, ThreadJobs], names: Mapping[int, str]
) -> tuple[tuple[Flow, ...], list[str]]:
    """What threads send one another, through channels and by waking; what is not known of it."""
    by_wake = {(each.link.from_, each.link.to): each for each in woken}
    flows, lines = list[Flow](), list[str]()
    for sender, receiver, places, rows in sorted(moved.between(), key=lambda each: -len(each[3])):
        if len(rows) < JOBS_MIN or sender not in names or receiver not in names:
            continue
        wake = by_wake.pop((names[sender], names[receiver]), None)
        plain = wake.link if wake else Link(from_=names[sender], to=names[receiver], kind="sampled")
        if not wake and moved.left_over(rows, places, found.get(receiver)) > LINK_MIN:
            plain = evolve(plain, kind="queued")
        channel, lost = str(moved.channels[places[0]]), moved.lost(sender, places)
        if places[1:]:
            channel = f"{moved.channels[places[0]].kind}, {len(places)} of them"
        link = evolve(plain, channel=channel, messages=len(rows), lost=lost)
        if not wake and moved.doubtful & {*places}:
            link = evolve(link, at_least=True)
            lines.append(f"what lay in {channel} before recording began: data may be older")
        flows.append(Flow(link=link, rows=rows))
    return (*by_wake.values(), *flows), lines


def _at_last(task: DerivedTask, track: Track, jobs: ThreadJobs | None) -> tuple[str, bool]:
    """How long before its end it ended no job though it could have, and what it did then; whether
    a job may hang: it neither waits for the next one nor did it come back from where it was."""
    if jobs is None or not task.period_ns or task.jobs < SURE_JOBS:
        return "", False
    waits = track.waits[track.waits["enter"] >= jobs.rows["end"][-1]]
    last = int(waits["exit"][0]) if len(waits) else track.end
    ends = track.of(RecordKind.END)["ns"]
    until = int(ends[-1] if len(ends) else track.end)
    if task.policy in REAL_TIME and track.end - until > _GONE * track.end:
        return f"in the last {time_text(track.end - until)}: it had ended", False
    usual = max(task.period_ns, int((jobs.rows["end"] - jobs.rows["begin"]).max()))
    if until - last <= max(_REST * usual, task.deadline_ns or 0):
        return "", False
    text = f"ended no job in its last {time_text(until - last)}"
    away = np.append(track.on[1:], until) - np.maximum(track.off, last)
    asleep = np.where(track.state & 0xFF, away, 0)
    if asleep.max(initial=0) <= (until - last) / 2:
        return f"{text} (it worked on)" * (len(away) > 0) or text, len(away) > 0
    left = track.off[asleep.argmax()]
    within = waits[(waits["enter"] <= left) & (left <= waits["exit"])][-1:]
    calls = [track.sites[place].call for place in within["site"]] or ["a call that is not traced"]
    back = len(within) and within["exit"][0] != NEVER and within["ret"][0] not in RESTARTED
    return f"{text} (it was in {calls[0]})", not back


def _by_locks(held: Sequence[HeldLock], names: Mapping[int, str]) -> Iterator[Flow]:
    """What a thread may have got from the one that had a lock before it."""
    for lock in held:
        spans = np.array(sorted(lock.spans), np.int64).reshape(-1, 3)
        after = np.flatnonzero(np.diff(spans[:, 2])) + 1
        found = np.zeros(len(after), MESSAGE)
        found["put"] = found["until"] = spans[after - 1, 1]
        found["sender"], found["receiver"] = spans[after - 1, 2], spans[after, 2]
        found["take"] = spans[after, 0]
        for pair in np.unique(found[["sender", "receiver"]]):
            rows = found[found[["sender", "receiver"]] == pair]
            if len(rows) >= JOBS_MIN and {*pair.tolist()} <= {*names}:
                from_, to = (names[tid] for tid in pair.tolist())
                link = Link(from_=from_, to=to, kind="may", channel=f"lock {lock.name}",
                            messages=len(rows))  # fmt: skip
                yield Flow(link=link, rows=np.sort(rows, order="put"))


def _lock(lock: HeldLock, names: Mapping[int, str]) -> DerivedLock:
    sections = [each for mine in lock.sections.values() for each in mine]
    pairs: dict[tuple[int, int, str], list[int]] = {}
    for wait in lock.waits:
        pairs.setdefault((wait.waiter, wait.holder, wait.site), []).append(wait.ns)
    waited = [
        Waited(
            waiter=names[waiter],
            holder=names.get(holder, NOT_SEEN),
            site=site,
            count=len(each),
            max_ns=max(each),
        )
        for (waiter, holder, site), each in pairs.items()
    ]
    users = {*lock.sections} | {tid for each in lock.waits for tid in (each.waiter, each.holder)}
    return DerivedLock(
        name=lock.name,
        protocol=lock.protocol,
        changed=lock.changed,
        foreign=lock.foreign,
        users=tuple(names[tid] for tid in sorted(users & {*names})),
        longest_ns=max((each.max_ns for each in sections), default=None),
        count=sum(each.count for each in sections) if sections else None,
        waited=tuple(sorted(waited, key=lambda each: -each.max_ns)),
    )


def _link(found: Mapping[int, ThreadJobs], names: Mapping[int, str], waker: int, tid: int) -> Flow:
    rows, first = found[tid].rows, found[waker].rows
    mine = rows[rows["waker"] == waker]
    place = np.searchsorted(first["begin"], mine["release"], "right") - 1
    there = (place >= 0) & (mine["release"] <= first["end"][np.maximum(place, 0)])
    times = mine["end"][there] - first["release"][place[there]]
    link = Link(
        from_=names[waker],
        to=names[tid],
        channel=str(found[tid].site),
        share=len(mine) / len(rows),
        mean_ns=float(times.mean()) if len(times) else None,
        max_ns=int(times.max()) if len(times) else None,
        messages=len(mine),
    )
    messages = np.zeros(len(mine), MESSAGE)
    messages["sender"], messages["receiver"] = waker, tid
    messages["put"] = messages["until"] = mine["release"]
    messages["take"] = mine["begin"]
    return Flow(link=link, rows=messages)


def _thread(track: Track, name: str, sections: tuple[DerivedSection, ...]) -> DerivedTask:
    thread = track.thread
    at, charges = track.charges
    charged = charges[
        at <= (thread.sampled_ns - track.begin if thread.sampled_ns else track.end)
    ].sum()
    return DerivedTask(
        name=name,
        tid=thread.tid,
        kind="none",
        policy=thread.policy,
        priority=thread.priority,
        cpus=thread.cpus,
        runtime_ns=thread.runtime_ns,
        sections=sections,
        rests=rests(track),
        charged_share=None
        if len(track.gaps) or thread.cpu_ns <= 0
        else float(charged / thread.cpu_ns),
    )


def _task(plain: DerivedTask, track: Track, jobs: ThreadJobs, chained: bool) -> DerivedTask:
    rows = jobs.rows
    exact = rows["exact"] if rows["exact"].sum() >= JOBS_MIN else np.ones(len(rows), bool)
    known = exact.mean() >= arrivals.ON_GRID
    # what is taken without a wait came since the last one at the earliest
    last = np.maximum.accumulate(np.where(exact, rows["release"], rows["release"][0]))
    releases = rows["release"][exact] if known else last
    grid = arrivals.fit(releases, _dl_period(jobs, track.thread))
    seen = track.known(releases[:-1], releases[1:])
    timed = jobs.what in ("yield", "absolute", "relative")
    bunches = None if timed else arrivals.bursts(releases, seen)
    kind = _kind(jobs, grid, bunches is not None, chained)
    burst = bunches[0] if bunches and kind == "bursty" else 1
    if bunches and kind == "bursty":
        grid = arrivals.fit(bunches[1])
    on_grid = grid if grid and grid.fits else None
    first = _warm_up(rows)
    kept = rows[first:]
    single = kept[kept["pieces"] == 1] if (kept["pieces"] == 1).any() else kept
    pieces = int(kept["pieces"].sum())
    measured = len(track.on) > 0
    gaps, apart = arrivals.least_gaps(releases), np.diff(releases)
    typical = int(np.median(apart))
    relative = kind == "relative"
    unsure = "few jobs" if len(rows) < SURE_JOBS else ""
    if grid and UNSURE[0] < grid.share < UNSURE[1]:
        unsure = f"{grid.share:.0%} of the releases are on its grid"
    if jobs.what == "absolute" and np.median(jobs.sleep) <= 0:
        unsure = "most of its sleeps were over before they began: it is late all the time"
    unsure = jobs.doubt or unsure
    unsure = unsure if known else f"{1 - exact.mean():.0%} of the releases are not known"
    unsure = f"jobs by {jobs.site}" if jobs.what == "unknown" else unsure
    return evolve(
        plain,
        kind=kind,
        unsure=unsure,
        site=str(jobs.site),
        period_ns=round(on_grid.period) if on_grid and not relative else None,
        min_gap_ns=gaps[0] if gaps else None,
        typical_gap_ns=typical,
        even=bool((np.abs(apart / max(typical, 1) - 1) < EVEN).mean() > 1 / 2),
        gaps_ns=gaps,
        jitter_ns=on_grid.jitter if on_grid and not relative else None,
        offset_ns=round(on_grid.offset) if on_grid and not relative else None,
        jobs=int(rows["pieces"].sum()),
        merged=int((rows["pieces"] - 1).sum()),
        skipped=max(on_grid.skipped(seen) - int(rows["pieces"].sum()) + len(releases), 0)
        if on_grid and kind == "periodic"
        else 0,
        mode=on_grid.mode if on_grid and kind == "periodic" else 1,
        burst=burst,
        warm_up=first,
        warm_up_max_ns=int(rows["c"][:first].max(initial=0)),
        c_mean_ns=float(kept["c"].sum() / pieces) if measured else None,
        c_max_ns=int(single["c"].max()) if measured else None,
        charged_mean_ns=float(kept["charged"].sum() / pieces) if measured else None,
        charged_max_ns=int(single["charged"].max()) if measured else None,
        quantile=_CONFIDENCE ** (1 / len(single)),
        suspension_mean_ns=float(kept["suspension"].sum() / pieces),
        suspension_max_ns=int(single["suspension"].max()),
    )


def jobs_table(derived: DerivedRun) -> dict[str, NDArray[Any]]:
    """Every job of every task, in columns: thread, number, release since the recording's begin,
    response, deadline (-1: not known), in ns, and whether it was late."""
    columns: dict[str, list[NDArray[Any]]] = defaultdict(list)
    for task in derived.tasks:
        if (jobs := derived.jobs.get(task.name)) is None:
            continue
        release, end, _ = single_jobs(jobs, task.period_ns or 0)
        deadline = -1 if task.deadline_ns is None else task.deadline_ns
        columns["thread"].append(np.repeat(np.array(task.name), len(release)))
        columns["job"].append(np.arange(len(release)))
        columns["release_ns"].append(release)
        columns["response_ns"].append(end - release)
        columns["deadline_ns"].append(np.repeat(deadline, len(release)))
        columns["late"].append((end - release > deadline) & (deadline >= 0))
    return {name: np.concatenate(parts) for name, parts in columns.items()}


def _dl_period(jobs: ThreadJobs, thread: RecordedThread) -> int:
    """Period of SCHED_DEADLINE, where a yield ends each job; 0: it has none."""
    return thread.period_ns if jobs.what == "yield" and thread.policy == "deadline" else 0


def _kind(jobs: ThreadJobs, grid: Grid | None, bursty: bool, chained: bool) -> str:
    if bursty:
        return "bursty"
    if chained:
        return "chained"
    on_grid = grid is not None and grid.fits
    exact = on_grid and grid is not None and grid.jitter <= PLANNED_NS
    if jobs.what == "relative" or (jobs.what == "absolute" and not exact):
        gaps = np.diff(jobs.rows["release"]).astype(float)
        if arrivals.constant_sleep(jobs.sleep[1:], gaps, on_grid=on_grid):
            return "relative"
    return "periodic" if on_grid else "sporadic"


def _warm_up(rows: NDArray[np.void]) -> int:
    """First jobs that took longer than any later one."""
    for first in range(min(WARM_UP_MAX, len(rows) - JOBS_MIN), 0, -1):
        if (rows["c"][:first] > WARM_UP * rows["c"][first:].max()).all():
            return first
    return 0


def _judged(
    task: DerivedTask, jobs: ThreadJobs | None, thread: RecordedThread, deadlines: Mapping[str, int]
) -> DerivedTask:
    """With its deadline and how often it missed it."""
    if jobs is None:
        return task
    known = (task.name, task.name.partition("#")[0], task.comm, thread.name, "")
    named = next((n for n in known if n in deadlines), None)
    deadline = task.period_ns if task.jobs >= SURE_JOBS and not task.left_out else None
    source = ASSUMED
    if named is not None:
        deadline, source = deadlines[named], "declared"
    elif thread.policy == "deadline" and thread.period_ns:
        deadline, source = thread.deadline_ns or thread.period_ns, "SCHED_DEADLINE"
    release, end, _ = single_jobs(jobs, task.period_ns or 0)
    response = end - release
    p50, p99 = map(int, np.quantile(response, [0.5, 0.99], method="higher"))
    return evolve(
        task,
        deadline_ns=deadline,
        deadline_from=source if deadline is not None else "",
        response_max_ns=int(response.max()),
        response_p50_ns=p50,
        response_p99_ns=p99,
        misses=None if deadline is None else int((response > deadline).sum()),
    )
