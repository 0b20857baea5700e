"""Reports of RCU stalls."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import file_knob, one_of

KNOB = file_knob(
    "rcu-stall",
    "/sys/module/rcupdate/parameters/rcu_cpu_stall_suppress",
    title="no reports of RCU stalls",
    why="a report prints the stacks of all CPUs with interrupts off, for tens of milliseconds"
    " on a serial console",
    source=sources.RHEL_REALTIME,
    values=one_of("0", "1"),
    default="1",
    note="a stall then passes unseen",
)
