"""Task sets of stored results as the model needs them, with what was measured of each."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, frozen

from deadbeat.model.calibration import Calibration
from deadbeat.model.tasks import Access, FragmentUse, TaskSet
from deadbeat.prices.rates import PairMatrix, RatesByRivals, SizedWork, priced_matrices
from deadbeat.prices.replay import UNKNOWN, ReplayTask
from deadbeat.prices.table import PriceTable
from deadbeat.synthesis.stream import Stream


@frozen(kw_only=True)
class Covered:
    """How much of the time of a set's tasks the matrix knows.

    Attributes:
        exact: Share of uses measured at their size; ``alike``: at another size of the fragment;
            ``lacking``: at none.
    """

    exact: float
    alike: float

    @property
    def lacking(self) -> float:
        return max(0.0, 1.0 - self.exact - self.alike)


def rates_of(table: PriceTable | None) -> dict[str, RatesByRivals]:
    """State of the host -> how cores slow one another in it."""
    names = dict.fromkeys(price.state for price in table.prices) if table else ()
    found = {name: priced_matrices(table.of(state=name)) for name in names if table}
    return {name: RatesByRivals(each) for name, each in found.items() if each}


def works_of(task_set: TaskSet, calibration: Calibration) -> list[list[tuple[SizedWork, float]]]:
    """Of each task the uses of a job in order, and the ns that each takes alone."""
    return [
        [
            (_work(use, task_set), cost_ps / 1000)
            for segment, costs in zip(task.segments, calibration.job_costs_ps(task), strict=True)
            for use, cost_ps in zip(segment.uses, costs, strict=True)
        ]
        for task in task_set.tasks
    ]


def _work(use: FragmentUse, task_set: TaskSet) -> SizedWork:
    shared = use.resource is not None and task_set.resources[use.resource].access is Access.CON
    return SizedWork(use.entry.fragment, use.entry.size, shared)


def prepared(
    task_set: TaskSet, calibration: Calibration, matrix: PairMatrix
) -> tuple[tuple[ReplayTask, ...], Covered]:
    """The set for the replay, and how much of it the matrix knows, by utilisation."""
    tasks, weights = [], {True: 0.0, False: 0.0, None: 0.0}
    for task, works in zip(task_set.tasks, works_of(task_set, calibration), strict=True):
        uses: list[tuple[int, float]] = []
        for work, ns in works:
            place, exact = matrix.place(work)
            weights[None if place == UNKNOWN else exact] += ns / task.period_ns
            place = matrix.same[place] if matrix.same and place != UNKNOWN else place
            before = uses.pop()[1] if uses and uses[-1][0] == place else 0.0
            uses.append((place, before + ns))
        tasks.append(
            ReplayTask(
                core=task.core,
                priority=task.priority,
                period_ns=task.period_ns,
                deadline_ns=task.deadline_ns,
                offset_ns=task.offset_ns,
                uses=tuple(uses),
                counts=task.critical,
            )
        )
    whole = sum(weights.values())
    return tuple(tasks), Covered(exact=weights[True] / whole, alike=weights[False] / whole)


def paced(tasks: Sequence[ReplayTask], factor: float) -> tuple[ReplayTask, ...]:
    """With all uses ``factor`` times as long: on a host that is slower."""
    return tuple(
        evolve(task, uses=tuple((work, ns * factor) for work, ns in task.uses)) for task in tasks
    )


def copied(tasks: Sequence[ReplayTask], cores: int, seed: int) -> tuple[ReplayTask, ...]:
    """A set for more cores: each further core does what one of the set's does, in turn, at offsets
    of its own, and its shared objects are shared by all."""
    own = 1 + max(task.core for task in tasks)
    stream = Stream(seed)
    found = [task for task in tasks if task.core < cores]
    for core in range(own, cores):
        found += [
            evolve(task, core=core, offset_ns=stream.below(task.period_ns))
            for task in tasks
            if task.core == core % own
        ]
    return tuple(found)


def scaled(tasks: Sequence[ReplayTask], factor: float) -> tuple[ReplayTask, ...]:
    """With periods, deadlines and offsets ``factor`` times as long."""
    return tuple(
        evolve(
            task,
            period_ns=max(1, round(task.period_ns * factor)),
            deadline_ns=max(1, round(task.deadline_ns * factor)),
            offset_ns=round(task.offset_ns * factor),
        )
        for task in tasks
    )
