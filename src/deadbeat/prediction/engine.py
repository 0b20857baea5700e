"""Predicts every task set of a result, and on more cores some of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from deadbeat.kinds.breakdown.predict import miss_curve
from deadbeat.kinds.breakdown.spec import built_utilisation
from deadbeat.model.errors import UsageError
from deadbeat.model.finding import Finding, finding
from deadbeat.prediction.read import StoredMatrix, StoredSet, StoredSets
from deadbeat.prediction.results import Predictions, SetPrediction, few, halves, with_intervals
from deadbeat.prices.rates import PairMatrix, RatesByRivals, copied, prepared, works_of
from deadbeat.prices.replay import UNKNOWN, Overheads, ReplayTask, Slowdowns, alone, replay
from deadbeat.report.document import counted, percent
from deadbeat.stats.intervals import Interval

#: What is replayed of a run: most task sets repeat themselves many times in it.
HORIZON_NS = 300e6
#: Changes of work after which a replay ends before that.
EVENTS = 30_000
#: Share of a set's work of which the matrix knows nothing above which it is not predicted.
LACKING_MOST = 0.25
#: Sets that are predicted on other numbers of cores, evenly over their predictions.
ELSEWHERE = 8


def slowdown_of(
    tasks: Sequence[ReplayTask], slowdowns: Slowdowns, *, horizon_ns: float = HORIZON_NS
) -> float | None:
    """Mean over tasks of the mean span together over that alone; None: no job finishes."""
    found = replay(tasks, slowdowns, horizon_ns=horizon_ns, events=EVENTS)
    ratios = [
        each.spans_ns / each.finished / task.cost_ns
        for task, each in zip(tasks, found, strict=True)
        if each.finished and task.counts
    ]
    return float(np.mean(ratios)) if ratios else None


# ---------- all of them ----------


def predict(stored: StoredMatrix, cases: StoredSets, cores: Sequence[int] = ()) -> Predictions:
    """Every set on its own cores, and `ELSEWHERE` of them on each of ``cores``.

    Raises:
        UsageError: The two are not of one machine and policy.
    """
    _require_alike(stored, cases)
    matrix, most = stored.matrices[0], stored.matrices[-1].rivals
    rates, own = RatesByRivals(stored.matrices), stored.name == cases.name
    seeds = {case.key: case.task_set.seed for case in cases.cases}
    calibrating = halves(seeds)
    found = [
        _own(case, cases, matrix, rates, calibrates=case.key in calibrating, own=own)
        for case in cases.cases
    ]
    sets, scale = with_intervals(found)
    by_key = {case.key: case for case in cases.cases}
    beyond = [
        _elsewhere(by_key[each.key], each, cases, rates, count)
        for count in cores
        for each in _chosen(sets)
        if count != each.cores
    ]
    sets = (*sets, *beyond)
    lacking = {} if own else _lacking(cases, matrix)
    return Predictions(
        matrix=stored.name,
        result=cases.name,
        figure=cases.figure,
        rivals=most,
        labels=tuple(dict.fromkeys((*stored.labels, *cases.labels))),
        findings=tuple(_findings(sets, most, lacking)),
        sets=sets,
        scale=scale,
        lacking=lacking,
    )


def _require_alike(stored: StoredMatrix, cases: StoredSets) -> None:
    here, there = stored.platform, cases.platform
    made_up = [each.kind == "simulated" for each in (here, there)]
    if any(made_up) and not all(made_up):
        name = stored.name if made_up[0] else cases.name
        raise UsageError(
            f"{name} is simulated, the other is measured", "name two results of one machine"
        )
    if not any(made_up) and here.fingerprint != there.fingerprint:
        raise UsageError(
            f"{stored.name} was measured on {here.name} ({here.soc}), {cases.name} on {there.name}"
            f" ({there.soc}) with its frequency policy and toolchain",
            "measure the matrix where the task sets ran: deadbeat interfere",
        )
    if stored.policy != cases.policy:
        raise UsageError(
            f"{stored.name} ran under --policy {stored.policy}, {cases.name} under {cases.policy}",
            "measure both under the same policy",
        )


def _own(
    case: StoredSet,
    cases: StoredSets,
    matrix: PairMatrix,
    rates: RatesByRivals,
    *,
    calibrates: bool,
    own: bool,
) -> SetPrediction:
    """A set on its own cores; ``own``: by the prices of its result, which say what shares: the rest
    slows nobody."""
    tasks, covered = prepared(case.task_set, cases.calibration, matrix)
    predicted = case.replayed if own else None
    if predicted is None and (own or covered.lacking <= LACKING_MOST):
        predicted = _value(case, cases, tasks, rates)
    return SetPrediction(
        key=case.key,
        cores=case.task_set.cores,
        role="calibration" if calibrates else "held-out",
        predicted=predicted,
        plain=_value(case, cases, tasks, alone) or math.nan,
        covered=covered,
        measured=case.measured,
        error=case.error,
        unbounded=case.unbounded,
    )


def _value(
    case: StoredSet, cases: StoredSets, tasks: Sequence[ReplayTask], slowdowns: Slowdowns
) -> float | None:
    if cases.search is not None:
        built = built_utilisation(case.task_set)
        return miss_curve(tuple(tasks), built, slowdowns, cases.search, Overheads()).breakdown
    return slowdown_of(tasks, slowdowns)


def _chosen(sets: Sequence[SetPrediction]) -> list[SetPrediction]:
    """Evenly over what is predicted."""
    known = sorted(
        (each for each in sets if each.predicted is not None),
        key=lambda each: (each.predicted or 0.0, each.key),
    )
    places = np.linspace(0, len(known) - 1, min(ELSEWHERE, len(known)))
    return [known[round(place)] for place in places]


def _elsewhere(
    case: StoredSet, found: SetPrediction, cases: StoredSets, rates: RatesByRivals, cores: int
) -> SetPrediction:
    """The set that was ``found`` on its own cores copied onto others."""
    matrices = rates.matrices
    own, _ = prepared(case.task_set, cases.calibration, matrices[0])
    tasks = copied(own, cores, case.task_set.seed)
    value = _value(case, cases, tasks, rates)
    further = cores > matrices[-1].rivals + 1
    ends = [
        _value(case, cases, tasks, RatesByRivals(matrices, bend)) for bend in (-1, 1) if further
    ]
    known = [each for each in (value, *ends) if each is not None]
    return SetPrediction(
        key=case.key,
        cores=cores,
        role="extrapolated" if further else "predicted",
        predicted=value,
        plain=found.plain,
        covered=found.covered,
        range=Interval(min(known), max(known)) if further and known else None,
    )


def _lacking(cases: StoredSets, matrix: PairMatrix) -> dict[str, float]:
    """Works of which no size was measured, with their share of all time, the largest first."""
    lost: dict[str, float] = {}
    whole = 0.0
    for case in cases.cases:
        for task, works in zip(
            case.task_set.tasks, works_of(case.task_set, cases.calibration), strict=True
        ):
            for work, ns in works:
                whole += ns / task.period_ns
                if matrix.place(work)[0] == UNKNOWN:
                    name = work.kind
                    lost[name] = lost.get(name, 0.0) + ns / task.period_ns
    return {name: lost[name] / whole for name in sorted(lost, key=lambda n: (-lost[n], n))}


def _findings(
    sets: Sequence[SetPrediction], rivals: int, lacking: Mapping[str, float]
) -> Iterator[Finding]:
    calibrating = sum(each.role == "calibration" and each.off is not None for each in sets)
    if few(calibrating):
        yield finding(
            "prediction-not-calibrated",
            f"no interval is stated: {counted(calibrating, 'task set')} to calibrate it",
        )
    if lacking:
        share = sum(lacking.values())
        names = ", ".join(list(lacking)[:6])
        refused = sum(each.predicted is None for each in sets)
        yield finding(
            "prediction-works-lacking",
            f"{percent(share)} of the tasks' time is work that the matrix lacks: {names};"
            f" {counted(refused, 'set')} refused",
            cure="predict the result from its own prices: deadbeat predict RESULT; or measure all"
            f" of it: deadbeat interfere --works {','.join(lacking)}",
        )
    if any(each.role == "extrapolated" for each in sets):
        yield finding(
            "prediction-extrapolated",
            f"more cores than the {rivals + 1} of the matrix are extrapolated: no"
            " interval is known there",
        )
