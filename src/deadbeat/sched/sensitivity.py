"""By how much WCETs may grow until a test no longer accepts; sections and stretches without
preemption, which are part of them, by the same factor.

Exact on one processor for tasks that only compute (Lehoczky, Sha and Ding, RTSS 1989; Bini,
Di Natale and Buttazzo, Real-Time Systems 39, 2008); else by bisection, in a unit that is finer by
STEPS: of a test that accepts less where jobs take longer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from heapq import merge
from itertools import count, repeat
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from deadbeat.model.systems import TaskSystem, TimedTask
from deadbeat.sched.analysis import (
    Analysis,
    TestFacts,
    TestSettings,
    order_of,
    run_test,
    test_options,
)
from deadbeat.sched.simulator import TIME_MAX

if TYPE_CHECKING:
    from deadbeat.sched import _core

#: Tests that accept less, never more, where jobs take longer, and tasks stay where they are.
MONOTONE = (
    *("gfb", "uni-rta", "qpa", "edf-response", "fp-suspension"),
    *("pinned-fifo-pi", "mpcp", "mpcp-virtual-spin", "dpcp", "fmlp-plus", "msrp", "msrp-holistic"),
)
STEPS = 1000
#: Instants looked at, at most, for an exact factor.
_INSTANTS = 1_000_000


@frozen(kw_only=True)
class Sensitivity:
    """``scale``: the largest factor on every WCET (``exact``, or to 1/STEPS); None: not found.
    ``extra``: whole units by which the WCET of each task alone may grow; None: it is not accepted
    as it is. ``breakdown``: utilisation at ``scale``."""

    test: str
    scale: Fraction | None
    exact: bool
    breakdown: Fraction | None
    extra: tuple[int, ...] | None


def sensitivity(analysis: Analysis, settings: TestSettings) -> tuple[Sensitivity, ...]:
    """Of every test of MONOTONE that ``analysis`` has an answer of, with the same settings. Where
    tasks have no home, those of partitioned policies place them: they are left out."""
    system = analysis.system
    placed = any(task.home is None for task in system.tasks)
    options = test_options(settings)
    found = []
    for result in analysis.results:
        if result.facts.name not in MONOTONE or result.answer in ("not applicable", "undecided"):
            continue
        if placed and result.facts.scheduler.startswith("p-"):
            continue

        def accepts(grown: TaskSystem, facts: TestFacts = result.facts) -> bool:
            return run_test(grown, facts, options).answer == "accepted"

        scale = _exact(analysis, result.facts, options)
        extra = None
        if result.answer == "accepted":
            extra = tuple(_extra(system, index, accepts) for index in range(len(system.tasks)))
        factor = _bisected(system, accepts) if scale is None else scale
        found.append(
            Sensitivity(
                test=result.facts.name,
                scale=factor,
                exact=scale is not None,
                breakdown=None if factor is None else factor * system.utilisation,
                extra=extra,
            )
        )
    return tuple(found)


def _exact(analysis: Analysis, facts: TestFacts, options: _core.TestOptions) -> Fraction | None:
    """None: there is no formula, or there are too many instants."""
    system = analysis.system
    if system.processors > 1 or system.beyond or analysis.blocking:
        return None
    if facts.name in ("qpa", "edf-response"):
        return edf_scale(system.tasks)
    if facts.name != "uni-rta" or options.priorities == "opa":
        return None
    if any(task.deadline > task.period for task in system.tasks):
        return None
    order = order_of(system, options)
    return fp_scale([system.tasks[index] for index in order]) if order else None


def fp_scale(tasks: Sequence[TimedTask]) -> Fraction | None:
    """Of tasks with D <= T, most urgent first: some instant must have room for all work until then;
    only ends of periods and the deadline need be tried."""
    if sum(tasks[-1].deadline // task.period + 1 for task in tasks) > _INSTANTS // len(tasks):
        return None
    scales = []
    for place, own in enumerate(tasks):
        above, due = tasks[:place], own.deadline
        instants = {due}.union(*(range(task.period, due, task.period) for task in above))
        scales.append(
            max(
                Fraction(t, own.wcet + sum(-(-t // task.period) * task.wcet for task in above))
                for t in instants
            )
        )
    return min(scales)


def edf_scale(tasks: Sequence[TimedTask]) -> Fraction | None:
    """The least of 1 / U and t / demand(t): no t from ``last`` on has less than what was found, as
    demand(t) <= U t + slack; where that is 1 / U, all of a hyper-period counts."""
    load = sum((task.utilisation for task in tasks), Fraction(0))
    slack = sum(
        (max(task.period - task.deadline, 0) * task.utilisation for task in tasks), Fraction()
    )
    scale, demand = 1 / load, 0
    last: Fraction | int = math.lcm(*(task.period for task in tasks)) if slack else 0
    last += max(task.deadline for task in tasks) if slack else 0
    deadlines = (zip(count(task.deadline, task.period), repeat(task.wcet)) for task in tasks)
    for seen, (t, wcet) in enumerate(merge(*deadlines)):
        if t > last:
            return scale
        if seen > _INSTANTS:
            return None
        demand += wcet
        if t * scale.denominator < demand * scale.numerator:
            scale = Fraction(t, demand)
            last = min(last, scale * slack / (1 - scale * load))
    return None


def _extra(system: TaskSystem, index: int, accepts: Callable[[TaskSystem], bool]) -> int:
    own = system.tasks[index]

    def grown(by: int) -> TaskSystem:
        tasks = [*system.tasks]
        tasks[index] = evolve(own, wcet=own.wcet + by)
        return evolve(system, tasks=tuple(tasks))

    return _last(max(own.deadline - own.wcet, 0), lambda by: accepts(grown(by)))


def _bisected(system: TaskSystem, accepts: Callable[[TaskSystem], bool]) -> Fraction | None:
    if (
        max(max(task.period, task.deadline, task.offset) for task in system.tasks)
        > TIME_MAX // STEPS
    ):
        return None
    most = min(STEPS * task.deadline // task.wcet for task in system.tasks)
    found = _last(most, lambda scale: accepts(_scaled(system, scale)))
    return Fraction(found, STEPS) if found else None


def _last(most: int, holds: Callable[[int], bool]) -> int:
    """The last of 0 .. ``most`` at which it holds; 0 is not asked about."""
    low, high = 0, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _scaled(system: TaskSystem, scale: int) -> TaskSystem:
    """In a unit of 1 / STEPS, with all work times ``scale`` / STEPS."""
    work, times = (
        ("wcet", "np_max", "np_last"),
        ("period", "deadline", "offset", "jitter", "suspension"),
    )
    tasks = []
    for task in system.tasks:
        factors = {**dict.fromkeys(work, scale), **dict.fromkeys(times, STEPS)}
        values = {name: getattr(task, name) * by for name, by in factors.items()}
        sections = [evolve(each, length=each.length * scale) for each in task.sections]
        tasks.append(evolve(task, sections=tuple(sections), **values))
    return evolve(system, tasks=tuple(tasks))
