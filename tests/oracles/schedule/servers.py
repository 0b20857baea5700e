"""SCHED_DEADLINE: EDF of constant-bandwidth servers with hard reservations.

Abeni and Buttazzo 1998 as Linux runs it (Documentation/scheduler/sched-deadline.rst,
kernel/sched/deadline.c), with the revised wake-up rule of constrained servers.
"""

from collections.abc import Hashable, Sequence

from attrs import define, evolve

from deadbeat.base.model.systems import TaskSystem
from oracles.schedule.policies import ByKey, Choice, Refusal, policy


@define
class Server:
    """Runtime left ``q``, scheduling deadline ``d``, and until when it is throttled, if it is."""

    budget: int
    period: int
    deadline: int
    q: int = 0
    d: int = 0
    awake_before: bool = False
    throttled_until: int | None = None

    def wake(self, now: int) -> None:
        if not self.awake_before:
            self.awake_before = True
            self.renew(now)
            return
        self.settle(now)
        if self.throttled_until is not None:
            return
        constrained = self.deadline < self.period
        if constrained and self.d <= now < self.next_period:
            # At now == d Linux's revised rule (below) grants nothing, which comes to the same.
            self.q = 0
        elif now >= self.d:
            self.renew(now)
        elif self.q * self.deadline > (self.d - now) * self.budget:
            if constrained:
                self.q = self.budget * (self.d - now) // self.deadline
            else:
                self.renew(now)

    def renew(self, now: int) -> None:
        self.q = self.budget
        self.d = now + self.deadline

    @property
    def next_period(self) -> int:
        return self.d - self.deadline + self.period

    def settle(self, now: int) -> None:
        """Throttles an exhausted server, with or without a job, and ends throttling.

        Where that leaves a deadline in the past the server begins anew (replenish_dl_entity).
        """
        if self.throttled_until is None and self.q == 0 and self.awake_before:
            self.throttled_until = self.next_period
        if self.throttled_until is not None and self.throttled_until <= now:
            self.throttled_until = None
            while self.q <= 0:
                self.q += self.budget
                self.d += self.period
            if self.d < now:
                self.renew(now)


@policy("g-cbs")
class GlobalCbs(ByKey):
    def prepare(self) -> None:
        self.servers = [
            Server(
                budget=it.budget or it.wcet,
                period=it.server_period or it.period,
                deadline=it.server_deadline or it.deadline,
            )
            for it in self.system.tasks
        ]
        for index, server in enumerate(self.servers):
            if not server.budget <= server.deadline <= server.period:
                raise Refusal(f"task {index}: not runtime <= deadline <= period")
        super().prepare()

    def woken(self, now: int, task: int) -> None:
        self.servers[task].wake(now)

    def executed(self, task: int) -> None:
        self.servers[task].q -= 1

    def choose(self, now: int) -> Sequence[Sequence[Choice]]:
        for server in self.servers:
            server.settle(now)
        return super().choose(now)

    def eligible(self, now: int, task: int) -> bool:
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
    """Placed by their servers, as Linux admits them."""

    partitioned = True

    def to_place(self) -> TaskSystem:
        tasks = zip(self.system.tasks, self.servers, strict=True)
        return evolve(
            self.system,
            tasks=tuple(
                evolve(it, wcet=server.budget, period=server.period, deadline=server.deadline)
                for it, server in tasks
            ),
        )
