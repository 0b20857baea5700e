"""What a search found, cell by cell, beside what the schedulability lab predicts for its sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.executors.metrics import job_columns
from deadbeat.kinds.breakdown import predict
from deadbeat.kinds.breakdown.search import SearchResults, lacking, misses, planned, settings
from deadbeat.kinds.breakdown.spec import (
    BreakdownSpec,
    SearchCell,
    cell_of,
    from_plain,
    keys,
    utilisation,
)
from deadbeat.model.results import RunKey
from deadbeat.stats.intervals import Interval, student_half_width
from deadbeat.store.campaign import CampaignStore


@frozen(kw_only=True)
class SetResult:
    """One task set. Utilisations are those of its fullest core, by calibrated C.

    Attributes:
        run: Name of its last run, at ``breakdown``.
        breakdown: Half-way between the highest at which a run met its deadlines and the lowest, one
            resolution above, at which one did not.
        end: ``low`` or ``high`` where no run, or every run, met its deadlines: the truth may lie
            beyond; else "".
        predicted: By simulation from calibrated C, with the criterion of the runs.
        predicted_inflated: The same from C times each task's ``inflation``; None: of some task no
            job counts in the last run.
        proved: By response-time analysis from calibrated C, without any miss; None: equal
            priorities.
        inflation: Mean over tasks of the mean time a job had its core over C, in the last run.
        jobs, missed: Of the last run, all tasks together. jobs_alone, missed_alone: each alone.
    """

    cell: SearchCell
    run: str
    breakdown: float
    end: str
    predicted: float
    predicted_inflated: float | None
    proved: float | None
    inflation: float | None
    jobs: int
    missed: int
    jobs_alone: int
    missed_alone: int


@frozen(kw_only=True)
class CellResult:
    """The sets of one cell: means over those with a result, jobs of all of them.

    Attributes:
        lacking: Sets without a result.
        low, high: 95 % interval of ``breakdown``, with the resolution, within 0 and the highest
            utilisation that was considered.
        at_low, at_high: Sets that end there.
        parted: ``below`` or ``above`` where the sets' own predictions lie outside of what was
            measured, by Student's interval of the differences and the resolution; else "".
    """

    cell: SearchCell
    sets: int
    lacking: int
    breakdown: float
    low: float
    high: float
    at_low: int
    at_high: int
    predicted: float
    predicted_inflated: float | None
    proved: float | None
    inflation: float | None
    parted: str
    jobs: int
    missed: int
    jobs_alone: int
    missed_alone: int

    @property
    def missed_alone_share(self) -> float:
        """What this host misses by itself; 0 without jobs."""
        return self.missed_alone / max(1, self.jobs_alone)


@frozen(kw_only=True)
class Breakdown:
    """A whole search.

    Attributes:
        labels: What marks every result of it.
        platform: Name and processor of the machine, its kernel.
        planned, done: Runs.
        miss_share: The criterion; ``resolution`` of a set.
    """

    name: str
    labels: tuple[str, ...]
    platform: dict[str, str]
    planned: int
    done: int
    miss_share: float
    resolution: float
    cells: tuple[CellResult, ...]
    sets: tuple[SetResult, ...]
    spec: dict[str, Any]


def summarise(store: CampaignStore) -> Breakdown:
    """Everything that the stored runs say.

    Raises:
        DataError: Something in the folder is damaged.
    """
    spec = from_plain(store.spec)
    results = SearchResults(spec, store)
    sets = []
    for key in keys(spec):
        last = results.last(key)
        if last is not None and results.has(last):
            sets.append(_set_result(spec, store, results, key, last))
    calibration = store.load_calibration()
    platform = None if calibration is None else calibration.platform
    labels = ["SIMULATED"] if platform is None or platform.kind == "simulated" else []
    labels += ["SCHED_OTHER"] if spec.run.policy == "other" else []
    names = ("name", "soc", "kernel", "preemption")
    return Breakdown(
        name=store.path.name,
        labels=tuple(labels),
        platform={} if platform is None else {name: getattr(platform, name) for name in names},
        planned=planned(spec),
        done=planned(spec) - lacking(spec, store),
        miss_share=float(spec.breakdown.miss_share),
        resolution=float(spec.breakdown.resolution),
        cells=tuple(_cells(spec, sets)),
        sets=tuple(sets),
        spec=store.spec,
    )


def _set_result(
    spec: BreakdownSpec, store: CampaignStore, results: SearchResults, key: RunKey, last: RunKey
) -> SetResult:
    search, at = spec.breakdown, results.walk(key)
    task_set, table = store.programs.task_set(key), store.table(last)
    costs = predict.calibrated(task_set)
    grown = predict.inflation(job_columns(table), task_set)
    seconds = settings(spec, solo=False).seconds

    def predicted(factors: Sequence[float]) -> float:
        inflated = [cost * factor for cost, factor in zip(costs, factors, strict=True)]
        return predict.simulated(task_set, search, inflated, seconds=seconds)

    top = 2 ** (search.steps + 1)
    (missed, jobs), (missed_alone, jobs_alone) = misses(table), misses(table, solo=True)
    return SetResult(
        run=last.text,
        cell=cell_of(spec, key),
        breakdown=float(utilisation(search, at.level)),
        end="low" if at.low == 0 else "high" if at.high == top else "",
        predicted=predicted([1.0] * len(costs)),
        predicted_inflated=None if grown is None else predicted(grown),
        proved=predict.proved(task_set, search),
        inflation=None if grown is None else float(np.mean(grown)),
        jobs=jobs,
        missed=missed,
        jobs_alone=jobs_alone,
        missed_alone=missed_alone,
    )


def _cells(spec: BreakdownSpec, sets: Sequence[SetResult]) -> list[CellResult]:
    found = []
    for cell in dict.fromkeys(cell_of(spec, key) for key in keys(spec)):
        own = [each for each in sets if each.cell == cell]
        if own:
            found.append(_cell_result(spec, cell, own))
    return found


def _cell_result(spec: BreakdownSpec, cell: SearchCell, sets: Sequence[SetResult]) -> CellResult:
    half = float(spec.breakdown.resolution) / 2
    measured = np.array([each.breakdown for each in sets])
    predicted = np.array([each.predicted for each in sets])
    low, high = _around(measured, half)
    behind, ahead = _around(measured - predicted, half)
    return CellResult(
        cell=cell,
        sets=len(sets),
        lacking=spec.sets - len(sets),
        breakdown=float(measured.mean()),
        low=max(0.0, low),
        high=min(high, float(spec.breakdown.high)),
        at_low=sum(each.end == "low" for each in sets),
        at_high=sum(each.end == "high" for each in sets),
        predicted=float(predicted.mean()),
        predicted_inflated=_mean(sets, lambda each: each.predicted_inflated),
        proved=_mean(sets, lambda each: each.proved),
        inflation=_mean(sets, lambda each: each.inflation),
        parted="below" if ahead < 0 else "above" if behind > 0 else "",
        **{
            name: sum(getattr(each, name) for each in sets)
            for name in ("jobs", "missed", "jobs_alone", "missed_alone")
        },
    )


def _around(values: NDArray[np.float64], half: float) -> Interval:
    """Student's interval of the mean, wider by ``half`` on either side; of one value that alone."""
    arm = half + (student_half_width(values) if len(values) > 1 else 0.0)
    return Interval.around(float(values.mean()), arm)


def _mean(sets: Sequence[SetResult], of: Callable[[SetResult], float | None]) -> float | None:
    values = [of(each) for each in sets]
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def columns(kind: type[CellResult | SetResult]) -> tuple[str, ...]:
    """Of summary.csv or sets.csv: a row for each of that kind."""
    names = [field.name for field in attrs.fields(kind) if field.name != "cell"]
    return (*(field.name for field in attrs.fields(SearchCell)), *names)


def row(found: CellResult | SetResult) -> dict[str, object]:
    """Its values by `columns`."""
    plain = attrs.asdict(found)
    cell: dict[str, Any] = plain.pop("cell")
    return cell | plain
