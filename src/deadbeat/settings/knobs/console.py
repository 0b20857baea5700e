"""Which messages of the kernel go to the console."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import Knob, Setting, at_most, present, whole

_PATH = "/proc/sys/kernel/printk"


def _settings(facts: Facts, value: str) -> list[Setting]:
    (path,) = present(facts, _PATH)
    return [Setting(path, " ".join([value, *facts.text(path).split()[1:]]))]


KNOB = Knob(
    name="console",
    title="least grave message that the console does not show",
    why="a message on a serial console is written with interrupts off, 87 us a letter at 115200"
    " baud",
    source=sources.RHEL_REALTIME,
    cures=("watchdogs.console-level",),
    reads=(_PATH,),
    values=whole(1, 8),
    default="3",
    enough=at_most,
    settings=_settings,
    note="dmesg and the log still have them",
)
