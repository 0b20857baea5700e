"""Figures of a verdict, per task and in all: what ``--json`` prints and the page shows."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, TypedDict

import numpy as np
from attrs import asdict
from numpy.typing import NDArray

from deadbeat.base.model.systems import Chain, TaskSystem
from deadbeat.base.model.words import Json
from deadbeat.sched.chains import chain_times
from deadbeat.sched.picture import observe
from deadbeat.sched.simulator import JOB_FIELDS, Costs, PolicyFacts, TiesVerdict, Verdict

#: Jobs up to which all are recorded for the sake of percentiles.
JOBS_RECORDED = 1_000_000
#: Releases up to which a pattern is listed; its seed repeats longer ones.
RELEASES_LISTED = 10_000
#: Fields of Scheduler that some policies look at and others do not.
POLICY_OPTIONS = (
    *("priorities", "partition", "order", "admission", "unplaced"),
    *("cluster_size", "balance", "threshold"),
)

#: Percentiles of response times, by nearest rank: the least value that this share does not exceed.
PERCENTILES = (50, 90, 95, 99)

#: Columns of the core that are counts of jobs or moves of a task.
COUNTS = (
    *("released", "completed", "judged", "missed"),
    *("preemptions", "migrations", "cross_cluster", "task_migrations"),
)

#: What an answer holds as the verdict has it.
_OF_VERDICT = (
    *("schedulable", "proved", "model", "method", "execution", "states", "until", "events"),
    *("first_miss", "first_miss_task", "first_miss_job"),
)

_TIMES = ("response", "tardiness", "slack")
_EXTREMES = ("response_min", "response_max", "tardiness_max", "slack_min")
_RELEASE, _FINISH = JOB_FIELDS.index("release"), JOB_FIELDS.index("finish")
_NONE = np.iinfo(np.int64).max


def _figures(system: TaskSystem, verdict: Verdict) -> Iterator[dict[str, Any]]:
    """Figures of each task's jobs in [0, until), None where no job tells; none where nothing was
    simulated. Slack is deadline minus completion; negative where late."""
    figures = verdict.figures
    if len(figures.get("released", ())) != len(system.tasks):
        return
    for index in range(len(system.tasks)):
        own = {name: column[index].item() for name, column in figures.items()}
        done = own["completed"]
        ends = {n: own[n] if done and own[n] != _NONE else None for n in _EXTREMES}
        means = {n: float(own[f"{n}_sum"]) / done if done else None for n in _TIMES}
        yield {
            "task": index,
            "label": system.label(index),
            **{name: own[name] for name in COUNTS[:4]},
            "response_min": ends["response_min"],
            "response_mean": means["response"],
            "response_max": ends["response_max"],
            "response_percentiles": None,
            "tardiness_mean": means["tardiness"],
            "tardiness_max": ends["tardiness_max"],
            "slack_min": ends["slack_min"],
            "slack_mean": means["slack"],
            **{name: own[name] for name in COUNTS[4:]},
        }


def percentiles(values: NDArray[np.int64]) -> dict[str, int] | None:
    """Nearest-rank percentiles of sorted ``values``; None of none."""
    if not len(values):
        return None
    return {f"p{p}": int(values[-(-p * len(values) // 100) - 1]) for p in PERCENTILES}


def response_times(jobs: NDArray[np.int64], tasks: int) -> list[NDArray[np.int64]]:
    """Response times of the completed ``jobs`` (JOB_FIELDS), per task, ascending."""
    done = jobs[jobs[:, _FINISH] >= 0]
    times = done[:, _FINISH] - done[:, _RELEASE]
    order = np.lexsort((times, done[:, 0]))
    bounds = np.searchsorted(done[order, 0], np.arange(tasks + 1))
    return [times[order[bounds[i] : bounds[i + 1]]] for i in range(tasks)]


def looked_at(facts: PolicyFacts, costs: Costs) -> list[str]:
    """The POLICY_OPTIONS that the policy reads, or costs do."""
    used = {
        "priorities": facts.fixed_priority,
        **dict.fromkeys(("partition", "order", "admission", "unplaced"), facts.partitions),
        "cluster_size": facts.clusters or costs.migration_across > 0,
        "balance": facts.name == "lc-edf",
        "threshold": facts.name == "edf-us",
    }
    return [name for name in POLICY_OPTIONS if used[name]]


def relevant_options(verdict: Verdict) -> dict[str, Json]:
    """Options of the scheduler that the policy looks at, by name."""
    scheduler = verdict.scheduler
    chosen = {name: getattr(scheduler, name) for name in looked_at(verdict.facts, scheduler.costs)}
    if "threshold" in chosen:
        chosen["threshold"] = "/".join(map(str, scheduler.threshold or ("m", "(2m-1)")))
    if scheduler.costs:
        chosen["costs"] = asdict(scheduler.costs)
    return chosen


class Wait(TypedDict):
    """``task`` waits for ``lock`` from start to end; ``holder`` has it, None: no task yet."""

    task: str
    job: int
    lock: str
    holder: str | None
    start: int
    end: int


class ChainFigures(TypedDict):
    """A chain in [0, ``until``), None: in patterns of periodic releases. ``jobs``: of the last task
    that have an age. ``late``: an age or a reaction is above the deadline."""

    name: str
    tasks: list[str]
    deadline: int | None
    jobs: int
    until: int | None
    age_mean: float | None
    age_max: int | None
    reaction_mean: float | None
    reaction_max: int | None
    from_event_max: int | None
    late: bool


class ScheduleAnswer(TypedDict, total=False):
    """Everything known of one simulation, as plain values; times in the system's unit.

    From ``robustness`` on: where several tie rules were asked for.
    """

    schedulable: str
    proved: bool
    because: str
    proof: str | None
    first_miss: int | None
    first_miss_task: int | None
    first_miss_job: int | None
    simulated: bool
    model: str
    method: str
    execution: str
    policy: str
    policy_title: str
    ties: str
    pattern: str | None
    releases: list[list[int]] | None
    states: int
    reference: str
    policy_reference: str
    options: dict[str, Any]
    name: str
    unit: str
    processors: int
    utilisation: float
    hyperperiod: int
    until: int
    run_on: bool
    repeat: list[int] | None
    events: int
    budget: int
    jobs: int
    judged: int
    misses: int
    miss_ratio: float | None
    completed: int
    response_times: dict[str, float | None]
    tardiness: dict[str, float | None]
    slack: dict[str, float | None]
    preemptions: int
    migrations: int
    cross_cluster: int
    task_migrations: int
    placed: list[int | None]
    remarks: list[str]
    tasks: list[dict[str, Any]]
    waits: list[Wait]
    chains: list[ChainFigures]
    robustness: str
    shown_ties: str
    by_ties: dict[str, dict[str, Any]]


def responses_of(
    system: TaskSystem, verdict: Verdict, *, run_on: bool = False, budget: int = 5_000_000
) -> list[NDArray[np.int64]] | None:
    """Response times of each task, ascending; None where the jobs are too many to record."""
    released = verdict.figures.get("released", ())
    if len(verdict.all_jobs) and len(verdict.all_jobs) == sum(released):
        return response_times(verdict.all_jobs, len(system.tasks))
    if len(released) != len(system.tasks) or verdict.until < 1 or sum(released) > JOBS_RECORDED:
        return None
    records = observe(
        system, verdict, horizon=verdict.until, run_on=run_on, budget=budget, segments=False
    )
    return response_times(records.jobs, len(system.tasks))


def chains_of(
    system: TaskSystem, verdict: Verdict, *, run_on: bool, budget: int
) -> list[ChainFigures]:
    """Ages and reactions of each chain where its tasks come periodically: of all such patterns
    where jobs of all are recorded, else of the schedule that the verdict is about, and for as long
    again as data need to come through."""
    whole = len(verdict.all_jobs) and len(verdict.all_jobs) == sum(verdict.figures["released"])
    if whole:
        rows, end = verdict.all_jobs, 0
        firsts = rows[:, 1] == 0
        of = np.zeros(len(rows), dtype=np.int64)
        for task in range(len(system.tasks)):
            own = rows[:, 0] == task
            of[own] = np.cumsum(firsts[own])
        runs = [rows[of == pattern] for pattern in range(1, of.max() + 1)]
    else:
        cycle = math.lcm(*(task.period for task in system.tasks))
        through = (sum(2 * system.tasks[i].period for i in each.tasks) for each in system.chains)
        end = min(verdict.until + cycle + max(through), 1 << 60)
        jobs = sum(end / task.period for task in system.tasks)
        end = verdict.until if system.beyond or jobs > JOBS_RECORDED else end
        how: Any = {"run_on": run_on, "budget": budget, "segments": False}
        records = observe(system, verdict, horizon=max(end, 1), **how)
        runs, end = [records.jobs], records.until
    found: list[ChainFigures] = []
    for chain in system.chains:
        times = [chain_times(chain.tasks, run) for run in runs if _periodic(system, chain, run)]
        age, reaction, event = (
            np.concatenate([np.zeros(0, np.int64), *(getattr(each, name) for each in times)])
            for name in ("ages", "reactions", "from_events")
        )
        worst = max((int(each.max()) for each in (age, reaction) if len(each)), default=0)
        found.append(
            ChainFigures(
                late=chain.deadline is not None and worst > chain.deadline,
                name=chain.name,
                tasks=[system.label(i) for i in chain.tasks],
                deadline=chain.deadline,
                jobs=len(age),
                until=end or None,
                age_mean=float(age.mean()) if len(age) else None,
                age_max=int(age.max()) if len(age) else None,
                reaction_mean=float(reaction.mean()) if len(reaction) else None,
                reaction_max=int(reaction.max()) if len(reaction) else None,
                from_event_max=int(event.max()) if len(event) else None,
            )
        )
    return found


def _periodic(system: TaskSystem, chain: Chain, jobs: NDArray[np.int64]) -> bool:
    arrivals = ((i, np.sort(jobs[jobs[:, 0] == i, _RELEASE])) for i in chain.tasks)
    return all((np.diff(at) == system.tasks[i].period).all() for i, at in arrivals)


def answer_of(
    system: TaskSystem, verdict: Verdict, *, run_on: bool = False, budget: int = 5_000_000
) -> ScheduleAnswer:
    """Everything known of one simulation: sums of counts, extremes of times, means over completed
    jobs."""
    responses = responses_of(system, verdict, run_on=run_on, budget=budget)
    rows = list(_figures(system, verdict))
    for row, times in zip(rows, responses or (), strict=False):
        row["response_percentiles"] = percentiles(times)
    sums: dict[str, int] = {name: sum(row[name] for row in rows) for name in COUNTS}
    judged, missed, completed = sums["judged"], sums["missed"], sums["completed"]
    facts = verdict.facts
    placed = [None if cluster < 0 else cluster for cluster in verdict.placed]

    def mean(name: str) -> float | None:
        if not completed:
            return None
        return math.fsum((row[name] or 0.0) * row["completed"] for row in rows) / completed

    def extreme(name: str, pick: Callable[[list[int]], int]) -> int | None:
        values = [row[name] for row in rows if row[name] is not None]
        return pick(values) if values else None

    fields: Any = {name: getattr(verdict, name) for name in _OF_VERDICT}
    fields |= {name: getattr(system, name) for name in ("name", "unit", "processors")}
    fields |= {name: sums[name] for name in COUNTS if name not in ("released", "missed")}
    answer: ScheduleAnswer = fields | {
        "because": named(system, verdict.because),
        "proof": verdict.proof or None,
        "simulated": True,
        "policy": verdict.scheduler.policy,
        "policy_title": facts.title,
        "ties": verdict.scheduler.ties,
        "pattern": named(system, verdict.pattern) or None,
        "releases": verdict.releases.tolist()
        if 0 < len(verdict.releases) <= RELEASES_LISTED
        else None,
        "reference": verdict.reference or facts.reference,
        "policy_reference": facts.reference,
        "options": relevant_options(verdict),
        "utilisation": float(system.utilisation),
        "hyperperiod": math.lcm(*(task.period for task in system.tasks)),
        "run_on": run_on,
        "repeat": None if verdict.repeat is None else list(verdict.repeat),
        "budget": budget,
        "jobs": sums["released"],
        "misses": missed,
        "miss_ratio": missed / judged if judged else None,
        "response_times": {
            "min": extreme("response_min", min),
            "mean": mean("response_mean"),
            "max": extreme("response_max", max),
        },
        "tardiness": {"mean": mean("tardiness_mean"), "max": extreme("tardiness_max", max)},
        "slack": {"mean": mean("slack_mean"), "min": extreme("slack_min", min)},
        "placed": placed,
        "remarks": [named(system, remark) for remark in verdict.remarks],
        "tasks": [{**row, "placed": placed[row["task"]] if placed else None} for row in rows],
    }
    if system.chains:
        answer["chains"] = chains_of(system, verdict, run_on=run_on, budget=budget)
    if system.locks:
        answer["waits"] = waits_of(system, verdict)
    return answer


def waits_of(system: TaskSystem, verdict: Verdict) -> list[Wait]:
    """Who waits in the recorded pattern; longest first, no more than RELEASES_LISTED."""
    rows = [row for row in verdict.holds.tolist() if row[0] != row[3]]
    rows.sort(key=lambda row: row[4] - row[5])
    return [
        Wait(
            task=system.label(task),
            job=job,
            lock=system.locks[lock].name,
            holder=system.label(holder) if holder >= 0 else None,
            start=start,
            end=end,
        )
        for task, job, lock, holder, start, end in rows[:RELEASES_LISTED]
    ]


def named(system: TaskSystem, text: str) -> str:
    """``text`` of the core with its tasks' names behind their numbers: ``task 2 (heavy)``."""

    def name(found: re.Match[str]) -> str:
        index = int(found[1])
        own = system.tasks[index].name if index < len(system.tasks) else ""
        return f"{found[0]} ({own})" if own else found[0]

    return re.sub(r"\btask ([0-9]{1,5})\b", name, text)


def ties_answer(system: TaskSystem, ties: TiesVerdict) -> ScheduleAnswer:
    """What the verdicts under several tie rules come to.

    ``schedulable`` is then the answer to: whichever of these rules decides?
    """
    verdicts = list(ties.verdicts.values())
    found = {verdict.schedulable for verdict in verdicts}
    schedulable = "no" if "no" in found else "undecided" if "undecided" in found else "yes"
    deciding = [verdict for verdict in verdicts if verdict.schedulable == schedulable]
    proved = [verdict.proved for verdict in deciding]
    return {
        "ties": "all",
        "robustness": ties.answer,
        "schedulable": schedulable,
        "proved": all(proved) if schedulable == "yes" else any(proved),
        "shown_ties": deciding[0].scheduler.ties,
        "by_ties": {
            rule: {
                "schedulable": verdict.schedulable,
                "proved": verdict.proved,
                "first_miss": verdict.first_miss,
                "because": named(system, verdict.because),
            }
            for rule, verdict in ties.verdicts.items()
        },
    }
