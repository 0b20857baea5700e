"""What predictions rest on: a stored matrix, and a stored result with its task sets."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal

from attrs import frozen

from deadbeat.catalog import load_catalog
from deadbeat.kinds.breakdown.results import Breakdown
from deadbeat.kinds.breakdown.spec import SearchSpec, set_of
from deadbeat.kinds.breakdown.spec import from_plain as breakdown_spec
from deadbeat.kinds.contention.spec import read_spec
from deadbeat.kinds.interfere.results import InterfereSummary
from deadbeat.kinds.interfere.spec import SIBLING, placed
from deadbeat.kinds.registry import find
from deadbeat.model.calibration import Calibration
from deadbeat.model.errors import UsageError
from deadbeat.model.platform import Platform
from deadbeat.model.results import RunKey, Summary
from deadbeat.model.tasks import Kind, TaskSet
from deadbeat.model.words import loud
from deadbeat.prices.rates import PairMatrix, PairSlowdown, SizedWork, priced_matrices
from deadbeat.prices.stage import load_prices
from deadbeat.prices.table import PriceTable, price_table
from deadbeat.store.campaign import CampaignStore

Figure = Literal["slowdown", "breakdown"]


@frozen(kw_only=True)
class StoredSet:
    """A task set with what was measured of it; ``error``: standard error, relative.

    Attributes:
        replayed: Its figure by the prices of its own result, in the states that it met.
    """

    key: str
    task_set: TaskSet
    measured: float | None
    error: float | None
    unbounded: bool = False
    replayed: float | None = None


@frozen(kw_only=True)
class StoredSets:
    """The task sets of a result.

    Attributes:
        search: How a breakdown utilisation is sought; None: the figure is the slowdown.
    """

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
    """Pairs of an interference matrix, or the prices of any result that has some.

    Raises:
        UsageError: ``text`` names neither, or an empty matrix.
    """
    kind, path = find(runs, text)
    if kind.name != "interfere":
        return _of_prices(path, kind.folder.noun)
    stored = kind.open(path)
    found: InterfereSummary = stored.summary
    matrices = matrices_of(found)
    if not matrices:
        raise UsageError(
            f"{path.name} holds no slowdown by another core", "deadbeat interfere measures them"
        )
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
        raise UsageError(
            f"{path.name} is a {noun} without prices, and no interference matrix",
            "deadbeat profile measures prices, deadbeat interfere a matrix",
        )
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
    works = [work for work in found.spec.works if work.fragment in known]
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
        raise UsageError(
            f"{path.name} is a {kind.folder.noun}, which has no task sets",
            "name a result of deadbeat stress, profile or breakdown",
        )
    opened = kind.open(path)
    store, summary = opened.store, opened.summary
    calibration = store.load_calibration()
    if calibration is None:
        raise UsageError(f"{path.name} holds no run yet", "repeat its command to continue it")
    figure: Figure = "breakdown" if kind.name == "breakdown" else "slowdown"
    if figure == "breakdown":
        spec = breakdown_spec(store.spec)
        cases, search = _searched(store, summary), spec.breakdown
        overrun, policy, labels = "skip", spec.run.policy, summary.labels
    else:
        run = read_spec(store.spec).run
        cases, search = _measured(store, summary), None
        overrun, policy, labels = run.overrun, run.policy, summary.labels
    if overrun != "skip":
        raise UsageError(
            f"{path.name} lets late jobs pile up (--overrun late), which is not modelled",
            "measure with --overrun skip",
        )
    origin = store.load_origin()
    return StoredSets(
        name=path.name,
        figure=figure,
        cases=cases,
        calibration=calibration,
        platform=origin.platform if origin else calibration.platform,
        policy=policy,
        labels=loud(labels),
        search=search,
    )


def _measured(store: CampaignStore, summary: Summary) -> tuple[StoredSet, ...]:
    """The sets of a campaign with their slowdowns."""
    found = []
    for each in summary.sets:
        value, error = each.slowdown_mean, each.slowdown_error
        found.append(
            StoredSet(
                key=each.key,
                task_set=store.programs.task_set(RunKey.parse(each.key)),
                measured=value,
                error=None if value is None or error is None else error / value,
                replayed=each.slowdown_predicted,
            )
        )
    return tuple(found)


def _searched(store: Any, summary: Breakdown) -> tuple[StoredSet, ...]:
    """The sets of a search with their breakdown utilisations, each known to its resolution."""
    found = []
    for each in summary.sets:
        key = set_of(RunKey.parse(each.run))
        found.append(
            StoredSet(
                key=key.text,
                task_set=store.programs.task_set(key),
                measured=each.breakdown,
                error=summary.resolution / math.sqrt(12) / each.breakdown,
                unbounded=bool(each.end),
                replayed=each.predicted,
            )
        )
    return tuple(found)
