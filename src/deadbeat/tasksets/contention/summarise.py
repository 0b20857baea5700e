"""From the runs of a campaign to its summary: one point in memory at a time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from hashlib import sha256
from operator import attrgetter
from typing import Any

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.words import Json, inside
from deadbeat.base.store.files import FORMAT, file_hash, tool_version
from deadbeat.tasksets.contention.figures import RunFigures
from deadbeat.tasksets.contention.findings import CampaignEvidence, collect_findings, where_it_ran
from deadbeat.tasksets.contention.late import WORST, Worst, late_facts
from deadbeat.tasksets.contention.plan import group_of, group_text
from deadbeat.tasksets.contention.point import (
    by_class,
    class_bound,
    class_mean,
    group_cell,
    noise_floor,
    point_cell,
    point_figures,
    pool_plain,
    ranged,
)
from deadbeat.tasksets.contention.precision import precision_findings, with_precision
from deadbeat.tasksets.contention.run_reader import RunReader, is_plain
from deadbeat.tasksets.contention.spec import CampaignSpec, read_spec
from deadbeat.tasksets.contention.stress import Group, groups
from deadbeat.tasksets.executors.scheduled import NO_CONTENTION
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.figures import CELL_COLUMNS, CellFigures, SetFigures
from deadbeat.tasksets.model.results import (
    JobHistogram,
    Point,
    PointFigures,
    PrecisionRecord,
    RunKey,
    Summary,
    point_text,
)
from deadbeat.tasksets.prices.rates import works_of
from deadbeat.tasksets.prices.stage import PRICES_FILE
from deadbeat.tasksets.prices.table import PriceTable
from deadbeat.tasksets.store.campaign import CampaignStore
from deadbeat.tasksets.store.origin import Origin, origin_facts
from deadbeat.tasksets.store.serial import to_plain

Floats = NDArray[np.float64]

#: Bins of the distributions: sixteen to an octave (4.4 % wide) from 1/16 to 4096; the two end bins
#: also hold what lies beyond. One grid for all points, so that they can be drawn on each other.
BINS_PER_OCTAVE = 16
EDGES = np.exp2(np.arange(-4 * BINS_PER_OCTAVE, 12 * BINS_PER_OCTAVE + 1) / BINS_PER_OCTAVE)
#: Figures of points that a balanced map means over classes, and pools where nothing is shared.
RATIOS = ("slowdown_mean", "slowdown_undisturbed")
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
    """What is summarised: a point, or group at a deadline factor; ``name``: see `plan.unit_of`."""

    name: str
    where: JobHistogram
    keys: list[RunKey]
    point: Point | None = None
    group: Group | None = None


def _summed(
    cell: _Cell, reader: RunReader, attempts: Attempts
) -> tuple[CellFigures, list[SetFigures], list[JobHistogram]]:
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
    if reader.balanced and cell.point and not is_plain(cell.point):
        classes = by_class(sets)
        means = {column: class_mean(sets, classes, column) for column in RATIOS}
        found = found.with_figures(**means, slowdown_bound=class_bound(classes))
    found = ranged(with_precision(found, attempts.precision, cell.name, sets), sets)
    return found, sets, [*_distributions(cell.where, counts)]


def summarise(store: CampaignStore, *, worst: int = WORST) -> Summary:
    """The campaign in ``store`` as numbers; deterministic. ``worst``: jobs that are named with what
    they are put down to, where the split was recorded. Raises DataError: a file of the campaign is
    damaged; names it and what to do."""
    attempts = Attempts.of(store)
    calibration = store.load_calibration()
    origin = store.load_origin()
    reader = RunReader(store, calibration)
    reader.worst = Worst(worst)
    stress = attempts.mode == "stress"
    cells = [
        *(_groups(reader, read_spec(store.spec), attempts) if stress else _points(reader, attempts))
    ]
    # what shares nothing says at which pace the others are predicted
    first = sorted(cells, key=lambda cell: cell.point is None or not is_plain(cell.point))
    made = {cell.name: _summed(cell, reader, attempts) for cell in first}
    parts = [made[cell.name] for cell in cells]
    found, sets = [cell for cell, _, _ in parts], [each for _, own, _ in parts for each in own]
    for column in RATIOS if reader.balanced else ():
        found = pool_plain(found, sets, column)
    noise = noise_floor(found, sets)
    points = [
        point_figures(cell, own)
        for cell, (_, own, _) in zip(found, parts, strict=True)
        if reader.balanced
    ]
    evidence = CampaignEvidence(
        calibration=calibration,
        sessions=store.sessions(),
        cells=found,
        sets=sets,
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
        sets=tuple(sets),
        points=tuple(points),
        distributions=tuple(each for _, _, own in parts for each in own),
        findings=(*collect_findings(evidence), *precision_findings(attempts.precision)),
        noise_floor=noise,
        labels=labels_of(calibration, origin, realtime=all(each.realtime for each in sets)),
        meta={
            **_meta(store, calibration, attempts),
            **late_facts(store, reader.worst),
            "prices": _price_facts(reader.prices, points),
            "counters": reader.events.states(),
        },
    )


def _points(reader: RunReader, attempts: Attempts) -> Iterator[_Cell]:
    by_point = grouped(sorted(attempts.committed), lambda key: key.point)
    for point in attempts.points():
        where: JobHistogram = {
            "cores": point.cores,
            "sync_share": point.sync_share,
            "contended_ratio": point.contended_ratio,
            "deadline_factor": reader.deadline_factor(point),
            "tasks_per_core": reader.tasks_per_core(point),
        }
        keys = by_point.get(point, [])
        yield _Cell(name=point_text(point), where=where, keys=keys, point=point)


def _groups(reader: RunReader, spec: CampaignSpec, attempts: Attempts) -> Iterator[_Cell]:
    assert spec.stress is not None
    by_cell = grouped(
        sorted(attempts.committed),
        lambda key: (group_of(spec, key), reader.deadline_factor(key.point)),
    )
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


def bin_counts(values: Floats) -> NDArray[np.int64]:
    """How many ``values`` lie in each bin of EDGES; the end bins take what lies beyond."""
    with np.errstate(divide="ignore"):
        bins = np.floor(np.log2(values) * BINS_PER_OCTAVE) + 4 * BINS_PER_OCTAVE
    inside = np.clip(bins, 0, len(EDGES) - 2).astype(np.int64)
    return np.bincount(inside, minlength=len(EDGES) - 1)


def _distributions(
    where: JobHistogram, histograms: dict[str, NDArray[np.int64]]
) -> Iterator[JobHistogram]:
    for name, counts in histograms.items():
        if counts.any():
            first, last = np.flatnonzero(counts)[[0, -1]]
            edges, own = EDGES[first : last + 2].tolist(), counts[first : last + 1].tolist()
            yield {**where, "metric": name, "edges": edges, "counts": own}


def labels_of(
    calibration: Calibration | None, origin: Origin | None, *, realtime: bool
) -> tuple[str, ...]:
    platform, costs = where_it_ran(calibration, origin), calibration
    cpus = platform.cpus if platform else ()
    labels = {
        platform.kind if platform else "": platform and platform.kind != "hardware",
        "simulated": platform and platform.simulated,
        "no contention": platform and platform.soc.endswith(NO_CONTENTION),
        f"{platform.system if platform else ''} hosted on Linux": platform and platform.hosted,
        "policy other": not realtime or (costs and costs.policy == "other"),
        "cold costs": costs and costs.basis == "cold",
        "shared address space": costs and costs.layout != "default",
        "foreign costs": origin and not origin.same_hardware,
        f"{len(cpus)} cores on {len(set(cpus))} CPUs": len(set(cpus)) < len(cpus),
    }
    return tuple(label for label, holds in labels.items() if holds)


def _meta(
    store: CampaignStore, calibration: Calibration | None, attempts: Attempts
) -> dict[str, Json]:
    sessions, origin = store.sessions(), store.load_origin()
    platform = where_it_ran(calibration, origin)
    first = next((record.before for record in sessions if record.before), {})
    # Share of the work of a replay that has a price (``names``); None of what was measured.
    names = inside(first, "replay", "ratios")
    if calibration is None or not names:
        priced_share = None
    else:
        every = (store.programs.task_set(key) for key in sorted(store.committed()))
        works = [each for own in every for task in works_of(own, calibration) for each in task]
        whole = sum(ns for _, ns in works)
        priced = sum(ns for work, ns in works if work.fragment in names)
        priced_share = priced / whole if whole else None
    if calibration:
        calibration_facts = {
            **{name: getattr(calibration, name) for name in ("basis", "policy", "pool")},
            "entries": len(calibration.costs),
            "refused": dict(calibration.refused),
            **{name: getattr(calibration, name) for name in ("made_at", "seconds")},
            "fingerprint": calibration.platform.fingerprint,
            "yardstick_ps": list(calibration.yardstick_ps),
            "cache_line_ps": dict(calibration.cache_line_ps),
        }
    else:
        calibration_facts = None
    return {
        "name": store.path.resolve().name,
        "seed": store.seed,
        "created_at": first.get("time"),
        "parameters": store.spec,
        "platform": to_plain(platform) if platform else None,
        "origin": origin_facts(origin) if origin else None,
        "calibration": calibration_facts,
        "sessions": [
            {"session": record.number, "before": record.before, "after": record.after}
            for record in sessions
        ],
        "failed": {key.text: failure for key, failure in sorted(attempts.failed.items())},
        "precision": None if attempts.precision is None else to_plain(attempts.precision),
        "planned": None if attempts.precision else len(attempts.planned),
        "runs_digest": attempts.digest(),
        "priced_share": priced_share,
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
