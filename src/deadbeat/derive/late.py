"""Why jobs were late, by the records from their release to their end."""

from __future__ import annotations

from collections import Counter

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.derive.records import Recording
from deadbeat.derive.tasks import DerivedRun, DerivedTask, names_of
from deadbeat.derive.tracks import NEVER, Track, tracks, whole

#: Causes in the words of `why`.
PREEMPTED, LOCK, THROTTLED = "preempted", "lock", "throttled"
TIMER, FAULT, WAITED = "late timer", "page fault", "waited"
#: The records do not tell these apart: no event of interrupts or of the hypervisor is among them.
STOLEN = "interrupt or stolen"
WORK, BEFORE = "own work", "the job before"
#: Jobs that say what is usual; a cause has this share of what is more than that.
_SAMPLE, _SHARE = 50, 0.5
_FAIR_PRIO = 100
_UNINTERRUPTIBLE = 2

Parts = Counter[tuple[str, str]]


@frozen(kw_only=True)
class Late:
    """A late job: its number, release since the recording's begin, and how long the ``cause`` took
    more than usual. ``by``: thread, lock and holder, or call; ``shares``: all causes, ns."""

    task: str
    job: int
    at_ns: int
    response_ns: int
    cause: str
    by: str
    ns: int
    shares: dict[str, int]


def late(recording: Recording, derived: DerivedRun, *, most: int = 20) -> tuple[Late, ...]:
    """The worst jobs of each task that missed its deadline, at most ``most``, the worst first."""
    seen = _Seen(recording, derived)
    found: list[Late] = []
    for task in derived.tasks:
        if task.misses and task.deadline_ns is not None:
            found += _of_task(seen, task, derived.rows[task.name], task.deadline_ns, most)
    return tuple(found)


def _of_task(
    seen: _Seen, task: DerivedTask, rows: NDArray[np.void], deadline: int, most: int
) -> list[Late]:
    response = rows["end"] - rows["release"]
    worst = np.argsort(-response, kind="stable")[:most]
    timely = np.flatnonzero(response <= deadline)
    sample = timely[:: max(len(timely) // _SAMPLE, 1)]
    causes = [_by_cause(seen.parts(task.tid, rows[place])) for place in sample]
    usual = {
        cause: int(np.median([each[cause] for each in causes]))
        for cause in {cause for each in causes for cause in each}
    }
    found = []
    for place in worst[response[worst] > deadline]:
        parts = seen.parts(task.tid, rows[place])
        more = {c: ns - usual.get(c, 0) for c, ns in _by_cause(parts).items()}
        cause, at = max(more, key=lambda each: more[each]), place
        while cause == BEFORE and at > 0:  # late since the one before was: why that one was
            at -= 1
            parts = seen.parts(task.tid, rows[at])
            more = {c: ns - usual.get(c, 0) for c, ns in _by_cause(parts).items()}
            cause = max(more, key=lambda each: more[each])
        by = max((k for k in parts if k[0] == cause), key=lambda each: parts[each])[1]
        found.append(
            Late(
                task=task.name,
                job=int(place),
                at_ns=int(rows["release"][place]),
                response_ns=int(response[place]),
                cause=cause,
                by=by,
                ns=more[cause],
                shares={each: ns for each, ns in more.items() if ns > 0},
            )
        )
    return found


def _by_cause(parts: Parts) -> Counter[str]:
    found: Counter[str] = Counter()
    for (cause, _), ns in parts.items():
        found[cause] += ns
    return found


class _Seen:
    """Who ran where, and what each thread waited for."""

    def __init__(self, recording: Recording, derived: DerivedRun) -> None:
        self.tracks = tracks(recording)
        self.names = names_of(recording.threads)
        self.locks = [(wait, name) for name, waits in derived.waits.items() for wait in waits]
        self.switches = whole(recording.events, [*self.tracks])
        self.begin = recording.begin_ns

    def name(self, tid: int) -> str:
        return self.names.get(tid, f"thread {tid}")

    def parts(self, tid: int, row: NDArray[np.void]) -> Parts:
        """What a job's time went to."""
        track, found = self.tracks[tid], Counter[tuple[str, str]]()
        begin, end = int(row["release"]), int(row["end"])
        if row["before"] > begin:  # released while the job before went on
            found[BEFORE, ""] = int(row["before"]) - begin
            begin = int(row["before"])
        for place in np.flatnonzero((track.off[:-1] < end) & (track.on[1:] > begin)):
            off, on = max(int(track.off[place]), begin), min(int(track.on[place + 1]), end)
            ready = off
            if track.state[place] & 0xFF:
                ready = self._asleep(found, track, int(place), (begin, on))
            self._ready(found, track, int(place), ready, on)
        edges = np.array([begin, end])
        on_cpu, charged = (float(np.diff(f(edges))[0]) for f in (track.on_cpu, track.cpu_time))
        found[WORK, ""] = int(charged)
        found[STOLEN, ""] = max(int(on_cpu - charged), 0)
        return found

    def _asleep(self, found: Parts, track: Track, place: int, within: tuple[int, int]) -> int:
        """Add a stretch of sleep; until when it was."""
        left, (begin, on), waits = int(track.off[place]), within, track.waits
        block = track.blocks[np.searchsorted(track.blocks["enter"], left)]
        woken = min(max(int(block["wake"]), begin), on)
        ns = woken - max(left, begin)
        number = int(np.searchsorted(waits["enter"], left, "right")) - 1
        wait = waits[max(number, 0)]
        site = track.sites[int(wait["site"])]
        inside = number >= 0 and left <= wait["exit"]
        if inside and site.what == "lock":
            held = [
                (each, name)
                for each, name in self.locks
                if each.waiter == track.thread.tid and each.at_ns <= left <= each.at_ns + each.ns
            ]
            holder = held[0][0].holder if held else int(block["waker"])
            name = held[0][1] if held else str(site)
            at = held[0][0].site.rpartition("(")[2].rstrip(")") if held else ""
            where = f" ({at})" if at else ""
            found[LOCK, f"{name}, held by {self.name(holder)}{where}"] += ns
        elif inside and wait["timer"] and wait["exit"] != NEVER and begin < wait["timer"] + ns + 1:
            after = max(woken - max(int(wait["timer"]), begin, left), 0)
            found[TIMER, str(site)] += after
            found[WAITED, str(site)] += ns - after
        elif site.what == "unknown" and int(track.state[place]) & _UNINTERRUPTIBLE:
            found[FAULT, ""] += ns
        else:
            found[WAITED, str(site)] += ns
        return woken

    def _ready(self, found: Parts, track: Track, place: int, begin: int, end: int) -> None:
        """Add a stretch in which it could have run: by who ran there instead."""
        if end <= begin:
            return
        here = self.switches[self.switches["cpu"] == track.cpu[place + 1]]
        ns = here["ns"].astype(np.int64) - self.begin
        first = max(int(np.searchsorted(ns, begin, "right")) - 1, 0)
        last = int(np.searchsorted(ns, end))
        real_time = track.thread.policy in ("fifo", "rr", "deadline")
        for number in range(first, last):
            since = max(int(ns[number]), begin)
            until = min(int(ns[number + 1]) if number + 1 < len(ns) else end, end)
            other = int(here["a"][number])
            fair = int(here["c"][number]) >> 32 >= _FAIR_PRIO
            if until <= since or other == track.thread.tid:
                continue
            if other == 0 or (real_time and fair):
                found[THROTTLED, track.thread.policy] += until - since
            else:
                found[PREEMPTED, self.name(other)] += until - since
