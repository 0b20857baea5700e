"""A latency matrix's directory. Layout: docs/reference/latency.md."""

from __future__ import annotations

from deadbeat.base.store.place import LATENCY_FILE
from deadbeat.base.store.runfolder import RunFolder, run_converter
from deadbeat.latencies.latency.model import LatencyKey, LatencyRun
from deadbeat.latencies.latency.validity import judged_latency


class LatencyStore(RunFolder[LatencyKey, LatencyRun]):
    """One matrix's directory; `deadbeat.latencies.latency.spec.read_spec` reads its ``spec``."""

    KIND, NOUN, HEAD = "latency", "latency matrix", LATENCY_FILE
    KEY, RUN = LatencyKey, LatencyRun
    CONVERTER = run_converter(LatencyKey)

    def judged(self, run: LatencyRun) -> LatencyRun:
        if run.interval_ns < 1 or run.seconds <= 0:
            raise ValueError("no time was measured")
        return judged_latency(run)
