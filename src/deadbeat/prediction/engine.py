"""Predicts every task set of a result from a stored matrix or prices, and on more cores some."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import numpy as np
from attrs import evolve, frozen

from deadbeat.catalog import load_catalog
from deadbeat.kinds.breakdown.predict import miss_curve
from deadbeat.kinds.breakdown.results import Breakdown
from deadbeat.kinds.breakdown.spec import SearchSpec, built_utilisation, set_of
from deadbeat.kinds.breakdown.spec import from_plain as breakdown_spec
from deadbeat.kinds.contention.spec import read_spec
from deadbeat.kinds.interfere.results import InterfereSummary
from deadbeat.kinds.interfere.spec import SIBLING, placed
from deadbeat.kinds.registry import find
from deadbeat.model.calibration import Calibration
from deadbeat.model.errors import UsageError
from deadbeat.model.finding import Finding, finding
from deadbeat.model.platform import Platform
from deadbeat.model.results import RunKey, Summary
from deadbeat.model.tasks import Kind, TaskSet
from deadbeat.model.words import count_of, loud
from deadbeat.prediction.results import LEVEL, Predictions, SetPrediction, halves, with_intervals
from deadbeat.prices.rates import (
    GROWTH,
    PairMatrix,
    PairSlowdown,
    RatesByRivals,
    SizedWork,
    copied,
    prepared,
    priced_matrices,
    works_of,
)
from deadbeat.prices.replay import UNKNOWN, Overheads, ReplayTask, Slowdowns, alone, replay
from deadbeat.prices.stage import load_prices
from deadbeat.prices.table import PriceTable, price_table
from deadbeat.report.document import percent
from deadbeat.stats.intervals import Interval, fewest
from deadbeat.store.campaign import CampaignStore

Figure = Literal["slowdown", "breakdown"]


@frozen(kw_only=True)
class StoredSet:
    """A task set with what was measured of it; ``error``: standard error, relative. ``replayed``:
    its figure by the prices of its own result, in the states that it met."""

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
class StoredMatrix:
    """Matrices by the number of rivals, ascending, with where they were measured."""

    name: str
    matrices: tuple[PairMatrix, ...]
    platform: Platform
    policy: str
    labels: tuple[str, ...]


def read_matrix(runs: Path, text: str) -> StoredMatrix:
    """Pairs of an interference matrix, or the prices of any result that has some. Raises
    UsageError: ``text`` names neither, or an empty matrix."""
    kind, path = find(runs, text)
    if kind.name != "interfere":
        return _of_prices(path, kind.folder.noun)
    stored = kind.open(path)
    found: InterfereSummary = stored.summary
    matrices = matrices_of(found)
    if not matrices:
        message = f"{path.name} holds no slowdown by another core"
        raise UsageError(message, "deadbeat interfere measures them")
    return StoredMatrix(
        name=path.name,
        matrices=matrices,
        platform=stored.store.platform,
        policy=found.spec.policy,
        labels=found.labels,
    )


def _of_prices(path: Path, noun: str) -> StoredMatrix:
    """Objects and memory alone, in the state that was seen most."""
    prices = load_prices(path)
    table = price_table(prices) if prices else PriceTable()
    matrices = priced_matrices(table.of(state=table.usual()))
    if prices is None or not matrices:
        message = f"{path.name} is a {noun} without prices, and no interference matrix"
        hint = "deadbeat contention measures prices, deadbeat interfere a matrix"
        raise UsageError(message, hint)
    return StoredMatrix(
        name=path.name,
        matrices=matrices,
        platform=prices.platform,
        policy=prices.policy,
        labels=("SIMULATED",) if prices.platform.kind == "simulated" else (),
    )


def matrices_of(found: InterfereSummary) -> tuple[PairMatrix, ...]:
    """A matrix for each number of rivals on other cores, ascending; of fragments alone."""
    by_rivals = {
        len(placed(found.spec, place, found.machine)) - 1: place
        for place in found.places
        if place != SIBLING
    }
    return tuple(_matrix(found, by_rivals[rivals], rivals) for rivals in sorted(by_rivals))


def _matrix(found: InterfereSummary, place: str, rivals: int) -> PairMatrix:
    known = load_catalog().fragments
    works = [it for it in found.spec.works if it.fragment in known and not it.locked]
    places = {work: at for at, work in enumerate(works)}
    fragments = [known[work.fragment] for work in works]
    return PairMatrix(
        works=tuple(SizedWork(work.fragment, work.size, work.shared) for work in works),
        computes=tuple(each.kind is Kind.NS for each in fragments),
        memory=tuple(each.resource_class == "memory" for each in fragments),
        pairs={
            (places[cell.victim], places[cell.aggressor]): PairSlowdown(
                value=cell.value, interval=cell.interval
            )
            for cell in found.cells
            if cell.place == place and cell.victim in places and cell.aggressor in places
        },
        rivals=rivals,
    )


def read_cases(runs: Path, text: str) -> StoredSets:
    """Raises UsageError where ``text`` names no result with task sets that the model can run."""
    kind, path = find(runs, text)
    if kind.name not in ("campaign", "breakdown"):
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
        figure, cases, search = "breakdown", _searched(store, summary), spec.breakdown
        overrun, policy = "skip", spec.run.policy
    else:
        run = read_spec(store.spec).run
        cases, search, overrun, policy = _measured(store, summary), None, run.overrun, run.policy
    if overrun != "skip":
        message = f"{path.name} lets late jobs pile up (--overrun late), which is not modelled"
        raise UsageError(message, "measure with --overrun skip")
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


def _measured(store: CampaignStore, summary: Summary) -> tuple[StoredSet, ...]:
    return tuple(
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


def _searched(store: Any, summary: Breakdown) -> tuple[StoredSet, ...]:
    """The sets of a search with their breakdown utilisations, each known to its resolution."""
    return tuple(
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


def predict(
    stored: StoredMatrix, cases: StoredSets, cores: Sequence[int] = (), *, hold: int | None = None
) -> Predictions:
    """Every set on its own cores, and `ELSEWHERE` of them on each of ``cores``.

    Args:
        hold: Predict with the slowdowns of at most that many cores: sets on more are extrapolated,
            and show what that is worth.

    Raises:
        UsageError: The two are not of one machine and policy, or nothing is left.
    """
    _require_alike(stored, cases)
    if hold is not None:
        stored, cases = _held(stored, cases, hold)
    matrix, most = stored.matrices[0], stored.matrices[-1].rivals
    rates = RatesByRivals(stored.matrices)
    own = stored.name == cases.name
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


def _held(stored: StoredMatrix, cases: StoredSets, cores: int) -> tuple[StoredMatrix, StoredSets]:
    """Without what more than ``cores`` showed."""
    kept = tuple(each for each in stored.matrices if each.rivals < cores)
    if not kept or not any(case.task_set.cores > cores for case in cases.cases):
        lacks = f"{cases.name} has no set on more than" if kept else f"{stored.name} has no pair on"
        raise UsageError(f"--hold-cores: {lacks} {cores} cores", "measure more: --cores 2,4,8")
    blind = tuple(evolve(each, replayed=None) for each in cases.cases)
    return evolve(stored, matrices=kept), evolve(cases, cases=blind)


def _require_alike(stored: StoredMatrix, cases: StoredSets) -> None:
    here, there = stored.platform, cases.platform
    made_up = [each.kind == "simulated" for each in (here, there)]
    if any(made_up) and not all(made_up):
        name = stored.name if made_up[0] else cases.name
        message = f"{name} is simulated, the other is measured"
        raise UsageError(message, "name two results of one machine")
    if not any(made_up) and here.fingerprint != there.fingerprint:
        raise UsageError(
            f"{stored.name} was measured on {here.name} ({here.soc}), {cases.name} on {there.name}"
            f" ({there.soc}) with its frequency policy and toolchain",
            "measure the matrix where the task sets ran: deadbeat interfere",
        )
    if stored.policy != cases.policy:
        message = f"{stored.name} ran under --policy {stored.policy}, {cases.name} under"
        raise UsageError(f"{message} {cases.policy}", "measure both under the same policy")


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
    slows nothing."""
    tasks, covered = prepared(case.task_set, cases.calibration, matrix)
    predicted = case.replayed if own else None
    if predicted is None and (own or covered.lacking <= LACKING_MOST):
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


def _elsewhere(
    case: StoredSet, found: SetPrediction, cases: StoredSets, rates: RatesByRivals, cores: int
) -> SetPrediction:
    """The set that was ``found`` on its own cores copied onto others."""
    matrices = rates.matrices
    own, _ = prepared(case.task_set, cases.calibration, matrices[0])
    tasks = copied(own, cores, case.task_set.seed)
    further = cores > matrices[-1].rivals + 1
    return SetPrediction(
        key=case.key,
        cores=cores,
        role="extrapolated" if further else "predicted",
        predicted=_value(case, cases, tasks, rates),
        plain=found.plain,
        covered=found.covered,
        range=_range(case, cases, tasks, rates) if further else None,
    )


def _range(
    case: StoredSet, cases: StoredSets, tasks: Sequence[ReplayTask], rates: RatesByRivals
) -> Interval | None:
    """At both ends of the intervals of the matrix; at the high one prices grow with the cores."""
    matrices = rates.matrices
    ends = (RatesByRivals(matrices, bend, GROWTH[bend > 0]) for bend in (-1, 1))
    every = (rates, *ends)
    values = (_value(case, cases, tasks, each) for each in every)
    known = [each for each in values if each is not None]
    return Interval(min(known), max(known)) if known else None


def _lacking(cases: StoredSets, matrix: PairMatrix) -> dict[str, float]:
    """Works of which no size was measured, with their share of all time, the largest first."""
    lost: dict[str, float] = defaultdict(float)
    whole = 0.0
    for case in cases.cases:
        every = works_of(case.task_set, cases.calibration)
        for task, works in zip(case.task_set.tasks, every, strict=True):
            for work, ns in works:
                whole += ns / task.period_ns
                if matrix.place(work)[0] == UNKNOWN:
                    lost[work.kind] += ns / task.period_ns
    return {name: lost[name] / whole for name in sorted(lost, key=lambda n: (-lost[n], n))}


def _findings(
    sets: Sequence[SetPrediction], rivals: int, lacking: Mapping[str, float]
) -> Iterator[Finding]:
    calibrating = sum(each.role == "calibration" and each.off is not None for each in sets)
    if calibrating < fewest(LEVEL):
        yield finding(
            "prediction-not-calibrated",
            f"no interval is stated: {count_of(calibrating, 'task set')} to calibrate it",
        )
    if lacking:
        share = sum(lacking.values())
        names = ", ".join(list(lacking)[:6])
        refused = sum(each.predicted is None for each in sets)
        yield finding(
            "prediction-works-lacking",
            f"{percent(share)} of the tasks' time is work that the matrix lacks: {names};"
            f" {count_of(refused, 'set')} refused",
            cure="predict the result from its own prices: deadbeat predict RESULT; or measure all"
            f" of it: deadbeat interfere --works {','.join(lacking)}",
        )
    if any(each.role == "extrapolated" for each in sets):
        yield finding(
            "prediction-extrapolated",
            f"more cores than the {rivals + 1} of the matrix are extrapolated: no"
            " interval is known there",
        )
