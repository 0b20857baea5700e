"""How late a CPU meant for real-time tasks may be because it slept."""

from __future__ import annotations

from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import Knob, Setting, Values, of_cpus

_PATH = "/sys/devices/system/cpu/cpu[0-9]*/power/pm_qos_resume_latency_us"


def _settings(facts: Facts, value: str) -> list[Setting]:
    return [Setting(path, value) for path in of_cpus(facts, _PATH)]


KNOB = Knob(
    name="resume-latency",
    title="longest wake-up from sleep that the CPUs for real-time tasks may take",
    why="what holding /dev/cpu_dma_latency open does for all CPUs, this does for some, and it"
    " stays",
    source="Linux Documentation/admin-guide/pm/cpuidle.rst",
    cures=("power.resume-latency", "power.idle-states"),
    reads=(_PATH,),
    values=Values(
        "n/a (none at all), 0 (any) or microseconds",
        lambda text: text == "n/a" or (text.isascii() and text.isdigit() and len(text) < 10),
    ),
    default="n/a",
    settings=_settings,
    note="n/a makes an idle CPU spin: power, heat, and in a guest the host's time",
)
