"""``deadbeat sched predict``: a campaign's task sets, simulated, beside what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs

from deadbeat.cli._output import table
from deadbeat.kinds.base import Shown
from deadbeat.kinds.contention.place import find_campaign
from deadbeat.kinds.contention.predict import TaskPrediction
from deadbeat.kinds.contention.view import CampaignView, open_campaign

#: What stands on the other side, in the words for a campaign on hardware.
_MEASURED = "measured"

_COLUMNS = (
    "task",
    "core",
    "priority",
    "C us",
    "T us",
    "jobs",
    "predicted p50 us",
    f"{_MEASURED} p50 us",
    "predicted max us",
    f"{_MEASURED} max us",
    "misses predicted",
    f"misses {_MEASURED}",
)

_HEADINGS = (
    "set",
    "predicted response / C",
    f"{_MEASURED} response / C",
    "misses predicted",
    f"misses {_MEASURED}",
)

#: Columns of sets.csv under these headings.
_OVERVIEW = (
    "key",
    "response_ratio_predicted",
    "response_ratio_mean",
    "deadline_misses_predicted",
    "deadline_misses",
)
_SIMULATED = "SIMULATED, nothing was measured"


def predict(run: str, key: str, runs: Path) -> Shown:
    view = open_campaign(find_campaign(runs, run))
    if key:
        tasks = view.predict(key)
        columns, rows = _told(_COLUMNS, view), [_row(task) for task in tasks]
        return Shown(
            plain={"set": key, **_marks(view), "tasks": [attrs.asdict(task) for task in tasks]},
            parts=[table(columns, rows, title=f"{key}: {_title(view)}", numeric=columns)],
        )
    sets = [{name: row.get(name) for name in _OVERVIEW} for row in view.summary.sets]
    headings = _told(_HEADINGS, view)
    texts = [list(map(_text, row.values())) for row in sets]
    return Shown(
        plain={**_marks(view), "sets": sets},
        parts=[table(headings, texts, title=_title(view), numeric=headings[1:])],
    )


def _marks(view: CampaignView) -> dict[str, Any]:
    """Predictions are simulated; so is all of a campaign that was."""
    return {"simulated": True, "campaign_simulated": view.simulated}


def _title(view: CampaignView) -> str:
    beside = f"the campaign ({_SIMULATED})" if view.simulated else _MEASURED
    return f"predicted (simulated, partitioned SCHED_FIFO) beside {beside}"


def _told(words: tuple[str, ...], view: CampaignView) -> tuple[str, ...]:
    """Headings that call nothing measured that was not."""
    return tuple(word.replace(_MEASURED, "campaign") if view.simulated else word for word in words)


def _text(value: Any) -> str:
    if value is None:
        return "not predicted"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _us(value: float | None) -> str:
    return "-" if value is None else f"{value / 1000:.1f}"


def _row(task: TaskPrediction) -> list[str]:
    return [
        str(task.task),
        str(task.core),
        str(task.priority),
        _us(task.wcet_ns),
        _us(task.period_ns),
        str(task.jobs),
        _us(task.predicted_p50_ns),
        _us(task.measured_p50_ns),
        _us(task.predicted_max_ns),
        _us(task.measured_max_ns),
        "-" if task.predicted_misses is None else str(task.predicted_misses),
        str(task.measured_misses),
    ]
