"""Observation 8: real-time preemption beats plain preemption under contention."""

from __future__ import annotations

from deadbeat.observations.base import Evidence, Judgement, Observation, needs_kernels, verdict_of
from deadbeat.observations.kernels import (
    cells_of,
    counts,
    counts_text,
    doubts_of,
    mean_effect,
    pair_text,
    percent,
    plain_and_realtime,
)


def _decide(evidence: Evidence) -> Judgement:
    pair = plain_and_realtime(evidence.results)
    if pair is None or evidence.compare is None:
        because = "no two of the campaigns ran with and without real-time preemption"
        return Judgement(verdict=needs_kernels(2), because=because)
    comparison = evidence.compare(*pair)
    cells = cells_of(comparison, "delay_ratio")
    contended = [
        cell for cell in cells if cell.cores > 1 and cell.sync_share and cell.contended_ratio
    ]
    tally, mean = counts(contended), mean_effect(contended)
    better: bool | None = None
    if tally["better"] != tally["worse"] and mean is not None:
        better = tally["better"] > tally["worse"] and mean < 0
    elif contended and tally["equal"] > len(contended) / 2:
        better = False
    largest = max((cell.cores for cell in cells), default=0)
    last = [c for c in cells if (c.cores, c.sync_share, c.contended_ratio) == (largest, 1, 1)]
    return Judgement(
        verdict=verdict_of([better]),
        because=f"delay ratio with real-time preemption over contended points: {percent(mean)};"
        f" {counts_text(contended)}",
        figures=(
            *pair_text(*pair),
            *doubts_of(comparison),
            (
                f"at M = {largest}, rho = 1, alpha = 1 (slightly worse in the paper, M = 16)",
                f"{percent(last[0].effect)}, {last[0].verdict}" if last else "not measured",
            ),
        ),
        runs=(pair[0].name, pair[1].name),
    )


OBSERVATION = Observation(
    number=8,
    title="PREEMPT_RT outperforms PREEMPT under contention",
    statement="Linux 6.12 PREEMPT_RT consistently beats Linux 6.12 PREEMPT across most contention"
    " scenarios; in the extreme case of 16 cores at maximum contention it is slightly worse.",
    cores=8,
    kernels=2,
    criterion="identical programs with and without real-time preemption; confirmed: over points"
    " with M > 1, rho > 0 and alpha > 0 the mean difference of the delay ratio is below 0 and more"
    " points are better than worse; not confirmed: the opposite, or most are equal. The extreme"
    " point is printed, not judged",
    decide=_decide,
)
