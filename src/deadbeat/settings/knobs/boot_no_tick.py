"""No periodic tick on the CPUs meant for real-time tasks."""

from __future__ import annotations

from deadbeat.host.values import cpus_text
from deadbeat.settings import sources
from deadbeat.settings.facts import Facts
from deadbeat.settings.knob import ONLINE, Knob, housekeeping_list


def _words(facts: Facts, _value: str) -> list[str]:
    housekeeping_list(facts)  # one CPU must keep the time
    return [f"nohz_full={cpus_text(facts.rt_cpus)}"]


KNOB = Knob(
    name="boot-no-tick",
    title="no periodic tick beside a single task, on the CPUs for real-time tasks",
    why="a task that computes alone is interrupted once a second instead of HZ times",
    source=f"{sources.CPU_ISOLATION}; {sources.TUNED_REALTIME}",
    cures=("cmdline.nohz-full",),
    reads=(ONLINE,),
    boot=_words,
    note="for tasks that compute; KC advises against it for periodic ones: every entry of the"
    " kernel"
    " gets slower",
)
