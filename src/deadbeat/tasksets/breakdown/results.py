"""What a search found, cell by cell, beside what is predicted for its sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.base.model.words import Json
from deadbeat.base.stats.binomial import Z95
from deadbeat.base.stats.intervals import ALL_ABOVE_SETS, Interval, bounded_interval
from deadbeat.tasksets.breakdown.predict import Model, host_of, most_urgent, proved
from deadbeat.tasksets.breakdown.search import SearchResults, lacking, misses, planned
from deadbeat.tasksets.breakdown.spec import (
    BreakdownSpec,
    SearchCell,
    cell_of,
    from_plain,
    keys,
    utilisation,
)
from deadbeat.tasksets.executors.metrics import job_columns
from deadbeat.tasksets.model.results import RunKey
from deadbeat.tasksets.prices.stage import prices_in
from deadbeat.tasksets.store.campaign import CampaignStore

#: Columns of a cell that are means over its sets, and sums.
_MEANS = ["breakdown", "predicted", "predicted_calm", "predicted_inflated", "proved", "inflation"]
_SUMS = ("jobs", "missed", "jobs_alone", "missed_alone")


@frozen(kw_only=True)
class _Result:
    """What sets and cells have in common. Utilisations are those of the fullest core, by calibrated
    C; of a cell means over its sets with a result, and jobs of all of them.

    Attributes:
        breakdown: Half-way between the highest at which a run met its deadlines and the lowest, one
            resolution above, at which one did not.
        predicted: Mean of what searches on this host would find, from prices of sharing, the
            overheads of the machine and the pace of its host beside other sets.
        predicted_low, predicted_high: What 95 of 100 searches find, if that is right; of a cell
            their mean over these sets, with the resolution.
        predicted_calm: On a host at the pace of the calibration.
        predicted_inflated: ``proved`` over ``inflation``.
        proved: By response-time analysis from calibrated C, without any miss; None: equal
            priorities.
        inflation: Mean over the most urgent tasks of their cores of the mean time a job took over
            C, in the last run; None: some of them have no job that counts.
        jobs, missed: In the last run, all tasks together. jobs_alone, missed_alone: each alone.
    """

    cell: SearchCell
    breakdown: float
    predicted: float
    predicted_low: float
    predicted_high: float
    predicted_calm: float
    predicted_inflated: float | None
    proved: float | None
    inflation: float | None
    jobs: int
    missed: int
    jobs_alone: int
    missed_alone: int


@frozen(kw_only=True)
class SetResult(_Result):
    """One task set. ``run``: name of its last run, at ``breakdown``. ``end``: ``low`` or ``high``
    where no run, or every run, met its deadlines: the truth may lie beyond; else "".
    ``predicted_deviation``: standard deviation of what searches find."""

    run: str
    end: str
    predicted_deviation: float


@frozen(kw_only=True)
class CellResult(_Result):
    """The sets of one cell.

    Attributes:
        lacking: Sets without a result.
        low, high: 95 % interval of ``breakdown``, with the resolution, within 0 and a whole
            core, or the highest that was measured.
        at_low, at_high: Sets that end there.
        agrees: Whether that and the predicted one overlap. within: Sets that were measured within
            what 95 of 100 searches find, and the resolution.
        difference_low, difference_high: 95 % interval of measured minus predicted, set by set,
            with the resolution.
        parted: ``below`` or ``above`` where that leaves out zero, or all of six sets or more lie
            there; else "".
        spare: ``pass``: ``low`` is above 1 - the stated share of spare time; ``fail``: ``high`` is
            below; else, or where a search ended there, ``undecided``.
    """

    sets: int
    lacking: int
    low: float
    high: float
    at_low: int
    at_high: int
    agrees: bool
    within: int
    difference_low: float
    difference_high: float
    parted: str
    spare: str

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
        miss_share: The criterion; ``resolution`` of a set. spare: Stated share; 0: none.
        priced: Whether prices of sharing were measured.
        wake_up_ns, switch_ns: Overheads. pace: Median and 95 % quantile of the pace of the host in
            slots of sets that share nothing; empty: there are none.
    """

    name: str
    labels: tuple[str, ...]
    platform: dict[str, str]
    planned: int
    done: int
    miss_share: float
    spare: float
    resolution: float
    priced: bool
    wake_up_ns: float
    switch_ns: float
    pace: tuple[float, ...]
    cells: tuple[CellResult, ...]
    sets: tuple[SetResult, ...]
    spec: dict[str, Any]


def summarise(store: CampaignStore) -> Breakdown:
    """Everything that the stored runs say. Raises DataError: something in the folder is damaged."""
    spec = from_plain(store.spec)
    results = SearchResults(spec, store)
    calibration, prices = store.load_calibration(), prices_in(store)
    host, sets = host_of(results), []
    if calibration is not None:
        model = Model(
            search=spec.breakdown,
            calibration=calibration,
            task_sets={key: store.programs.task_set(key) for key in keys(spec) if results.stored},
            prices=prices,
            host=host,
        )
        made = (_set_result(results, model, key) for key in model.task_sets)
        sets = [each for each in made if each is not None]
    platform = None if calibration is None else calibration.platform
    made_up = platform is None or platform.made_up
    labels = [platform.kind.upper() if platform else "SIMULATED"] if made_up else []
    if platform and platform.simulated and "SIMULATED" not in labels:
        labels.append("SIMULATED")
    labels += ["SCHED_OTHER"] if spec.run.policy == "other" else []
    names = ("name", "soc", "kernel", "preemption")
    runs = [run for each in host.paces.values() for run in each]
    return Breakdown(
        name=store.path.name,
        labels=tuple(labels),
        platform={} if platform is None else {name: getattr(platform, name) for name in names},
        planned=planned(spec),
        done=planned(spec) - lacking(spec, store),
        miss_share=float(spec.breakdown.miss_share),
        spare=float(spec.breakdown.spare),
        resolution=float(spec.breakdown.resolution),
        priced=prices is not None,
        wake_up_ns=host.overheads.wake_up_ns,
        switch_ns=host.overheads.switch_ns,
        pace=tuple(map(float, np.quantile(np.concatenate(runs), [0.5, 0.95]))) if runs else (),
        cells=tuple(
            _cell_result(spec, cell, own)
            for cell in dict.fromkeys(cell_of(spec, key) for key in keys(spec))
            if (own := [each for each in sets if each.cell == cell])
        ),
        sets=tuple(sets),
        spec=store.spec,
    )


def _set_result(results: SearchResults, model: Model, key: RunKey) -> SetResult | None:
    spec, at, last = results.spec, results.walk(key), results.last(key)
    if last is None or last not in results.stored:
        return None
    task_set, table = model.task_sets[key], results.store.table(last)
    columns, cost = job_columns(table), table.tasks["wcet_ns"]
    used = columns.counted & ~columns.solo & columns.finished
    spans = [
        columns.span_ns[used & (columns.task == task)] / cost[task]
        for task in np.flatnonzero(most_urgent(table.tasks))
    ]
    grown = float(np.mean([each.mean() for each in spans])) if all(map(len, spans)) else None
    known = proved(task_set, spec.breakdown)
    top = 2 ** (spec.breakdown.steps + 1)
    (missed, jobs), (missed_alone, jobs_alone) = misses(table), misses(table, solo=True)
    return SetResult(
        run=last.text,
        cell=cell_of(spec, key),
        breakdown=float(utilisation(spec.breakdown, at.level)),
        end="low" if at.low == 0 else "high" if at.high == top else "",
        **model.predict(key, results.round_trips_ps(key)),
        predicted_inflated=known / grown if known and grown else None,
        proved=known,
        inflation=grown,
        jobs=jobs,
        missed=missed,
        jobs_alone=jobs_alone,
        missed_alone=missed_alone,
    )


def _cell_result(spec: BreakdownSpec, cell: SearchCell, sets: Sequence[SetResult]) -> CellResult:
    measured = np.array([each.breakdown for each in sets])
    half, most = float(spec.breakdown.resolution) / 2, max(1.0, float(measured.max()))
    predicted = np.array([each.predicted for each in sets])
    low, high = _around(measured, half, least=0.0, most=most)
    off = measured - predicted
    behind, ahead = _around(off, half, least=-most, most=most)
    arm = half + Z95 * math.hypot(*(each.predicted_deviation for each in sets)) / len(sets)
    expected = Interval.around(float(predicted.mean()), arm, least=0.0, most=most)
    at_low, at_high = (sum(each.end == end for each in sets) for end in ("low", "high"))
    needed = float(1 - spec.breakdown.spare)
    above, below = low > needed and not at_low, high < needed and not at_high
    columns = {name: [getattr(each, name) for each in sets] for name in _MEANS}
    means: Any = {n: None if None in c else float(np.mean(c)) for n, c in columns.items()}
    return CellResult(
        cell=cell,
        sets=len(sets),
        lacking=spec.sets - len(sets),
        low=max(0.0, low),
        high=min(high, most),
        at_low=at_low,
        at_high=at_high,
        predicted_low=expected.low,
        predicted_high=expected.high,
        agrees=low <= expected.high and expected.low <= high,
        within=sum(
            each.predicted_low - half <= each.breakdown <= each.predicted_high + half
            for each in sets
        ),
        difference_low=behind,
        difference_high=ahead,
        parted="below" if ahead < 0 else "above" if behind > 0 else _all_apart(off, half),
        spare=("pass" if above else "fail" if below else "undecided") if needed < 1 else "",
        **means,
        **{name: sum(getattr(each, name) for each in sets) for name in _SUMS},
    )


def _all_apart(off: NDArray[np.float64], half: float) -> str:
    """Whether all sets are off to one side, and are more than chance would give."""
    if len(off) < ALL_ABOVE_SETS:
        return ""
    return "below" if (off < -half).all() else "above" if (off > half).all() else ""


def _around(values: NDArray[np.float64], half: float, *, least: float, most: float) -> Interval:
    """Interval of the mean of values within these bounds, wider by ``half`` on either side."""
    low, high = bounded_interval(values, least=least, most=most)
    return Interval(low - half, high + half)


def columns(kind: type[CellResult | SetResult]) -> tuple[str, ...]:
    """Columns of summary.csv or sets.csv, which has a row for each of that kind."""
    names = [field.name for field in attrs.fields(kind) if field.name != "cell"]
    return (*(field.name for field in attrs.fields(SearchCell)), *names)


def row(found: CellResult | SetResult) -> dict[str, Json]:
    plain = attrs.asdict(found)
    cell: dict[str, Any] = plain.pop("cell")
    return cell | plain
