"""Words that were typed once, and what is typed today: they are refused in a line that says so."""

from __future__ import annotations

from collections.abc import Mapping

from deadbeat.base.model.errors import UsageError

#: Commands.
COMMANDS: Mapping[str, str] = {
    "calibrate": "deadbeat contention --calibrate",
    "campaign": "deadbeat contention",
    "emit": "deadbeat export RESULT --as c --out FOLDER",
    "explain": "deadbeat list findings, or: deadbeat show FINDING",
    "fragments": "deadbeat list fragments",
    "keys": "deadbeat list keys VERB",
    "lab list": "deadbeat list kernels",
    "lab sweep": "deadbeat lab run --kernels A,B,C",
    "list pictures": "deadbeat compare A B",
    "plot": "deadbeat compare A B",
    "profile": "deadbeat contention",
    "report": "deadbeat page",
    "runs": "deadbeat list",
    "sched policies": "deadbeat list policies",
    "sched tests": "deadbeat list tests",
    "selftest": "deadbeat doctor --prove",
    "stress": "deadbeat contention --random",
    "study": "deadbeat sched study",
    "targets": "deadbeat doctor --abilities",
    "tune list": "deadbeat list knobs",
    "version": "deadbeat --version",
}

#: Options of a command, or of every one.
OPTIONS: Mapping[str, Mapping[str, str]] = {
    "*": {"--campaign": "--file", "--study": "--file"},
    "compare": {"--picture": "deadbeat compare A B"},
    "latency": {"--import": "deadbeat import FILE"},
    "predict": {"--matrix": "deadbeat predict RESULT: from its own prices"},
    "sched generate": {"--list": "deadbeat list generators"},
    "study": {"--list": "deadbeat list studies"},
}


def options_of(command: str) -> dict[str, str]:
    return {**OPTIONS["*"], **OPTIONS.get(command, {})}


def gone(old: str, today: str) -> UsageError:
    return UsageError(f"{old} is gone", f"today: {today}")
