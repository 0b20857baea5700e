"""Where interrupts that are requested from now on may go."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import ONLINE, Knob, Setting, housekeeping_mask, present

_PATH = "/proc/irq/default_smp_affinity"


def _settings(facts: Facts, _value: str) -> list[Setting]:
    return [Setting(each, housekeeping_mask(facts), "mask") for each in present(facts, _PATH)]


KNOB = Knob(
    name="default-irq-affinity",
    title="interrupts that are requested from now on go to the other CPUs",
    why="a driver that is loaded later would bring its interrupts to every CPU",
    source=sources.CPU_ISOLATION,
    cures=("interrupts.default-placement",),
    reads=(_PATH, ONLINE),
    settings=_settings,
    note="an interrupt that is requested meanwhile keeps what it got",
)
