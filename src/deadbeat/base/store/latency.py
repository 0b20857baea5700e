"""A latency matrix's directory. Layout: docs/reference/latency.md."""

from __future__ import annotations

from deadbeat.base.model.latency import LatencyKey, LatencyRun
from deadbeat.base.model.validity import judged_latency
from deadbeat.base.store.place import LATENCY_FILE
from deadbeat.base.store.runfolder import RunFolder, run_converter


class LatencyStore(RunFolder[LatencyKey, LatencyRun]):
    """One matrix's directory; `deadbeat.latencies.latency.spec.read_spec` reads its ``spec``."""

    KIND, NOUN, HEAD = "latency", "latency matrix", LATENCY_FILE
    KEY, RUN = LatencyKey, LatencyRun
    CONVERTER = run_converter(LatencyKey)

    def judged(self, run: LatencyRun) -> LatencyRun:
        if run.interval_ns < 1 or run.seconds <= 0:
            raise ValueError("no time was measured")
        return judged_latency(run)
