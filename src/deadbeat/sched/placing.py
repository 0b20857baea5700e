"""Where partitioned tests place tasks."""

from __future__ import annotations

from typing import Any

from deadbeat.base.model.systems import TaskSystem
from deadbeat.sched.analysis import Analysis, TestResult
from deadbeat.sched.simulator import Scheduler, placed_by, policies


def placed(analysis: Analysis, result: TestResult) -> TaskSystem | None:
    """The system with the processor of every task, where ``result`` is of a partitioned scheduler;
    itself where it is not. None: not all tasks find a place, or where is not known."""
    system, (policy, _, _) = analysis.system, result.facts.scheduler.partition("+")
    bound = system.processors == 1 or all(task.home is not None for task in system.tasks)
    if bound or not policy.startswith("p-"):
        return system
    words: dict[str, Any] = {name: getattr(analysis, name) for name in ("ties", "admission")}
    words |= {"partition": analysis.partition, "order": analysis.order}
    heuristic, comma, order = result.reason.partition(", ")
    if analysis.partition == "any" and comma:  # the one that was accepted
        words |= {"partition": heuristic, "order": order}
    if analysis.priorities != "opa":
        words["priorities"] = analysis.priorities
    if policy not in policies():
        return None
    found = placed_by(Scheduler(policy=policy, **words), system)
    homes = found and all(task.home is not None for task in found.tasks)
    return found if homes else None


def placements(analysis: Analysis) -> dict[str, tuple[int, ...]]:
    """Processors of the tasks by the name of each partitioned test that accepts, where it chose
    them."""
    found = {}
    for result in analysis.results:
        if result.answer == "accepted":
            system = placed(analysis, result)
            if system is not None and system is not analysis.system:
                found[result.facts.name] = tuple(task.home or 0 for task in system.tasks)
    return found
