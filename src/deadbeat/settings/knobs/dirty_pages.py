"""How much written memory may wait for the disk."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import Knob, NotHereError, Setting, at_most, present, whole

_RATIO, _BACKGROUND = "/proc/sys/vm/dirty_ratio", "/proc/sys/vm/dirty_background_ratio"
_BYTES = ("/proc/sys/vm/dirty_bytes", "/proc/sys/vm/dirty_background_bytes")


def _settings(facts: Facts, value: str) -> list[Setting]:
    # The kernel forgets the bytes when a ratio is written, so they could not be put back.
    if any(facts.get(path) not in (None, "0") for path in _BYTES):
        raise NotHereError("the limits are set in bytes here; writing shares would lose them")
    (ratio,), (background,) = present(facts, _RATIO), present(facts, _BACKGROUND)
    return [Setting(background, str(max(1, int(value) // 3))), Setting(ratio, value)]


KNOB = Knob(
    name="dirty-pages",
    title="share of memory that may wait to be written; a third of it starts the writing",
    why="the more waits, the longer the burst of writing that a task may be made to wait for",
    source=sources.TUNED_REALTIME,
    cures=("memory.dirty",),
    reads=(_RATIO, _BACKGROUND, *_BYTES),
    values=whole(3, 100, "%"),
    default="10",
    enough=at_most,
    settings=_settings,
)
