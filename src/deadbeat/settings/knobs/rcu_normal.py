"""Normal RCU grace periods only."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import file_knob, one_of

KNOB = file_knob(
    "rcu-normal",
    "/sys/kernel/rcu_normal",
    title="expedited RCU grace periods become normal ones",
    why="an expedited grace period sends an interrupt to every CPU",
    source=f"{sources.TUNED_REALTIME}; {sources.KERNEL_PARAMETERS} (rcupdate.rcu_normal)",
    values=one_of("0", "1"),
    default="1",
    note="what waits for a grace period waits longer",
)
