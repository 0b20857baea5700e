"""A program of the same threads, jobs, sections, chains and suspensions as one that was measured.

As C it is runtime/observe/twin.c with other tables. It has names of threads and locks, and nothing
else of the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from attrs import evolve, frozen

from deadbeat.build.native import native_root
from deadbeat.program.derive.records import Recording
from deadbeat.program.derive.replica import WOKEN, Ops, ReplicaThread, replica
from deadbeat.program.derive.switches import Times
from deadbeat.program.derive.tasks import DerivedRun
from deadbeat.sched.program import COMPUTE, LOCK, SUSPEND, UNLOCK, WAKE

#: Jobs and operations of a thread at most: those around the worst job, and its longest one.
JOBS_MOST, OPS_MOST = 1000, 20_000
_OPS = {COMPUTE: "COMPUTE", LOCK: "LOCK", UNLOCK: "UNLOCK", SUSPEND: "SUSPEND", WAKE: "WAKE"}
_PROTOCOLS = ("inherit", "protect", "spin")
#: As sched.h has them.
_POLICIES = {"other": 0, "fifo": 1, "rr": 2, "batch": 3, "idle": 5, "deadline": 6}
#: A lock by its variable, and where in that it is.
_VARIABLE = re.compile(r"([A-Za-z_]\w{2,62})(?:\+(\d{1,4}))?")
_LOCK_BYTES = 64
_NAME_MOST = 15
_PHASES_NS = 100_000_000
_TABLES = re.compile(r"/\* -- tables \*/\n.*?/\* -- end of tables \*/\n", re.DOTALL)

#: What a twin never has.
ALWAYS = (
    "caches, memory traffic and page faults, interrupts, several processes (it is one), readers of"
    " a lock together, answers to requests (it sleeps as long), runtimes that move work between"
    " threads"
)


@frozen(kw_only=True, eq=False)
class TwinThread:
    """A thread and the jobs that it repeats.

    Attributes:
        name: As the kernel can have it.
        site: How it waits for a job: AT an instant, AFTER a while, until it is WOKEN, by YIELD.
        first: Release of its first job, number ``begin`` of them; ns since the twin's start.
        gaps: From the release before to that of each job; AFTER: from the end before.
    """

    name: str
    replica: ReplicaThread
    site: str
    first: int
    begin: int
    gaps: tuple[int, ...]
    jobs: tuple[Ops, ...]

    @property
    def begins(self) -> int:
        """When it is there at the latest: a reservation is made a period before its first job."""
        return self.first - self.replica.period_ns * (self.site == "YIELD")


@frozen(kw_only=True, eq=False)
class Twin:
    """``length_ns``: how long the program was measured; ``phase_ns``: when it began, to a tenth of
    a second, as the kernel's ticks are on a grid; ``lacks``: what is not in it, a line each."""

    threads: tuple[TwinThread, ...]
    locks: tuple[tuple[str, str], ...]
    length_ns: int
    phase_ns: int
    lacks: tuple[str, ...]


def twin_of(recording: Recording, derived: DerivedRun) -> Twin:
    found, lacks = replica(recording, derived), [ALWAYS]
    known = {thread.tid: thread for thread in recording.threads}
    order = sorted(  # of creation: it numbers threads of one name
        range(len(found.threads)),
        key=lambda number: (known[tid := found.threads[number].task.tid].begin_ns, tid),
    )
    sites = [_site(thread) for thread in found.threads]
    place = np.full(len(order), -1)  # of those that others wake
    for new, number in enumerate(order):
        place[number] = new if sites[number] == "WOKEN" else -1
    late = [(rows["end"] - rows["release"], rows["release"]) for rows in derived.rows.values()]
    worst = max(((int(n.max()), int(at[n.argmax()])) for n, at in late), default=(0, 0))[1]
    threads = []
    for number in order:
        thread = found.threads[number]
        rows, woken = derived.rows.get(thread.task.name), thread.releases == WOKEN
        releases = thread.releases if rows is None else rows["release"].astype(np.int64)
        chosen = np.flatnonzero(woken) if sites[number] == "WOKEN" else np.arange(len(woken))
        if count := len(woken) - len(chosen):
            lacks.append(f"{count:,} of {len(woken):,} jobs of {thread.task.name}: no thread"
                         " releases them")  # fmt: skip
        elif woken.any() and sites[number] != "WOKEN":
            lacks.append(f"who releases {woken.sum():,} of {len(woken):,} jobs of"
                         f" {thread.task.name}: they come at the same instants")  # fmt: skip
        made = _thread(thread, sites[number], chosen, releases, (worst, found.end_ns))
        jobs = tuple(_to(ops, place) for ops in made.jobs)
        threads.append(evolve(made, name=short(thread.task.name), jobs=jobs))
    last = [int(rows["end"].max()) for rows in derived.rows.values()]
    base = min((each.begins for each in threads if each.site != "WOKEN"), default=0)
    return Twin(
        threads=tuple(evolve(each, first=each.first - base) for each in threads),
        locks=found.locks,
        length_ns=max(last, default=found.end_ns) - base,
        phase_ns=(recording.begin_ns + base) % _PHASES_NS,
        lacks=(*found.lacks, *lacks),
    )


def short(name: str) -> str:
    """A thread's name as the kernel can keep it, with its number."""
    head, mark, number = name.partition("#")
    return head[: _NAME_MOST - len(mark + number)] + mark + number


def _to(ops: Ops, place: Times) -> Ops:
    """``ops`` that wake threads of the twin: those that wait to be woken."""
    ops = ops[(ops["kind"] != WAKE) | (place[ops["target"] % len(place)] >= 0)]
    ops["target"] = np.where(ops["kind"] == WAKE, place[ops["target"] % len(place)], ops["target"])
    return ops


def _site(thread: ReplicaThread) -> str:
    if thread.task.site.startswith("sched_yield"):
        return "YIELD"
    if (thread.releases == WOKEN).mean() > 0.5:
        return "WOKEN"
    return "AFTER" if thread.after else "AT"


def _thread(
    thread: ReplicaThread, site: str, jobs: Times, releases: Times, ends: tuple[int, int]
) -> TwinThread:
    """``jobs``: places of those that it has; ``releases``: of all; ``ends``: when the worst job of
    all was released, and the recording's end."""
    worst, end_ns = ends
    begins, cost = np.append(0, thread.ends[:-1]), thread.compute_ns
    most = max(min(JOBS_MOST, OPS_MOST * len(thread.ends) // max(len(thread.ops), 1)), 1)
    low = int(np.clip(np.searchsorted(releases[jobs], worst) - most // 2, 0,
                      max(len(jobs) - most, 0)))  # fmt: skip
    part = jobs[low : low + most]
    longest = jobs[cost[jobs].argmax()]
    at = releases[part]
    period = end_ns if thread.task.kind == "none" else thread.task.period_ns
    steps = np.diff(at)
    usual = max(period or int(np.median(steps)), 1) if len(steps) else end_ns
    if longest not in part:
        part, steps = np.append(part, longest), np.append(steps, usual)
    # so that the next round is on the grid, too
    last = usual * round(steps.sum() / usual + 1) - int(steps.sum()) if period else usual
    gaps = np.append(last, steps)
    if site == "AFTER":
        gaps = thread.releases[part]
        gaps[part == 0] = int(np.median(thread.releases[1:])) if len(releases) > 1 else usual
    first, begin = int(at[0]), 0
    for _ in range(low):  # others come before, so that the worst ones meet as they did
        if site == "AT" and first - int(gaps[begin]) < releases[jobs[0]]:
            break
        first, begin = first - int(gaps[begin]), (begin - 1) % len(part)
    return TwinThread(
        name=thread.task.name,
        replica=thread,
        site=site,
        first={"AT": first, "WOKEN": 0}.get(site, int(releases[jobs[0]])),
        begin=begin,
        gaps=tuple(np.maximum(gaps, 0).tolist()),
        jobs=tuple(thread.ops[begins[job] : thread.ends[job]].copy() for job in part),
    )


def c_source(twin: Twin) -> str:
    """One file of C."""
    source = (native_root() / "runtime/observe/twin.c").read_text()
    whole = _TABLES.search(source)
    assert whole is not None
    rest = source.replace(whole[0], "")
    tables = "\n".join(_tables(twin, {*re.findall(r"\w+", rest)}))
    return source.replace(whole[0], f"{tables}\n\n")


def _tables(twin: Twin, taken: set[str]) -> Iterator[str]:
    """``taken``: names that the program has for other things."""
    objects, sizes = [], dict[str, int]()
    for number, (name, _) in enumerate(twin.locks):
        known = _VARIABLE.fullmatch(name)
        word, at = (known[1], int(known[2] or 0)) if known else ("", 0)
        if not word or word in taken or at % 8 or at > _LOCK_BYTES**2:
            word, at = f"lock_{number}", 0
        sizes[word] = max(sizes.get(word, 0), at + _LOCK_BYTES)
        objects.append((word, at))
    place = {word: number for number, word in enumerate(sizes)}
    for word, number in place.items():
        yield (f"static char object_{number}[{sizes[word]}] __asm__({_text(word)})"
               " __attribute__((aligned(64), used));")  # fmt: skip
    ceiling = max((each.replica.task.priority for each in twin.threads), default=0)
    yield "static const struct lock locks[] = {"
    for (word, at), (_, protocol) in zip(objects, twin.locks, strict=True):
        kind = protocol.upper() if protocol in _PROTOCOLS else "NONE"
        yield f"    {{object_{place[word]} + {at}, {kind}, {max(ceiling, 1)}}},"
    yield from ["    {0, NONE, 0},", "};"]
    for number, each in enumerate(twin.threads):
        ends = np.cumsum([len(ops) for ops in each.jobs]).tolist()
        yield from _table(f"struct job jobs_{number}", zip(each.gaps, ends, strict=True))
        ops = ((_OPS[kind], target, ns) for job in each.jobs for kind, target, ns in job.tolist())
        yield from _table(f"struct op ops_{number}", ops)
        cpus = ", ".join(map(str, (*each.replica.task.cpus, -1)))
        yield f"static const int cpus_{number}[] = {{{cpus}}};"
    rows = (
        (_text(each.name), _POLICIES.get(task.policy, 0), task.priority, f"cpus_{number}",
         each.site, each.first, task.runtime_ns, each.replica.deadline_ns, each.replica.period_ns,
         each.begin, len(each.jobs), f"jobs_{number}", f"ops_{number}")
        for number, each in enumerate(twin.threads)
        for task in (each.replica.task,)
    )  # fmt: skip
    yield from _table("struct thread threads", rows)
    yield from (f"#define LENGTH {twin.length_ns}", f"#define PHASE {twin.phase_ns}")


def _table(name: str, rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield f"static const {name}[] = {{"
    yield from (f"    {{{', '.join(map(str, row))}}}," for row in rows)
    yield "};"


def _text(name: str) -> str:
    """A string of C."""
    plain = (chr(b) if chr(b).isalnum() or chr(b) in " _-.:/#" else f"\\{b:03o}"
             for b in name.encode())  # fmt: skip
    return f'"{"".join(plain)}"'
