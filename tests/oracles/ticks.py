"""Jobs tick by tick, and every schedule of small periodic systems."""

from collections.abc import Iterator, Sequence
from itertools import product
from math import lcm, prod

from deadbeat.base.model.systems import TaskSystem

#: Release, time, rank (less is more urgent), and the jobs that end before it starts.
Job = tuple[int, int, tuple[float, ...], set[int]]


def finish(jobs: Sequence[Job], processors: int = 1, *, preemptive: bool = True) -> dict[int, int]:
    left, found, now, running = {i: job[1] for i, job in enumerate(jobs)}, {}, 0, list[int]()
    while left:
        ready = {i for i in left if jobs[i][0] <= now and jobs[i][3] <= found.keys()}
        kept = [] if preemptive else [i for i in running if i in left]
        running = [*kept, *sorted(ready - {*kept}, key=lambda i: jobs[i][2])][:processors]
        now += 1
        left |= {i: left[i] - 1 for i in running}
        found |= {i: now for i in running if not left[i]}
        left = {i: rest for i, rest in left.items() if rest}
    return found


def schedules(system: TaskSystem, *, edf: bool, preemptive: bool, most: int) -> Iterator[list[int]]:
    """The worst response of each task in every schedule of the jobs that arrive within a
    hyper-period, or two from the last offset on. None of more than ``most``."""
    latest = max(task.offset for task in system.tasks)
    end = lcm(*(task.period for task in system.tasks)) * (2 if latest else 1) + latest
    nodes, lates = [], []
    for i, task in enumerate(system.tasks):
        costs = task.dag.nodes if task.dag else (task.wcet,)
        for arrival in range(task.offset, end, task.period):
            lates.append(range(task.jitter + 1))
            first = len(nodes)
            for n, cost in enumerate(costs):
                before = {first + a for a, b in (task.dag.edges if task.dag else ()) if b == n}
                least = max(1, cost - task.wcet + (task.bcet or task.wcet))
                rank = (arrival + task.deadline, i, n) if edf else (-task.priority, i, n)
                nodes.append((i, len(lates) - 1, arrival, range(least, cost + 1), rank, before))
    if prod(map(len, [*lates, *(node[3] for node in nodes)])) > most:
        return
    for late in product(*lates):
        for costs in product(*(node[3] for node in nodes)):
            taken = [0] * len(lates)
            for (_, job, *_), cost in zip(nodes, costs, strict=True):
                taken[job] += cost
            if any(taken[job] < system.tasks[i].bcet for i, job, *_ in nodes):
                continue
            jobs = [
                (arrival + late[job], cost, rank, before)
                for (_, job, arrival, _, rank, before), cost in zip(nodes, costs, strict=True)
            ]
            ends = finish(jobs, system.processors, preemptive=preemptive)
            worst = [0] * len(system.tasks)
            for x, (i, _, arrival, *_) in enumerate(nodes):
                worst[i] = max(worst[i], ends[x] - arrival)
            yield worst
