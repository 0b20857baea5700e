"""Faults of real-time threads that need no miss: what makes a job late one day, though none was.

A rule is a row of `RULES`: its function yields threads and when each broke the rule. What is usual
while a program begins or ends is left out: `_told` says how.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from deadbeat.base.model.words import time_text
from deadbeat.program.derive.outside import REAL_TIME
from deadbeat.program.derive.records import Recording, RecordKind
from deadbeat.program.derive.switches import Times
from deadbeat.program.derive.tasks import DerivedRun, DerivedTask
from deadbeat.program.derive.tracks import Track

#: Of the time from a thread's first job to its last: its begin.
_BEGIN = 0.1
#: Places that are named, of each thread.
_PLACES = 2

#: Thread, when it broke the rule (None: it always does), and where.
Instances = Iterator[tuple[int, Times | None, str]]


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
    """``needs``: kinds of records, one of which at least must be there for it to be judged."""

    name: str
    title: str
    why: str
    cure: str
    needs: tuple[RecordKind, ...] = ()
    find: Callable[[Judged], Instances] = field(repr=False)


@frozen(eq=False, slots=False)
class Judged:
    """What rules look at. ``urgent``: real-time threads."""

    recording: Recording
    derived: DerivedRun

    @cached_property
    def tasks(self) -> dict[int, DerivedTask]:
        return {task.tid: task for task in self.derived.tasks}

    @cached_property
    def urgent(self) -> dict[int, Track]:
        tracks = self.derived.tracks
        return {tid: t for tid, t in tracks.items() if t.thread.policy in REAL_TIME}


def _relative(seen: Judged) -> Instances:
    for tid, track in seen.urgent.items():
        sites = [n for n, s in enumerate(track.sites) if s.what == "sleep" and not s.object & 1]
        waits = track.waits
        mine = waits[np.isin(waits["site"], sites) & waits["blocked"]]
        asked = (mine["timer"] - mine["enter"])[mine["timer"] != 0]
        for_ns = f"for {time_text(int(np.median(asked)))}" if len(asked) else "relative"
        yield tid, mine["enter"], for_ns


#: The gravest first.
_EVERY = (
    ThreadRule(
        name="relative-sleep",
        title="sleeps for a time",
        why="The time that passes until the call, preemption too, is added to each period.",
        cure="sleep until an instant: clock_nanosleep with TIMER_ABSTIME",
        needs=(RecordKind.ENTER,),
        find=_relative,
    ),
)
RULES = {rule.name: rule for rule in _EVERY}


def rules_of(recording: Recording, derived: DerivedRun, allow: Sequence[str] = ()) -> RulesSeen:
    """Which rules the real-time threads broke; of a program without any none is judged. ``allow``:
    RULE:THREAD that the user accepts."""
    seen = Judged(recording, derived)
    if not seen.urgent:
        return RulesSeen()
    kinds = {*np.unique(recording.events["kind"]).tolist()}
    known = [rule for rule in RULES.values() if not rule.needs or kinds & {*rule.needs}]
    broken = [each for rule in known for each in _broken(rule, seen)]
    return RulesSeen(
        broken=tuple(
            evolve(
                each,
                accepted=not {each.thread, each.thread.partition("#")[0]}.isdisjoint(
                    word.partition(":")[2] for word in allow if word.startswith(f"{each.rule}:")
                ),
            )
            for each in broken
        ),
        judged=tuple(rule.name for rule in known),
        not_seen=tuple(rule.name for rule in RULES.values() if rule not in known),
    )


def _broken(rule: ThreadRule, seen: Judged) -> Iterator[BrokenRule]:
    """By thread: those with most jobs first."""
    found: dict[int, list[tuple[Times | None, str]]] = defaultdict(list)
    for tid, at, where in rule.find(seen):
        found[tid].append((at, where))
    rows = []
    for tid, each in found.items():
        places, task = Counter[str](), seen.tasks[tid]
        for at, where in each:
            places[where] += _told(seen, tid, [at])[0]
        count, jobs = _told(seen, tid, [at for at, _ in each])
        if count:
            where = ", ".join(place for place, _ in places.most_common(_PLACES))
            rows.append(
                BrokenRule(rule=rule.name, thread=task.name, count=count, jobs=jobs, where=where,
                           cure=rule.cure)
            )  # fmt: skip
    yield from sorted(rows, key=lambda row: (-row.jobs, row.thread))


def _told(seen: Judged, tid: int, every: Iterable[Times | None]) -> tuple[int, int]:
    """How often a thread broke a rule, and in how many jobs: until its last job ended; while its
    jobs began no more often than later on."""
    task, rows = seen.tasks[tid], seen.derived.rows.get(seen.tasks[tid].name)
    instants = [at for at in every if at is not None]
    if not instants:
        return max(task.jobs, 1), task.jobs
    at = np.concatenate(instants)
    if rows is None:
        ends = np.array([_BEGIN, 1 - _BEGIN]) * seen.derived.tracks[tid].end
        return int(((at >= ends[0]) & (at < ends[1])).sum()), 0
    at = at[(at >= rows["before"][0]) & (at < rows["end"][-1])]
    per_job = np.bincount(np.searchsorted(rows["before"], at, "right") - 1, minlength=len(rows))
    begin = rows["before"][0] + _BEGIN * (rows["end"][-1] - rows["before"][0])
    early = int(np.searchsorted(rows["before"], begin))
    return _usual(per_job, early), _usual(per_job > 0, early)


def _usual(counts: NDArray[np.int64] | NDArray[np.bool_], early: int) -> int:
    """Sum of ``counts``; of the ``early`` ones at most what later ones have on average."""
    later = int(counts[early:].sum())
    return later + min(
        int(counts[:early].sum()), round(later * early / max(len(counts) - early, 1))
    )
