"""A task set to look at: segments, fragment uses, objects and costs of each task, with a bar."""

from __future__ import annotations

import math
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.jobs import JOB_DTYPE
from deadbeat.base.model.systems import CriticalSection, Lock, TaskSystem, TimedTask
from deadbeat.base.model.words import Json, count_of, ns_text, us_text
from deadbeat.base.report.document import Column, Table
from deadbeat.base.store.place import BREAKDOWN
from deadbeat.tasksets.contention.emitting import key_in, sets_in
from deadbeat.tasksets.contention.place import find_campaign
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.results import RunKey
from deadbeat.tasksets.model.tasks import Task, TaskSet
from deadbeat.tasksets.prices.stage import prices_in
from deadbeat.tasksets.store.campaign import BreakdownStore, CampaignStore

#: Fragments that are locks, and how they are taken.
LOCKS = {
    "mutex_inherit": "inherit",
    "mutex_ceiling": "protect",
    **dict.fromkeys(("mutex_normal", "mutex_robust", "futex"), "none"),
}
_ALONE = "derived: an operation alone, as calibrated"
_WIDTH = 60
_MARKS = {None: "·", "own": "▒", "shared": "█"}
_KEY = "· computation   ▒ synchronisation on the core's own object   █ on a shared one"
_COLUMNS = (
    *(Column(key=key, heading=key, words=True) for key in ("segment", "fragment")),
    *(Column(key=key, heading=key) for key in ("size", "repeats")),
    Column(key="object", heading="object", words=True),
    Column(key="cost_ns", heading="cost", unit="µs", format=us_text),
)


def drawn_set(runs: Path, run: str, text: str) -> Shown:
    """The task set with key ``text`` of a campaign or breakdown search.
    Raises UsageError: there is no such run, or no such set in it."""
    _, _, found, costs = _opened(runs, run, text)
    drawn = [_drawn(task, found, costs) for task in found.tasks]
    headline = (
        f"{'SIMULATED: ' * costs.platform.made_up}{text}: {count_of(len(drawn), 'task')} on"
        f" {count_of(found.cores, 'core')}, ρ = {found.sync_share_real:.3f},"
        f" α = {found.contended_ratio_real:.3f}, seed {found.seed}"
    )
    names = ("seed", "generator", "cores", "sync_share_real", "contended_ratio_real")
    facts = {name: getattr(found, name) for name in names}
    return Shown(
        plain={
            "set": text,
            "simulated": costs.platform.made_up,
            **facts,
            "tasks": [plain for plain, _ in drawn],
        },
        headline=headline,
        parts=[headline, _KEY],
        tables=[table for _, table in drawn],
    )


def _opened(runs: Path, run: str, text: str) -> tuple[CampaignStore, RunKey, TaskSet, Calibration]:
    path = BREAKDOWN.find(runs, run)
    store = BreakdownStore.open(path) if path else CampaignStore.open(find_campaign(runs, run))
    costs, keys = sets_in(store, run)
    key = key_in(text, keys, store.path.resolve().name, "--task-set")
    return store, key, store.programs.task_set(key), costs


def task_system(runs: Path, run: str, text: str) -> tuple[TaskSystem, tuple[str, ...]]:
    """The task set as tasks with critical sections, ns, and what of it was left out.

    An object of LOCKS is a lock, each operation a request. Its length is derived: what the
    operation takes alone, more than the lock is held. A use of another object is execution. Each
    request has its contended path, and each job a wake-up, as execution.
    """
    store, key, found, costs = _opened(runs, run, text)
    left = {each.fragment for each in found.resources} - {*LOCKS}
    simulated = "SIMULATED: " * costs.platform.made_up
    tasks, paths = [], _contended_paths(store)
    wake_up, jobs = _wake_up(store, key, found)
    for task in found.tasks:
        sections, path = [], 0
        every = [cost for part in costs.job_costs_ps(task) for cost in part]
        for use, cost_ps in zip(task.uses, every, strict=True):
            if use.resource is not None and use.entry.fragment in LOCKS:
                count = use.repeats * use.entry.size
                length = max(1, math.ceil(cost_ps / count / 1000))
                lock = f"{use.entry.fragment}-{use.resource}"
                path += count * paths.get(use.entry.fragment, 0)
                sections.append(
                    CriticalSection(lock=lock, count=count, length=length, source=_ALONE)
                )
        held = sum(each.count * each.length for each in sections)
        alone = max(task.wcet_ns, math.ceil(sum(every) / 1000), held)
        tasks.append(
            TimedTask(
                name=task.name,
                wcet=alone + path + wake_up,
                period=task.period_ns,
                deadline=task.deadline_ns,
                offset=task.offset_ns,
                priority=task.priority,
                home=task.core,
                sections=tuple(sections),
                source=f"derived: {alone} alone + {path} contended requests + {wake_up} wake-up",
            )
        )
    names = dict.fromkeys(each.lock for task in tasks for each in task.sections)
    locks = tuple(Lock(name=each, protocol=LOCKS[each.rpartition("-")[0]]) for each in names)
    system = TaskSystem(
        processors=found.cores,
        tasks=tuple(tasks),
        name=f"{simulated}{run} {text}",
        unit="ns",
        locks=locks,
    )
    notes = ["C holds every request as contended, and a wake-up; --task-set of show: alone"]
    notes += [f"lengths of sections are {_ALONE}"] * bool(locks)
    used = {each.rpartition("-")[0] for each in names}
    notes += [
        f"a contended request of {each} takes {ns_text(paths[each])} more than alone: measured,"
        " the upper end of a mean with a wait"
        if each in paths
        else f"contended requests of {each} cost no more: no price was measured"
        for each in sorted(used)
    ]
    notes.append(
        f"a wake-up takes {ns_text(wake_up)}: measured, the longest of {jobs} on an idle core"
        if jobs
        else "wake-ups cost nothing: no job is known that found its core idle"
    )
    notes += [f"as execution, no locks: {', '.join(sorted(left))}"] * bool(left)
    return system, tuple(f"{simulated}{note}" for note in notes)


def _contended_paths(store: CampaignStore) -> dict[str, int]:
    """Fragment -> ns that an operation takes more beside another core than alone, at 95 %."""
    table = prices_in(store)
    known = table.of(state=table.usual(), others=1) if table else []
    found: dict[str, int] = {}
    for price in known:
        most = price.high_ns if price.high_ns is not None else price.shared_ns
        if most is not None:
            more = max(0, math.ceil(most - price.alone_ns))
            found[price.object] = max(more, found.get(price.object, 0))
    return found


def _wake_up(store: CampaignStore, key: RunKey, found: TaskSet) -> tuple[int, int]:
    """Longest time from release to start of jobs that found their core idle, ns, and of how many;
    0 of 0: there is none, or the set was not run."""
    every = store.table(key).jobs if key in store.committed() else np.zeros(0, JOB_DTYPE)
    cores = np.array([task.core for task in found.tasks])
    late = []
    for core in range(found.cores):
        jobs = np.sort(every[cores[every["task"]] == core], order="release_ns")
        busy_until = np.maximum.accumulate(jobs["finish_ns"])
        idle = jobs["release_ns"][1:-1] >= busy_until[:-2]
        alone = jobs["start_ns"][1:-1] < jobs["release_ns"][2:]
        late.append((jobs["start_ns"] - jobs["release_ns"])[1:-1][idle & alone])
    all_late = np.concatenate(late)
    return int(all_late.max(initial=0)), len(all_late)


#: What is said of a task beside its uses.
_OF_TASK = ("name", "core", "priority", "wcet_ns", "period_ns", "deadline_ns", "offset_ns")


def _drawn(task: Task, found: TaskSet, costs: Calibration) -> tuple[dict[str, Json], Table]:
    """A task as plain values; and its uses, under its times and a bar as long as each use costs,
    ``|`` between segments."""
    objects = ["shared" if each.core is None else "own" for each in found.resources]
    segments: list[dict[str, Any]] = [
        {
            "kind": segment.kind.value,
            "budget_ns": segment.budget_ps / 1000,
            "uses": [
                {
                    "fragment": use.entry.fragment,
                    "size": use.entry.size,
                    "repeats": use.repeats,
                    "object": None if use.resource is None else objects[use.resource],
                    "cost_ns": cost / 1000,
                }
                for use, cost in zip(segment.uses, each, strict=True)
            ],
        }
        for segment, each in zip(task.segments, costs.job_costs_ps(task), strict=True)
    ]
    rows = [
        {"segment": f"{number} {segment['kind']}" * (not place), **use}
        for number, segment in enumerate(segments)
        for place, use in enumerate(segment["uses"])
    ]
    whole = sum(row["cost_ns"] for row in rows)
    ends = [round(_WIDTH * at / whole) for at in accumulate(row["cost_ns"] for row in rows)]
    bar = "".join(
        "|" * bool(row["segment"]) + _MARKS[row["object"]] * (end - begin)
        for row, begin, end in zip(rows, [0, *ends], ends, strict=False)
    )
    c, t, d = (us_text(each) for each in (task.wcet_ns, task.period_ns, task.deadline_ns))
    head = (
        f"{task.name} on core {task.core}, priority {task.priority}: C = {c} µs, T = {t} µs,"
        f" D = {d} µs; costs sum to {us_text(whole)} µs"
        f" ({whole / task.wcet_ns - 1:+.2%})"
    )
    title = f"{head}\n{bar}|"
    table = Table(name=task.name, title=title, columns=_COLUMNS, rows=rows, terminal=True)
    own = {name: getattr(task, name) for name in _OF_TASK}
    return {**own, "cost_ns": whole, "segments": segments}, table
