"""Observation 7: a newer kernel is a little better where cores are many."""

from __future__ import annotations

from deadbeat.observations.base import Evidence, Judgement, Observation, needs_kernels, verdict_of
from deadbeat.observations.kernels import (
    cells_of,
    counts,
    counts_text,
    doubts_of,
    mean_effect,
    older_and_newer,
    pair_text,
    percent,
)

FEW, MANY, NEARLY = 4, 8, 0.05


def _decide(evidence: Evidence) -> Judgement:
    pair = older_and_newer(evidence.results)
    if pair is None or evidence.compare is None:
        because = "no two of the campaigns ran on different releases without real-time preemption"
        return Judgement(verdict=needs_kernels(2), because=because)
    comparison = evidence.compare(*pair)
    cells = cells_of(comparison, "delay_ratio")
    few = [cell for cell in cells if cell.cores <= FEW]
    many = [cell for cell in cells if cell.cores >= MANY]
    small, large = mean_effect(few), mean_effect(many)
    tally = counts(many)
    near = None if small is None else abs(small) <= NEARLY
    better: bool | None = None
    if tally["better"] != tally["worse"] and large is not None:
        better = tally["better"] > tally["worse"] and large < 0
    elif many and tally["equal"] > len(many) / 2:
        better = False
    return Judgement(
        verdict=verdict_of([near, better]),
        because=f"delay ratio of the newer kernel: {percent(small)} on up to {FEW} cores,"
        f" {percent(large)} from {MANY} cores on",
        figures=(
            *pair_text(*pair),
            *doubts_of(comparison),
            (f"points with M <= {FEW}", counts_text(few)),
            (f"points with M >= {MANY}", counts_text(many)),
        ),
        runs=(pair[0].name, pair[1].name),
    )


OBSERVATION = Observation(
    number=7,
    title="A newer kernel is slightly better on many cores",
    statement="With few cores the two kernels exhibit nearly identical behavior, Linux 6.12 PREEMPT"
    " performing slightly worse than 5.15; as the core count increases it shows a modest"
    " advantage.",
    cores=MANY,
    kernels=2,
    criterion=f"identical programs on two releases; confirmed: the mean difference of the delay"
    f" ratio is within {100 * NEARLY:.0f} % on up to {FEW} cores, and from {MANY} cores on it is"
    " below 0 with more points better than worse; not confirmed: one of the two is refuted",
    decide=_decide,
)
