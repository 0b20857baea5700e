"""What happened beside runs that count, in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deadbeat.base.model.latency import LatencyRun
from deadbeat.base.model.load import LoadRun
from deadbeat.base.model.validity import LOAD_TOLERANCE, STEAL, other_work


def beside_latency(runs: Iterable[LatencyRun]) -> str:
    """What disturbed the runs of a latency matrix; "" for nothing."""
    valid = [run for run in runs if run.valid]
    return _said(
        [other_work(run.load, run.circumstances, run.seconds) for run in valid],
        [max(run.circumstances.steal_share.values(), default=0.0) for run in valid],
    )


def beside_load(runs: Iterable[LoadRun]) -> str:
    """What disturbed the runs of a load test; "" for nothing."""
    machines = [run.machine for run in runs if run.valid]
    return _said(
        [each.get("foreign_cpus") or 0.0 for each in machines],
        [each.get("steal_share") or 0.0 for each in machines],
    )


def _said(others: Sequence[float], stolen: Sequence[float]) -> str:
    """For the runs that count, CPUs of ``others``, and the share that was ``stolen``: ``12 of
    46 runs were disturbed by other work (up to 22 % of a CPU); they count``."""
    busy = [work for work in others if work > LOAD_TOLERANCE]
    late = [share for share in stolen if share > STEAL]
    many = f"of {len(others)} run{'' if len(others) == 1 else 's'}"
    parts = []
    if busy:
        parts.append(f"{len(busy)} {many} were disturbed by other work (up to {_cpus(max(busy))})")
    if late:
        share = f"up to {100 * max(late):.2g} % of a CPU"
        parts.append(f"the host took time from {len(late)}{'' if busy else f' {many}'} ({share})")
    return f"{', '.join(parts)}; they count" if parts else ""


def _cpus(work: float) -> str:
    return f"{100 * work:.0f} % of a CPU" if work < 0.995 else f"{work:.1f} CPUs"
