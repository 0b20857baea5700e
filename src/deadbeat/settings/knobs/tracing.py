"""The kernel's tracers and events."""

from __future__ import annotations

from collections.abc import Iterator

from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import Knob, NotHereError, Setting, present

_FOLDERS = ("/sys/kernel/tracing", "/sys/kernel/tracing/instances/*")
_EVENTS = tuple(f"{folder}/set_event" for folder in _FOLDERS)
_TRACERS = tuple(f"{folder}/current_tracer" for folder in _FOLDERS)


# Not tracing_on, which only keeps events out of the buffer: they still happen, and cost nearly as
# much.
def _settings(facts: Facts, _value: str) -> list[Setting]:
    for pattern in (_EVENTS[0], _TRACERS[0]):
        present(facts, pattern)
    made = [Setting(path, "") for path, text in _held(facts, _EVENTS) if text]
    made += [Setting(path, "nop") for path, text in _held(facts, _TRACERS) if text != "nop"]
    if not made:
        raise NotHereError("no event and no tracer is on")
    return made


def _held(facts: Facts, paths: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    yield paths[0], facts.text(paths[0])
    yield from facts.texts(paths[1]).items() if facts.matches(paths[1]) else ()


KNOB = Knob(
    name="tracing",
    title="every event and tracer of the kernel off, in every instance",
    why="an event or tracer that is on costs time on every path that it watches, also where nothing"
    " is recorded",
    source=f"{sources.KERNEL_CONFIGURATION}; Linux Documentation/trace/ftrace.rst",
    cures=("watchdogs.tracing",),
    reads=(*_EVENTS, *_TRACERS),
    settings=_settings,
    note="whoever is tracing right now gets no more events, rasdaemon too; what a tracer has"
    " recorded is lost; events and tracers come back, filters and triggers were never touched; no"
    " profile turns it",
)
