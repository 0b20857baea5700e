"""How cyclictest was called: what its results do not say otherwise."""

from __future__ import annotations

import re
from typing import Any

from deadbeat.kinds.latency.imported import options_of

_OPTIONS = {
    "interval": ("-i", "--interval"),
    "priority": ("-p", "--priority"),
    "duration": ("-D", "--duration"),
    "policy": ("--policy",),
}
_UNITS_S = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
#: Of cyclictest itself: what it does unasked.
_INTERVAL_US = 1000


def called(command: str, *, threads: int) -> dict[str, Any]:
    """Fields of a `Foreign` that follow from a command line; nothing of none.

    As version 2.40 does, seen by reading back: any ``-p`` asks for SCHED_FIFO, a priority above 0
    overrules another policy, and a real-time policy without one has the number of threads + 1.
    """
    if not command.strip():
        return {}
    words = options_of(command, _OPTIONS)
    interval = words.get("interval", "")
    priority = words.get("priority", "")
    number = int(priority) if priority.isdigit() else 0
    policy = words.get("policy", "fifo" if priority.isdigit() else "other")
    if policy not in ("fifo", "rr"):
        policy = "fifo" if number else "other"
    elif number == 0:
        number = threads + 1
    match = re.fullmatch(r"(\d+)([smhd]?)", words.get("duration", ""))
    return {
        "interval_ns": (int(interval) if interval.isdigit() else _INTERVAL_US) * 1000,
        "priority": number,
        "policy": policy,
        "seconds": float(int(match[1]) * _UNITS_S[match[2]]) if match else None,
    }
