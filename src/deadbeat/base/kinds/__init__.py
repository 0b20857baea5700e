"""The kinds of experiments: a package each, and a row here, in the order of lists."""

from __future__ import annotations

#: Name -> module that has its ``KIND``, and the line that lists show of its command; "": it has a
#: command of its own. An example of a whole kind: docs/examples/naps.py.
KINDS: dict[str, tuple[str, str]] = {
    "contention": ("deadbeat.tasksets.contention.kind", ""),
    "latency": ("deadbeat.latencies.latency.kind", ""),
    "noise": ("deadbeat.latencies.noise.kind", ""),
    "load": ("deadbeat.latencies.load.kind", ""),
    "breakdown": ("deadbeat.tasksets.breakdown.kind", ""),
    "interfere": ("deadbeat.tasksets.interfere.kind", ""),
    "primitives": ("deadbeat.latencies.primitives.kind", ""),
    "run": ("deadbeat.program.run.kind", ""),
    "study": ("deadbeat.sched.study.kind", ""),
}
