"""Observation 4: on many cores moderate contention is enough."""

from __future__ import annotations

from deadbeat.observations.base import UNDECIDED, Evidence, Judgement, Observation, verdict_of
from deadbeat.observations.points import at_cores, extreme, metric_of, place, place_text, value

CORES, BOUND, MODERATE = 16, 1.2, 0.5


def _decide(evidence: Evidence) -> Judgement:
    result = evidence.results[0]
    metric, name = metric_of(result)
    rows = at_cores(result, CORES)
    moderate = [
        (row, found)
        for row in rows
        if max(place(row)) <= MODERATE and (found := value(row, metric)) is not None
    ]
    if not any(place(row) == (MODERATE, MODERATE) for row, _ in moderate):
        because = f"{result.name} has no result at M = {CORES}, rho = alpha = {MODERATE}"
        return Judgement(verdict=UNDECIDED, because=because)
    row, largest = max(moderate, key=lambda pair: pair[1].mean)
    last = extreme(rows)
    end = value(last, metric) if last is not None else None
    return Judgement(
        verdict=verdict_of([largest.above(BOUND)]),
        because=f"largest with rho, alpha <= {MODERATE} at M = {CORES}: {name} {largest} at"
        f" {place_text(row)}",
        figures=((f"{name} at rho = 1, alpha = 1", str(end) if end else "not measured"),),
    )


OBSERVATION = Observation(
    number=4,
    title="Many cores are a severe bottleneck",
    statement="In the 16-core configuration delays emerge significantly even under moderate"
    " contention levels: efficiency declines rapidly in the many-core regime.",
    cores=CORES,
    campaign="grid",
    criterion=f"confirmed: at M = {CORES} with rho and alpha of at most {MODERATE} the interval of"
    f" the largest mean delay ratio begins above {BOUND}; not confirmed: it ends at or below",
    decide=_decide,
)
