"""Observation 1: what is generated takes what was asked."""

from __future__ import annotations

from deadbeat.observations.base import UNDECIDED, Evidence, Judgement, Observation, verdict_of
from deadbeat.observations.points import at_cores, foreign_costs, place_text, value

LOW, HIGH = 0.9, 1.1


def _decide(evidence: Evidence) -> Judgement:
    result = evidence.results[0]
    if foreign_costs(result):
        because = f"the costs of {result.name} are of another platform: C cannot be checked there"
        return Judgement(verdict=UNDECIDED, because=because)
    metric, name = "delay_ratio", "delay ratio"
    known = [(row, found) for row in at_cores(result, 1) if (found := value(row, metric))]
    if not known:
        return Judgement(verdict=UNDECIDED, because=f"{result.name} has no point at M = 1")
    holds = [
        None if found.low is None or found.high is None else _inside(found.low, found.high)
        for _, found in known
    ]
    means = [found.mean for _, found in known]
    row, furthest = max(known, key=lambda pair: abs(pair[1].mean - 1))
    return Judgement(
        verdict=verdict_of(holds),
        because=f"furthest from 1 at M = 1: {name} {furthest} at {place_text(row)}",
        figures=(
            (f"mean {name}s at M = 1", f"{min(means):.3f} to {max(means):.3f}"),
            ("points", str(len(known))),
        ),
    )


def _inside(low: float, high: float) -> bool | None:
    if high < LOW or low > HIGH:
        return False
    return True if low >= LOW and high <= HIGH else None


OBSERVATION = Observation(
    number=1,
    title="Tasks are generated as the parameters ask",
    statement="The benchmark framework can correctly generate tasks from the specified model"
    " parameters: in the single-core configuration the average delay ratio is close to 1.0.",
    campaign="grid",
    criterion=f"confirmed: at M = 1 the interval of every point's mean delay ratio lies within"
    f" {LOW} to {HIGH}; not confirmed: some lies outside",
    decide=_decide,
)
