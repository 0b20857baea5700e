"""What a bound with locks is made of, and what must shrink so that it holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Unpack

from attrs import evolve, frozen

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.systems import TaskSystem
from deadbeat.sched.analysis import TestSettings, analyze, test_options
from deadbeat.sched.arrays import section_rows, task_rows
from deadbeat.sched.locks import PATTERNS, decide
from deadbeat.sched.sensitivity import last

if TYPE_CHECKING:
    from deadbeat.sched import _core
else:
    from deadbeat.sched.core import lazy as _core

ShareKind = Literal["local", "boost", "held", "handed", "outranks"]
#: In the order of the core's numbers (core/include/deadbeat/sched/tests.hpp).
_KINDS: tuple[ShareKind, ...] = ("local", "boost", "held", "handed", "outranks")
#: Kinds of the time that a task waits for locks held elsewhere.
REMOTE = ("held", "handed", "outranks")
PINNED = "pinned-fifo-pi"


@frozen(kw_only=True)
class BlockingShare:
    """What keeps a job of ``task`` from its end, at most ``amount`` of the time of ``other``
    (places of tasks): ``local`` (as urgent, on its processor), ``boost`` (less urgent there, in a
    section that more urgent tasks wait for), ``held`` (in a section when the job asks for
    ``lock``), ``handed`` (in sections at hand-overs), ``outranks`` (as urgent as the holder, on the
    holder's processor). ``lock``: a name; "": none of one."""

    task: int
    kind: ShareKind
    other: int
    lock: str
    amount: int


def shares(system: TaskSystem, **settings: Unpack[TestSettings]) -> tuple[BlockingShare, ...]:
    """What the bounds of pinned SCHED_FIFO threads with inheriting mutexes are made of; where one
    passes its deadline, as they are then."""
    names = [lock.name for lock in system.locks]
    rows = _core.pinned_shares(
        system.processors, task_rows(system.tasks), test_options(settings), section_rows(system)
    )
    return tuple(
        BlockingShare(
            task=task,
            kind=_KINDS[kind],
            other=other,
            lock=names[lock] if lock >= 0 else "",
            amount=amount,
        )
        for task, kind, other, lock, amount in rows.tolist()
    )


@frozen(kw_only=True)
class WorstSimulated:
    """The longest response of each task over random ``patterns``."""

    policy: str
    patterns: int
    responses: tuple[int, ...]


def worst_simulated(system: TaskSystem, priorities: str) -> WorstSimulated | None:
    """For pinned threads with inheriting mutexes, to stand beside their bounds; None: they are not
    simulated."""
    try:
        found = decide(system, policy="p-fp", protocol="inherit", priorities=priorities)
    except UsageError:
        return None
    return WorstSimulated(
        policy=found["scheduler"]["policy"],
        patterns=PATTERNS,
        responses=tuple(found["metrics"]["response_max"].tolist()),
    )


def longest_accepted(
    system: TaskSystem, task: int, place: int, *, kept: bool, **settings: Unpack[TestSettings]
) -> int | None:
    """The greatest length of a section (the ``place``-th of ``task``) with which pinned threads are
    accepted, by bisection: a longer section never lowers a bound. ``kept``: what is taken out of it
    is still executed, outside; else it is gone. None: not even with 1."""

    def holds(length: int) -> bool:
        changed = with_section(system, task, place, length, kept=kept)
        return analyze(changed, names=[PINNED], **settings).results[0].answer == "accepted"

    return last(system.tasks[task].sections[place].length, holds) or None


def with_section(
    system: TaskSystem, task: int, place: int, length: int, *, kept: bool
) -> TaskSystem:
    """``system`` with another length of a section, as `longest_accepted` has it."""
    mine = system.tasks[task]
    sections = list(mine.sections)
    less = 0 if kept else (sections[place].length - length) * sections[place].count
    sections[place] = evolve(sections[place], length=length)
    tasks = list(system.tasks)
    tasks[task] = evolve(mine, sections=tuple(sections), wcet=mine.wcet - less)
    return evolve(system, tasks=tuple(tasks))


def wait_words(system: TaskSystem, parts: Sequence[BlockingShare], task: int) -> str:
    """``t3 can wait 12 ms for lock bus: 5 ms in sections of t7, 7 ms of t1, which outranks t7``."""
    mine = [part for part in parts if part.task == task and part.kind in REMOTE]
    if not mine:
        return ""
    unit = f" {system.unit}" if system.unit else ""
    locks = dict.fromkeys(each.lock for each in system.tasks[task].sections)
    holders = dict.fromkeys(system.label(part.other) for part in mine if part.kind == "held")
    rank = f", which outranks {' and '.join(holders)}" if holders else ""
    words = [
        f"{part.amount}{unit} of {system.label(part.other)}{rank}"
        if part.kind == "outranks"
        else f"{part.amount}{unit} in sections of {system.label(part.other)}"
        for part in sorted(mine, key=lambda part: -part.amount)
    ]
    total = sum(part.amount for part in mine)
    many = "locks" if len(locks) > 1 else "lock"
    return (
        f"{system.label(task)} can wait {total}{unit} for {many} {', '.join(locks)}:"
        f" {', '.join(words)}"
    )
