"""The time that Linux 6.12 and later keep for normal tasks."""

from __future__ import annotations

from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import Knob, NotHereError, Setting, of_cpus, whole

_PATH = "/sys/kernel/debug/sched/fair_server/cpu[0-9]*/runtime"


def _settings(facts: Facts, value: str) -> list[Setting]:
    try:
        return [Setting(path, value) for path in of_cpus(facts, _PATH)]
    except NotHereError:
        raise NotHereError(
            f"{_PATH} is not there: before Linux 6.12, debugfs not mounted, or the kernel"
            " locked down"
        ) from None


KNOB = Knob(
    name="fair-server",
    title="time of each second kept for normal tasks, on the CPUs for real-time tasks",
    why="beside a normal task that waits, a real-time task is stopped for 50 ms of every second",
    source="Linux commits d741f297bcea, 5f6bd380c7bd",
    cures=("scheduler.fair-server",),
    reads=(_PATH,),
    values=whole(0, 1_000_000_000, "ns"),
    default="0",
    settings=_settings,
    note="with 0 a real-time task that never sleeps starves everything else on its CPU, kernel"
    " threads"
    " too; no profile turns it",
)
