"""A task set to look at: segments, fragment uses, objects and costs of each task, with a bar."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deadbeat.kinds.base import Shown
from deadbeat.kinds.contention.emitting import key_in
from deadbeat.kinds.contention.place import find_campaign
from deadbeat.model.calibration import Calibration
from deadbeat.model.errors import UsageError
from deadbeat.model.tasks import Task, TaskSet
from deadbeat.model.words import us_text
from deadbeat.report.document import Column, Table, counted
from deadbeat.store.campaign import BreakdownStore, CampaignStore
from deadbeat.store.place import BREAKDOWN

_WIDTH = 60
_MARKS = {None: "·", "own": "▒", "shared": "█"}
_TIMES = (("C", "wcet_ns"), ("T", "period_ns"), ("D", "deadline_ns"))
_KEY = "· computation   ▒ synchronisation on the core's own object   █ on a shared one"


def drawn_set(runs: Path, run: str, text: str) -> Shown:
    """The task set with key ``text`` of a campaign or breakdown search.

    Raises:
        UsageError: There is no such run, or no such set in it.
    """
    searched = BREAKDOWN.find(runs, run)
    store = (
        BreakdownStore.open(searched) if searched else CampaignStore.open(find_campaign(runs, run))
    )
    calibration, keys = store.load_calibration(), sorted(store.programs.keys())
    if calibration is None or not keys:
        raise UsageError(f"{run} holds no task sets yet", "measure it first")
    found = store.programs.task_set(key_in(text, keys, store.path.resolve().name, "--task-set"))
    tasks = [_task(task, found, calibration) for task in found.tasks]
    tables = [
        Table(
            name=each["name"],
            title=f"{_head(each)}\n{_bar(each['segments'])}",
            columns=_COLUMNS,
            rows=[
                {"segment": f"{number} {segment['kind']}" * (use is segment["uses"][0]), **use}
                for number, segment in enumerate(each["segments"])
                for use in segment["uses"]
            ],
            terminal=True,
        )
        for each in tasks
    ]
    size = f"{counted(len(tasks), 'task')} on {counted(found.cores, 'core')}"
    headline = (
        f"{'SIMULATED: ' * calibration.platform.made_up}{text}: {size},"
        f" ρ = {found.sync_share_real:.3f}, α = {found.contended_ratio_real:.3f}, seed {found.seed}"
    )
    facts = {
        "seed": found.seed,
        "generator": found.generator,
        "cores": found.cores,
        "simulated": calibration.platform.made_up,
        "sync_share": found.sync_share_real,
        "contended_ratio": found.contended_ratio_real,
    }
    plain = {"set": text, **facts, "tasks": tasks}
    return Shown(plain=plain, headline=headline, parts=[headline, _KEY], tables=tables)


def _task(task: Task, found: TaskSet, calibration: Calibration) -> dict[str, Any]:
    segments = []
    for segment, costs in zip(task.segments, calibration.job_costs_ps(task), strict=True):
        uses = [
            {
                "fragment": use.entry.fragment,
                "size": use.entry.size,
                "repeats": use.repeats,
                "object": None if use.resource is None else _object(found, use.resource),
                "cost_ns": cost / 1000,
            }
            for use, cost in zip(segment.uses, costs, strict=True)
        ]
        segments.append(
            {
                "kind": segment.kind.value,
                "budget_ns": segment.budget_ps / 1000,
                "cost_ns": sum(costs) / 1000,
                "uses": uses,
            }
        )
    own = ("name", "core", "wcet_ns", "period_ns", "deadline_ns", "offset_ns", "priority")
    return {
        **{name: getattr(task, name) for name in own},
        "cost_ns": sum(each["cost_ns"] for each in segments),
        "segments": segments,
    }


def _head(each: dict[str, Any]) -> str:
    off = each["cost_ns"] / each["wcet_ns"] - 1
    times = ", ".join(f"{name} = {us_text(each[key])} µs" for name, key in _TIMES)
    return (
        f"{each['name']} on core {each['core']}, priority {each['priority']}: {times};"
        f" costs sum to {us_text(each['cost_ns'])} µs ({off:+.2%})"
    )


def _object(found: TaskSet, number: int) -> str:
    return "shared" if found.resources[number].core is None else "own"


def _bar(segments: Sequence[dict[str, Any]]) -> str:
    """A job from release to end: as long as each use costs, ``|`` between segments."""
    whole = sum(each["cost_ns"] for each in segments)
    bars, reached = [], 0.0
    for each in segments:
        text = ""
        for use in each["uses"]:
            begin = round(_WIDTH * reached / whole)
            reached += use["cost_ns"]
            text += _MARKS[use["object"]] * (round(_WIDTH * reached / whole) - begin)
        bars.append(text)
    return f"|{'|'.join(bars)}|"


_COLUMNS = (
    Column(key="segment", heading="segment", words=True),
    Column(key="fragment", heading="fragment", words=True),
    Column(key="size", heading="size"),
    Column(key="repeats", heading="repeats"),
    Column(key="object", heading="object", words=True),
    Column(key="cost_ns", heading="cost", unit="µs", format=us_text),
)
