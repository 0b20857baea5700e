"""Loose clustered EDF, our reading of the thesis (docs/reference/policies.md)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from attrs import evolve

from deadbeat.sched.reference.partition import equalise
from deadbeat.sched.reference.policies import Choice, Policy, Refusal, policy

BALANCES = ("none", "offline", "pull", "both", "sticky", "release")


@policy("lc-edf")
class LooseClusteredEdf(Policy):
    """Home jobs first in every cluster; idle processors take waiting jobs of other clusters."""

    clustered = True

    def prepare(self) -> None:
        self.balance = self.scheduler.balance
        if self.balance not in BALANCES:
            raise Refusal(f"no balance {self.balance}")
        if self.balance == "release":
            self.homes = [0] * len(self.tasks)  # of the head job, set when it gets ready
            return
        # Homes are where to look first, not all there is: a task that fits nowhere is no reason to
        # refuse.
        self.scheduler = evolve(self.scheduler, unplaced="least-loaded")
        super().prepare()
        if self.balance in ("offline", "both"):
            self.homes = equalise(self.system, self.homes, self.clusters)

    def choose(self, now: int) -> Sequence[Sequence[Choice]]:
        guests = [
            i
            for i in self.ready()
            if (processor := self.tasks[i].processor) is not None
            and self.cluster_of(processor) != self.homes[i]
        ]
        stay: list[Choice] = []
        if self.balance == "sticky":
            for i in guests:
                processor = self.tasks[i].processor
                assert processor is not None
                stay.append(Choice(i, range(processor, processor + 1)))
        taken = {choice.task for choice in stay}
        at_home: list[Choice] = []
        for cluster in range(self.clusters):
            processors = self.processors_of(cluster)
            free = len(processors) - sum(choice.processors[0] in processors for choice in stay)
            ready = sorted(set(self.ready_at(cluster)) - taken, key=self.edf_key)
            at_home += [Choice(i, processors) for i in ready[:free]]
        taken |= {choice.task for choice in at_home}
        new: list[Choice] = []
        if self.balance in ("pull", "both", "sticky"):
            waiting = sorted(set(self.ready()) - taken, key=self.edf_key)
            idle = self.system.processors - len(taken)
            new = [Choice(i, range(self.system.processors)) for i in waiting[:idle]]
        return [stay, at_home, new]

    @property
    def placed(self) -> tuple[int, ...]:
        return () if self.balance == "release" else super().placed

    def join(self, task: int) -> None:
        """The head job of ``task`` joins the cluster with the least work left of ready jobs."""
        work = [
            sum(self.tasks[i].jobs[0].remaining for i in self.ready_at(cluster) if i != task)
            for cluster in range(self.clusters)
        ]
        self.homes[task] = work.index(min(work))

    def woken(self, now: int, task: int) -> None:
        if self.balance == "release":
            self.join(task)

    def completed(self, now: int, task: int) -> None:
        if self.balance == "release" and self.tasks[task].jobs:
            self.join(task)

    def memory(self, now: int) -> Hashable:
        match self.balance:
            case "sticky":  # where guests are, and where affinity will put the next ones
                return tuple((it.processor, it.last_processor) for it in self.tasks)
            case "release":
                return tuple(self.homes[i] for i in self.ready())
            case _:
                return None
