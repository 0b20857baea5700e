"""Knobs that are one file, or one file of every device: a row each."""

from __future__ import annotations

from deadbeat.settings import sources
from deadbeat.settings.knob import Values, at_least, file_knob, one_of, whole

KNOBS = (
    file_knob(
        "energy-preference",
        "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/energy_performance_preference",
        title="performance against energy, of every CPU",
        why="a processor that prefers to save energy raises its frequency late",
        source=sources.TUNED_REALTIME,
        cures=("power.energy-preference",),
        values=Values(
            "a preference such as performance", lambda text: text.replace("_", "").isalnum()
        ),
        default="performance",
        note="comes before governor: under the performance governor the file accepts nothing else",
    ),
    file_knob(
        "hung-task",
        "/proc/sys/kernel/hung_task_timeout_secs",
        title="how long a blocked task may be before it is reported",
        why="the watchdog of blocked tasks walks through all of them",
        source=sources.TUNED_REALTIME,
        cures=("watchdogs.hung-task",),
        values=whole(0, 2147483, "s"),
        default="600",
        enough=lambda now, wanted: now == 0 or now >= wanted,
        note="0 turns it off",
    ),
    file_knob(
        "min-performance",
        "/sys/devices/system/cpu/intel_pstate/min_perf_pct",
        title="lowest frequency that intel_pstate chooses, in percent",
        why="a processor that has slowed down needs time to speed up again",
        source=sources.TUNED_REALTIME,
        values=whole(0, 100, "%"),
        default="100",
        enough=at_least,
        note="hotter, and thermal throttling is worse than a lower frequency",
    ),
    file_knob(
        "rcu-normal",
        "/sys/kernel/rcu_normal",
        title="expedited RCU grace periods become normal ones",
        why="an expedited grace period sends an interrupt to every CPU",
        source=f"{sources.TUNED_REALTIME}; {sources.KERNEL_PARAMETERS} (rcupdate.rcu_normal)",
        values=one_of("0", "1"),
        default="1",
        note="what waits for a grace period waits longer",
    ),
    file_knob(
        "rcu-stall",
        "/sys/module/rcupdate/parameters/rcu_cpu_stall_suppress",
        title="no reports of RCU stalls",
        why="a report prints the stacks of all CPUs with interrupts off, for tens of milliseconds"
        " on a serial console",
        source=sources.RHEL_REALTIME,
        values=one_of("0", "1"),
        default="1",
        note="a stall then passes unseen",
    ),
    file_knob(
        "unhandled-interrupts",
        "/sys/module/spurious/parameters/noirqdebug",
        title="no count of interrupts that no driver claims",
        why="each interrupt pays for the count, and a line that seems stuck is switched off and"
        " polled",
        source="Linux Documentation/admin-guide/kernel-parameters.txt (noirqdebug)",
        values=one_of("Y", "N"),
        default="Y",
        note="no real-time source advises it: a line that really is stuck then takes its CPU for"
        " good",
    ),
)
