"""When the kernel lets go of the CPU, where it can be chosen while it runs."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import Knob, NotHereError, Setting, one_of

_PATH = "/sys/kernel/debug/sched/preempt"


def _settings(facts: Facts, value: str) -> list[Setting]:
    text = facts.get(_PATH)
    if text is None:
        raise NotHereError(
            f"{_PATH}: {facts.reading(_PATH).reason}; it takes PREEMPT_DYNAMIC, debugfs, and a"
            " kernel"
            " that is not locked down (boot-preempt otherwise)"
        )
    offered = text.replace("(", "").replace(")", "").split()
    if value not in offered:
        raise NotHereError(f"this kernel offers {', '.join(offered)}")
    return [Setting(_PATH, value, "selected")]


KNOB = Knob(
    name="preemption",
    title="preemption model of a kernel that has several",
    why="under none and voluntary the kernel finishes what it does for a normal task first",
    source=f"{sources.KERNEL_PARAMETERS} (preempt=)",
    cures=("kernel.preemption",),
    reads=(_PATH,),
    values=one_of("none", "voluntary", "full", "lazy"),
    default="full",
    settings=_settings,
)
