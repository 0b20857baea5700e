"""Simulated jobs that slow one another: replayed with prices, as predictions are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deadbeat.executors.tables import RunTiming, releases_in
from deadbeat.model import jobs as j
from deadbeat.model.examples import example_calibration, example_entries, example_fragments
from deadbeat.model.tasks import TaskSet
from deadbeat.prices.rates import RatesByRivals
from deadbeat.prices.replay import replay_releases
from deadbeat.prices.sets import prepared


def replayed_jobs(
    task_set: TaskSet, timings: Sequence[RunTiming], slot: Any, rates: RatesByRivals
) -> NDArray[Any]:
    """Jobs released in one slot, in no order; a release that finds its predecessor unfinished is
    skipped."""
    entries = example_entries(example_fragments())
    calibration = example_calibration(entries, cores=task_set.cores)
    tasks, _ = prepared(task_set, calibration, rates.matrices[0])
    begin_ns = int(slot["begin_ns"])
    releases = [
        (release - begin_ns, index)
        for index, timing in enumerate(timings)
        for release in releases_in(timing, slot)
    ]
    longest = max(timing.period_ns for timing in timings)
    horizon = int(slot["end_ns"]) - begin_ns + 100 * longest
    done = {
        (task, release): (start, finish)
        for task, release, start, finish in replay_releases(
            tasks, rates, releases, horizon_ns=horizon
        )
    }
    rows = np.zeros(len(releases), dtype=j.JOB_DTYPE)
    for row, (release, index) in zip(rows, releases, strict=True):
        row["task"], row["slot"], row["release_ns"] = index, slot["slot"], release + begin_ns
        row["start_ns"] = row["finish_ns"] = j.NEVER
        row["flags"] = j.JOB_SKIPPED
        if (index, release) in done:
            start, finish = done[index, release]
            row["start_ns"], row["finish_ns"] = round(start) + begin_ns, round(finish) + begin_ns
            row["flags"] = j.JOB_STARTED | j.JOB_FINISHED
    return rows
