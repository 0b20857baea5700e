"""Which rules real-time threads broke, how often, and in how many jobs.

What is usual while a program begins or ends is left out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from deadbeat.program.derive.judged import Judged, ThreadRule
from deadbeat.program.derive.records import BY_WHOM, IN_INTERRUPT, Recording, RecordKind
from deadbeat.program.derive.rules import RULES
from deadbeat.program.derive.switches import Times
from deadbeat.program.derive.tasks import DerivedRun

#: Places that are named, of each thread.
_PLACES = 3


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
    """``broken``: the gravest first; ``judged``: rules that were; ``not_seen``: those of
    which nothing was, as the recording has no event of those they need."""

    broken: tuple[BrokenRule, ...] = ()
    judged: tuple[str, ...] = ()
    not_seen: tuple[str, ...] = ()


def rules_of(recording: Recording, derived: DerivedRun, allow: Sequence[str] = ()) -> RulesSeen:
    """Which rules the real-time threads broke; of a program without any none is judged. ``allow``:
    RULE:THREAD that the user accepts."""
    seen = Judged(recording, derived)
    if not seen.urgent:
        return RulesSeen()
    events, kinds = recording.events, {*np.unique(recording.events["kind"]).tolist()}
    flags = {*(events["b"][events["kind"] == RecordKind.WAKING] & IN_INTERRUPT).tolist()}
    flags = set() if BY_WHOM in recording.not_seen else flags
    rules = [rule for rule in RULES.values() if not rule.flags or flags & {*rule.flags}]
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
