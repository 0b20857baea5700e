"""Simulation of bound tasks with locks: the longest responses over many patterns of releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deadbeat.model.errors import UsageError
from deadbeat.model.systems import TaskSystem
from deadbeat.sched.arrays import extra_rows, section_rows, task_rows

if TYPE_CHECKING:
    from deadbeat.sched import _core
else:
    from deadbeat.sched.core import lazy as _core

_Rows = NDArray[np.int64]


def protocols() -> list[str]:
    """Protocols that are simulated; ``inherit-steal``: a more urgent requester may take a lock
    before the waiter that was woken for it."""
    return list(_core.lock_protocols())


def worst_responses(
    system: TaskSystem,
    *,
    protocol: str = "inherit",
    patterns: int = 24,
    horizon: int = 2400,
    window: int = 0,
    seed: int = 0,
) -> tuple[int | None, ...]:
    """The longest response of each task, from its arrival, over random patterns.

    Fixed priorities as given (of equal ones who was released first), each task on its home.
    Sections, suspension and stretches without preemption lie anywhere in a job; releases are
    together, or at random with or without delays.

    Args:
        patterns: Number of patterns, drawn from ``seed``.
        horizon: Last arrival.
        window: The first arrivals lie in [0, window]; 0: anywhere in the period.

    Raises:
        UsageError: The system is not simulated under ``protocol``, with the reason.
    """
    if patterns < 1:
        raise UsageError(f"patterns is {patterns}", "give 1 or more")
    try:
        found = _core.worst_locks(
            *rows(system), protocol, horizon, window, seed, 0, patterns
        ).tolist()
    except ValueError as error:
        raise UsageError(f"no simulation: {error}", "change what it names") from None
    return tuple(value or None for value in found)


def rows(system: TaskSystem) -> tuple[int, _Rows, _Rows, _Rows]:
    """What the core takes for a system. Raises UsageError: that has what it does not simulate."""
    if system.rare:
        raise UsageError(f"no simulation: it ignores {', '.join(system.rare)}", "leave that out")
    tasks = task_rows(system.tasks)
    return system.processors, tasks, section_rows(system), extra_rows(system)
