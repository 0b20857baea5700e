"""SCHED_DEADLINE: EDF of constant-bandwidth servers with hard reservations.

Abeni and Buttazzo 1998 as Linux runs it (Documentation/scheduler/sched-deadline.rst,
kernel/sched/deadline.c), with the revised wake-up rule of constrained servers.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from fractions import Fraction

from attrs import define

from deadbeat.sched.reference.policies import ByKey, Refusal, policy


@define
class Server:
    """Runtime left ``q``, scheduling deadline ``d``, and until when it is throttled, if it is.

    What the revised rule grants is rounded down to a multiple of ``unit``.
    """

    budget: int
    period: int
    deadline: int
    unit: int
    q: int = 0
    d: int = 0
    awake_before: bool = False
    throttled_until: int | None = None

    def wake(self, now: int) -> None:
        constrained = self.deadline < self.period
        if not self.awake_before:
            self.awake_before = True
            self.renew(now)
        elif constrained and self.d < now < self.next_period:
            self.q = 0
            self.throttled_until = self.next_period
        elif now >= self.d:
            self.renew(now)
        elif self.q * self.deadline > (self.d - now) * self.budget:
            if constrained:
                granted = Fraction(self.budget * (self.d - now), self.deadline)
                self.q = self.unit * math.floor(granted / self.unit)
            else:
                self.renew(now)

    def renew(self, now: int) -> None:
        self.q = self.budget
        self.d = now + self.deadline

    @property
    def next_period(self) -> int:
        return self.d - self.deadline + self.period

    def settle(self, now: int) -> None:
        """Throttles the server of an unfinished job without runtime, and ends throttling."""
        if self.throttled_until is None and self.q == 0:
            self.throttled_until = self.next_period
        if self.throttled_until is not None and self.throttled_until <= now:
            self.throttled_until = None
            while self.q <= 0:
                self.q += self.budget
                self.d += self.period


@policy("g-cbs")
class GlobalCbs(ByKey):
    def prepare(self) -> None:
        self.servers = [
            Server(
                budget=it.budget or it.wcet,
                period=it.server_period or it.period,
                deadline=it.server_deadline or it.deadline,
                unit=self.unit,
            )
            for it in self.system.tasks
        ]
        for index, server in enumerate(self.servers):
            if server.deadline > server.period:
                raise Refusal(f"task {index}: server deadline above server period")
        super().prepare()

    def woken(self, now: int, task: int) -> None:
        self.servers[task].wake(now)

    def executed(self, task: int) -> None:
        self.servers[task].q -= 1

    def eligible(self, now: int, task: int) -> bool:
        self.servers[task].settle(now)
        return self.servers[task].throttled_until is None

    def key(self, now: int, task: int) -> tuple[int, ...]:
        return self.servers[task].d, self.rank[task]

    def memory(self, now: int) -> Hashable:
        return tuple(
            (
                it.q,
                it.d - now,
                it.awake_before,
                None if it.throttled_until is None else it.throttled_until - now,
            )
            for it in self.servers
        )


@policy("p-cbs")
class PartitionedCbs(GlobalCbs):
    partitioned = True
