"""The kinds of experiments: a package each, and a row here, in the order of lists."""

from __future__ import annotations

#: Name -> module that has its ``KIND``, and the line that lists show of its command; "": it has a
#: command of its own. An example of a whole kind: docs/examples/naps.py.
KINDS: dict[str, tuple[str, str]] = {
    "campaign": ("deadbeat.kinds.contention.kind", ""),
    "latency": ("deadbeat.kinds.latency.kind", ""),
    "load": ("deadbeat.kinds.load.kind", ""),
    "breakdown": ("deadbeat.kinds.breakdown.kind", ""),
    "interfere": ("deadbeat.kinds.interfere.kind", ""),
    "primitives": ("deadbeat.kinds.primitives.kind", ""),
    "program": ("deadbeat.kinds.program.kind", ""),
    "study": ("deadbeat.kinds.study.kind", ""),
}
