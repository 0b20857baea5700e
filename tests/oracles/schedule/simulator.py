"""The twin's clock: at every instant completions, deadlines, releases, dispatch; then one unit."""

import math
from collections.abc import Callable, Hashable, Sequence

from attrs import field, frozen

from deadbeat.base.model.systems import TaskSystem
from deadbeat.sched.simulator import Answer, Scheduler
from oracles.schedule.policies import POLICIES, Choice, NoPlace, Policy, Refusal
from oracles.schedule.state import Activity, Job

#: Execution time of a job, at least 1, by its task and its index.
Execution = Callable[[int, int], int]

#: What is counted per task while it runs, beside what follows from the jobs.
COUNTED = ("preemptions", "migrations", "cross_cluster", "task_migrations")


@frozen(kw_only=True)
class Miss:
    """The deadline ``time`` of job ``job`` of task ``task`` passed before it was complete."""

    time: int
    task: int
    job: int


@frozen(kw_only=True)
class Finding:
    """What the twin saw in [0, until).

    Attributes:
        schedulable: Of periodic releases: ``no`` on a miss or where a task finds no place, ``yes``
            where the schedule repeats without a miss, else ``undecided``.
        refused: Why nothing was simulated; empty where something was.
        first_miss: The first miss, or None.
        figures: Per task the figures of ``TaskMetrics`` in core/include/deadbeat/sched/engine.hpp.
        jobs: Ascending (task, job, release, start, finish, deadline); -1 for what did not happen.
        segments: Ascending (task, job, processor, from, to), as long as they can be.
        placed: Cluster of every task, -1 where it found none; empty where tasks are not bound.
    """

    schedulable: Answer
    refused: str = ""
    first_miss: Miss | None = None
    until: int = 0
    figures: dict[str, list[int]] = field(factory=dict)
    jobs: list[tuple[int, ...]] = field(factory=list)
    segments: list[tuple[int, ...]] = field(factory=list)
    placed: tuple[int, ...] = ()


def decide(system: TaskSystem, scheduler: Scheduler) -> Finding:
    """Until the first miss, or until the state at a multiple of the hyper-period returns."""
    return _finding(system, scheduler, until=None)


def run(
    system: TaskSystem,
    scheduler: Scheduler,
    *,
    until: int,
    execution: Execution | None = None,
    skip_overruns: bool = False,
) -> Finding:
    """[0, until), also past misses; never ``yes``.

    Args:
        execution: What each job needs, at most its task's C; all of it unless given.
        skip_overruns: A job whose release finds another one unfinished never runs.
    """
    return _finding(
        system, scheduler, until=until, execution=execution, skip_overruns=skip_overruns
    )


def _finding(
    system: TaskSystem,
    scheduler: Scheduler,
    *,
    until: int | None,
    execution: Execution | None = None,
    skip_overruns: bool = False,
) -> Finding:
    try:
        policy = POLICIES[scheduler.policy](system, scheduler)
    except NoPlace as refusal:
        return Finding(schedulable="no", refused=str(refusal), placed=refusal.placed)
    except Refusal as refusal:
        return Finding(schedulable="undecided", refused=str(refusal))
    return _Run(policy, execution, skip_overruns).go(until)


class _Run:
    """One simulation. Processors and tasks by index."""

    def __init__(self, policy: Policy, execution: Execution | None, skip_overruns: bool) -> None:
        self.policy = policy
        self.execution = execution
        self.skip_overruns = skip_overruns
        self.system = policy.system
        self.tasks = policy.tasks
        self.costs = policy.scheduler.costs
        self.hyperperiod = math.lcm(*(task.period for task in self.system.tasks))
        self.ran_last: list[tuple[int, int] | None] = [None] * self.system.processors
        self.over: list[tuple[int, Job]] = []  # complete, or skipped
        self.first_miss: Miss | None = None
        self.counts = {name: [0] * len(self.tasks) for name in COUNTED}
        self.units: list[tuple[int, int, int, int]] = []  # task, job, processor, instant

    def go(self, until: int | None) -> Finding:
        seen: set[Hashable] = set()
        now = 0
        repeats = False
        while True:
            self.completions(now)
            self.deadlines(now)
            if now == until or (until is None and self.first_miss is not None):
                break
            if until is None and now % self.hyperperiod == 0:
                state = self.state(now)
                if state in seen:
                    repeats = True
                    break
                seen.add(state)
            self.releases(now)
            self.dispatch(now)
            self.execute(now)
            now += 1
        if self.first_miss is not None:
            answer: Answer = "no"
        else:
            answer = "yes" if repeats and not self.costs else "undecided"
        return self.report(answer, now)

    def state(self, now: int) -> Hashable:
        """Work left and releases to come, relative to ``now``, and the policy's memory."""
        return (
            tuple(
                (
                    it.next_release - now,
                    tuple((job.release - now, job.remaining) for job in it.jobs),
                )
                for it in self.tasks
            ),
            self.policy.memory(now),
            # With costs it matters where everything ran.
            self.costs
            and (
                tuple((it.processor, it.last_processor) for it in self.tasks),
                tuple(self.ran_last),
            ),
        )

    def completions(self, now: int) -> None:
        for index, it in enumerate(self.tasks):
            if it.jobs and it.jobs[0].remaining == it.jobs[0].unused:
                job = it.jobs.popleft()
                job.finish = now
                it.processor = None
                self.over.append((index, job))
                self.policy.completed(now, index)

    def deadlines(self, now: int) -> None:
        late = [
            Miss(time=it.jobs[0].deadline, task=index, job=it.jobs[0].index)
            for index, it in enumerate(self.tasks)
            if it.jobs and it.jobs[0].deadline <= now
        ]
        if late and self.first_miss is None:
            self.first_miss = min(late, key=lambda miss: (miss.time, miss.task))

    def releases(self, now: int) -> None:
        for index, it in enumerate(self.tasks):
            if it.next_release == now:
                need = self.execution(index, it.released) if self.execution else it.task.wcet
                job = Job(it.task, it.released, it.task.wcet - need)
                it.released += 1
                if it.jobs and self.skip_overruns:
                    self.over.append((index, job))
                    continue
                it.jobs.append(job)
                if len(it.jobs) == 1:
                    self.policy.woken(now, index)

    def dispatch(self, now: int) -> None:
        on = assign(self.policy.choose(now), self.tasks)
        for index, it in enumerate(self.tasks):
            processor = on.get(index)
            if it.processor is not None and processor is None:
                self.counts["preemptions"][index] += 1
            if processor is not None:
                self.place(now, index, processor)
            it.processor = processor
        for index, processor in on.items():
            self.ran_last[processor] = (index, self.tasks[index].jobs[0].index)

    def place(self, now: int, index: int, processor: int) -> None:
        """Counts what moves, and charges it."""
        it = self.tasks[index]
        job = it.jobs[0]
        before = it.last_processor
        moved = before is not None and before != processor
        if moved and job.start is not None:
            self.counts["migrations"][index] += 1
            assert before is not None
            across = self.policy.cluster_of(before) != self.policy.cluster_of(processor)
            self.counts["cross_cluster"][index] += across
        if moved and job.start is None:
            self.counts["task_migrations"][index] += 1
        if self.ran_last[processor] != (index, job.index):
            job.remaining += self.costs.context_switch
            if before == processor and job.start is not None:
                job.remaining += self.costs.cache_reload
        if moved:
            job.remaining += self.costs.migration
            size = self.policy.scheduler.cluster_size
            if before // size != processor // size:
                job.remaining += self.costs.migration_across
        if job.start is None:
            job.start = now
        it.last_processor = processor

    def execute(self, now: int) -> None:
        for index, it in enumerate(self.tasks):
            if it.processor is not None:
                it.jobs[0].remaining -= 1
                self.units.append((index, it.jobs[0].index, it.processor, now))
                self.policy.executed(index)

    def report(self, answer: Answer, until: int) -> Finding:
        everything = self.over + [
            (index, job) for index, it in enumerate(self.tasks) for job in it.jobs
        ]
        return Finding(
            schedulable=answer,
            first_miss=self.first_miss,
            until=until,
            figures=self.figures(everything, until),
            jobs=sorted(
                (
                    index,
                    job.index,
                    job.release,
                    -1 if job.start is None else job.start,
                    -1 if job.finish is None else job.finish,
                    job.deadline,
                )
                for index, job in everything
            ),
            segments=merged(self.units),
            placed=self.policy.placed,
        )

    def figures(self, jobs: Sequence[tuple[int, Job]], until: int) -> dict[str, list[int]]:
        columns: dict[str, list[int]] = {name: list(self.counts[name]) for name in COUNTED}
        for index in range(len(self.tasks)):
            for name, value in figures_of([job for i, job in jobs if i == index], until).items():
                columns.setdefault(name, []).append(value)
        return columns


def figures_of(jobs: Sequence[Job], until: int) -> dict[str, int]:
    """What follows from the jobs of one task. Extremes of none: response 0, slack None as -1."""
    finished = [(job, job.finish) for job in jobs if job.finish is not None]
    responses = [finish - job.release for job, finish in finished]
    slacks = [job.deadline - finish for job, finish in finished]
    tardiness = [max(0, -slack) for slack in slacks]
    judged = [job for job in jobs if job.deadline <= until]
    return {
        "released": len(jobs),
        "completed": len(finished),
        "judged": len(judged),
        "missed": sum(job.finish is None or job.finish > job.deadline for job in judged),
        "response_min": min(responses, default=-1),
        "response_max": max(responses, default=0),
        "response_sum": sum(responses),
        "tardiness_max": max(tardiness, default=0),
        "tardiness_sum": sum(tardiness),
        "slack_min": min(slacks, default=NEVER),
        "slack_sum": sum(slacks),
    }


#: The core's word for an instant that does not come.
NEVER = 2**63 - 1


def assign(tiers: Sequence[Sequence[Choice]], tasks: Sequence[Activity]) -> dict[int, int]:
    """Processor of every chosen task.

    Tier after tier: who runs stays; then, by priority, who finds its last processor free takes it;
    then, by priority, the others take the lowest free one.
    """
    on: dict[int, int] = {}

    def take(choice: Choice, processor: int | None) -> None:
        free = processor is not None and processor not in on.values()
        if choice.task not in on and processor in choice.processors and free:
            assert processor is not None
            on[choice.task] = processor

    for tier in tiers:
        for choice in tier:
            take(choice, tasks[choice.task].processor)
        for choice in tier:
            take(choice, tasks[choice.task].last_processor)
        for choice in tier:
            for processor in choice.processors:
                take(choice, processor)
    return on


def merged(units: Sequence[tuple[int, int, int, int]]) -> list[tuple[int, ...]]:
    """Units of execution as stretches (task, job, processor, from, to)."""
    stretches: list[tuple[int, ...]] = []
    for task, job, processor, instant in sorted(units, key=lambda unit: (unit[0], unit[3])):
        if stretches and stretches[-1][:3] == (task, job, processor):
            *_, start, end = stretches[-1]
            if end == instant:
                stretches[-1] = (task, job, processor, start, instant + 1)
                continue
        stretches.append((task, job, processor, instant, instant + 1))
    return sorted(stretches)
