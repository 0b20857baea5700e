"""Task systems as the arrays the core takes: one row of nine integers per task."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.systems import CriticalSection, Lock, TaskSystem, TimedTask

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
    """Shape (sections, 5): task, lock, count, length and the processor that serves the lock, -1
    where none is named, as ``Section`` of the core."""
    places = {lock.name: place for place, lock in enumerate(system.locks)}
    servers = [-1 if lock.processor is None else lock.processor for lock in system.locks]
    rows = [
        (index, place, each.count, each.length, servers[place])
        for index, task in enumerate(system.tasks)
        for each in task.sections
        for place in [places[each.lock]]
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 5)


def extra_rows(system: TaskSystem) -> NDArray[np.int64]:
    """Shape (tasks, 4): EXTRAS; no row where no task has any."""
    rows = [[getattr(task, name) for name in EXTRAS] for task in system.tasks]
    return np.array(rows if any(map(any, rows)) else [], dtype=np.int64).reshape(-1, 4)


def detail_rows(system: TaskSystem) -> NDArray[np.int64]:
    """Shape (details, 4): task, kind and two numbers, as ``Detail`` of the core; by task, kind."""
    rows: list[tuple[int, int, int, int]] = []
    triggers = system.triggers
    for i, task in enumerate(system.tasks):
        dag = task.dag
        pairs: tuple[Iterable[tuple[int, int]], ...] = (
            task.arrivals,
            enumerate(dag.nodes or (0,)) if dag else (),
            dag.edges if dag else (),
            [(triggers[i], 0)] if i in triggers else [],
            [(cpu, 0) for cpu in task.affinity if system.bound(task)],
            [(task.bcet, 0)] if task.bcet else (),
        )
        rows += [(i, kind, *pair) for kind, found in enumerate(pairs) for pair in found]
    return np.array(rows, dtype=np.int64).reshape(-1, 4)


def task_of(row: NDArray[np.int64], extra: Iterable[int] = ()) -> TimedTask:
    """The inverse of one row of ``task_rows``, and of one of ``extra_rows``."""
    values: dict[str, Any] = dict(zip(FIELDS, map(int, row), strict=True))
    absent = {name: None for name, none in _ABSENT.items() if values[name] <= none}
    more = dict(zip(EXTRAS, map(int, extra), strict=False))
    return TimedTask(**{**values, **absent, **more})


_NO_ROWS = np.zeros((0, 4), dtype=np.int64)
_NO_SECTIONS = np.zeros((0, 5), dtype=np.int64)
_NONE = np.zeros(0, dtype=np.int64)


def _starts(counts: Iterable[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(np.array(counts, dtype=np.int64)))).astype(np.int64)


@frozen(kw_only=True)
class TaskBatch:
    """Many task systems, one after the other.

    Attributes:
        tasks: int64, shape (total tasks, 9).
        starts: int64, shape (systems + 1): system i has rows starts[i] to starts[i + 1].
        processors: int32, shape (systems).
        sections, section_starts: Rows of ``section_rows`` of each system, and where they start.
        extras: Rows of ``extra_rows`` of all tasks; empty: none has any.
        locks: Of each system; empty: none has any.
    """

    tasks: NDArray[np.int64] = field(eq=False)
    starts: NDArray[np.int64] = field(eq=False)
    processors: NDArray[np.int32] = field(eq=False)
    sections: NDArray[np.int64] = field(eq=False, default=_NO_SECTIONS)
    section_starts: NDArray[np.int64] = field(eq=False, default=_NONE)
    extras: NDArray[np.int64] = field(eq=False, default=_NO_ROWS)
    locks: tuple[tuple[Lock, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.processors)

    @classmethod
    def of(cls, systems: Iterable[TaskSystem]) -> TaskBatch:
        known = list(systems)
        if rare := {word for system in known for word in system.rare}:
            raise UsageError(f"a batch has no {', '.join(sorted(rare))}", "analyze each by itself")
        held = [section_rows(system) for system in known]
        extras = [[getattr(task, name) for name in EXTRAS] for each in known for task in each.tasks]
        return cls(
            tasks=task_rows(task for system in known for task in system.tasks),
            starts=_starts([len(system.tasks) for system in known]),
            processors=np.array([system.processors for system in known], dtype=np.int32),
            sections=np.concatenate([_NO_SECTIONS, *held]),
            section_starts=_starts([len(rows) for rows in held]),
            extras=np.array(extras, dtype=np.int64) if any(map(any, extras)) else _NO_ROWS,
            locks=tuple(system.locks for system in known),
        )

    @classmethod
    def uniform(
        cls,
        tasks: NDArray[np.int64],
        *,
        count: int,
        processors: int,
        locks: tuple[Lock, ...] = (),
        sections: NDArray[np.int64] = _NO_ROWS,
        section_starts: NDArray[np.int64] = _NONE,
    ) -> TaskBatch:
        """Systems of ``count`` tasks each on ``processors``, with the same locks."""
        systems = len(tasks) // count
        return cls(
            tasks=tasks,
            starts=np.arange(systems + 1, dtype=np.int64) * count,
            processors=np.full(systems, processors, dtype=np.int32),
            sections=sections,
            section_starts=section_starts,
            locks=(locks,) * systems,
        )

    @classmethod
    def concatenate(cls, batches: Iterable[TaskBatch]) -> TaskBatch:
        known = list(batches)
        counts = [np.diff(batch.section_starts) for batch in known]
        held = [n if len(n) else [0] * len(it) for n, it in zip(counts, known, strict=True)]
        extras = [np.resize(it.extras, (len(it.tasks), 4)) for it in known]
        return cls(
            tasks=np.concatenate([batch.tasks for batch in known]),
            starts=_starts(np.concatenate([np.diff(batch.starts) for batch in known])),
            processors=np.concatenate([batch.processors for batch in known]),
            sections=np.concatenate([batch.sections for batch in known]),
            section_starts=_starts(np.concatenate(held)),
            extras=np.concatenate(extras) if any(map(np.any, extras)) else _NO_ROWS,
            locks=tuple(each for it in known for each in it.locks or ((),) * len(it)),
        )

    def independent(self) -> TaskBatch:
        """The same systems without their locks."""
        return evolve(self, sections=_NO_SECTIONS, section_starts=_NONE, locks=())

    def system(self, index: int) -> TaskSystem:
        rows = slice(self.starts[index], self.starts[index + 1])
        extras = self.extras[rows] if len(self.extras) else [()] * len(self.tasks[rows])
        tasks = [task_of(*each) for each in zip(self.tasks[rows], extras, strict=True)]
        locks = self.locks[index] if self.locks else ()
        if locks:
            held = self.sections[self.section_starts[index] : self.section_starts[index + 1]]
            for task, lock, count, length, _ in held.tolist():
                section = CriticalSection(lock=locks[lock].name, count=count, length=length)
                tasks[task] = evolve(tasks[task], sections=(*tasks[task].sections, section))
            locks = tuple(locks[place] for place in dict.fromkeys(held[:, 1].tolist()))
        processors = int(self.processors[index])
        return TaskSystem(processors=processors, tasks=tuple(tasks), locks=locks)
