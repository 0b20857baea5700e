"""How much of each second real-time tasks may take."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import Knob, NotHereError, Setting, present, whole

_RUNTIME, _PERIOD = (
    "/proc/sys/kernel/sched_rt_runtime_us",
    "/proc/sys/kernel/sched_rt_period_us",
)


def _settings(facts: Facts, value: str) -> list[Setting]:
    if int(value) > facts.integer(_PERIOD):
        raise NotHereError(f"{value} us is more than the period, {facts.integer(_PERIOD)} us")
    return [Setting(path, value) for path in present(facts, _RUNTIME)]


KNOB = Knob(
    name="rt-bandwidth",
    title="time of each period that real-time tasks may take, -1: all of it",
    why="a task that computes for longer is stopped for the rest of the period",
    source=f"{sources.TUNED_REALTIME}; Linux Documentation/scheduler/sched-rt-group.rst",
    cures=("scheduler.rt-bandwidth",),
    reads=(_RUNTIME, _PERIOD),
    values=whole(-1, 10_000_000, "us"),
    default="-1",
    settings=_settings,
    note="from Linux 6.12 on -1 does not stop the 50 ms of every second: see fair-server; with"
    " -1 and"
    " without a fair server a loop of a real-time task locks the CPU up; no profile turns it",
)
