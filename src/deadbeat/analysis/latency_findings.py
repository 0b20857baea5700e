"""What makes a latency matrix doubtful; each identifier has its paragraph in model/doubts.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deadbeat.model.latency import LatencyRun
from deadbeat.model.latency_summary import LatencySummary
from deadbeat.model.results import Finding


def findings_of(summary: LatencySummary, runs: Sequence[LatencyRun]) -> Iterator[Finding]:
    """All of them, the most serious first."""
    del summary, runs
    yield from ()
