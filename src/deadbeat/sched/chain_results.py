"""Chains under each scheduler: what its tests bound."""

from __future__ import annotations

from attrs import frozen

from deadbeat.base.model.systems import Chain, TaskSystem
from deadbeat.sched.analysis import Analysis, TestResult
from deadbeat.sched.chains import ChainBounds, Stage, bounds_at_offsets, chain_bounds
from deadbeat.sched.placing import placed


@frozen(kw_only=True)
class ChainResult:
    """What is known of ``chain`` under ``scheduler``: ``bounds`` at any offsets, None where
    ``test`` is about those of the system alone. ``reason``: why there are none."""

    chain: Chain
    scheduler: str = ""
    test: str = ""
    bounds: ChainBounds | None = None
    at_offsets: ChainBounds | None = None
    reason: str = ""

    @property
    def kept(self) -> bool | None:
        """Whether age and reaction keep the deadline; None: it has none, or nothing is proved."""
        found = self.bounds or self.at_offsets
        if self.chain.deadline is None or found is None:
            return None
        return max(found.age, found.reaction) <= self.chain.deadline or None


def chain_results(analysis: Analysis) -> list[ChainResult]:
    """Each chain under each scheduler that a test bounds response times of: the least bounds."""
    found: list[ChainResult] = []
    for chain in analysis.system.chains:
        curves = [i for i in chain.tasks if analysis.system.tasks[i].arrivals]
        best: dict[str, ChainResult] = {}
        for result in analysis.results if not curves else ():
            if result.answer == "accepted" and (own := _result(analysis, result, chain)):
                known = best.get(own.scheduler)
                if known is None or _size(own) < _size(known):
                    best[own.scheduler] = own
        why = "no test bounds the response times of its tasks"
        if curves:
            why = f"{analysis.system.label(curves[0])} has an arrival curve, and no longest wait"
        found += best.values() or [ChainResult(chain=chain, reason=f"no bound: {why}")]
    return found


def _size(result: ChainResult) -> tuple[bool, int]:
    found = result.bounds or result.at_offsets
    return result.bounds is None, found.from_event if found else 0


def _result(analysis: Analysis, result: TestResult, chain: Chain) -> ChainResult | None:
    tasks, triggers = analysis.system.tasks, analysis.system.triggers
    soft = result.facts.kind == "bound"
    if soft and None in result.bounds:
        return None
    responses = [
        task.deadline + (bound or 0) if soft else min(task.deadline, bound or task.deadline)
        for task, bound in zip(tasks, result.bounds, strict=True)
    ]
    home = placed(analysis, result)
    links = ("sampled", *chain.links, *["sampled"] * (len(chain.tasks) - 1))
    stages = []
    for place, i in enumerate(chain.tasks):
        later = range(place + 1, len(chain.tasks))
        reader = next((chain.tasks[n] for n in later if links[n] == "sampled"), None)
        stages.append(
            Stage(
                period=tasks[i].period,
                response=responses[i],
                jitter=responses[triggers[i]] if i in triggers else tasks[i].jitter,
                offset=tasks[analysis.system.root(i)].offset,
                triggered=links[place] == "triggered",
                urgent=home is not None
                and reader is not None
                and _outranks(analysis, result, home, i, reader),
            )
        )
    given = result.facts.model == "periodic-offset"
    return ChainResult(
        chain=chain,
        scheduler=result.facts.scheduler,
        test=result.facts.name,
        bounds=None if given else chain_bounds(stages),
        at_offsets=bounds_at_offsets(stages),
    )


def _outranks(analysis: Analysis, result: TestResult, placed: TaskSystem, i: int, j: int) -> bool:
    """Whether task j never starts while a job of task i is released and unfinished."""
    policy = result.facts.scheduler.partition("+")[0]
    own, other = placed.tasks[i], placed.tasks[j]
    bound = policy.startswith("p-") and own.home is not None and own.home == other.home
    waits = own.sections or own.suspension or own.dag
    if waits or not policy.endswith("-fp") or not (bound or placed.processors == 1):
        return False
    ranks = {
        "rm": (-own.period, -other.period),
        "dm": (-own.deadline, -other.deadline),
        "given": (own.priority, other.priority),
    }
    assigned = analysis.assigned
    mine, its = ranks.get(analysis.priorities, (assigned[i], assigned[j]) if assigned else (0, 0))
    return mine > its
