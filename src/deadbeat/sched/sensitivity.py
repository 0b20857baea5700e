"""By how much WCETs may grow until a test no longer accepts; sections and stretches without
preemption, which are part of them, by the same factor.

Exact on one processor for tasks that only compute (core/src/sensitivity.cpp); else by bisection, in
a unit that is finer by STEPS: of a test that accepts less where jobs take longer, with tasks where
they are."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from deadbeat.base.model.systems import TaskSystem
from deadbeat.sched.analysis import Analysis, TestFacts, TestSettings, run_test, test_options
from deadbeat.sched.arrays import task_rows
from deadbeat.sched.placing import placed
from deadbeat.sched.simulator import TIME_MAX

if TYPE_CHECKING:
    from deadbeat.sched import _core
else:
    from deadbeat.sched.core import lazy as _core

#: Tests that accept less, never more, where jobs take longer and tasks stay where they are.
MONOTONE = (
    *("edf-us-bound", "fpedf-bound", "hyperbolic", "ll-rm"),
    *("gfb", "uni-rta", "qpa", "edf-response", "fifo-response", "fp-suspension", "p-edf", "p-fp"),
    *("pinned-fifo-pi", "mpcp", "mpcp-virtual-spin", "dpcp", "fmlp-plus", "msrp", "msrp-holistic"),
    *("msrp-lp", "mrsp", "fmlp-plus-lp", "dpcp-lp"),
    *("fp-in-reservation", "fp-arrival-curve", "edf-arrival-curve"),
)
STEPS = 1000


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
    """Factors of each test of MONOTONE that ``analysis`` has an answer of, same settings; those of
    partitioned policies with the tasks where they are placed now, left out where these find no
    place; of an exact one that is asked about any placement, in whichever meets all deadlines."""
    options, there = test_options(settings), test_options({**settings, "partition": "auto"})
    found = []
    for result in analysis.results:
        facts = result.facts
        if facts.name not in MONOTONE or result.answer in ("not applicable", "undecided"):
            continue
        searched = analysis.partition == "any" and facts.kind == "exact"
        system = analysis.system if searched else placed(analysis, result)
        if system is None:
            continue
        asked = options if system is analysis.system else there

        def accepts(
            grown: TaskSystem, facts: TestFacts = facts, asked: _core.TestOptions = asked
        ) -> bool:
            return run_test(grown, facts, asked).answer == "accepted"

        accepted = result.answer == "accepted"
        # None: there is no formula, or there are too many instants.
        edf = facts.name in ("qpa", "edf-response")
        if analysis.blocking or analysis.system.beyond or not (edf or facts.name == "uni-rta"):
            exact = None
        else:
            rows = analysis.system.processors, task_rows(analysis.system.tasks)
            exact_scale = _core.largest_scale(*rows, options, edf)
            exact = Fraction(*exact_scale) or None
        scale = exact or _bisected(system, accepts)
        extra = [_extra(system, i, accepts) for i in range(len(system.tasks) * accepted)]
        found.append(
            Sensitivity(
                test=facts.name,
                scale=scale,
                exact=exact is not None,
                breakdown=scale and scale * system.utilisation,
                extra=tuple(extra) if accepted else None,
            )
        )
    return tuple(found)


def _extra(system: TaskSystem, index: int, accepts: Callable[[TaskSystem], bool]) -> int:
    own = system.tasks[index]

    def grown(by: int) -> TaskSystem:
        tasks = [*system.tasks]
        tasks[index] = evolve(own, wcet=own.wcet + by)
        return evolve(system, tasks=tuple(tasks))

    return last(max(own.deadline - own.wcet, 0), lambda by: accepts(grown(by)))


def _bisected(system: TaskSystem, accepts: Callable[[TaskSystem], bool]) -> Fraction | None:
    if (
        max(max(task.period, task.deadline, task.offset) for task in system.tasks)
        > TIME_MAX // STEPS
    ):
        return None
    most = min(STEPS * task.deadline // task.wcet for task in system.tasks)
    found = last(most, lambda scale: accepts(scaled(system, scale)))
    return Fraction(found, STEPS) if found else None


def last(most: int, holds: Callable[[int], bool]) -> int:
    """The last of 0 .. ``most`` at which it holds; 0 is not asked about."""
    return bisect_left(range(1, most + 1), x=True, key=lambda at: not holds(at))


def scaled(system: TaskSystem, scale: int) -> TaskSystem:
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
        # Arrivals are as far apart as before: a window of one unit has one instant.
        curve = tuple((STEPS * (window - 1) + 1, count) for window, count in task.arrivals)
        tasks.append(evolve(task, sections=tuple(sections), arrivals=curve, **values))
    return evolve(system, tasks=tuple(tasks))
