"""Work that the kernel does on any CPU, away from those meant for real-time tasks."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import ONLINE, Knob, NotHereError, Setting, housekeeping_mask

_ALL = "/sys/devices/virtual/workqueue/cpumask"
_WRITEBACK = "/sys/devices/virtual/workqueue/writeback/cpumask"


def _settings(facts: Facts, _value: str) -> list[Setting]:
    mask = housekeeping_mask(facts)
    made = [Setting(p, mask, "mask") for p in (_ALL, _WRITEBACK) if facts.get(p) is not None]
    if not made:
        raise NotHereError(f"{_ALL}: {facts.reading(_ALL).reason}")
    return made


KNOB = Knob(
    name="workqueues",
    title="unbound kernel work and writeback on the other CPUs",
    why="kernel workers that may run anywhere also run on the CPUs for real-time tasks",
    source=f"{sources.TUNED_REALTIME}; {sources.PER_CPU_KTHREADS}",
    cures=("interrupts.workqueues", "interrupts.writeback"),
    reads=(_ALL, _WRITEBACK, ONLINE),
    settings=_settings,
)
