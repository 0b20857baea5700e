"""Simulation of tasks with locks, jitter, suspension and stretches without preemption, over random
patterns of releases, sections and execution times: what it sees refutes, and proves nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.systems import TRIGGERED, TaskSystem
from deadbeat.sched.arrays import detail_rows, extra_rows, section_rows, task_rows

if TYPE_CHECKING:
    from deadbeat.sched import _core
else:
    from deadbeat.sched.core import lazy as _core

_Rows = NDArray[np.int64]
#: Longest periods that a pattern lasts unless given, and about how many jobs it has at most.
_PERIODS, _JOBS = 10, 20_000
PATTERNS = 64
#: Stands for the protocol where there are none.
NO_LOCKS = "no-locks"
#: How equal priorities are ordered.
_TIES = "release"


def protocols() -> list[str]:
    """Protocols that are simulated; ``inherit-steal``: a more urgent requester may take a lock
    before the waiter that was woken for it."""
    return list(_core.lock_protocols())


def protocol_of(system: TaskSystem, policy: str, given: str = "any") -> str:
    """``given``, else that of the system's locks, else what the policy is known with.

    Raises UsageError: the locks have several.
    """
    named = sorted({lock.protocol for lock in system.locks} - {"any"})
    if given == "any" and len(named) > 1:
        raise UsageError(f"locks have protocols {', '.join(named)}", "choose one by --protocol")
    usual = "none" if not system.locks else "srp" if policy.endswith("edf") else "inherit"
    return given if given != "any" else [*named, usual][0]


def decide(
    system: TaskSystem,
    *,
    policy: str,
    protocol: str = "any",
    priorities: str = "given",
    ties: str = "index",
    model: str | None = None,
    costs: bool = False,
    horizon: int | None = None,
    patterns: int = PATTERNS,
    seed: int = 0,
    budget: int = 5_000_000,
) -> Any:
    """What the core says of a simulated system, as of one without locks, and ``all`` jobs and
    ``holds`` (who holds a lock or waits for it), ``scheduler``: its full name and tie rule. In turn
    patterns are long, and dense: the first releases lie within the time that a job of each takes.

    Raises:
        UsageError: The system is not simulated so, with the reason.
    """
    has = ", ".join(system.rare or system.beyond)
    if policy not in _core.lock_policies() or {*system.rare} - {TRIGGERED}:
        raise UsageError(f"not applicable: {policy} ignores {has}", "p-fp knows locks and jitter")
    for what, wrong, hint in (
        (f"model {model}", model not in (None, "sporadic"), "leave out --model"),
        (f"ties by {ties}", ties not in ("index", _TIES), "leave out --ties"),
        ("costs of switches", costs, "add them to the wcet"),
        (f"{patterns} patterns", not 1 <= patterns <= 1_000_000, "1 to 1000000"),
        (f"the seed {seed}", seed < 0, "0 or more"),
        (f"the budget {budget}", budget < 1, "1 or more"),
    ):
        if wrong:
            raise UsageError(f"not simulated with {has}: {what}", hint)
    protocol = protocol_of(system, policy, protocol)
    tasks = system.tasks
    keys = {"rm": [-task.period for task in tasks], "dm": [-task.deadline for task in tasks]}
    ranks = keys.get(priorities, [task.priority for task in tasks])
    ranked = (evolve(task, priority=rank) for task, rank in zip(tasks, ranks, strict=True))
    rate = sum(1 / task.period for task in tasks)
    longest = max(task.period for task in tasks)
    span = horizon or min(_PERIODS * longest, int(_JOBS / rate), 1 << 60)
    window = min(sum(task.wcet for task in tasks), 1 << 60)
    arrays = rows(evolve(system, tasks=tuple(ranked), chains=()))
    try:
        how = (detail_rows(system), policy, protocol)
        found = _core.decide_locks(*arrays, *how, span, window, seed, patterns, budget)
    except ValueError as error:
        raise UsageError(f"no simulation: {error}", "change what it names") from None
    name = f"{policy}+{protocol if system.locks else NO_LOCKS}"
    return found | {"scheduler": {"policy": name, "ties": _TIES}}


def rows(system: TaskSystem) -> tuple[int, _Rows, _Rows, _Rows]:
    """What the core takes for a system. Raises UsageError: that has what it does not simulate."""
    if system.rare:
        raise UsageError(f"no simulation: it ignores {', '.join(system.rare)}", "leave that out")
    tasks = task_rows(system.tasks)
    return system.processors, tasks, section_rows(system), extra_rows(system)
