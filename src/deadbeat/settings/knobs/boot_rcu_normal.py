"""No expedited RCU grace periods after the boot."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import Knob

KNOB = Knob(
    name="boot-rcu-normal",
    title="no expedited RCU grace periods after the boot",
    why="an expedited grace period sends an interrupt to every CPU",
    source=sources.TUNED_REALTIME,
    cures=("cmdline.rcu-expedited",),
    boot=lambda facts, value: ["rcupdate.rcu_normal_after_boot=1"],
    note="rcu-normal does it for now",
)
