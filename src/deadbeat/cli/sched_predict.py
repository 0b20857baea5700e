"""``deadbeat sched predict``: a campaign's task sets, simulated, beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from deadbeat.cli._output import Part
from deadbeat.kinds.base import Shown
from deadbeat.kinds.contention.place import find_campaign
from deadbeat.kinds.contention.view import CampaignView, open_campaign
from deadbeat.report.document import Column, Table
from deadbeat.report.terminal import print_part

#: Heading and value of a task's columns, and of a task set's (columns of sets.csv).
_TASK = (
    *(("task", "task"), ("core", "core"), ("priority", "priority")),
    *(("C us", "wcet_ns"), ("T us", "period_ns"), ("jobs", "jobs")),
    *(("predicted p50 us", "predicted_p50_ns"), ("measured p50 us", "measured_p50_ns")),
    *(("predicted max us", "predicted_max_ns"), ("measured max us", "measured_max_ns")),
    *(("misses predicted", "predicted_misses"), ("misses measured", "measured_misses")),
)
_SET = (
    ("set", "key"),
    ("predicted response / C", "response_ratio_predicted"),
    ("measured response / C", "response_ratio_mean"),
    ("misses predicted", "deadline_misses_predicted"),
    ("misses measured", "deadline_misses"),
)


def predict(run: str, key: str, runs: Path) -> Shown:
    view = open_campaign(find_campaign(runs, run))
    marks = {"simulated": True, "campaign_simulated": view.simulated}
    if key:
        tasks = view.predict(key)
        plain = {"set": key, **marks, "tasks": [attrs.asdict(task) for task in tasks]}
        return Shown(plain=plain, parts=[_table(_TASK, tasks, view, f"{key}: ")])
    sets = [{name: row.get(name) for _, name in _SET} for row in view.summary.sets]
    return Shown(plain={**marks, "sets": sets}, parts=[_table(_SET, sets, view, "")])


def _table(
    columns: Sequence[tuple[str, str]], rows: Sequence[Any], view: CampaignView, of: str
) -> Part:
    """Predictions are simulated; so is all of a campaign that was: nothing of it is called
    measured."""
    beside = "measured"
    if view.simulated:
        beside = "the campaign (SIMULATED, nothing was measured)"
        columns = [(heading.replace("measured", "campaign"), key) for heading, key in columns]
    table = Table(
        name="predicted",
        title=f"{of}predicted (simulated, partitioned SCHED_FIFO) beside {beside}",
        columns=[
            Column(key=key, heading=heading, format=_us if key.endswith("_ns") else _text)
            for heading, key in columns
        ],
        rows=rows,
    )
    return partial(print_part, table)


def _text(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _us(value: float) -> str:
    return f"{value / 1000:.1f}"
