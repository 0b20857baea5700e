"""From the runs of a campaign to its summary: one point in memory at a time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from operator import attrgetter
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from deadbeat.executors.metrics import Bools, JobColumns, job_columns, of_tasks
from deadbeat.kinds.contention.causes import part_figures
from deadbeat.kinds.contention.classes import by_class, class_mean, point_figures
from deadbeat.kinds.contention.counters import EventStates, counter_figures
from deadbeat.kinds.contention.evidence import CampaignEvidence, where_it_ran
from deadbeat.kinds.contention.figures import RunFigures, run_figures
from deadbeat.kinds.contention.findings import collect_findings
from deadbeat.kinds.contention.late import WORST, Worst, late_facts
from deadbeat.kinds.contention.object_charts import shared_objects
from deadbeat.kinds.contention.overlap import contended_plan, overlap_share
from deadbeat.kinds.contention.plan import class_unit, group_of, group_text
from deadbeat.kinds.contention.point import noise_floor, point_cell, pool_plain
from deadbeat.kinds.contention.precision import precision_findings, with_precision
from deadbeat.kinds.contention.predict import (
    Predicted,
    Priced,
    is_plain,
    pace_of,
    prediction_figures,
)
from deadbeat.kinds.contention.rounds_kept import without_overlapped
from deadbeat.kinds.contention.spec import CampaignSpec, read_spec
from deadbeat.kinds.contention.stress import Group, groups
from deadbeat.kinds.contention.stress_rows import group_cell
from deadbeat.model import jobs as j
from deadbeat.model.calibration import Calibration
from deadbeat.model.errors import DataError, DeadbeatError
from deadbeat.model.figures import CELL_COLUMNS, CellFigures, SetFigures
from deadbeat.model.jobs import JobTable
from deadbeat.model.results import (
    JobHistogram,
    Point,
    PointFigures,
    PrecisionRecord,
    RunKey,
    Summary,
    point_text,
)
from deadbeat.prices.stage import prices_in
from deadbeat.prices.states import CHANGED, FAR
from deadbeat.prices.stored import PRICES_FILE
from deadbeat.prices.table import PriceTable
from deadbeat.store.campaign import CampaignStore
from deadbeat.store.files import FORMAT, tool_version
from deadbeat.store.origin import Origin, origin_facts
from deadbeat.store.programs import file_hash
from deadbeat.store.serial import to_plain

Floats = NDArray[np.float64]

#: Bins of the distributions: sixteen to an octave (4.4 % wide) from 1/16 to 4096; the two end bins
#: also hold what lies beyond. One grid for all points, so that they can be drawn on each other.
BINS_PER_OCTAVE = 16
EDGES = np.exp2(np.arange(-4 * BINS_PER_OCTAVE, 12 * BINS_PER_OCTAVE + 1) / BINS_PER_OCTAVE)
DISTRIBUTED = ("slowdown", "delay_ratio", "response_ratio")


@frozen(kw_only=True)
class Attempts:
    """What happened to the runs of a campaign; ``precision``: why its points stopped, if known;
    ``prices``: hash of its prices."""

    committed: set[RunKey]
    failed: dict[RunKey, dict[str, Any]]
    planned: frozenset[RunKey]
    mode: str = "profile"
    precision: PrecisionRecord | None = None
    prices: str = ""

    @classmethod
    def of(cls, store: CampaignStore) -> Attempts:
        return cls(
            committed=store.committed(),
            failed=store.failed(),
            planned=store.programs.keys(),
            mode="stress" if store.spec.get("mode") == "stress" else "profile",
            precision=store.load_precision(),
            prices=file_hash(prices) if (prices := store.path / PRICES_FILE).is_file() else "",
        )

    def points(self) -> list[Point]:
        """Every point that was planned or tried, in order."""
        keys = itertools.chain(self.committed, self.failed, self.planned)
        return sorted({key.point for key in keys})

    def digest(self) -> str:
        """Changes whenever a stored summary no longer fits the runs."""
        text = repr(
            (
                FORMAT,
                (CELL_COLUMNS[self.mode], SetFigures.columns(self.mode)),
                tool_version(),
                sorted(key.text for key in self.committed | self.planned),
                sorted((key.text, str(value)) for key, value in self.failed.items()),
                len(self.committed),
                self.precision,
                self.prices,
            )
        )
        return sha256(text.encode()).hexdigest()


@frozen(kw_only=True)
class _Cell:
    """What is summarised: a point, or a group at a deadline factor.

    Attributes:
        name: As `plan.unit_of`.
        where: Which it is.
        balanced: Of a balanced mix; ``classes``: and its sets share objects, a class each.
    """

    name: str
    where: JobHistogram
    keys: list[RunKey]
    point: Point | None = None
    group: Group | None = None
    balanced: bool = False
    classes: bool = False


@frozen(kw_only=True)
class _Parts:
    """What a summary consists of, beside what holds for the whole campaign."""

    cells: list[CellFigures] = field(factory=list)
    sets: list[SetFigures] = field(factory=list)
    distributions: list[JobHistogram] = field(factory=list)
    of_points: list[list[SetFigures]] = field(factory=list)

    @classmethod
    def of(cls, cells: Iterable[_Cell], reader: RunReader, attempts: Attempts) -> _Parts:
        parts, every = cls(), list(cells)
        # what shares nothing says at which pace the others are predicted
        first = sorted(every, key=lambda cell: cell.point is None or not is_plain(cell.point))
        made = {cell.name: cls._of(cell, reader, attempts) for cell in first}
        for own in (made[cell.name] for cell in every):
            parts.cells.extend(own.cells)
            parts.sets.extend(own.sets)
            parts.distributions.extend(own.distributions)
            parts.of_points.extend(own.of_points)
        return parts

    @classmethod
    def _of(cls, cell: _Cell, reader: RunReader, attempts: Attempts) -> _Parts:
        sets, runs = [], list[RunFigures]()
        counts = {name: np.zeros(len(EDGES) - 1, np.int64) for name in DISTRIBUTED}
        for key in cell.keys:
            figures, of_set = reader.read(key, group=cell.group)
            sets.append(of_set)
            if cell.point:
                runs.append(figures)
            for name in DISTRIBUTED:
                counts[name] += bin_counts(getattr(figures, name))
        where = CellFigures.of(cell.where)
        found = point_cell(where, sets, runs) if cell.point else group_cell(where, sets)
        if cell.classes:
            found = found.with_figures(slowdown_mean=class_mean(sets, by_class(sets)))
        return cls(
            cells=[with_precision(found, attempts.precision, cell.name, sets)],
            sets=sets,
            distributions=list(_distributions(cell.where, counts)),
            of_points=[sets] if cell.balanced else [],
        )


def summarise(store: CampaignStore, *, worst: int = WORST) -> Summary:
    """The campaign in ``store`` as numbers; deterministic.

    Args:
        worst: Jobs that are named with what they are put down to, where the split was recorded.

    Raises:
        DataError: A file of the campaign is damaged; names it and what to do.
    """
    attempts = Attempts.of(store)
    calibration = store.load_calibration()
    origin = store.load_origin()
    reader = RunReader(store, calibration, attempts)
    reader.worst = Worst(worst)
    if attempts.mode == "stress":
        cells = _groups(reader, read_spec(store.spec), attempts)
    else:
        cells = _points(reader, attempts)
    parts = _Parts.of(cells, reader, attempts)
    found = pool_plain(parts.cells, parts.sets) if reader.balanced else parts.cells
    noise = noise_floor(found, parts.sets)
    # of a balanced map alone
    points = [*map(point_figures, found, parts.of_points)]
    evidence = CampaignEvidence(
        calibration=calibration,
        sessions=store.sessions(),
        cells=found,
        sets=parts.sets,
        failed=attempts.failed,
        solo_cost_ratios=reader.solo_cost_ratios,
        overloaded=sorted(reader.overloaded),
        long_slots=sorted(reader.long_slots),
        noise=noise,
        origin=origin,
        mode=attempts.mode,
    )
    return Summary(
        mode=attempts.mode,
        cells=tuple(found),
        sets=tuple(parts.sets),
        points=tuple(points),
        distributions=tuple(parts.distributions),
        findings=(*collect_findings(evidence), *precision_findings(attempts.precision)),
        noise_floor=noise,
        labels=labels_of(calibration, origin, realtime=all(each.realtime for each in parts.sets)),
        meta={
            **_meta(store, calibration, attempts),
            **late_facts(store, reader.worst),
            "prices": _price_facts(reader.prices, points),
            "counters": reader.events.states(),
        },
    )


def _points(reader: RunReader, attempts: Attempts) -> Iterator[_Cell]:
    by_point: dict[Point, list[RunKey]] = {}
    for key in sorted(attempts.committed):
        by_point.setdefault(key.point, []).append(key)
    for point in attempts.points():
        where: JobHistogram = {
            "cores": point.cores,
            "sync_share": point.sync_share,
            "contended_ratio": point.contended_ratio,
            "deadline_factor": reader.deadline_factor(point),
            "tasks_per_core": reader.tasks_per_core(point),
        }
        keys = by_point.get(point, [])
        yield _Cell(
            name=point_text(point),
            where=where,
            keys=keys,
            point=point,
            balanced=reader.balanced,
            classes=reader.balanced and not is_plain(point),
        )


def _groups(reader: RunReader, spec: CampaignSpec, attempts: Attempts) -> Iterator[_Cell]:
    assert spec.stress is not None
    by_cell: dict[tuple[Group | None, float | None], list[RunKey]] = {}
    for key in sorted(attempts.committed):
        cell = group_of(spec, key), reader.deadline_factor(key.point)
        by_cell.setdefault(cell, []).append(key)
    factors = [None] if spec.by_utilisation else [float(f) for f in spec.tasks.deadline_factor]
    for group, factor in itertools.product(groups(spec.stress), factors):
        where: JobHistogram = {
            "group": group.name,
            "cores": group.cores,
            "critical_cores": group.critical_cores or None,
            "deadline_factor": factor,
        }
        keys = by_cell.get((group, factor), [])
        yield _Cell(name=group_text(group, factor, spec), where=where, keys=keys, group=group)


def spec_of(store: CampaignStore) -> CampaignSpec | None:
    """The stored parameters; None where this version cannot read them, as some tests' are."""
    try:
        return read_spec(store.spec)
    except DeadbeatError:
        return None


def factor_at(spec: CampaignSpec | None, point: Point) -> float | None:
    """T / C of the task sets at ``point``; None where T is drawn, or the campaign does not say."""
    if point.deadline_factor_milli:
        return point.deadline_factor_milli / 1000
    if spec is None or spec.by_utilisation or len(spec.tasks.deadline_factor) != 1:
        return None
    return float(spec.tasks.deadline_factor[0])


class PlanFigures(Predicted, total=False):
    """What is said of a set by its plan, as fields of `SetFigures`."""

    seed: int | None
    sync_share_real: float
    contended_ratio_real: float | None
    cost_half_width: float
    overlap_real: float | None
    shared_objects: str | None


class RunReader:
    """Reads runs of a campaign together with their plans.

    Attributes:
        solo_cost_ratios: Of the runs read so far: per task, median solo span / C.
        worst: Their worst jobs.
        overloaded: Those of them that ask more of a core than it has.
        long_slots: Those of these that ran late, in long slots.
    """

    def __init__(
        self, store: CampaignStore, calibration: Calibration | None, attempts: Attempts
    ) -> None:
        self._store = store
        self._calibration = calibration
        self._spec = spec_of(store)
        self.worst = Worst()
        self.prices = prices_in(store)
        self._priced = None if calibration is None else Priced.of(store, calibration)
        self._paced = False
        self.solo_cost_ratios: dict[RunKey, Floats] = {}
        self.overloaded: list[RunKey] = []
        self.long_slots: list[RunKey] = []
        self.events = EventStates()

    @property
    def balanced(self) -> bool:
        """Whether its sets have a class of object each."""
        return self._spec is not None and self._spec.grid is not None and self._spec.grid.balanced

    def deadline_factor(self, point: Point) -> float | None:
        """T / C of the task sets at ``point``; None where the campaign does not say."""
        return factor_at(self._spec, point)

    def tasks_per_core(self, point: Point) -> int | None:
        """N / M at ``point`` of a grid; None where the campaign does not say."""
        return point.per_core or (None if self._spec is None else self._spec.tasks.per_core)

    def read(self, key: RunKey, *, group: Group | None = None) -> tuple[RunFigures, SetFigures]:
        """Figures of the committed run ``key``, those of its set with what its plan says.

        Raises:
            DataError: Its file is damaged, or belongs to another task set than its program.
        """
        table, left_out = without_overlapped(self._store.table(key))
        self.worst.consider(key, table)
        everyone = job_columns(table)
        chosen = self._critical(key, table, group)
        columns = everyone if chosen is None else of_tasks(everyone, chosen)
        figures = run_figures(table, columns, chosen=chosen)
        self.solo_cost_ratios[key] = figures.solo_cost_ratio
        loads = table.tasks["wcet_ns"] / table.tasks["period_ns"]
        # T is a whole number of nanoseconds: a core that is exactly full may be beyond by rounding.
        if np.bincount(table.tasks["core"], weights=loads).max() > 1 + 1e-6:
            self.overloaded.append(key)
            if int(table.header["flags"]) & j.RUN_LATE:
                self.long_slots.append(key)
        solo = table.slots["kind"] == j.SLOT_SOLO
        states = None if self._priced is None else self._priced.slot_states(table)
        self.events.add(table)
        return figures, evolve(
            figures.of_set,
            key=key.text,
            group="" if group is None else group.name,
            cores=key.point.cores,
            critical_cores=0 if group is None else group.critical_cores,
            sync_share=key.point.sync_share,
            contended_ratio=key.point.contended_ratio,
            deadline_factor=self.deadline_factor(key.point),
            replica=key.replica,
            set_id=table.set_id,
            utilisation=float(loads.sum()),
            realtime=bool(int(table.header["flags"]) & j.RUN_REALTIME),
            left_out=left_out,
            began_ns=int(table.header["epoch_realtime_ns"]) or None,
            file=self._store.jobs_path(key).relative_to(self._store.path).as_posix(),
            object_class=None if self._spec is None else class_unit(self._spec, key) or None,
            far_share=_far_share(states, ~solo),
            far_share_alone=_far_share(states, solo),
            parts=part_figures(table, everyone, tasks=chosen),
            counters=counter_figures(table, tasks=chosen),
            **self._plan_figures(key, table, (everyone, columns), chosen),
        )

    def _critical(self, key: RunKey, table: JobTable, group: Group | None) -> Bools | None:
        """Which tasks the set is about; None: all of them."""
        if group is None or not group.critical_cores:
            return None
        planned = self._store.programs.planned(key)
        if planned is None or len(planned.task_set.tasks) != len(table.tasks):
            return np.asarray(table.tasks["core"] < group.critical_cores)
        return np.array([task.critical for task in planned.task_set.tasks])

    def _plan_figures(
        self,
        key: RunKey,
        table: JobTable,
        both: tuple[JobColumns, JobColumns],
        chosen: Bools | None,
    ) -> PlanFigures:
        """What needs the task set: its seed, the realised axes, the overlap, what is predicted.

        Args:
            both: The jobs of all tasks, and of the ``chosen`` ones.
        """
        everyone, columns = both
        planned = self._store.programs.planned(key)
        if planned is None:
            return {}
        task_set, path = planned.task_set, self._store.jobs_path(key)
        same_id = planned.set_id in ("", table.set_id)
        if not same_id or len(task_set.tasks) != len(table.tasks):
            raise DataError(
                f"job file {path} belongs to another task set than batch {planned.batch}",
                "delete it and repeat the campaign's command: only this run is measured again",
            )
        has_sync = task_set.sync_share_real > 0
        found: PlanFigures = {
            "seed": task_set.seed,
            "sync_share_real": task_set.sync_share_real,
            "contended_ratio_real": task_set.contended_ratio_real if has_sync else None,
        }
        if self._priced is not None:
            if not is_plain(key.point) and not self._paced:
                self._paced, known = True, self.solo_cost_ratios.items()
                pace = pace_of(ratios for plain, ratios in known if is_plain(plain.point))
                self._priced = self._priced.at_pace(pace)
            with suppress(DataError):  # a calibration that lacks an entry says nothing of it
                found = {
                    **found,
                    **prediction_figures(table, everyone, task_set, self._priced, chosen=chosen),
                }
        if self._calibration is not None:
            plan = contended_plan(task_set, self._calibration)
            # every set draws on the same costs: this part of a delay ratio's interval does not
            # shrink with the number of sets
            costs = [self._calibration.cost_uncertainty(task) for task in task_set.tasks]
            found["cost_half_width"] = float(np.mean(costs))
            found["overlap_real"] = overlap_share(columns, table.tasks, plan)
            found["shared_objects"] = shared_objects(task_set, plan)
        return found


def _far_share(states: NDArray[np.str_] | None, slots: Bools) -> float | None:
    """Share of these slots in which the CPUs were far apart; None: not known."""
    known = None if states is None else states[slots & (states != CHANGED)]
    return None if known is None or not len(known) else float((known == FAR).mean())


def bin_counts(values: Floats) -> NDArray[np.int64]:
    """How many ``values`` lie in each bin of EDGES; the end bins take what lies beyond."""
    with np.errstate(divide="ignore"):
        bins = np.floor(np.log2(values) * BINS_PER_OCTAVE) + 4 * BINS_PER_OCTAVE
    inside = np.clip(bins, 0, len(EDGES) - 2).astype(np.int64)
    return np.bincount(inside, minlength=len(EDGES) - 1)


def _distributions(
    where: JobHistogram, histograms: dict[str, NDArray[np.int64]]
) -> Iterator[JobHistogram]:
    """Histograms of a point or group, cut to the bins that hold something."""
    for name, counts in histograms.items():
        filled = np.flatnonzero(counts)
        if len(filled) == 0:
            continue
        first, last = int(filled[0]), int(filled[-1])
        yield {
            **where,
            "metric": name,
            "edges": EDGES[first : last + 2].tolist(),
            "counts": counts[first : last + 1].tolist(),
        }


def labels_of(
    calibration: Calibration | None, origin: Origin | None, *, realtime: bool
) -> tuple[str, ...]:
    """What must show on every figure."""
    labels = []
    platform = where_it_ran(calibration, origin)
    if platform and platform.kind != "hardware":
        labels.append(platform.kind)
    if platform and platform.hosted:
        labels.append(f"{platform.system} hosted on Linux")
    other = calibration is not None and calibration.policy == "other"
    if other or not realtime:
        labels.append("policy other")
    if calibration and calibration.basis == "cold":
        labels.append("cold costs")
    if calibration and calibration.layout != "default":
        labels.append("shared address space")
    if origin is not None and not origin.same_hardware:
        labels.append("foreign costs")
    cpus = platform.cpus if platform else ()
    if len(set(cpus)) < len(cpus):
        labels.append(f"{len(cpus)} cores on {len(set(cpus))} CPUs")
    return tuple(labels)


def _meta(
    store: CampaignStore, calibration: Calibration | None, attempts: Attempts
) -> dict[str, object]:
    sessions, origin = store.sessions(), store.load_origin()
    platform = where_it_ran(calibration, origin)
    first = next((record.before for record in sessions if record.before), {})
    return {
        "name": store.path.resolve().name,
        "seed": store.seed,
        "created_at": first.get("time"),
        "parameters": store.spec,
        "platform": to_plain(platform) if platform else None,
        "origin": origin_facts(origin) if origin else None,
        "calibration": _calibration_facts(calibration) if calibration else None,
        "sessions": [
            {"session": record.number, "before": record.before, "after": record.after}
            for record in sessions
        ],
        "failed": {key.text: failure for key, failure in sorted(attempts.failed.items())},
        "precision": None if attempts.precision is None else to_plain(attempts.precision),
        "planned": None if attempts.precision else len(attempts.planned),
        "runs_digest": attempts.digest(),
    }


def _price_facts(table: PriceTable | None, points: Sequence[PointFigures]) -> object:
    """The prices as plain values, each with whether sets of its object are saturated where all is
    contended on the most cores."""
    if table is None:
        return None
    place = attrgetter("cores", "sync_share", "contended_ratio")
    fewest = min((each.tasks_per_core or 1 for each in points), default=1)
    sharing = [each for each in points if each.by_class and each.tasks_per_core == fewest]
    classes = max(sharing, key=place).by_class if sharing else {}
    prices = tuple(
        price
        if (own := classes.get(price.object)) is None
        else evolve(price, saturated=own.saturated, unfinished_share=own.unfinished_share)
        for price in table.prices
    )
    return to_plain(evolve(table, prices=prices, states={}))


def _calibration_facts(calibration: Calibration) -> dict[str, object]:
    return {
        "basis": calibration.basis,
        "policy": calibration.policy,
        "pool": calibration.pool,
        "entries": len(calibration.costs),
        "refused": dict(calibration.refused),
        "made_at": calibration.made_at,
        "seconds": calibration.seconds,
        "fingerprint": calibration.platform.fingerprint,
        "yardstick_ps": list(calibration.yardstick_ps),
        "cache_line_ps": dict(calibration.cache_line_ps),
    }
