"""A twin as a file for rt-app (scheduler-tools), which counts in µs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from deadbeat.derive.twin import Twin, TwinThread
from deadbeat.model.words import Json
from deadbeat.sched.program import COMPUTE, LOCK, SUSPEND, UNLOCK

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
    inherits = any(protocol == "inherit" for _, protocol in twin.locks)
    cpus = [min(each.replica.task.cpus, default=0) for each in twin.threads]
    settings = {
        "duration": math.ceil(twin.length_ns / 1e9),
        "calibration": f"CPU{min(cpus, default=0)}",
        "default_policy": "SCHED_OTHER",
        "pi_enabled": inherits,
        "log_size": "disable",
    }
    tasks = {names[number]: _task(each, names) for number, each in enumerate(twin.threads)}
    return json.dumps({"global": settings, "tasks": tasks}, indent=1) + "\n"


def _task(each: TwinThread, names: Sequence[str]) -> dict[str, Json]:
    task, own = each.replica.task, each.replica
    first = each.begins if each.site != "WOKEN" else 0
    found: dict[str, Json] = {
        "policy": _POLICIES.get(task.policy, "SCHED_OTHER"),
        "priority": task.priority,
        "delay": first // 1000,
        "loop": -1,
    }
    if task.policy == "deadline":
        values = {"runtime": task.runtime_ns, "period": own.period_ns, "deadline": own.deadline_ns}
        found |= {f"dl-{name}": value // 1000 for name, value in values.items()}
    elif task.cpus:
        found["cpus"] = [*task.cpus]
    count = len(each.jobs)
    places = [(each.begin + place) % count for place in range(count)]
    found["phases"] = {f"job{place}": _phase(each, place, names) for place in places}
    return found


def _phase(each: TwinThread, place: int, names: Sequence[str]) -> dict[str, Json]:
    """A job, and the wait before it or after it."""
    words = {LOCK: "lock", UNLOCK: "unlock", SUSPEND: "sleep", COMPUTE: "run"}
    wait = each.gaps[(place + 1) % len(each.gaps)] // 1000
    own = each.replica.task.name
    events: list[tuple[str, Json]] = [("suspend", own)] if each.site == "WOKEN" else []
    events += [("yield", "")] if each.site == "YIELD" else []
    for kind, target, ns in each.jobs[place].tolist():
        if kind in (LOCK, UNLOCK):
            events.append((words[kind], f"lock{target}"))
        elif kind not in words:
            events.append(("resume", names[target]))
        elif ns >= 1000:
            events.append((words[kind], ns // 1000))
    if each.site == "AT":
        events.append(("timer", {"ref": "unique", "period": wait, "mode": "absolute"}))
    elif each.site == "AFTER":
        events.append(("sleep", wait))
    return {f"{name}{number}": value for number, (name, value) in enumerate(events)}
