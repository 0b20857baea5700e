"""Memory that is moved about to make large pieces of it."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import Knob, NotHereError, Setting

_PATHS = ("/proc/sys/vm/compaction_proactiveness", "/proc/sys/vm/compact_unevictable_allowed")


def _settings(facts: Facts, _value: str) -> list[Setting]:
    made = [Setting(path, "0") for path in _PATHS if facts.get(path) is not None]
    if not made:
        raise NotHereError(f"{_PATHS[0]}: {facts.reading(_PATHS[0]).reason}")
    return made


KNOB = Knob(
    name="compaction",
    title="no compaction in advance, and none of locked memory",
    why="a page that is being moved is unmapped: touching it waits, also where it was locked",
    source=sources.SYSCTL_VM,
    cures=("memory.compaction", "memory.compaction-of-locked"),
    reads=_PATHS,
    settings=_settings,
)
