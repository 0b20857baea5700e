"""The policies of the twin by name, and the frame they fill."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar, NamedTuple

from deadbeat.base.model.systems import TaskSystem
from deadbeat.sched.simulator import Scheduler
from oracles.schedule.partition import place
from oracles.schedule.state import Activity, tie_rank


class Refusal(Exception):  # noqa: N818 - the outcome is called so
    """The policy is not defined for the system; the message says why."""


class NoPlace(Refusal):
    """A task fits on no cluster. ``placed`` has -1 for every such task."""

    def __init__(self, placed: Sequence[int | None]) -> None:
        super().__init__(f"task {list(placed).index(None)} fits nowhere")
        self.placed = tuple(-1 if cluster is None else cluster for cluster in placed)


class Choice(NamedTuple):
    """A task that should run on one of ``processors``."""

    task: int
    processors: range


class Policy(ABC):
    """Decides at every instant, anew, which tasks run where.

    Attributes:
        homes: Cluster of every task; empty where tasks are not bound.
        cluster_size: Processors of one cluster.
    """

    #: One cluster per processor, whatever the options say.
    partitioned: ClassVar[bool] = False
    #: Clusters as the options say.
    clustered: ClassVar[bool] = False
    fixed_priority: ClassVar[bool] = False

    def __init__(self, system: TaskSystem, scheduler: Scheduler) -> None:
        self.system = system
        self.scheduler = scheduler
        self.tasks = [Activity(task) for task in system.tasks]
        self.rank = tie_rank(system, scheduler.ties)
        self.homes: list[int] = []
        self.cluster_size = system.processors
        if self.partitioned:
            self.cluster_size = 1
        elif self.clustered:
            self.cluster_size = scheduler.cluster_size
        if self.cluster_size < 1 or system.processors % self.cluster_size:
            raise Refusal(
                f"clusters of {self.cluster_size} do not divide {system.processors} processors"
            )
        self.clusters = system.processors // self.cluster_size
        self.prepare()

    def prepare(self) -> None:
        """Binds tasks where clusters ask for it. Raises Refusal."""
        if not (self.partitioned or self.clustered):
            return
        lost = [i for i, task in enumerate(self.system.tasks) if (task.home or 0) >= self.clusters]
        if lost:
            raise Refusal(f"task {lost[0]} has a home that is not there")
        if self.scheduler.admission == "exact" and self.cluster_size > 1:
            raise Refusal("admission by exact test needs clusters of one processor")
        priority = None
        if self.fixed_priority:
            order = sorted(range(len(self.tasks)), key=self.fixed_key)
            priority = [order.index(i) for i in range(len(order))]
        placed, unplaced = place(
            self.to_place(),
            self.scheduler,
            clusters=self.clusters,
            capacity=self.cluster_size,
            priority=priority,
            preemptive=self.scheduler.policy in ("p-edf", "c-edf", "p-fp", "c-fp")
            or (self.scheduler.policy == "lc-edf" and self.scheduler.balance != "sticky"),
        )
        if unplaced is not None and self.scheduler.unplaced == "reject":
            raise NoPlace(placed)
        self.homes = [home for home in placed if home is not None]

    def to_place(self) -> TaskSystem:
        """What the tasks ask for when they are placed."""
        return self.system

    @property
    def placed(self) -> tuple[int, ...]:
        """Clusters that tasks are bound to for good; empty where they are not."""
        return tuple(self.homes)

    def processors_of(self, cluster: int) -> range:
        first = cluster * self.cluster_size
        return range(first, first + self.cluster_size)

    def cluster_of(self, processor: int) -> int:
        return processor // self.cluster_size

    def ready(self) -> list[int]:
        return [i for i, activity in enumerate(self.tasks) if activity.jobs]

    def ready_at(self, cluster: int) -> list[int]:
        """The ready tasks that belong to ``cluster``."""
        if not self.homes:
            return self.ready()
        return [i for i in self.ready() if self.homes[i] == cluster]

    def edf_key(self, task: int) -> tuple[int, int]:
        return self.tasks[task].jobs[0].deadline, self.rank[task]

    def fixed_key(self, task: int) -> tuple[int, int]:
        return self.level(task), self.rank[task]

    def level(self, task: int) -> int:
        """Fixed priority without ties: smaller is more urgent."""
        it = self.system.tasks[task]
        keys = {"rm": it.period, "dm": it.deadline, "given": -it.priority}
        return keys[self.scheduler.priorities]

    @abstractmethod
    def choose(self, now: int) -> Sequence[Sequence[Choice]]:
        """What should run in [now, now + 1): tiers, within a tier by priority."""

    def woken(self, now: int, task: int) -> None:  # noqa: B027 - a hook
        """A job of ``task`` was released at ``now`` and found no other."""

    def completed(self, now: int, task: int) -> None:  # noqa: B027 - a hook
        """The head job of ``task`` completed at ``now``; the next one is the head, if any."""

    def executed(self, task: int) -> None:  # noqa: B027 - a hook
        """``task`` ran for the unit of time that ends."""

    def memory(self, now: int) -> Hashable:
        """What decisions depend on besides unfinished jobs and releases to come."""
        return None


class ByKey(Policy):
    """In every cluster, the best of the ready tasks, as many as it has processors."""

    @abstractmethod
    def key(self, now: int, task: int) -> tuple[int, ...]: ...

    def eligible(self, now: int, task: int) -> bool:
        return True

    def choose(self, now: int) -> Sequence[Sequence[Choice]]:
        tier = []
        for cluster in range(self.clusters):
            ready = [i for i in self.ready_at(cluster) if self.eligible(now, i)]
            ready.sort(key=lambda i: self.key(now, i))
            processors = self.processors_of(cluster)
            tier += [Choice(i, processors) for i in ready[: len(processors)]]
        return [tier]


#: Filled by ``policy`` in the files beside this one.
POLICIES: dict[str, type[Policy]] = {}


def policy(name: str) -> Callable[[type[Policy]], type[Policy]]:
    """Registers a class under ``name``."""

    def register(cls: type[Policy]) -> type[Policy]:
        POLICIES[name] = cls
        return cls

    return register
