"""Loose clustered EDF, our reading of the thesis (docs/reference/policies.md)."""

from collections.abc import Hashable, Sequence

from attrs import evolve

from oracles.schedule.partition import equalise, utilisation
from oracles.schedule.policies import Choice, Policy, Refusal, policy

NOWHERE = -1
BALANCES = ("none", "offline", "pull", "both", "sticky", "release")


@policy("lc-edf")
class LooseClusteredEdf(Policy):
    """Home jobs first in every cluster; idle processors take waiting jobs of other clusters."""

    clustered = True

    def prepare(self) -> None:
        self.balance = self.scheduler.balance
        if self.balance not in BALANCES:
            raise Refusal(f"no balance {self.balance}")
        self.waiting: list[int] = []  # heads that had waited behind another job, to join somewhere
        if self.balance == "release":
            self.homes = [NOWHERE] * len(self.tasks)  # of the head job, set when it gets ready
            return
        # Homes are where to look first, not all there is: a task that fits nowhere is no reason to
        # refuse.
        self.scheduler = evolve(self.scheduler, unplaced="least-loaded")
        super().prepare()
        if self.balance in ("offline", "both"):
            self.homes = equalise(self.system, self.homes, self.clusters)
        self.first_homes = tuple(self.homes)

    def choose(self, now: int) -> Sequence[Sequence[Choice]]:
        self.join_waiting()
        at_home: list[Choice] = []
        idle: list[int] = []  # a cluster for every idle processor
        for cluster in range(self.clusters):
            processors = self.processors_of(cluster)
            ready = sorted(self.ready_at(cluster), key=self.edf_key)[: len(processors)]
            at_home += [Choice(i, processors) for i in ready]
            idle += [cluster] * (len(processors) - len(ready))
        if self.balance not in ("pull", "both", "sticky"):
            return [at_home]
        others = sorted(set(self.ready()) - {it.task for it in at_home}, key=self.edf_key)
        guests: list[Choice] = []
        for i, cluster in zip(others, idle, strict=False):
            if self.balance == "sticky":
                self.homes[i] = cluster
                guests.append(Choice(i, self.processors_of(cluster)))
            else:
                guests.append(Choice(i, range(self.system.processors)))
        return [at_home, guests]

    @property
    def placed(self) -> tuple[int, ...]:
        return () if self.balance == "release" else self.first_homes

    def join_waiting(self) -> None:
        for task in sorted(self.waiting):
            self.join(task)
        self.waiting.clear()

    def join(self, task: int) -> None:
        """The head job of ``task`` joins the cluster whose ready tasks have the least C/T."""
        loads = [utilisation(self.system.tasks, self.ready_at(k)) for k in range(self.clusters)]
        self.homes[task] = loads.index(min(loads))

    def woken(self, now: int, task: int) -> None:
        if self.balance == "release":
            self.join_waiting()
            self.join(task)

    def completed(self, now: int, task: int) -> None:
        if self.balance == "sticky":
            self.homes[task] = self.first_homes[task]
        if self.balance == "release":
            self.homes[task] = NOWHERE
            if self.tasks[task].jobs:
                self.waiting.append(task)

    def memory(self, now: int) -> Hashable:
        return tuple(self.homes) if self.balance in ("sticky", "release") else None
