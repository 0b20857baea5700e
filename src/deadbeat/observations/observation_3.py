"""Observation 3: at eight cores heavy synchronisation begins to hurt."""

from __future__ import annotations

from deadbeat.observations.base import UNDECIDED, Evidence, Judgement, Observation, verdict_of
from deadbeat.observations.points import at_cores, extreme, metric_of, place, value

CORES, BOUND, SHARP = 8, 1.2, 2.0


def _decide(evidence: Evidence) -> Judgement:
    result = evidence.results[0]
    metric, name = metric_of(result)
    rows = at_cores(result, CORES)
    last = extreme(rows)
    end = value(last, metric) if last is not None else None
    if end is None:
        because = f"{result.name} has no result at M = {CORES}, rho = 1, alpha = 1"
        return Judgement(verdict=UNDECIDED, because=because)
    contended = [row for row in rows if min(place(row)) > 0]
    known = [found for row in contended if (found := value(row, metric))]
    small = [found.mean <= BOUND for found in known]
    most = 2 * sum(small) > len(small)
    return Judgement(
        verdict=verdict_of([most, end.above(SHARP)]),
        because=f"at M = {CORES} {sum(small)} of {len(small)} contended points stay at or below"
        f" {BOUND}; at rho = 1, alpha = 1 the {name} is {end}",
        figures=(
            (
                f"points with contention and a mean {name} <= {BOUND}",
                f"{sum(small)} of {len(small)}",
            ),
            (f"{name} at rho = 1, alpha = 1", str(end)),
            ("the paper's value there", "about 10"),
        ),
    )


OBSERVATION = Observation(
    number=3,
    title="Heavy synchronisation begins to hurt at eight cores",
    statement="In the 8-core configuration the delay is still ignorable in most cases, but unlike"
    " the quad-core setting the ratio rises sharply (to about 10) under synchronization-intensive"
    " conditions.",
    cores=CORES,
    campaign="grid",
    criterion=f"confirmed: at M = {CORES} more than half of the points with rho > 0 and alpha > 0"
    f" have a mean delay ratio of at most {BOUND}, and at rho = alpha = 1 its interval begins above"
    f" {SHARP:g}; not confirmed: one of the two is refuted",
    decide=_decide,
)
