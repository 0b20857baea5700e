"""The parts of a job table that executors without a machine have in common.

The timetable is the slow twin of runtime/src/core/plan.c, which explains its rule: tests compare
lengths and numbers of slots. Orders differ: each side has a random generator of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.base.model import jobs as j
from deadbeat.tasksets.emit import task_set_id
from deadbeat.tasksets.executors.base import SLOT_MIN_NS, UNSCALED_PPM, RunSettings
from deadbeat.tasksets.model.tasks import Task, TaskSet

MS = 1_000_000
#: From runtime/src/core/plan.c.
SLOT_PERIODS, LONG_PERIODS = 5, 50
SLOT_MAX_NS = 20 * MS
SOLO_SAMPLE = 8
ROUNDS_MIN = 4


@frozen(kw_only=True)
class RunTiming:
    """Period, deadline and offset of a task in a run, and its C, ns."""

    period_ns: int
    deadline_ns: int
    offset_ns: int
    wcet_ns: int
    core: int

    @classmethod
    def of(cls, task: Task, period_ppm: int = UNSCALED_PPM) -> RunTiming:
        def scaled(time_ns: int) -> int:
            return time_ns * period_ppm // UNSCALED_PPM

        return cls(
            period_ns=max(1, scaled(task.period_ns)),
            deadline_ns=max(1, scaled(task.deadline_ns)),
            offset_ns=scaled(task.offset_ns),
            wcet_ns=task.wcet_ns,
            core=task.core,
        )


def slot_lengths(
    tasks: Sequence[RunTiming], chosen: Sequence[RunTiming], settings: RunSettings
) -> tuple[int, int]:
    """Warm-up and measured part of a slot in which ``chosen`` of ``tasks`` run, ns."""
    slowest = max(task.period_ns for task in chosen)
    longest = max(task.deadline_ns for task in chosen)
    busiest: dict[int, int] = {}
    load: dict[int, float] = {}
    for task in tasks:
        busiest[task.core] = busiest.get(task.core, 0) + task.wcet_ns
        load[task.core] = load.get(task.core, 0.0) + task.wcet_ns / task.period_ns
    settle = min(max(task.period_ns for task in tasks), 2 * max(busiest.values()))
    warmup = max(settings.warmup_jobs * slowest, settle)
    if settings.slot_periods:
        length = settings.slot_periods * slowest
    elif settings.overrun == "late" and max(load.values()) > 1.0 + 1e-6:  # more than a core has
        length = LONG_PERIODS * slowest
    else:
        length = min(max(SLOT_PERIODS * slowest, SLOT_MIN_NS), SLOT_MAX_NS)
    return warmup, max(length, slowest + longest)


def round_count(lengths_ns: Sequence[int], together_ns: int, settings: RunSettings) -> int:
    """Rounds of a run; ``lengths_ns``: each task's solo slot, empty without solo slots."""
    sampled = min(len(lengths_ns), SOLO_SAMPLE)
    mean_ns = sum(lengths_ns) // len(lengths_ns) if lengths_ns else 0
    rounds = round(settings.seconds * 1e9) // (together_ns + sampled * mean_ns)
    return max(rounds, rounds_min(len(lengths_ns)))


def rounds_min(tasks: int) -> int:
    """Fewest rounds of a run: each of ``tasks`` is alone at least once."""
    return max(ROUNDS_MIN, -(-tasks // SOLO_SAMPLE))


def rounds_for(tasks: Sequence[RunTiming], measured_ns: int, jobs: int) -> int:
    """Fewest rounds with ``jobs`` releases of every task that are due in their slot together, at
    any phase; ``measured_ns``: its measured part."""
    return -(-jobs // min((measured_ns - each.deadline_ns) // each.period_ns for each in tasks))


def plan_slots(
    task_set: TaskSet, settings: RunSettings, *, period_ppm: int = UNSCALED_PPM
) -> NDArray[Any]:
    """The timetable of a run: per round one slot together and one alone per sampled task."""
    tasks = [RunTiming.of(task, period_ppm) for task in task_set.tasks]
    together = slot_lengths(tasks, tasks, settings)
    solo = [slot_lengths(tasks, [task], settings) for task in tasks] if settings.solo else []
    random = np.random.default_rng(int(task_set_id(task_set)[:16], 16))
    # without slots alone the first slot is the only one that warms up
    round_ns = sum(together) if solo else together[1]
    rounds = round_count([sum(pair) for pair in solo], round_ns, settings)
    rounds = max(rounds, rounds_for(tasks, together[1], settings.jobs))
    deck: list[int] = []
    rows: list[tuple[int, ...]] = []
    at_ns = 0
    for number in range(rounds):
        drawn: list[int] = []
        while len(drawn) < min(len(solo), SOLO_SAMPLE):
            deck = deck or random.permutation(len(solo)).tolist()
            drawn.append(deck.pop())
        slots = [(j.SLOT_TOGETHER, 0xFFFF, together)]
        slots += [(j.SLOT_SOLO, task, solo[task]) for task in drawn]
        for place in random.permutation(len(slots)):
            kind, task, (warmup_ns, length_ns) = slots[place]
            if rows and not solo:
                warmup_ns = 0  # the slot before was of the same tasks
            start_ns = at_ns + warmup_ns
            rows.append((len(rows), kind, task, number, at_ns, start_ns, start_ns + length_ns))
            at_ns = start_ns + length_ns
    return np.array(rows, dtype=j.SLOT_DTYPE)


def releases_in(task: RunTiming, slot: Any) -> range:
    """Release times of ``task`` in a slot, ns, on the run's one grid."""
    since = int(slot["begin_ns"]) - task.offset_ns
    first = task.offset_ns + max(0, -(-since // task.period_ns)) * task.period_ns
    return range(first, int(slot["end_ns"]), task.period_ns)


def counted_until_ns(slots: NDArray[Any], slot: Any, settings: RunSettings) -> int:
    """Until when a counted job of ``slot`` must be due, ns: while the same tasks run."""
    return int((slot if settings.solo else slots[-1])["end_ns"])


def task_rows(
    task_set: TaskSet, settings: RunSettings, jobs: NDArray[Any], *, period_ppm: int = UNSCALED_PPM
) -> NDArray[Any]:
    """Rows of TASK_DTYPE; ``jobs`` are sorted by task."""
    rows = np.zeros(len(task_set.tasks), dtype=j.TASK_DTYPE)
    realtime = settings.policy == "fifo"
    for index, (row, task) in enumerate(zip(rows, task_set.tasks, strict=True)):
        timing = RunTiming.of(task, period_ppm)
        row["task"], row["core"], row["cpu"] = index, task.core, task.core
        row["policy"], row["priority"] = (1, task.priority) if realtime else (0, 0)
        row["wcet_ns"], row["period_ns"] = timing.wcet_ns, timing.period_ns
        row["deadline_ns"], row["offset_ns"] = timing.deadline_ns, timing.offset_ns
        row["first_job"] = np.searchsorted(jobs["task"], index)
        row["job_count"] = np.count_nonzero(jobs["task"] == index)
    return rows


def witness_rows(task_set: TaskSet, slots: NDArray[Any]) -> NDArray[Any]:
    """A witness of every task of every slot, 1 us."""
    every = range(len(task_set.tasks))
    return np.array(
        [
            (slot["slot"], j.PROBE_WITNESS, task_set.tasks[task].core, task, slot["end_ns"], MS)
            for slot in slots
            for task in (every if slot["kind"] == j.SLOT_TOGETHER else [int(slot["task"])])
        ],
        dtype=j.PROBE_DTYPE,
    )  # fmt: skip
