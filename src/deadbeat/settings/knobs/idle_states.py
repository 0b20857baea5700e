"""Sleep states that take long to leave, on the CPUs meant for real-time tasks."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import Knob, NotHereError, Setting, of_cpus, whole

_STATE = "/sys/devices/system/cpu/cpu[0-9]*/cpuidle/state[0-9]*"
_LATENCY, _DISABLE = f"{_STATE}/latency", f"{_STATE}/disable"


def _settings(facts: Facts, value: str) -> list[Setting]:
    latencies = facts.matches(_LATENCY)
    made = []
    for path in of_cpus(facts, _DISABLE):
        reading = latencies.get(path.replace("/disable", "/latency"))
        text = (reading.text or "").strip() if reading else ""
        if not text.isdigit():
            raise NotHereError(f"the exit latency beside {path} cannot be read")
        if int(text) > int(value):
            made.append(Setting(path, "1"))
    if not made:
        raise NotHereError(f"no sleep state takes longer than {value} us to leave")
    return made


KNOB = Knob(
    name="idle-states",
    title="sleep states that take longer to leave than this, off on the CPUs for real-time tasks",
    why="a CPU that sleeps deeply is late by the time it takes to wake up",
    source=(
        f"{sources.KERNEL_CONFIGURATION}; "
        f"{sources.CPU_ISOLATION}; "
        f"{sources.TUNED_REALTIME} (force_latency)"
    ),
    cures=("power.idle-states",),
    reads=(_LATENCY, _DISABLE),
    values=whole(0, 1_000_000, "us"),
    default="2",
    settings=_settings,
    note="for the time of one measurement: deadbeat latency --dma-latency hold",
)
