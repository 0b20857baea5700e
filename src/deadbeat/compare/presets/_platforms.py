"""What two systems differ in besides their latencies, as far as it was recorded."""

from __future__ import annotations

from collections.abc import Mapping

from deadbeat.compare.page import difference_row
from deadbeat.kinds.latency.sides import Question, Side, SidesTable
from deadbeat.model.platform import differing_platforms

_NOT_RECORDED = "not recorded"


def hardening_table(asked: Question) -> SidesTable:
    """Hardening options whose state differs."""
    one, two = asked.sides
    states = (_hardening(one), _hardening(two))
    rows = tuple(
        (name, *(state.get(name, _NOT_RECORDED) for state in states))
        for name in dict.fromkeys(key for state in states for key in state)
        if states[0].get(name) != states[1].get(name)
    )
    return SidesTable(
        title="Hardening options that differ", columns=("option", one.name, two.name), rows=rows
    )


def hardening_caveats(asked: Question) -> tuple[str, ...]:
    """Where it is not hardening that differs, or that is not known."""
    without = [side.name for side in asked.sides if not _hardening(side)]
    if without:
        return (
            f"Which hardening options {' and '.join(without)} had is not recorded: deadbeat doctor"
            " tells of a system.",
        )
    if not hardening_table(asked).rows:
        return ("No hardening option that was recorded differs between the two.",)
    return ()


def differences_table(asked: Question) -> SidesTable:
    """Kernel, command line, clock and the like, where they differ."""
    one, two = asked.sides
    return SidesTable(
        title="What differs between the systems",
        columns=("what", one.name, two.name),
        rows=tuple(map(difference_row, differing_platforms(one.platform, two.platform))),
    )


def _hardening(side: Side) -> Mapping[str, str]:
    details = side.platform.get("details")
    found = details.get("hardening") if isinstance(details, Mapping) else None
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, Mapping) else {}
