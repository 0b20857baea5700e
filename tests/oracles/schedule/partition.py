"""Bin packing with fractions, as core/include/deadbeat/sched/partition.hpp describes it."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from deadbeat.base.model.systems import TaskSystem, TimedTask
from deadbeat.sched.simulator import Scheduler

#: What tasks are placed by; the order of the file decides what is left.
ORDERS: dict[str, Callable[[TimedTask], int | Fraction]] = {
    "file": lambda task: 0,
    "utilisation-desc": lambda task: -task.utilisation,
    "utilisation-asc": lambda task: task.utilisation,
    "period-asc": lambda task: task.period,
    "period-desc": lambda task: -task.period,
    "deadline-asc": lambda task: task.deadline,
    "density-desc": lambda task: -task.density,
}

HEURISTICS = ("auto", "next-fit", "first-fit", "best-fit", "worst-fit")
ADMISSIONS = ("auto", "utilisation", "density", "exact")


def edf_fits(tasks: Sequence[TimedTask]) -> bool:
    """Baruah, Rosier and Howell 1990: at no t is more work due than t. Exact on one processor.

    From max(D) on the demand grows by U * H per hyper-period H, so with U <= 1 the instants up to
    H + max(D) decide.
    """
    if sum((task.utilisation for task in tasks), Fraction(0)) > 1:
        return False
    horizon = math.lcm(*(task.period for task in tasks)) + max(task.deadline for task in tasks)
    return all(
        sum(
            ((t - task.deadline) // task.period + 1) * task.wcet
            for task in tasks
            if t >= task.deadline
        )
        <= t
        for t in range(1, horizon + 1)
    )


def fixed_priority_fits(tasks: Sequence[TimedTask]) -> bool:
    """Lehoczky 1990: the response times in the first busy period of every level, also D > T.

    ``tasks`` with the highest priority first.
    """
    for level, task in enumerate(tasks):
        above = tasks[:level]
        if sum((other.utilisation for other in tasks[: level + 1]), Fraction(0)) > 1:
            return False
        job = 0
        while True:
            finish = job * task.period + task.wcet
            while True:
                demand = (job + 1) * task.wcet + sum(
                    -(-finish // other.period) * other.wcet for other in above
                )
                if demand <= finish:
                    break
                finish = demand
            if demand - job * task.period > task.deadline:
                return False
            job += 1
            if demand <= job * task.period:
                break
    return True


def place(
    system: TaskSystem,
    scheduler: Scheduler,
    *,
    clusters: int,
    capacity: int,
    priority: Sequence[int] | None,
    preemptive: bool = True,
) -> tuple[list[int | None], int | None]:
    """Cluster of every task (None: it fits nowhere), and the first task that fits nowhere.

    Args:
        clusters, capacity: How many clusters, of how many processors each.
        preemptive: Whether the exact tests are exact under the policy: admission ``auto`` asks.
        priority: Place of every task in the order of priorities where they are fixed; None: EDF.
    """
    tasks = system.tasks
    heuristic = scheduler.partition
    if heuristic == "auto":
        heuristic = "first-fit" if capacity == 1 else "worst-fit"
    members: list[list[int]] = [[] for _ in range(clusters)]
    found: list[int | None] = [None] * len(tasks)
    by_density = scheduler.admission == "density"

    def share(index: int) -> Fraction:
        return tasks[index].density if by_density else tasks[index].utilisation

    def load(cluster: int) -> Fraction:
        return sum(map(share, members[cluster]), Fraction(0))

    exact = scheduler.admission == "exact" or (
        scheduler.admission == "auto" and capacity == 1 and preemptive
    )

    def fits(index: int, cluster: int) -> bool:
        if not exact:
            return load(cluster) + share(index) <= capacity
        together = [*members[cluster], index]
        if priority is None:
            return edf_fits([tasks[i] for i in together])
        return fixed_priority_fits([tasks[i] for i in sorted(together, key=lambda i: priority[i])])

    def take(index: int, cluster: int) -> None:
        members[cluster].append(index)
        found[index] = cluster

    for index, task in enumerate(tasks):
        if task.home is not None:
            take(index, task.home)
    key = ORDERS[scheduler.order]
    unplaced = None
    current = 0  # next-fit never looks back
    for index in sorted(range(len(tasks)), key=lambda i: key(tasks[i])):
        if tasks[index].home is not None:
            continue
        start = current if heuristic == "next-fit" else 0
        fitting = [k for k in range(start, clusters) if fits(index, k)]
        if fitting:
            match heuristic:
                case "best-fit":
                    chosen = max(fitting, key=lambda k: (load(k), -k))
                case "worst-fit":
                    chosen = min(fitting, key=lambda k: (load(k), k))
                case _:
                    chosen = current = fitting[0]
            take(index, chosen)
            continue
        if unplaced is None:
            unplaced = index
        if scheduler.unplaced == "least-loaded":
            take(index, min(range(clusters), key=lambda k: (utilisation(tasks, members[k]), k)))
    return found, unplaced


def utilisation(tasks: Sequence[TimedTask], members: Sequence[int]) -> Fraction:
    return sum((tasks[i].utilisation for i in members), Fraction(0))


def equalise(system: TaskSystem, homes: Sequence[int], clusters: int) -> list[int]:
    """Moves tasks from the most to the least utilised cluster while that shrinks their gap.

    Each time the task that leaves the smallest gap between the two; then the lowest index. Tasks
    with a home of their own stay.
    """
    moved = list(homes)
    while True:
        loads = [
            utilisation(system.tasks, [i for i, home in enumerate(moved) if home == k])
            for k in range(clusters)
        ]
        most = loads.index(max(loads))
        least = loads.index(min(loads))
        gap = loads[most] - loads[least]
        candidates = [
            (abs(gap - 2 * task.utilisation), index)
            for index, task in enumerate(system.tasks)
            if moved[index] == most and task.home is None
        ]
        if not candidates or min(candidates)[0] >= gap:
            return moved
        moved[min(candidates)[1]] = least
