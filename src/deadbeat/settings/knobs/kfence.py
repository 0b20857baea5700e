"""The sampling detector of memory errors."""

from __future__ import annotations

from deadbeat.host.kernel import VERSION
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import Knob, NotHereError, Setting, present
from deadbeat.settings.reading_values import release

_PATH = "/sys/module/kfence/parameters/sample_interval"


def _settings(facts: Facts, _value: str) -> list[Setting]:
    (path,) = present(facts, _PATH)
    if facts.integer(path) != 0 and release(facts) < (5, 18):
        raise NotHereError(
            "before Linux 5.18 it cannot be turned on again: boot with kfence.sample_interval=0"
        )
    return [Setting(path, "0")]


KNOB = Knob(
    name="kfence",
    title="no sampling for memory errors",
    why="ten times a second by default a timer makes the next allocation a guarded one; only a"
    " kernel built with KFENCE_STATIC_KEYS (the default before Linux 5.16) changes its code for"
    " that, which interrupts every CPU",
    source="Linux Documentation/dev-tools/kfence.rst; commit 4f612ed3f748",
    cures=("hardening.kfence",),
    reads=(_PATH, VERSION),
    settings=_settings,
    note="a safety net of the kernel's own memory is gone meanwhile",
)
