"""A twin as a file for rt-app (scheduler-tools), which counts in µs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from deadbeat.base.model.words import Json
from deadbeat.program.derive.twin import Twin, TwinThread
from deadbeat.sched.program import COMPUTE, LOCK, UNLOCK, WAKE

_POLICIES = {"fifo": "SCHED_FIFO", "rr": "SCHED_RR", "idle": "SCHED_IDLE",
             "deadline": "SCHED_DEADLINE"}  # fmt: skip
#: What rt-app cannot do, beside what a twin lacks.
LACKS = (
    "one protocol for all mutexes: inheritance for all or for none",
    "a wake-up while the woken thread still works: rt-app loses it",
    "C: rt-app runs rounds as it calibrated them, in µs",
)


def rt_app(twin: Twin) -> str:
    names = [each.replica.task.name for each in twin.threads]
    cpus = [cpu for each in twin.threads for cpu in each.replica.task.cpus]
    settings = {
        "duration": math.ceil(twin.length_ns / 1e9),
        "calibration": f"CPU{min(cpus, default=0)}",
        "default_policy": "SCHED_OTHER",
        "pi_enabled": any(protocol == "inherit" for _, protocol in twin.locks),
        "log_size": "disable",
    }
    tasks = {}
    for name, each in zip(names, twin.threads, strict=True):
        task, own, count = each.replica.task, each.replica, len(each.jobs)
        found: dict[str, Json] = {"policy": _POLICIES.get(task.policy, "SCHED_OTHER")}
        found |= {"priority": task.priority, "loop": -1}
        found["delay"] = each.begins // 1000 if each.site != "WOKEN" else 0
        if task.policy == "deadline":
            values = {
                "runtime": task.runtime_ns,
                "period": own.period_ns,
                "deadline": own.deadline_ns,
            }
            found |= {f"dl-{name}": value // 1000 for name, value in values.items()}
        elif task.cpus:
            found["cpus"] = [*task.cpus]
        places = [(each.begin + place) % count for place in range(count)]
        tasks[name] = {
            **found,
            "phases": {f"job{place}": _phase(each, place, names) for place in places},
        }
    return json.dumps({"global": settings, "tasks": tasks}, indent=1) + "\n"


def _phase(each: TwinThread, place: int, names: Sequence[str]) -> dict[str, Json]:
    """A job, and the wait before it or after it."""
    wait, own = each.gaps[(place + 1) % len(each.gaps)] // 1000, each.replica.task.name
    timer: Json = {"ref": "unique", "period": wait, "mode": "absolute"}
    before: dict[str, tuple[str, Json]] = {"WOKEN": ("suspend", own), "YIELD": ("yield", "")}
    after: dict[str, tuple[str, Json]] = {"AT": ("timer", timer), "AFTER": ("sleep", wait)}
    events = [before[each.site]] if each.site in before else []
    for kind, target, ns in each.jobs[place].tolist():
        if kind == WAKE:
            events.append(("resume", names[target]))
        elif kind in (LOCK, UNLOCK):
            events.append(("lock" if kind == LOCK else "unlock", f"lock{target}"))
        elif ns >= 1000:
            events.append(("run" if kind == COMPUTE else "sleep", ns // 1000))
    events += [after[each.site]] if each.site in after else []
    return {f"{name}{number}": value for number, (name, value) in enumerate(events)}
