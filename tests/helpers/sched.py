"""Small task systems and schedulers, drawn at random, and both simulators on them."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve
from oracles import schedule as reference
from oracles.schedule.partition import ADMISSIONS, HEURISTICS, ORDERS
from oracles.schedule.state import TIE_KEYS

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.systems import TaskSystem, TimedTask
from deadbeat.sched import Costs, Scheduler, Verdict, policies, simulate
from deadbeat.sched.core import core
from deadbeat.sched.files import load_task_system
from deadbeat.sched.locks import rows

#: Small, so that a unit-time simulation is quick, with many divisors, so that periods differ.
HYPERPERIODS = (6, 8, 12, 12, 18, 20, 24, 24, 30, 36, 48, 60)
PRIORITIES = ("rm", "dm", "given")
BALANCES = ("none", "offline", "pull", "both", "sticky", "release")
TIES = tuple(TIE_KEYS)

#: C, T and, unless it is T, D of every task.
Terse = tuple[int, int] | tuple[int, int, int]


def read_task_system(path: Path) -> TaskSystem:
    """The task system in a file."""
    return load_task_system(path).system


def worst_responses(
    system: TaskSystem,
    *,
    policy: str = "p-fp",
    protocol: str = "inherit",
    patterns: int = 24,
    horizon: int = 2400,
    window: int = 0,
    seed: int = 0,
) -> tuple[int | None, ...]:
    """The longest response of each task over random patterns; None: no job ended.

    Args:
        window: The first arrivals lie in [0, window]; 0: anywhere in the period. ``horizon``: last.
    """
    span = (horizon, window, seed, 0, patterns)
    found = core().worst_locks(*rows(system), policy, protocol, *span)
    return tuple(value or None for value in found.tolist())


def system_of(processors: int, *tasks: Terse, **columns: list[Any]) -> TaskSystem:
    """Tasks as (C, T) or (C, T, D); further fields as a list each."""
    return TaskSystem(
        processors=processors,
        tasks=tuple(
            TimedTask(
                wcet=task[0],
                period=task[1],
                deadline=task[2] if len(task) == 3 else task[1],
                **{name: values[i] for name, values in columns.items()},
            )
            for i, task in enumerate(tasks)
        ),
    )


class Draw:
    """Systems and schedulers from a seed; equal seeds draw equal ones."""

    def __init__(self, *seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def between(self, low: int, high: int) -> int:
        """Uniform, both ends included."""
        return int(self.rng.integers(low, high + 1))

    def one_of(self, values: Any) -> Any:
        return values[self.between(0, len(values) - 1)]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def system(self, *, implicit: bool = False, offsets: bool = True) -> TaskSystem:
        """Utilisations from half idle to a little too much; every class of deadlines."""
        processors = self.between(1, 4)
        count = self.between(1, 6)
        hyperperiod = self.one_of(HYPERPERIODS)
        periods = [d for d in range(2, hyperperiod + 1) if hyperperiod % d == 0]
        shares = self.rng.dirichlet(np.ones(count)) * self.rng.uniform(0.5, 1.2) * processors
        deadlines = "implicit" if implicit else self.one_of(("implicit", "short", "any"))
        moved = offsets and self.chance(0.35)
        tasks = []
        for share in shares:
            period = self.one_of(periods)
            wcet = min(period, max(1, round(float(share) * period)))
            deadline = period
            if deadlines == "short":
                deadline = self.between(wcet, period)
            elif deadlines == "any":
                deadline = self.between(wcet, 2 * period + 3)
            tasks.append(
                TimedTask(
                    wcet=wcet,
                    period=period,
                    deadline=deadline,
                    offset=self.between(0, period + 3) if moved else 0,
                    priority=self.between(1, 4),
                )
            )
        return TaskSystem(processors=processors, tasks=tuple(tasks))

    def full_system(self, processors: int) -> TaskSystem:
        """Implicit deadlines, U == processors exactly; by shares of one hyper-period."""
        hyperperiod = self.one_of(HYPERPERIODS[:-2])
        left, tasks = processors * hyperperiod, []
        while left:
            units = min(left, self.between(1, hyperperiod))
            share = Fraction(units, hyperperiod)
            tasks.append((share.numerator, share.denominator))
            left -= units
        return system_of(processors, *tasks)

    def with_homes(self, system: TaskSystem, clusters: int) -> TaskSystem:
        """Some tasks bound by hand."""
        tasks = [
            evolve(task, home=self.between(0, clusters - 1)) if self.chance(0.4) else task
            for task in system.tasks
        ]
        return evolve(system, tasks=tuple(tasks))

    def with_servers(self, system: TaskSystem) -> TaskSystem:
        """Servers of their own for some tasks: too small, too large, at other periods."""
        return evolve(system, tasks=tuple(map(self._with_server, system.tasks)))

    def _with_server(self, task: TimedTask) -> TimedTask:
        if task.deadline > task.period:
            task = evolve(task, server_deadline=task.period)
        if self.chance(0.5):
            period = self.one_of(
                [task.period, task.period, max(2, task.period // 2), 2 * task.period]
            )
            deadline = period if self.chance(0.5) else self.between(1, period)
            task = evolve(
                task,
                budget=self.between(1, deadline),
                server_period=period,
                server_deadline=deadline,
            )
        return task

    def case(self, policy: str) -> tuple[TaskSystem, Scheduler]:
        """A system that ``policy`` mostly takes, and options it looks at."""
        system = self.system(implicit=policy == "pd2")
        if policy == "pd2" and self.chance(0.5):  # where its finer rules decide
            system = self.full_system(system.processors)
        size = self.one_of([c for c in range(1, 5) if system.processors % c == 0])
        scheduler = Scheduler(
            policy=policy,
            ties=self.one_of(TIES),
            priorities=self.one_of(PRIORITIES),
            partition=self.one_of(HEURISTICS),
            order=self.one_of(tuple(ORDERS)),
            admission=self.one_of(ADMISSIONS if policy.startswith("p-") else ADMISSIONS[:3]),
            unplaced="least-loaded" if self.chance(0.8) else "reject",
            balance=self.one_of(BALANCES),
            cluster_size=size,
            threshold=self.one_of([None, None, (1, 2), (2, 3), (1, 3)]),
        )
        if policy.endswith("-cbs"):
            system = self.with_servers(system)
        if policy.startswith(("p-", "c-", "lc-")) and self.chance(0.3):
            size = 1 if policy.startswith("p-") else size
            system = self.with_homes(system, system.processors // size)
        return system, scheduler

    def costs(self) -> Costs:
        return Costs(
            context_switch=self.between(0, 1),
            migration=self.between(0, 2),
            cache_reload=self.between(0, 2),
            migration_across=self.between(0, 2),
        )


def missing_policies() -> set[str]:
    """Policies that only one of the core and the twin knows."""
    return set(policies()) ^ set(reference.POLICIES)


def answers(verdict: Verdict) -> tuple[object, ...]:
    """What ``twin_answers`` tells, of the core's verdict."""
    return (
        verdict.schedulable,
        verdict.first_miss,
        verdict.first_miss_task,
        verdict.first_miss_job,
        verdict.placed,
    )


def twin_answers(finding: reference.Finding) -> tuple[object, ...]:
    miss = finding.first_miss
    found = (miss.time, miss.task, miss.job) if miss else (None, None, None)
    return (finding.schedulable, *found, finding.placed)


def defined(system: TaskSystem, scheduler: Scheduler) -> bool:
    """Whether the policy takes the system; asserts that core and twin agree on that."""
    finding = reference.run(system, scheduler, until=0)
    refused = bool(finding.refused) and finding.schedulable == "undecided"
    try:
        verdict = simulate(system, scheduler, model="periodic-offset", horizon=1)
    except UsageError:
        assert refused, (system, scheduler)
        return False
    assert refused == (verdict.schedulable == "undecided" and verdict.until == 0), verdict.because
    return not refused


def compare_answers(system: TaskSystem, scheduler: Scheduler) -> Verdict:
    """Asserts that core and twin answer alike, and tells what the core said."""
    model = "periodic-offset" if any(task.offset for task in system.tasks) else None
    verdict = simulate(system, scheduler, model=model)
    finding = reference.decide(system, scheduler)
    assert answers(verdict) == twin_answers(finding), (
        system,
        scheduler,
        verdict.because,
        finding.refused,
    )
    return verdict


def says(schedulable: str, verdict: Verdict, because: str = "", **fields: object) -> None:
    """The answer of a verdict, words of its reason, and other fields of it."""
    found = {name: getattr(verdict, name) for name in fields}
    assert (verdict.schedulable, found) == (schedulable, fields)
    assert because in verdict.because


def compare_runs(system: TaskSystem, scheduler: Scheduler, horizon: int) -> Verdict:
    """Asserts that core and twin see the same jobs, segments and figures, past misses too."""
    verdict = simulate(
        system, scheduler, horizon=horizon, run_on=True, record_jobs=True, record_segments=True
    )
    finding = reference.run(system, scheduler, until=verdict.until)
    assert answers(verdict)[1:] == twin_answers(finding)[1:], (system, scheduler)
    figures = {name: column.tolist() for name, column in verdict.figures.items()}
    if finding.refused:
        assert verdict.until == 0, (system, scheduler)
        return verdict
    assert figures == finding.figures, (system, scheduler)
    assert sorted(map(tuple, verdict.jobs.tolist())) == finding.jobs, (system, scheduler)
    assert joined(verdict.segments.tolist()) == finding.segments, (system, scheduler)
    return verdict


def joined(segments: list[list[int]]) -> list[tuple[int, ...]]:
    """Segments ascending, those that touch as one."""
    stretches: list[tuple[int, ...]] = []
    for task, job, processor, start, end in sorted(segments, key=lambda it: (it[0], it[3])):
        if stretches and (*stretches[-1][:3], stretches[-1][4]) == (task, job, processor, start):
            stretches[-1] = (task, job, processor, stretches[-1][3], end)
        else:
            stretches.append((task, job, processor, start, end))
    return sorted(stretches)
