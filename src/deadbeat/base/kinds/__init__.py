"""The kinds of experiments: a package each, and a row here, in the order of lists."""

from __future__ import annotations

#: Name -> module that has its ``KIND``, imported when one of its folders is used; the file that
#: each of these holds; the line that lists show of its command; "": it has a command of its own. An
#: example of a whole kind: docs/examples/naps.py.
KINDS: dict[str, tuple[str, str, str]] = {
    "contention": ("deadbeat.tasksets.contention.kind", "campaign.json", ""),
    "latency": ("deadbeat.latencies.latency.kind", "latency.json", ""),
    "noise": ("deadbeat.latencies.noise.kind", "experiment.json", ""),
    "load": ("deadbeat.latencies.load.kind", "load.json", ""),
    "breakdown": ("deadbeat.tasksets.breakdown.kind", "breakdown.json", ""),
    "interfere": ("deadbeat.tasksets.interfere.kind", "experiment.json", ""),
    "primitives": ("deadbeat.latencies.primitives.kind", "experiment.json", ""),
    "run": ("deadbeat.program.run.kind", "program.json", ""),
    "bisect": ("deadbeat.program.bisect.kind", "experiment.json", ""),
    "study": ("deadbeat.sched.study.kind", "study.json", ""),
}
