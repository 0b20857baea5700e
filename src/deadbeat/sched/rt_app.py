"""Task sets of rt-app (scheduler-tools/rt-app, doc/tutorial.txt), whose times are in us."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deadbeat.model.errors import UsageError

#: What a thread does for a while, in the words of all versions.
_RUN = re.compile(r"(run|runtime|exec)\d*")
_TIMER = re.compile(r"timer\d*")
#: What makes the time of a job depend on others.
_WAITS = re.compile(r"(lock|wait|sync|suspend|barrier|sleep|fork|iorun|mem)\d*")


def is_rt_app(document: Any) -> bool:
    """By its structure: threads by name."""
    tasks = document.get("tasks") if isinstance(document, dict) else None
    if not isinstance(tasks, dict) or not tasks:
        return False
    return all(isinstance(each, dict) for each in tasks.values())


def from_rt_app(document: Mapping[str, Any], source: str) -> tuple[dict[str, Any], list[str]]:
    """A document of ours, and what was assumed, a line each.

    Raises:
        UsageError: A thread is no periodic task.
    """
    tasks, remarks, cpus = [], ["times are in us, as rt-app has them"], [0]
    for name, thread in document["tasks"].items():
        own = _cpus(thread)
        cpus += own
        task = {"name": name, **_times(name, thread, source)}
        if len(own) == 1:
            task["home"] = own[0]
        if isinstance(thread.get("priority"), int) and thread.get("policy") != "SCHED_DEADLINE":
            task["priority"] = thread["priority"]
        waits = sorted(key for key in _keys(thread) if _WAITS.fullmatch(key))
        if waits:
            remarks.append(f"{name}: {', '.join(waits)} left out")
        many = thread.get("instance", 1)
        tasks += [task] * (many if isinstance(many, int) else 1)
    return {"processors": max(cpus) + 1, "unit": "us", "tasks": tasks}, remarks


def _cpus(thread: Mapping[str, Any]) -> list[int]:
    found = thread.get("cpus", [])
    return [cpu for cpu in found if isinstance(cpu, int)] if isinstance(found, list) else []


def _parts(thread: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """It, and its phases."""
    phases = thread.get("phases", {})
    inner = phases.values() if isinstance(phases, dict) else ()
    return [thread, *(each for each in inner if isinstance(each, dict))]


def _keys(thread: Mapping[str, Any]) -> Iterator[str]:
    for part in _parts(thread):
        yield from part


def _times(name: str, thread: Mapping[str, Any], source: str) -> dict[str, Any]:
    parts = _parts(thread)
    runs = [v for part in parts for key, v in part.items() if _RUN.fullmatch(key)]
    periods = [
        timer.get("period")
        for part in parts
        for key, timer in part.items()
        if _TIMER.fullmatch(key) and isinstance(timer, dict)
    ] or [thread[key] for key in ("period", "dl-period") if key in thread]
    if not runs or len(periods) != 1 or not all(isinstance(run, int) for run in runs):
        what = f"{len(runs)} runs and {len(periods)} timers"
        message = f"{source}: tasks.{name}: {what} are no periodic task"
        raise UsageError(message, "a task needs run, in us, and one timer with a period")
    deadline = thread.get("dl-deadline", thread.get("deadline", periods[0]))
    found = {"wcet": sum(runs), "period": periods[0], "deadline": deadline}
    if "dl-runtime" in thread:
        found["budget"] = thread["dl-runtime"]
    if "delay" in thread:
        found["offset"] = thread["delay"]
    return found
