"""Linux's admission to SCHED_DEADLINE, in the kernel's integers. It is no schedulability test: what
is admitted on several processors may be late by a bounded time; with Ds < P by any time."""

from __future__ import annotations

from typing import Literal, NamedTuple

from attrs import frozen

from deadbeat.base.model.rules import UNITS_NS
from deadbeat.base.model.systems import TaskSystem, bandwidth

AdmissionAnswer = Literal["admitted", "EBUSY", "EINVAL", "EPERM"]


class Reservation(NamedTuple):
    """What a task asks for, ns. ``period`` 0: the deadline."""

    runtime: int
    deadline: int
    period: int


@frozen(kw_only=True)
class RootDomain:
    """What admits: ``sched_rt_runtime_us`` (below 0: no limit) and ``sched_rt_period_us``, and of
    every processor the fair server's files (ns; runtime 0: none, as before Linux 6.12)."""

    processors: int
    rt_runtime: int = 950_000
    rt_period: int = 1_000_000
    fair_runtime: int = 50_000_000
    fair_period: int = 1_000_000_000

    @property
    def room(self) -> int | None:
        """2^-20 of a processor that tasks may reserve; None: no limit."""
        each = bandwidth(self.rt_runtime, self.rt_period)
        server = bandwidth(self.fair_runtime, self.fair_period)
        return None if self.rt_runtime < 0 else self.processors * (each - server)


@frozen(kw_only=True)
class Admission:
    """``answers``: by task, in order; None: it asks for no server. ``reserved`` and ``room`` in
    2^-20 of a processor; ``reason``: why there are no answers."""

    answers: tuple[AdmissionAnswer | None, ...]
    reserved: int
    room: int | None
    reason: str = ""


def is_valid(asked: Reservation) -> bool:
    """Whether the kernel takes the parameters (__checkparam_dl in kernel/sched/deadline.c)."""
    runtime, deadline, period = asked
    period = period or deadline
    return 1024 <= runtime <= deadline <= period and 100_000 <= period <= 1000 << 22


def admit(system: TaskSystem, domain: RootDomain) -> Admission:
    """The kernel's answers to the tasks with a budget, one request after the other, in a root
    domain without other reservations (__dl_overflow in kernel/sched/deadline.c)."""
    scale, room, reserved = UNITS_NS.get(system.unit), domain.room, 0
    answers: list[AdmissionAnswer | None] = []
    if scale is None:
        reason = "the file has no unit of time: ns, us, ms or s"
        return Admission(answers=(None,) * len(system.tasks), reserved=0, room=room, reason=reason)
    for task in system.tasks:
        if task.budget is None:
            answers.append(None)
            continue
        deadline, period = task.server_deadline or task.deadline, task.server_period or task.period
        asked = Reservation(task.budget * scale, deadline * scale, period * scale)
        share = bandwidth(asked.runtime, asked.period)
        if not is_valid(asked):
            answers.append("EINVAL")
        elif system.bound(task):  # to fewer processors than the root domain has
            answers.append("EPERM")
        elif room is not None and reserved + share > room:
            answers.append("EBUSY")
        else:
            answers.append("admitted")
            reserved += share
    return Admission(answers=tuple(answers), reserved=reserved, room=room)
