"""What slows CPUs down because they are hot, as the kernel's thermal drivers show it."""

from __future__ import annotations

import re

from deadbeat.host.snapshot import SLOWS_CPUS
from deadbeat.host.values import UnreadError
from deadbeat.settings.facts import Facts

#: Files that `cooling_of_cpus` reads.
COOLING = (
    "/sys/class/thermal/cooling_device[0-9]*/type",
    "/sys/class/thermal/cooling_device[0-9]*/cur_state",
)


def cooling_of_cpus(facts: Facts) -> list[tuple[str, int]]:
    """What slows CPUs down (not fans), with how much of it is in use; 0: nothing.

    UnreadError where one does not tell."""
    states = []
    for path, reading in facts.matches(COOLING[0]).items():
        name = (reading.text or "").strip()
        if not SLOWS_CPUS.match(name):
            continue
        state = path.replace("/type", "/cur_state")
        text = facts.matches(COOLING[1]).get(state, reading).text or ""
        if re.fullmatch(r"-?\d+\s*", text) is None:
            raise UnreadError(f"{state} holds {text[:40]!r}, not a number")
        states.append((name, int(text)))
    return states
