"""What slots showed, where that is stored, and the slowdowns it comes to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from statistics import geometric_mean

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from deadbeat.base.experiment.folders import RunFolders
from deadbeat.base.model.finding import Finding, finding
from deadbeat.base.model.run import StoredRun
from deadbeat.base.model.specification import read
from deadbeat.base.model.words import LAB, LABELLED
from deadbeat.base.stats.correlate import leaf_order
from deadbeat.base.stats.intervals import Interval, ratio_interval
from deadbeat.base.store.folder import EXPERIMENT_FILE
from deadbeat.base.store.place import FolderKind
from deadbeat.base.store.runfolder import RunFolder, run_converter
from deadbeat.tasksets.interfere.spec import (
    OTHERS,
    InterfereKey,
    InterfereSpec,
    SetWork,
    VictimCaches,
    machine_of,
    plan,
)
from deadbeat.tasksets.prices.stage import prices_in
from deadbeat.tasksets.prices.table import PriceTable

Slots = NDArray[np.int64]
#: Aggressors that are none: nothing beside, and threads that sleep there.
ALONE, ASLEEP = -1, -2
#: Less is not called interference, whatever its interval.
LEAST = 1.05


@frozen(kw_only=True)
class InterfereRun(StoredRun):
    """One set of processes.

    Attributes:
        refused: Works that could not be set up, and why.
        slots: (round, victim, aggressor, uses, aggressors that were there, ns of all uses), with
            works as indices, `ALONE` or `ASLEEP`. Of a primitive the ns are the sum of its samples.
        footprints: Bytes of memory that each work goes through; empty: not recorded.
    """

    key: InterfereKey
    clock_cost_ps: int
    slot_ns: int
    refused: dict[str, str]
    slots: tuple[tuple[int, int, int, int, int, int], ...]
    footprints: tuple[int, ...] = ()


class InterfereStore(RunFolder[InterfereKey, InterfereRun]):
    KIND, NOUN = "interfere", "interference matrix"
    KEY, RUN = InterfereKey, InterfereRun
    CONVERTER = run_converter(InterfereKey)


FOLDERS = RunFolders(
    kind=FolderKind(EXPERIMENT_FILE, InterfereStore.NOUN, InterfereStore.KIND),
    store=InterfereStore,
    read=partial(read, InterfereSpec),
    planned=lambda store: plan(read(InterfereSpec, store.spec)),
)


@frozen(kw_only=True)
class Slowdown:
    """Slowdown of a victim beside an aggressor (None: threads that sleep).

    Attributes:
        value: Geometric mean over runs of (time beside / time alone); a use alone takes
            ``alone_ns``.
        late: Slots in which not all aggressors were there when the victim began.
        place: Where the aggressors were; another place is another cell.
        least: What is less is noise, or does not matter.
    """

    victim: SetWork
    aggressor: SetWork | None
    value: float
    interval: Interval | None
    alone_ns: float
    slots: int
    late: int
    place: str = OTHERS
    least: float = LEAST

    @property
    def shows(self) -> bool:
        """Whether the victim is slowed, beyond the noise and by enough to matter."""
        return self.value >= self.least and self.interval is not None and self.interval.low > 1.0

    @property
    def undecided(self) -> bool:
        """Whether a slowdown that matters may be there, or not."""
        return not (self.shows or self.free)

    @property
    def runs_needed(self) -> float:
        """Times as many that decide it, if they are like these: the interval goes by the root."""
        if self.interval is None:
            return math.inf
        matters = self.value >= self.least
        end, goal = (self.interval.low, 1.0) if matters else (self.interval.high, self.least)
        return (math.log(end / self.value) / math.log(goal / self.value)) ** 2

    @property
    def free(self) -> bool:
        """Whether the whole interval is below what matters."""
        return self.interval is not None and self.interval.high < self.least


@frozen(kw_only=True)
class InterfereSummary:
    """Who slows whom on a machine: every pair at each of ``places``. ``order``: the works, alike
    ones beside each other. ``footprints``: bytes of memory that a work goes through, where
    recorded. ``prices``: those of the objects and the memory among the works; None: unmeasured."""

    name: str
    spec: InterfereSpec
    done: int
    slots: int
    labels: tuple[str, ...]
    findings: tuple[Finding, ...]
    refused: dict[str, str]
    cells: tuple[Slowdown, ...]
    order: tuple[SetWork, ...]
    machine: VictimCaches = field(factory=VictimCaches)
    footprints: dict[SetWork, int] = field(factory=dict)
    prices: PriceTable | None = None

    @property
    def places(self) -> tuple[str, ...]:
        """Where aggressors were, the first one asked for first."""
        found = {cell.place for cell in self.cells}
        return tuple(place for place in self.spec.aggressors or (OTHERS,) if place in found)

    def cell(self, victim: SetWork, aggressor: SetWork | None, place: str = "") -> Slowdown | None:
        """One of ``cells``, at the first place by default; None: it was not measured."""
        wanted = (victim, aggressor, place or next(iter(self.places), OTHERS))
        return next((c for c in self.cells if (c.victim, c.aggressor, c.place) == wanted), None)

    def by(self, victim: SetWork, place: str = "") -> list[Slowdown]:
        """Aggressors that slow it, the worst first; without the threads that sleep."""
        place = place or next(iter(self.places), OTHERS)
        mine = [c for c in self.cells if c.victim == victim and c.aggressor and c.place == place]
        return sorted(mine, key=lambda cell: -cell.value)


def summarise(store: InterfereStore) -> InterfereSummary:
    spec, kind = read(InterfereSpec, store.spec), store.platform.kind
    not_real = [finding(kind, "these slowdowns are not of hardware")] if kind in LAB else []
    runs = list(store.runs())
    counted = [run for run in runs if run.valid]
    cells = slowdowns(spec.works, counted)
    known = next((run.footprints for run in counted if run.footprints), ())
    return InterfereSummary(
        name=store.path.name,
        spec=spec,
        done=len(runs),
        slots=sum(len(run.slots) for run in counted),
        labels=(kind.upper(),) * (kind in LABELLED) + ("SCHED_OTHER",) * (spec.policy == "other"),
        findings=(*not_real, *(each for run in runs for each in run.problems)),
        refused={name: why for run in counted for name, why in run.refused.items()},
        cells=cells,
        order=ordered(spec.works, cells),
        machine=machine_of(store.platform, (spec.cpus or store.platform.cpus)[0]),
        footprints=dict(zip(spec.works, known, strict=False)),
        prices=prices_in(store),
    )


def footprint_of(work: SetWork, held: int) -> int:
    """Bytes of memory that it goes through; ``held``: what the runtime says that a fragment has."""
    return work.size * work.primitive.touches if work.primitive else held


def slowdowns(works: Sequence[SetWork], runs: Sequence[InterfereRun]) -> tuple[Slowdown, ...]:
    """Slowdowns of every measured pair, place by place. No slot is left out for being slow.

    Times of a use are geometric means over the slots of a run: one in which a core stood still
    would be all of an arithmetic mean. The interval is of the mean of logarithms over runs, which
    are processes of their own: memory that lies badly slows all slots of a run. Less than any
    victim shows beside threads that sleep is noise.
    """
    found: list[Slowdown] = []
    for place in dict.fromkeys(run.key.place for run in runs):
        tables = [
            np.array(run.slots, np.int64).reshape(-1, 6) for run in runs if run.key.place == place
        ]
        here = [
            cell
            for v, victim in enumerate(works)
            for mine in [[table[table[:, 1] == v] for table in tables]]
            for a in (ASLEEP, *range(len(works)))
            if (cell := _slowdown(mine, a, victim, None if a == ASLEEP else works[a], place))
        ]
        least = max([LEAST, *(cell.value for cell in here if cell.aggressor is None)])
        found += (evolve(cell, least=least) for cell in here)
    return tuple(found)


def _slowdown(
    tables: Sequence[Slots], a: int, victim: SetWork, aggressor: SetWork | None, place: str
) -> Slowdown | None:
    """From the slots of one victim, a table for each run."""
    taken, alone, slots, late = [], [], 0, 0
    for every in tables:
        table = every[(every[:, 3] > 0) & (every[:, 5] > 0)]
        beside, solo = table[table[:, 2] == a], table[table[:, 2] == ALONE]
        if not (len(beside) and len(solo)):
            continue
        taken.append(float(geometric_mean(beside[:, 5] / beside[:, 3])))
        alone.append(float(geometric_mean(solo[:, 5] / solo[:, 3])))
        slots += len(beside)
        late += int((beside[:, 4] < beside[:, 4].max()).sum())
    if not taken:
        return None
    return Slowdown(
        victim=victim,
        aggressor=aggressor,
        value=geometric_mean(taken) / geometric_mean(alone),
        interval=ratio_interval(taken, alone),
        alone_ns=geometric_mean(alone),
        slots=slots,
        late=late,
        place=place,
    )


def ordered(works: Sequence[SetWork], cells: Sequence[Slowdown]) -> tuple[SetWork, ...]:
    """Works that do and suffer alike side by side, by what shows of the log slowdowns, the largest
    of all places."""
    place = {work: at for at, work in enumerate(works)}
    suffered = np.zeros((len(works), len(works)))
    for cell in cells:
        if cell.aggressor is not None and cell.shows:
            at = place[cell.victim], place[cell.aggressor]
            suffered[at] = max(suffered[at], np.log(cell.value))
    return tuple(works[at] for at in leaf_order(np.hstack([suffered, suffered.T])))
