"""Predicts every task set of a result from its prices, and on more cores some."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Literal

import numpy as np
from attrs import evolve, frozen

from deadbeat.base.kinds.registry import find
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.finding import Finding, finding
from deadbeat.base.model.platform import Platform
from deadbeat.base.model.words import count_of, loud
from deadbeat.base.stats.intervals import Interval, fewest
from deadbeat.tasksets.breakdown.predict import miss_curve
from deadbeat.tasksets.breakdown.spec import SearchSpec, built_utilisation, set_of
from deadbeat.tasksets.breakdown.spec import from_plain as breakdown_spec
from deadbeat.tasksets.contention.spec import read_spec
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.results import RunKey
from deadbeat.tasksets.model.tasks import TaskSet
from deadbeat.tasksets.prediction.results import (
    LEVEL,
    Predictions,
    SetPrediction,
    halves,
    with_intervals,
)
from deadbeat.tasksets.prices.rates import (
    GROWTH,
    PairMatrix,
    RatesByRivals,
    copied,
    prepared,
    priced_matrices,
)
from deadbeat.tasksets.prices.replay import Overheads, ReplayTask, Slowdowns, alone, replay
from deadbeat.tasksets.prices.stage import load_prices
from deadbeat.tasksets.prices.table import PriceTable, price_table

Figure = Literal["slowdown", "breakdown"]


@frozen(kw_only=True)
class StoredSet:
    """A task set with what was measured of it; ``error``: standard error, relative. ``replayed``:
    its figure by the prices, in the states that it met."""

    key: str
    task_set: TaskSet
    measured: float | None
    error: float | None
    unbounded: bool = False
    replayed: float | None = None


@frozen(kw_only=True)
class StoredSets:
    """The task sets of a result. ``search``: how a breakdown utilisation is sought; None: the
    figure is the slowdown."""

    name: str
    figure: Figure
    cases: tuple[StoredSet, ...]
    calibration: Calibration
    platform: Platform
    policy: str
    labels: tuple[str, ...]
    search: SearchSpec | None = None


@frozen(kw_only=True)
class PricedMatrices:
    """Prices of a result as matrices by the number of rivals, ascending, with where they were
    measured."""

    name: str
    matrices: tuple[PairMatrix, ...]
    platform: Platform
    labels: tuple[str, ...]


def read_prices(runs: Path, text: str) -> PricedMatrices:
    """Prices of objects and memory in the state that was seen most. Raises UsageError: ``text``
    names no result with some."""
    kind, path = find(runs, text)
    prices = load_prices(path)
    table = price_table(prices) if prices else PriceTable()
    matrices = priced_matrices(table.of(state=table.usual()))
    if prices is None or not matrices:
        message = f"{path.name} is a {kind.folder.noun} without prices"
        raise UsageError(message, "deadbeat contention measures prices with its sets")
    return PricedMatrices(
        name=path.name,
        matrices=matrices,
        platform=prices.platform,
        labels=("SIMULATED",) if prices.platform.kind == "simulated" else (),
    )


def read_cases(runs: Path, text: str) -> StoredSets:
    """Raises UsageError where ``text`` names no result with task sets that the model can run."""
    kind, path = find(runs, text)
    if kind.name not in ("contention", "breakdown"):
        hint = "name a result of deadbeat contention --random, profile or breakdown"
        raise UsageError(f"{path.name} is a {kind.folder.noun}, which has no task sets", hint)
    opened = kind.open(path)
    store, summary = opened.store, opened.summary
    calibration = store.load_calibration()
    if calibration is None:
        raise UsageError(f"{path.name} holds no run yet", "repeat its command to continue it")
    figure: Figure = "slowdown"
    if kind.name == "breakdown":
        spec = breakdown_spec(store.spec)
        figure = "breakdown"
        # The sets of a search with their breakdown utilisations, each known to its resolution.
        cases = tuple(
            StoredSet(
                key=(key := set_of(RunKey.parse(each.run))).text,
                task_set=store.programs.task_set(key),
                measured=each.breakdown,
                error=summary.resolution / math.sqrt(12) / each.breakdown,
                unbounded=bool(each.end),
                replayed=each.predicted,
            )
            for each in summary.sets
        )
        search = spec.breakdown
        overrun, policy = "skip", spec.run.policy
    else:
        run = read_spec(store.spec).run
        cases = tuple(
            StoredSet(
                key=each.key,
                task_set=store.programs.task_set(RunKey.parse(each.key)),
                measured=(value := each.slowdown_mean),
                error=None
                if value is None or (error := each.slowdown_error) is None
                else error / value,
                replayed=each.slowdown_predicted,
            )
            for each in summary.sets
        )
        search = None
        overrun = run.overrun
        policy = run.policy
    if overrun != "skip":
        message = f"{path.name} lets late jobs pile up (--set overrun=late), which is not modelled"
        raise UsageError(message, "measure with --set overrun=skip")
    origin = store.load_origin()
    return StoredSets(
        name=path.name,
        figure=figure,
        cases=cases,
        calibration=calibration,
        platform=origin.platform if origin else calibration.platform,
        policy=policy,
        labels=loud(summary.labels),
        search=search,
    )


#: What is replayed of a run: most task sets repeat themselves many times in it.
HORIZON_NS = 300e6
#: Changes of work after which a replay ends before that.
EVENTS = 30_000
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


def predict(
    stored: PricedMatrices, cases: StoredSets, cores: Sequence[int] = (), *, hold: int | None = None
) -> Predictions:
    """Every set on its own cores, and `ELSEWHERE` of them on each of ``cores``.

    Args:
        hold: Predict with the slowdowns of at most that many cores: sets on more are extrapolated,
            and show what that is worth.

    Raises:
        UsageError: Nothing is left.
    """
    if hold is not None:
        # Without what more than `cores` showed.
        kept = tuple(each for each in stored.matrices if each.rivals < hold)
        if not kept or not any(case.task_set.cores > hold for case in cases.cases):
            lacks = (
                f"{cases.name} has no set on more than" if kept else f"{stored.name} has no pair on"
            )
            raise UsageError(f"--hold-cores: {lacks} {hold} cores", "measure more: --cores 2,4,8")
        blind = tuple(evolve(each, replayed=None) for each in cases.cases)
        stored, cases = evolve(stored, matrices=kept), evolve(cases, cases=blind)
    matrix, most = stored.matrices[0], stored.matrices[-1].rivals
    rates = RatesByRivals(stored.matrices)
    seeds = {case.key: case.task_set.seed for case in cases.cases}
    calibrating = halves(seeds)
    found = [
        _own(case, cases, matrix, rates, calibrates=case.key in calibrating) for case in cases.cases
    ]
    sets, scale = with_intervals(found)
    by_key = {case.key: case for case in cases.cases}
    beyond = []
    for count in cores:
        for each in _chosen(sets):
            if count != each.cores:
                # The set that was `found` on its own cores copied onto others.
                case = by_key[each.key]
                matrices = rates.matrices
                own, _ = prepared(case.task_set, cases.calibration, matrices[0])
                tasks = copied(own, count, case.task_set.seed)
                further = count > matrices[-1].rivals + 1
                elsewhere = SetPrediction(
                    key=case.key,
                    cores=count,
                    role="extrapolated" if further else "predicted",
                    predicted=_value(case, cases, tasks, rates),
                    plain=each.plain,
                    covered=each.covered,
                    range=_range(case, cases, tasks, rates) if further else None,
                )
                beyond.append(elsewhere)
    sets = (*sets, *beyond)
    return Predictions(
        result=cases.name,
        figure=cases.figure,
        rivals=most,
        labels=tuple(dict.fromkeys((*stored.labels, *cases.labels))),
        findings=tuple(_findings(sets, most)),
        sets=sets,
        scale=scale,
    )


def _own(
    case: StoredSet,
    cases: StoredSets,
    matrix: PairMatrix,
    rates: RatesByRivals,
    *,
    calibrates: bool,
) -> SetPrediction:
    """A set on its own cores. Prices say what shares: the rest slows nothing."""
    tasks, covered = prepared(case.task_set, cases.calibration, matrix)
    predicted = case.replayed
    if predicted is None:
        predicted = _value(case, cases, tasks, rates)
    further = case.task_set.cores > rates.matrices[-1].rivals + 1 and predicted is not None
    return SetPrediction(
        key=case.key,
        cores=case.task_set.cores,
        role="calibration" if calibrates else "held-out",
        predicted=predicted,
        plain=_value(case, cases, tasks, alone) or math.nan,
        covered=covered,
        measured=case.measured,
        range=_range(case, cases, tasks, rates) if further else None,
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
    made = (each for each in sets if each.predicted is not None)
    known = sorted(made, key=attrgetter("predicted", "key"))
    places = np.linspace(0, len(known) - 1, min(ELSEWHERE, len(known)))
    return [known[round(place)] for place in places]


def _range(
    case: StoredSet, cases: StoredSets, tasks: Sequence[ReplayTask], rates: RatesByRivals
) -> Interval | None:
    """At both ends of the prices' intervals; at the high one prices grow with the cores."""
    matrices = rates.matrices
    ends = (RatesByRivals(matrices, bend, GROWTH[bend > 0]) for bend in (-1, 1))
    every = (rates, *ends)
    values = (_value(case, cases, tasks, each) for each in every)
    known = [each for each in values if each is not None]
    return Interval(min(known), max(known)) if known else None


def _findings(sets: Sequence[SetPrediction], rivals: int) -> Iterator[Finding]:
    calibrating = sum(each.role == "calibration" and each.off is not None for each in sets)
    if calibrating < fewest(LEVEL):
        yield finding(
            "prediction-not-calibrated",
            f"no interval is stated: {count_of(calibrating, 'task set')} to calibrate it",
        )
    if any(each.role == "extrapolated" for each in sets):
        yield finding(
            "prediction-extrapolated",
            f"more cores than the {rivals + 1} of the prices are extrapolated: no"
            " interval is known there",
        )
