"""Task sets of rt-app (scheduler-tools/rt-app, doc/tutorial.txt), whose times are in us."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from deadbeat.model.errors import UsageError

#: What a thread does for a while, in the words of all versions.
_RUN = re.compile(r"(run|runtime|exec)\d*")
_TIMER = re.compile(r"timer\d*")
#: What makes the time of a job depend on others.
_WAITS = re.compile(r"(lock|wait|sync|suspend|barrier|sleep|fork|iorun|mem)\d*")
#: Theirs -> ours, the newer word last.
_WORDS = {
    "deadline": "deadline",
    "dl-deadline": "deadline",
    "dl-runtime": "budget",
    "delay": "offset",
}


def is_rt_app(document: object) -> bool:
    """By its structure: threads by name."""
    tasks = document.get("tasks") if isinstance(document, dict) else None
    if not isinstance(tasks, dict) or not tasks:
        return False
    return all(isinstance(each, dict) for each in tasks.values())


def from_rt_app(
    document: Mapping[str, Mapping[str, object]], source: str
) -> tuple[dict[str, object], list[str]]:
    """A document of ours, and what was assumed, a line each.

    Raises:
        UsageError: A thread is no periodic task.
    """
    tasks, remarks, cpus = [], ["times are in us, as rt-app has them"], [0]
    for name, plain in document["tasks"].items():
        thread = _Thread(name, plain)
        cpus += thread.cpus
        tasks += [thread.task(source)] * thread.many
        if waits := sorted(key for key, _ in thread.items if _WAITS.fullmatch(key)):
            remarks.append(f"{name}: {', '.join(waits)} left out")
    return {"processors": max(cpus) + 1, "unit": "us", "tasks": tasks}, remarks


@frozen
class _Thread:
    """A thread by its name, with what stands there."""

    name: str
    plain: Any

    @property
    def cpus(self) -> list[int]:
        found = self.plain.get("cpus", [])
        return [each for each in found if isinstance(each, int)] if isinstance(found, list) else []

    @property
    def many(self) -> int:
        found = self.plain.get("instance", 1)
        return found if isinstance(found, int) else 1

    @property
    def items(self) -> list[tuple[str, Any]]:
        """Its own, and those of its phases."""
        phases = self.plain.get("phases", {})
        inner = phases.values() if isinstance(phases, dict) else ()
        parts = [self.plain, *(each for each in inner if isinstance(each, dict))]
        return [item for part in parts for item in part.items()]

    def task(self, source: str) -> dict[str, object]:
        runs = [value for key, value in self.items if _RUN.fullmatch(key)]
        timers = [v for key, v in self.items if _TIMER.fullmatch(key) and isinstance(v, dict)]
        periods = [timer.get("period") for timer in timers]
        periods = periods or [v for key, v in self.items if key in ("period", "dl-period")]
        if not runs or len(periods) != 1 or not all(isinstance(run, int) for run in runs):
            what = f"{len(runs)} runs and {len(periods)} timers"
            message = f"{source}: tasks.{self.name}: {what} are no periodic task"
            raise UsageError(message, "a task needs run, in us, and one timer with a period")
        found = {"name": self.name, "wcet": sum(runs), "period": periods[0], "deadline": periods[0]}
        found |= {ours: self.plain[key] for key, ours in _WORDS.items() if key in self.plain}
        if len(self.cpus) == 1:
            found["home"] = self.cpus[0]
        if self.plain.get("policy") != "SCHED_DEADLINE" and "priority" in self.plain:
            found["priority"] = self.plain["priority"]
        return found
