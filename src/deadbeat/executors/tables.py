"""The parts of a job table that executors without a machine have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deadbeat.executors.base import RunSettings
from deadbeat.model import jobs as j
from deadbeat.model.examples import example_calibration
from deadbeat.model.tasks import Task, TaskSet

_BETWEEN_WINDOWS_NS = 200_000


def plan_windows(task_set: TaskSet, settings: RunSettings) -> NDArray[Any]:
    """Each together window is followed by a solo window of every task."""
    count = len(task_set.tasks)
    together_ns = round(settings.seconds * 1e9 / settings.windows)
    solo_ns = round(settings.solo_seconds * 1e9 / (settings.windows * count))
    plan = [(j.WINDOW_TOGETHER, 0xFFFF, together_ns)]
    plan += [(j.WINDOW_SOLO, task, solo_ns) for task in range(count)]
    rows = np.zeros(settings.windows * len(plan), dtype=j.WINDOW_DTYPE)
    at_ns = _BETWEEN_WINDOWS_NS
    for index, row in enumerate(rows):
        kind, task, length_ns = plan[index % len(plan)]
        row["window"], row["kind"], row["task"] = index, kind, task
        row["start_ns"], row["end_ns"] = at_ns, at_ns + length_ns
        at_ns += length_ns + _BETWEEN_WINDOWS_NS
    return rows


def releases_in(task: Task, window: Any) -> range:
    """Release times of ``task`` in a window, ns."""
    first = int(window["start_ns"]) + task.offset_ns % task.period_ns
    return range(first, int(window["end_ns"]), task.period_ns)


def task_rows(task_set: TaskSet, settings: RunSettings, jobs: NDArray[Any]) -> NDArray[Any]:
    """Rows of TASK_DTYPE; ``jobs`` are sorted by task."""
    rows = np.zeros(len(task_set.tasks), dtype=j.TASK_DTYPE)
    realtime = settings.policy == "fifo"
    for index, (row, task) in enumerate(zip(rows, task_set.tasks, strict=True)):
        row["task"], row["core"], row["cpu"] = index, task.core, task.core
        row["policy"], row["priority"] = (1, task.priority) if realtime else (0, 0)
        row["wcet_ns"], row["period_ns"] = task.wcet_ns, task.period_ns
        row["deadline_ns"], row["offset_ns"] = task.deadline_ns, task.offset_ns
        row["first_job"] = np.searchsorted(jobs["task"], index)
        row["job_count"] = np.count_nonzero(jobs["task"] == index)
    return rows


def probe_rows(windows: NDArray[Any], cores: int, state: tuple[int, int]) -> NDArray[Any]:
    """The references of the calibration at every boundary, times the host's state."""
    reference = example_calibration({}, cores=cores)
    kinds = [(j.PROBE_YARDSTICK, c, c, ps) for c, ps in enumerate(reference.yardstick_ps)]
    for pair, ps in reference.cache_line_ps.items():
        low, high = pair.split("-")
        kinds.append((j.PROBE_CACHE_LINE, int(low), int(high), ps))
    ends = [int(start) - _BETWEEN_WINDOWS_NS // 2 for start in windows["start_ns"]]
    ends.append(int(windows["end_ns"][-1]) + _BETWEEN_WINDOWS_NS // 2)
    return np.array(
        [
            (boundary, kind, a, b, at_ns, ps * state[0] // state[1])
            for boundary, at_ns in enumerate(ends)
            for kind, a, b, ps in kinds
        ],
        dtype=j.PROBE_DTYPE,
    )
