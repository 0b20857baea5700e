"""Task systems as the arrays the core takes: one row of nine integers per task."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from deadbeat.model.systems import TaskSystem, TimedTask

#: Columns of a row, in the order of ``Task`` in core/include/deadbeat/sched/system.hpp.
FIELDS = (
    "wcet",
    "period",
    "deadline",
    "offset",
    "priority",
    "home",
    "budget",
    "server_period",
    "server_deadline",
)
#: What stands for None.
_ABSENT = {"home": -1, "budget": 0, "server_period": 0, "server_deadline": 0}


def task_rows(tasks: Iterable[TimedTask]) -> NDArray[np.int64]:
    """Shape (tasks, 9). Raises OverflowError for what 64 bits do not hold."""
    rows = [
        [_ABSENT[name] if (value := getattr(task, name)) is None else value for name in FIELDS]
        for task in tasks
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, len(FIELDS))


#: Columns of ``extra_rows``, in the order of ``Extra``.
EXTRAS = ("jitter", "suspension", "np_max", "np_last")


def section_rows(system: TaskSystem) -> NDArray[np.int64]:
    """Shape (sections, 4): task, lock, count and length, as ``CriticalSection`` of the core."""
    places = {lock.name: place for place, lock in enumerate(system.locks)}
    rows = [
        (index, places[each.lock], each.count, each.length)
        for index, task in enumerate(system.tasks)
        for each in task.sections
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 4)


def extra_rows(system: TaskSystem) -> NDArray[np.int64]:
    """Shape (tasks, 4): EXTRAS; no row where no task has any."""
    rows = [[getattr(task, name) for name in EXTRAS] for task in system.tasks]
    return np.array(rows if any(map(any, rows)) else [], dtype=np.int64).reshape(-1, 4)


def task_of(row: NDArray[np.int64]) -> TimedTask:
    """The inverse of one row of ``task_rows``."""
    values: dict[str, Any] = dict(zip(FIELDS, map(int, row), strict=True))
    absent = {name: None for name, none in _ABSENT.items() if values[name] <= none}
    return TimedTask(**{**values, **absent})


@frozen(kw_only=True)
class TaskBatch:
    """Many task systems, one after the other.

    Attributes:
        tasks: int64, shape (total tasks, 9).
        starts: int64, shape (systems + 1): system i has rows starts[i] to starts[i + 1].
        processors: int32, shape (systems).
    """

    tasks: NDArray[np.int64] = field(eq=False)
    starts: NDArray[np.int64] = field(eq=False)
    processors: NDArray[np.int32] = field(eq=False)

    def __len__(self) -> int:
        return len(self.processors)

    @classmethod
    def of(cls, systems: Iterable[TaskSystem]) -> TaskBatch:
        known = list(systems)
        counts = [len(system.tasks) for system in known]
        return cls(
            tasks=task_rows(task for system in known for task in system.tasks),
            starts=np.concatenate(([0], np.cumsum(counts, dtype=np.int64))).astype(np.int64),
            processors=np.array([system.processors for system in known], dtype=np.int32),
        )

    @classmethod
    def uniform(cls, tasks: NDArray[np.int64], *, count: int, processors: int) -> TaskBatch:
        """Systems of ``count`` tasks each on ``processors``."""
        systems = len(tasks) // count
        return cls(
            tasks=tasks,
            starts=np.arange(systems + 1, dtype=np.int64) * count,
            processors=np.full(systems, processors, dtype=np.int32),
        )

    @classmethod
    def concatenate(cls, batches: Iterable[TaskBatch]) -> TaskBatch:
        known = list(batches)
        lengths = np.concatenate([np.diff(batch.starts) for batch in known])
        return cls(
            tasks=np.concatenate([batch.tasks for batch in known]),
            starts=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
            processors=np.concatenate([batch.processors for batch in known]),
        )

    def system(self, index: int) -> TaskSystem:
        rows = self.tasks[self.starts[index] : self.starts[index + 1]]
        return TaskSystem(
            processors=int(self.processors[index]), tasks=tuple(task_of(row) for row in rows)
        )
