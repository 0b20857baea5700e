"""Hardening that is on and is expected to cost latency: a check for each such option.

None of them advises to switch security off: what an option costs is to be measured first.
"""

from __future__ import annotations

from deadbeat.machine.host.values import is_unknown
from deadbeat.machine.settings.check import Check, CheckVerdict, failed, passed, unknown
from deadbeat.machine.settings.facts import CONFIG, Facts
from deadbeat.machine.settings.hardening import OPTIONS, Hardening, sight_of_facts
from deadbeat.machine.settings.rows import Row

_MEASURE = "keep it unless it costs too much: deadbeat compare WITHOUT WITH"


def _made(option: Hardening) -> Check:
    assert option.severity is not None

    def judge(facts: Facts, *_reads: str) -> CheckVerdict:
        state = option.state(sight_of_facts(facts))
        if is_unknown(state.words):
            return unknown(state.words.removeprefix("unknown: "))
        if state.on:
            lands, expected = state.lands or option.lands, state.expected or option.expected
            return failed(
                state.words, f"costs {lands}; expected: {expected}", severity=state.severity
            )
        return passed(state.words)

    row = Row(
        id=f"hardening.{option.name}",
        title=option.title,
        severity=option.severity,
        source=option.source,
        wanted="off, or its cost measured and accepted",
        reads=(CONFIG, "/proc/cmdline", *option.files),
        fix=f"{_MEASURE}; off: {option.how}",
        why="Hardening costs time somewhere; whether a real-time task pays it is to be measured.",
    )
    return Check(row, judge)


CHECKS = tuple(_made(option) for option in OPTIONS if option.severity is not None)
