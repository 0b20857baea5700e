"""A measured run as jobs that can be run again: in the simulator, and as a program of its shape.

A job is what its thread did from its release on: it computes, holds locks, suspends itself, and
releases jobs of others. Instants are ns since the recording's begin.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache, partial

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from deadbeat.program.derive.beside import Bystander, beside, nice_of
from deadbeat.program.derive.outside import BUSY
from deadbeat.program.derive.records import REAL_TIME, Recording
from deadbeat.program.derive.sections import lock_spans
from deadbeat.program.derive.switches import Times, place_in, switches_of
from deadbeat.program.derive.tasks import DerivedRun, DerivedTask
from deadbeat.program.derive.tracks import NEVER, Track
from deadbeat.sched.program import COMPUTE, LOCK, OP, SUSPEND, UNLOCK, WAKE

Ops = NDArray[np.void]
#: Release of a job that another one releases.
WOKEN = -1
#: Of a thread that was always in the way of others.
_UNKNOWN = -1
#: Who waits for longer on a CPU that is idle is throttled.
_WAKES_NS = 2_000_000
#: A shorter suspension is a switch.
_SUSPENDS_NS = 1_000


@frozen(kw_only=True, eq=False)
class ReplicaThread:
    """A thread and its jobs.

    Attributes:
        task: What was derived of it.
        releases: Instant of each job, WOKEN where another job releases it; ``after``: they are
            sleeps after the end of the job before (of the first, an instant).
        ends: Number of ``ops`` until the end of each job.
        ops: As `deadbeat.sched.program.OP`; its targets are numbers of threads and locks.
        overhead: CPU time of each job beside that: its system calls and its wake-up.
        wake_ns: From a release to the CPU, where that was idle.
        was_on: The CPUs that it may use as recorded, whatever ``task`` has.
    """

    task: DerivedTask
    releases: Times
    ends: Times
    ops: Ops
    overhead: NDArray[np.float64]
    after: bool = False
    wake_ns: int = 0
    period_ns: int = 0  # of SCHED_DEADLINE
    deadline_ns: int = 0
    was_on: tuple[int, ...] = ()
    nice: int = 0  # of an ordinary one
    fault_ns: Times | None = None  # CPU time of each job's page faults

    @property
    def compute_ns(self) -> NDArray[np.float64]:
        """CPU time of each job, without its overhead."""
        return np.diff(self._spent[np.append(0, self.ends)])

    @property
    def spent_ns(self) -> float:
        """CPU time of all jobs."""
        return float(self.compute_ns.sum() + self.overhead.sum())

    def sections_ns(self, lock: int) -> NDArray[np.float64]:
        """CPU time of each section of a lock."""
        mine = self.ops["target"] == lock
        begins, ends = (
            np.flatnonzero(mine & (self.ops["kind"] == kind)) for kind in (LOCK, UNLOCK)
        )
        return np.asarray(self._spent[ends] - self._spent[begins])

    @property
    def _spent(self) -> NDArray[np.float64]:
        """CPU time before each operation, and after all."""
        spent = np.where(self.ops["kind"] == COMPUTE, self.ops["ns"], 0)
        return np.append(0, np.cumsum(spent, dtype=np.float64))


@frozen(kw_only=True, eq=False)
class Replica:
    """``locks``: names and protocols; ``end_ns``: of the recording; ``lacks``: what is not in it, a
    line each; ``limits``: of real-time threads, as `run_program` has them, since they ``run``.
    ``beside``: threads of other programs; ``assumed``: what is, a line each."""

    threads: tuple[ReplicaThread, ...]
    locks: tuple[tuple[str, str], ...]
    end_ns: int
    lacks: tuple[str, ...] = ()
    limits: tuple[int, ...] = ()
    run: int = -1
    beside: tuple[ReplicaThread, ...] = ()
    assumed: tuple[str, ...] = ()

    def scaled(self, factor: float, *, thread: str = "", lock: str = "") -> Replica:
        """With this many times the CPU time: of ``thread``, of sections of ``lock``, of both
        together, of all."""
        names = [name for name, _ in self.locks]

        def grown(each: ReplicaThread) -> ReplicaThread:
            if thread and each.task.name != thread:
                return each
            ops = each.ops.copy()
            chosen = ops["kind"] == COMPUTE
            if lock:
                chosen &= within(each.ops, names.index(lock))
            ops["ns"][chosen] = np.rint(ops["ns"][chosen] * factor)
            return evolve(each, ops=ops, overhead=each.overhead * (1 if lock else factor))

        return evolve(self, threads=tuple(map(grown, self.threads)))

    def times(self, number: int) -> Replica:
        """This number of instances beside each other; each has locks of its own."""
        count, locks = len(self.threads), len(self.locks)

        def moved(each: ReplicaThread, place: int) -> ReplicaThread:
            ops = each.ops.copy()
            ops["target"] += np.where(ops["kind"] == WAKE, place * count, place * locks)
            name = f"{each.task.name} of {place + 1}" if place else each.task.name
            return evolve(each, ops=ops, task=evolve(each.task, name=name))

        every = [moved(each, place) for place in range(number) for each in self.threads]
        return evolve(self, threads=tuple(every), locks=self.locks * number)


def with_dearer_locks(replica: Replica, more: Mapping[str, float]) -> Replica:
    """With ns more, by protocol, in each section of a lock that several threads take."""
    users = [{*each.ops["target"][each.ops["kind"] == LOCK].tolist()} for each in replica.threads]
    shared = {lock for mine in users for lock in mine if sum(lock in each for each in users) > 1}
    each_ns = [more.get(word, 0.0) * (n in shared) for n, (_, word) in enumerate(replica.locks)]
    threads = []
    for each in replica.threads:
        ops = each.ops.copy()
        begins = np.flatnonzero(ops["kind"] == LOCK)
        begins = begins[begins + 1 < len(ops)]
        begins = begins[ops["kind"][begins + 1] == COMPUTE]
        longer = ops["ns"][begins + 1] + np.rint(np.array(each_ns)[ops["target"][begins]])
        ops["ns"][begins + 1] = np.maximum(longer, 0)
        threads.append(evolve(each, ops=ops))
    return evolve(replica, threads=tuple(threads))


@lru_cache(maxsize=2)
def without_faults(replica: Replica) -> Replica:
    """With jobs that have no page faults, as if all memory were locked."""
    threads = []
    for each in replica.threads:
        ops, overhead = each.ops.copy(), each.overhead
        if each.fault_ns is not None:
            rest = 1 - each.fault_ns / np.maximum(each.compute_ns + overhead, 1)
            rest = np.maximum(rest, 0)
            overhead = overhead * rest
            work = ops["kind"] == COMPUTE
            every = np.repeat(rest, np.diff(each.ends, prepend=0))
            ops["ns"][work] = np.rint(ops["ns"] * every)[work]
        threads.append(evolve(each, ops=ops, overhead=overhead))
    return evolve(replica, threads=tuple(threads))


def within(ops: Ops, lock: int) -> NDArray[np.bool_]:
    """Which of ``ops`` are done with ``lock`` held."""
    mine = ops["target"] == lock
    steps = np.where(mine & (ops["kind"] == LOCK), 1, 0) - (mine & (ops["kind"] == UNLOCK))
    return np.asarray(np.cumsum(steps) > 0)


def replica(recording: Recording, derived: DerivedRun) -> Replica:
    """What was recorded, as jobs to run again."""
    tracks, symbols = derived.tracks, recording.symbols
    tasks = [task for task in derived.tasks if task.name in derived.rows or _loads(task, tracks)]
    place = {task.tid: number for number, task in enumerate(tasks)}
    locks = {lock.name: number for number, lock in enumerate(derived.locks)}
    marks: dict[int, list[Ops]] = defaultdict(list)  # OP, with instants as ns, a list each
    held: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for tid, name, begin, end in lock_spans(tracks, symbols):
        if tid in place and name in locks:
            held[tid].append((locks[name], begin, end))
    rows = {task.tid: derived.rows.get(task.name, _NONE) for task in tasks}
    woken = {tid: np.zeros(len(mine), bool) for tid, mine in rows.items()}
    for tid, mine in rows.items():
        for waker in {*mine["waker"].tolist()} & {*rows} - {tid}:
            theirs = np.flatnonzero(mine["waker"] == waker)
            at = mine["release"][theirs]
            inside = place_in(at, rows[waker]["begin"], rows[waker]["end"]) >= 0
            woken[tid][theirs[inside]] = True
            marks[waker].append(_marks(WAKE, place[tid], at[inside]))
    switches = switches_of(recording)
    idle = switches[switches["tid"] == 0]
    threads = [
        _SeenThread(
            track=tracks[task.tid],
            rows=rows[task.tid],
            woken=woken[task.tid],
            marks=marks[task.tid],
            held=np.array(held[task.tid], np.int64).reshape(-1, 3),
        ).thread(task, idle["ns"][idle["a"] == task.tid].astype(np.int64) - recording.begin_ns)
        for task in tasks
    ]
    known, nice = [each.wake_ns for each in threads if each.wake_ns != _UNKNOWN], nice_of(recording)
    usual = int(np.median(known)) if known else 0
    threads = [
        evolve(
            each,
            wake_ns=usual if each.wake_ns == _UNKNOWN else each.wake_ns,
            nice=nice.get(each.task.tid, 0),
        )
        for each in threads
    ]
    others = beside(recording, tracks, all(each.task.policy in REAL_TIME for each in threads))
    seen = {section.lock for task in tasks for section in task.sections}
    lacks = [
        f"{lock.name}: only waits for it were seen, not its sections"
        for lock in derived.locks
        if lock.waited and lock.name not in seen
    ]
    return Replica(
        threads=tuple(threads),
        locks=tuple((lock.name, lock.protocol) for lock in derived.locks),
        end_ns=recording.end_ns - recording.begin_ns,
        lacks=tuple(lacks),
        run=min((int(tracks[t.tid].on[0]) for t in tasks if t.priority), default=-1),
        beside=tuple(map(_stranger, others)),
        assumed=tuple(each.assumed for each in others if each.assumed),
    )


def _stranger(each: Bystander) -> ReplicaThread:
    thread, ops = each.thread, np.zeros(len(each.spans), OP)
    ops["kind"], ops["ns"] = COMPUTE, each.spans[:, 1]
    return ReplicaThread(
        task=DerivedTask(
            name=thread.name,
            tid=thread.tid,
            kind="event",
            policy=thread.policy,
            priority=thread.priority,
            cpus=thread.cpus,
            runtime_ns=thread.runtime_ns,
        ),
        releases=each.spans[:, 0],
        ends=np.arange(1, len(ops) + 1),
        ops=ops,
        overhead=np.zeros(len(ops)),
        period_ns=thread.period_ns,
        deadline_ns=thread.deadline_ns,
        was_on=thread.cpus,
        nice=each.nice,
    )


_MARK = np.dtype([("at", "<i8"), ("order", "<i8"), *((n, OP[n]) for n in OP.names or ())])
_NONE = np.zeros(0, [(name, "<i8") for name in ("release", "begin", "end", "waker")])


def _marks(
    kind: int, target: Times | int, at: Times, ns: Times | int = 0, *, order: int = 0
) -> Ops:
    found = np.zeros(len(at), _MARK)
    found["at"], found["kind"], found["target"], found["ns"] = at, kind, target, ns
    found["order"] = order
    return found


def _loads(task: DerivedTask, tracks: Mapping[int, Track]) -> bool:
    """Whether a thread without jobs has a share of the CPUs that matters."""
    track = tracks[task.tid]
    return not task.rests and track.thread.cpu_ns > BUSY * track.end


@frozen(kw_only=True, eq=False)
class _SeenThread:
    """What was recorded of a thread. ``marks``: of the threads that it wakes; ``held``: lock, from,
    to."""

    track: Track
    rows: Ops
    woken: NDArray[np.bool_]
    marks: list[Ops]
    held: Times

    def thread(self, task: DerivedTask, from_idle: Times) -> ReplicaThread:
        """``from_idle``: when it came to a CPU that was idle."""
        track, rows, thread = self.track, self.rows, self.track.thread
        if not len(rows):
            return ReplicaThread(
                task=task,
                releases=track.on[:1] if len(track.on) else np.zeros(1, np.int64),
                ends=np.array([1]),
                ops=np.array([(COMPUTE, 0, max(thread.cpu_ns, 0))], OP),
                overhead=np.zeros(1),
                period_ns=thread.period_ns,
                deadline_ns=thread.deadline_ns,
                was_on=task.cpus,
            )
        ops, counts = self._ops()
        releases = np.where(self.woken, WOKEN, np.maximum(rows["release"], 0))
        after = task.kind == "relative"
        if after:
            releases[1:] = np.maximum(rows["release"][1:] - rows["end"][:-1], 0)
        at, sums = track.faults
        # Median time from a release to the CPU, where that was idle.
        wakes = rows["release"][rows["waited"]]
        place = np.searchsorted(track.on, wakes)
        wakes, on = wakes[place < len(track.on)], track.on[place[place < len(track.on)]]
        waits = (on - wakes)[np.isin(on, from_idle) & (on - wakes < _WAKES_NS)]
        return ReplicaThread(
            task=task,
            releases=releases,
            ends=np.cumsum(counts),
            ops=ops,
            overhead=np.maximum(rows["charged"] - rows["c"], 0),
            after=after,
            wake_ns=int(np.median(np.maximum(waits, 0))) if len(waits) else _UNKNOWN,
            period_ns=thread.period_ns,
            deadline_ns=thread.deadline_ns,
            was_on=task.cpus,
            fault_ns=np.diff(sums[np.searchsorted(at, [rows["begin"], rows["end"]])], axis=0)[0],
        )

    def _ops(self) -> tuple[Ops, Times]:
        """Operations of all jobs, and the number of those of each."""
        track, rows = self.track, self.rows
        job_at = partial(place_in, begins=rows["begin"], ends=rows["end"])
        spans = self.held[job_at(self.held[:, 1]) >= 0]
        ends = np.minimum(spans[:, 2], rows["end"][job_at(spans[:, 1])])
        spans, ends = spans[ends > spans[:, 1]], ends[ends > spans[:, 1]]  # got as it waits again
        # Stretches in which it waited, but for locks, as `derive.jobs` counts them.
        locks = [number for number, site in enumerate(track.sites) if site.what == "lock"]
        held = track.waits[np.isin(track.waits["site"], locks) & (track.waits["exit"] != NEVER)]
        lengths = track.blocks["wake"] - track.blocks["enter"]
        blocks: Ops = track.blocks[lengths >= _SUSPENDS_NS]
        away = blocks[place_in(blocks["enter"], held["enter"], held["exit"]) < 0]
        every = [
            *self.marks,
            _marks(LOCK, spans[:, 0], spans[:, 1], order=1),
            _marks(UNLOCK, spans[:, 0], ends, order=-1),
            _marks(SUSPEND, 0, away["enter"], away["wake"] - away["enter"]),
        ]
        found = np.concatenate(every)
        place = job_at(found["at"])
        # the end of each job is a mark, too: what it computes until then
        found = np.concatenate([found[place >= 0], _marks(COMPUTE, 0, rows["end"], order=2)])
        place = np.concatenate([place[place >= 0], np.arange(len(rows))])
        order = np.lexsort((found["order"], found["at"], place))
        found, place = found[order], place[order]
        spent = track.cpu_time(found["at"])
        before = np.append(0, spent[:-1])
        before[np.diff(place, prepend=-1) > 0] = track.cpu_time(rows["begin"])
        ops = np.zeros((len(found), 2), OP)
        ops[:, 0]["ns"] = np.maximum(np.rint(spent - before), 0)
        for name in OP.names or ():
            ops[:, 1][name] = found[name]
        keep = np.column_stack([ops[:, 0]["ns"] > 0, found["kind"] != COMPUTE])
        counts = np.bincount(place, weights=keep.sum(1), minlength=len(rows))
        return ops[keep], counts.astype(np.int64)
