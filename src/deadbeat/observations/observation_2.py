"""Observation 2: up to four cores nothing grows much."""

from __future__ import annotations

from deadbeat.observations.base import UNDECIDED, Evidence, Judgement, Observation, verdict_of
from deadbeat.observations.points import at_cores, extreme, metric_of, place_text, value, worst

CORES, BOUND = 4, 1.2


def _decide(evidence: Evidence) -> Judgement:
    result = evidence.results[0]
    metric, name = metric_of(result)
    rows = at_cores(result, CORES)
    largest, last = worst(rows, metric), extreme(rows)
    if largest is None or last is None or value(last, metric) is None:
        because = f"{result.name} has no result at M = {CORES}, rho = 1, alpha = 1"
        return Judgement(verdict=UNDECIDED, because=because)
    known = [found for row in rows if (found := value(row, metric))]
    above = [found.above(BOUND) for found in known]
    return Judgement(
        verdict=verdict_of([None if one is None else not one for one in above]),
        because=f"largest at M = {CORES}: {name} {largest[1]} at {place_text(largest[0])}",
        figures=(
            (f"{name} at rho = 1, alpha = 1", str(value(last, metric))),
            (f"points above {BOUND} beyond doubt", f"{above.count(True)} of {len(above)}"),
        ),
    )


OBSERVATION = Observation(
    number=2,
    title="Scalability is excellent while cores are few",
    statement="In the quad-core configuration the average delay ratio remains close to the"
    " single-core baseline; the maximum does not exceed 1.2, even under the most extreme contended"
    " condition.",
    cores=CORES,
    campaign="grid",
    criterion=f"confirmed: at M = {CORES} the interval of every point's mean delay ratio ends at or"
    f" below {BOUND}; not confirmed: some begins above it",
    decide=_decide,
)
