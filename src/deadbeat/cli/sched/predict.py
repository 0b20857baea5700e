"""``deadbeat sched predict``: a campaign's task sets, simulated, beside what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import click

from deadbeat.cli._options import json_option, runs_option
from deadbeat.cli._output import print_json, print_table
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

_SIMULATED = "SIMULATED, nothing was measured"


@click.command()
@click.argument("run", default="latest", metavar="[RUN]")
@click.argument("key", default="", metavar="[SET]")
@runs_option
@json_option
def command(run: str, key: str, *, runs: Path, as_json: bool) -> None:
    """Simulate the task sets of a campaign under the policy they ran with.

    RUN is a path, or a name under the folder of campaigns; the latest by default. With SET (a key
    of sets.csv) every task of that set is shown; else a line per set. Predicted figures are
    simulated: partitioned SCHED_FIFO, every job taking exactly its C.
    """
    view = open_campaign(find_campaign(runs, run))
    if key:
        tasks = view.predict(key)
        if as_json:
            plain = [_plain(task) for task in tasks]
            print_json({"set": key, **_marks(view), "tasks": plain})
        else:
            columns = _told(_COLUMNS, view)
            rows = [_row(task) for task in tasks]
            print_table(columns, rows, title=f"{key}: {_title(view)}", numeric=columns)
        return
    _overview(view, as_json=as_json)


def _overview(view: CampaignView, *, as_json: bool) -> None:

    columns = (
        "key",
        "response_ratio_predicted",
        "response_ratio_mean",
        "deadline_misses_predicted",
        "deadline_misses",
    )
    rows = [{name: row.get(name) for name in columns} for row in view.summary.sets]
    if as_json:
        print_json({**_marks(view), "sets": rows})
        return
    headings = _told(_HEADINGS, view)
    texts = [[_text(row[name]) for name in columns] for row in rows]
    print_table(headings, texts, title=_title(view), numeric=headings[1:])


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


def _plain(task: TaskPrediction) -> dict[str, Any]:

    return attrs.asdict(task)
