"""Threads of other programs that ran beside a program: when they had a CPU that it wanted, and, by
what the kernel says of their CPU time, what else they ran."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np
from attrs import frozen

from deadbeat.program.derive.records import REAL_TIME, RecordedThread, Recording
from deadbeat.program.derive.switches import Times, switches_of
from deadbeat.program.derive.tracks import Track

#: Priorities of the kernel: below are real-time ones, above nice values about NICE.
_FAIR, _NICE = 100, 120
#: Who was in the way for less of the time does not matter, nor a wake-up's own latency.
_SHARE, _LATENCY_NS = 0.001, 50_000
#: Who has more of a CPU always wants it; of less a part is unseen where it is this much.
_ALWAYS, _PART = 0.9, 0.2
#: Stretches that were not seen are as long as the longest tenth of others; of few: so long.
_BURST, _FEW, _BURST_NS = 0.9, 3, 1_000_000


@frozen(kw_only=True, eq=False)
class Bystander:
    """A thread of another program. ``spans``: when it came, and for how long it ran, ns. ``nice``:
    of an ordinary one. ``assumed``: what of that was not seen; ""."""

    thread: RecordedThread
    spans: Times
    nice: int = 0
    assumed: str = ""


def nice_of(recording: Recording) -> dict[int, int]:
    """Nice values of ordinary threads, as they last had the CPU."""
    rows = switches_of(recording)
    prio = rows["c"] & 0xFFFFFFFF
    fair = (prio >= _FAIR) & (prio < _FAIR + 40)
    return dict(zip(rows["tid"][fair].tolist(), (prio[fair] - _NICE).tolist(), strict=True))


def beside(recording: Recording, tracks: Mapping[int, Track], real_time: bool) -> list[Bystander]:
    """Who matters: where all of the program is ``real_time`` ordinary ones do not."""
    own, nice = {each.tid for each in recording.threads}, nice_of(recording)
    known = {each.tid: each for each in recording.beside if each.tid not in own}
    length, found = recording.end_ns - recording.begin_ns, []
    spans = _in_the_way(recording, tracks)
    for tid in sorted({*known, *spans}):
        seen = np.array(spans.get(tid, ()), np.int64).reshape(-1, 4)
        stretches, ran = seen[:, :2], int(seen[:, 1].sum())
        thread = known.get(tid) or RecordedThread(
            tid=tid,
            pid=tid,
            name=recording.names.get(tid, f"thread {tid}"),
            policy="fifo" if seen[0, 3] < _FAIR else "other",
            priority=max(_FAIR - 1 - int(seen[0, 3]), 0),
            cpus=tuple(np.unique(seen[:, 2]).tolist()),
            cpu_ns=ran,
        )
        if thread.policy not in REAL_TIME and real_time:
            continue
        if max(thread.cpu_ns, ran) > _ALWAYS * length:
            stretches, assumed = np.array([[0, length]]), ""
        else:
            stretches, assumed = _with_rest(thread, stretches, tracks, length)
        if stretches[:, 1].sum() >= _SHARE * length:
            usual = nice.get(tid, 0)
            found.append(Bystander(thread=thread, spans=stretches, nice=usual, assumed=assumed))
    return found


def _with_rest(
    thread: RecordedThread, spans: Times, tracks: Mapping[int, Track], length: int
) -> tuple[Times, str]:
    """With what it ran where nothing of the program wanted to: evenly there is assumed."""
    rest = thread.cpu_ns - int(spans[:, 1].sum())
    free = np.concatenate([_free(tracks.values(), cpu, length) for cpu in thread.cpus or (0,)])
    room = int(np.diff(free).sum())
    if rest <= _PART * thread.cpu_ns or rest < _SHARE * length or not room:
        return spans, ""
    burst = int(np.quantile(spans[:, 1], _BURST)) if len(spans) >= _FEW else _BURST_NS
    amount = np.diff(free)[:, 0] * min(rest / room, 1)
    pieces = np.ceil(amount / burst).astype(np.int64)
    place = np.repeat(np.arange(len(free)), pieces)
    number = np.arange(len(place)) - (np.cumsum(pieces) - pieces)[place]
    each = (amount / np.maximum(pieces, 1))[place]
    at = free[place, 0] + number * np.diff(free)[place, 0] / pieces[place]
    both = np.concatenate([spans, np.column_stack([at, each]).astype(np.int64)])
    policy = f"{thread.policy.upper()} {thread.priority}" if thread.priority else thread.policy
    share = f"{thread.cpu_ns / length:.0%} of a CPU"
    assumed = f"when {thread.name} ({policy}, {share}), another program, runs: evenly is assumed"
    return both[np.argsort(both[:, 0], kind="stable")], assumed


def _free(tracks: Iterable[Track], cpu: int, length: int) -> Times:
    """From when to when no thread of the program ran on a CPU, or wanted to."""
    mine = [(each.cpu == cpu, each) for each in tracks]
    ran = [np.column_stack([each.on, each.off])[there] for there, each in mine]
    taken = _union([*ran, _wanted(tracks, cpu, ordinary=False)])
    edges = np.concatenate([[0], taken.ravel(), [length]]).reshape(-1, 2)
    return edges[edges[:, 1] > edges[:, 0]]


def _in_the_way(
    recording: Recording, tracks: Mapping[int, Track]
) -> dict[int, list[tuple[int, int, int, int]]]:
    """Since when each other thread had a CPU that one of the program wanted, how long, which CPU,
    and its priority. Ordinary ones are in the way of ordinary ones."""
    rows = switches_of(recording)
    found = defaultdict(list)
    for cpu in np.unique(rows["cpu"]).tolist():
        here = rows[rows["cpu"] == cpu]
        ns, prio = here["ns"].astype(np.int64) - recording.begin_ns, here["c"] & 0xFFFFFFFF
        outside = ~np.isin(here["tid"][1:], [0, *tracks])
        fair = (prio[1:] >= _FAIR) & (prio[1:] < 1 << 31)
        for ordinary in (False, True):
            wanted = _wanted(tracks.values(), cpu, ordinary)
            mine = np.flatnonzero(outside & (fair == ordinary))
            for place in mine.tolist():
                begin, end = int(ns[place]), int(ns[place + 1])
                first = int(np.searchsorted(wanted[:, 1], begin, "right"))
                last = int(np.searchsorted(wanted[:, 0], end))
                for since, until in wanted[first:last].tolist():
                    span = max(begin, since), min(end, until)
                    if span[1] - span[0] >= _LATENCY_NS:
                        what = int(prio[place + 1]) * (ordinary or prio[place + 1] < _FAIR)
                        found[int(here["tid"][place + 1])].append(
                            (span[0], span[1] - span[0], cpu, int(what))  # a deadline: as 0
                        )
    return {tid: sorted(spans) for tid, spans in found.items()}


def _wanted(tracks: Iterable[Track], cpu: int, ordinary: bool) -> Times:
    """From when to when a thread could have run on a CPU, and did not: of ``ordinary`` ones, or of
    any."""
    spans = [np.zeros((0, 2), np.int64)]
    for track in tracks:
        if len(track.on) > 1 and (not ordinary or track.thread.policy not in REAL_TIME):
            ready = track.off[: len(track.on) - 1].copy()
            ready[(track.state[: len(ready)] & 0xFF) > 0] = track.blocks["wake"]
            there = track.cpu[1:] == cpu
            spans.append(np.column_stack([ready, track.on[1:]])[there])
    return _union(spans)


def _union(spans: Iterable[Times]) -> Times:
    """Stretches that none of them overlaps, in order."""
    every = np.concatenate([*spans])
    every = every[np.argsort(every[:, 0], kind="stable")]
    if not len(every):
        return every
    until = np.maximum.accumulate(every[:, 1])
    first = np.flatnonzero(np.append(True, every[1:, 0] > until[:-1]))
    return np.column_stack([every[first, 0], np.append(until[first[1:] - 1], until[-1])])
