"""The rows of a study as masks and counts: what every figure, table and conclusion starts from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import product
from operator import attrgetter, methodcaller
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.base.report.document import Column
from deadbeat.base.stats.intervals import Interval
from deadbeat.base.stats.proportions import Count, Mean, crossing
from deadbeat.sched import Scheduler
from deadbeat.sched import tests as test_facts
from deadbeat.sched.analysis import ANY_SCHEDULER
from deadbeat.sched.study.chunks import (
    ACCEPTED,
    NO,
    NOT_APPLICABLE,
    REFUTED,
    TEST_UNDECIDED,
    UNDECIDED,
    YES,
    Rows,
)
from deadbeat.sched.study.spec import WITHOUT_LOCKS, StudySpec, SweepCell, full_name

Mask = NDArray[np.bool_]

_OPEN = (TEST_UNDECIDED, NOT_APPLICABLE)


def _of_cells(name: str) -> cached_property[NDArray[Any]]:
    """The column of what a cell has under ``name``."""
    return cached_property(
        lambda self: np.array([getattr(cell, name) for cell in self.spec.cells])[self.rows["cell"]]
    )


class StudyResults:
    """Columns over all task sets of a study. A mask is a truth value per row; where a sweep only
    counts, a row is for ``sets`` of them.

    A scheduler or test is named by its label in the specification. ``load``: thousandths of the
    processors, as aimed at.
    """

    processors, tasks = _of_cells("processors"), _of_cells("tasks")
    load, source = _of_cells("load"), _of_cells("source")

    def __init__(self, spec: StudySpec, rows: Rows) -> None:
        self.spec = spec
        self.rows = rows
        self._place = {label: f"s{k}" for k, label in enumerate(spec.contenders)}
        self._test = {name: f"t{k}" for k, name in enumerate(spec.test_labels)}

    @cached_property
    def lcm_limit(self) -> NDArray[np.int64]:
        bounds = [self.spec.sources[cell.source].bound or 0 for cell in self.spec.cells]
        found: NDArray[np.int64] = np.array(bounds)[self.rows["cell"]]
        return found

    @property
    def generated(self) -> Mask:
        return np.asarray(self.rows["generated"])

    @cached_property
    def everything(self) -> Mask:
        return np.ones(len(self.rows), dtype=np.bool_)

    def sets(self, mask: Mask) -> int:
        """Number of task sets in ``mask``: a row may stand for several."""
        weights = self.rows.dtype.names and "sets" in self.rows.dtype.names
        return int(self.rows["sets"][mask].sum() if weights else np.count_nonzero(mask))

    def labels(self) -> tuple[str, ...]:
        """Contenders, then tests."""
        return (*self._place, *self._test)

    def is_test(self, label: str) -> bool:
        return label in self._test

    def has(self, label: str) -> bool:
        return label in self._test or label in self._place

    def _answers(self, label: str) -> NDArray[np.int8]:
        simulated = label in self._place
        return np.asarray(
            self.rows[f"{self._place[label]}.answer" if simulated else self._test[label]]
        )

    def only_refutes(self, label: str) -> bool:
        """Simulation of tasks with locks, or with costs: what no pattern refutes is as that of
        necessary tests."""
        if self.is_test(label):
            return False
        return self.spec.locks or bool(self.spec.contenders[label].costs)

    def title(self, label: str) -> str:
        """``p-fp+inherit, not refuted`` where it only refutes."""
        if not self.only_refutes(label):
            return label
        it, source = self.spec.contenders[label], next(iter(self.spec.sources.values()))
        return f"{label.replace(it.policy, full_name(it, source), 1)}, not refuted"

    def yes(self, label: str) -> Mask:
        """Schedulable, or accepted; of a necessary test: not refuted."""
        answers = self._answers(label)
        if self.only_refutes(label):
            return self.generated & np.not_equal(answers, NO)
        if label in self._test and test_facts()[self.spec.test(label)[0]].kind == "necessary":
            return self.decided(label) & np.not_equal(answers, REFUTED)
        return np.equal(answers, ACCEPTED if self.is_test(label) else YES)

    def decided(self, label: str) -> Mask:
        """Answered: not out of budget, not outside what a test is for, and generated at all."""
        return self.generated & ~self.undecided(label)

    def undecided(self, label: str) -> Mask:
        open_ = _OPEN if self.is_test(label) else (UNDECIDED,) * (not self.only_refutes(label))
        return self.generated & np.isin(self._answers(label), open_)

    def placed(self, label: str) -> Mask:
        """Whether the partitioning heuristic found a place for every task."""
        return self.figure(label, "placed") & self.generated

    def regions(self) -> Iterator[Region]:
        """What is undecided, of every scheduler that has tests which accept and which refute."""
        facts = {name: test_facts()[self.spec.test(name)[0]] for name in self._test}
        axes = product(self.spec.contenders, np.unique(self.processors), self.spec.sources)
        for label, m, source in axes:
            drawn = self.spec.sources[source]
            about = (ANY_SCHEDULER, full_name(self.spec.contenders[label], drawn))
            mine = {
                name: it.kind
                for name, it in facts.items()
                if it.scheduler in about and not (drawn.locks and WITHOUT_LOCKS in name)
            }
            kinds = {*mine.values(), *["necessary"] * bool(drawn.locks)}  # what simulation is then
            if not (kinds & {"sufficient", "exact"} and kinds & {"necessary", "exact"}):
                continue
            answers = [self._answers(name) for name in mine]
            accepted, refuted = (np.any(np.equal(answers, a), axis=0) for a in (ACCEPTED, REFUTED))
            if drawn.locks:  # of its placement: a test may accept another
                late = np.equal(self._answers(label), NO) & self.placed(label)
                refuted = (refuted | late) & ~accepted
            here = (self.processors == m) & (self.source == source) & self.generated
            if here.any():
                masks = (accepted & here, refuted & here, here & ~accepted & ~refuted)
                yield Region(label, int(m), source, *masks, self)

    def figure(self, label: str, name: str) -> NDArray[Any]:
        """A column of the simulation, ``migrations`` for example."""
        return np.asarray(self.rows[f"{self._place[label]}.{name}"])

    def exact_tests(self, label: str) -> tuple[str, ...]:
        """Exact tests of what ``label``, a sufficient one, is about."""
        asked = {name: self.spec.test(name) for name in self._test}
        facts = {name: test_facts()[of] for name, (of, _) in asked.items()}
        if label not in facts or facts[label].kind != "sufficient":
            return ()
        return tuple(
            name
            for name, it in facts.items()
            if (it.kind, it.scheduler) == ("exact", facts[label].scheduler)
            if (asked[name][1], WITHOUT_LOCKS in name) == (asked[label][1], WITHOUT_LOCKS in label)
        )

    def of_schedulable(self, label: str, mask: Mask) -> Count:
        """Sets in ``mask`` that a sufficient test accepts, of those that an exact one does."""
        exact = [self.yes(name) for name in self.exact_tests(label)]
        inside = mask & self.decided(label) & np.any(exact, axis=0) if exact else ~self.everything
        return Count(self.sets(inside & self.yes(label)), self.sets(inside))

    def count(self, label: str, mask: Mask) -> Count:
        """Yes of all decided sets in ``mask``."""
        inside = mask & self.decided(label)
        return Count(self.sets(inside & self.yes(label)), self.sets(inside))

    def mean(self, label: str, name: str, mask: Mask) -> Mean:
        """Mean of a figure over the schedulable sets in ``mask``."""
        inside = mask & self.yes(label)
        return Mean.of(self.figure(label, name)[inside].astype(np.float64))

    def late(self, label: str, name: str, mask: Mask) -> Mean:
        """Mean of a figure over all sets in ``mask`` that were simulated, past misses too;
        ``miss_ratio``: late jobs of those with a deadline in the time simulated."""
        inside = mask & self.decided(label) & self.placed(label)
        if name != "miss_ratio":
            return Mean.of(self.figure(label, name)[inside].astype(np.float64))
        judged = np.maximum(1, self.figure(label, "judged")[inside])
        return Mean.of(self.figure(label, "missed")[inside] / judged)

    def per_job(self, label: str, name: str, mask: Mask) -> Mean:
        """A figure per 1000 jobs, a set's ratio first, over the schedulable sets in ``mask``."""
        inside = mask & self.yes(label)
        jobs = np.maximum(1, self.figure(label, "jobs")[inside])
        return Mean.of(1000.0 * self.figure(label, name)[inside] / jobs)


@frozen
class Answered:
    """The answers of a scheduler or test on the sets of a cell."""

    cell: SweepCell
    label: str
    results: StudyResults

    @cached_property
    def count(self) -> Count:
        return self.results.count(self.label, self.results.everything)

    @cached_property
    def of_schedulable(self) -> Count:
        return self.results.of_schedulable(self.label, self.results.everything)

    @property
    def scheduler(self) -> Scheduler | None:
        return self.results.spec.contenders.get(self.label)

    @property
    def kind(self) -> str:
        refutes = self.results.only_refutes(self.label)
        return "refutation" if refutes else "simulation" if self.scheduler else "test"

    @property
    def promises(self) -> bool:
        """Whether yes means schedulable, with the locks that there are."""
        if self.scheduler:
            return not self.results.only_refutes(self.label)
        necessary = test_facts()[self.results.spec.test(self.label)[0]].kind == "necessary"
        return not necessary and WITHOUT_LOCKS not in self.label

    def against(self, other: Answered) -> tuple[int, int]:
        """Sets to which only this one says yes, and only the other, of those that both decide."""
        results, labels = self.results, (self.label, other.label)
        both = results.decided(labels[0]) & results.decided(labels[1])
        mine, its = (both & results.yes(label) for label in labels)
        return results.sets(mine & ~its), results.sets(its & ~mine)

    @property
    def title(self) -> str:
        return self.results.title(self.label)

    @property
    def undecided(self) -> int:
        return self.results.sets(self.results.undecided(self.label))

    @property
    def not_placed(self) -> int | None:
        if self.scheduler is None:
            return None
        return self.results.sets(self.results.generated & ~self.results.placed(self.label))

    def total(self, name: str) -> int | None:
        """Total of a figure over the schedulable sets."""
        good = self.results.yes(self.label)
        return int(self.results.figure(self.label, name)[good].sum()) if self._known else None

    def mean(self, name: str, *, per_job: bool = False) -> float | None:
        of = self.results.per_job if per_job else self.results.mean
        return of(self.label, name, self.results.everything).value if self._known else None

    def late(self, name: str) -> float | None:
        """Mean over the sets simulated; of ``response_max`` and ``tardiness_max`` the largest."""
        results = self.results
        if self.scheduler is None or not results.spec.run_on:
            return None
        there = results.decided(self.label) & results.placed(self.label)
        if not there.any():
            return None
        if name in ("response_max", "tardiness_max"):
            return int(results.figure(self.label, name)[there].max())
        return results.late(self.label, name, there).value

    @property
    def _known(self) -> bool:
        return self.scheduler is not None and self.count.yes > 0


#: The undecided region starts where more than this share of the sets is in it.
STARTS = 0.05


@frozen
class Region:
    """The sets of one m and source that the tests of a scheduler's policy leave undecided.

    Attributes:
        accepted, refuted, between: Masks; ``between``: neither.
    """

    label: str
    processors: int
    source: str
    accepted: Mask
    refuted: Mask
    between: Mask
    results: StudyResults

    @property
    def share(self) -> Count:
        """Sets between, of all."""
        return Count(self.results.sets(self.between), self.results.sets(self._all))

    @property
    def schedulable(self) -> Count:
        """Schedulable ones of those between that are placed, by simulation; of none where that only
        refutes."""
        known = not self.results.only_refutes(self.label)
        placed = self.between & self.results.placed(self.label)
        return self.results.count(self.label, placed) if known else Count(0, 0)

    @property
    def not_placed(self) -> int:
        """Sets between for which the heuristic finds no place: another placement is not known."""
        return self.results.sets(self.between & ~self.results.placed(self.label))

    def edge(self, starts: float = STARTS) -> tuple[float, Interval]:
        """From which U/m on more than the share ``starts`` of the sets is between."""
        loads, every = self.results.load, self._all
        places = [int(load) for load in np.unique(loads[every])]
        counts = [
            Count(*(self.results.sets(x & (loads == load)) for x in (self.between, every)))
            for load in places
        ]
        return crossing([load / 1000 for load in places], counts, starts)

    def edge_text(self, starts: float = STARTS) -> str:
        """``0.475 [0.460, 0.491]``; of an end beyond the U studied on which side it is."""
        value, ends = self.edge(starts)
        loads = self.results.load[self._all] / 1000
        beyond = {-math.inf: f"< {loads.min():.3f}", math.inf: f"> {loads.max():.3f}"}
        low, high = (beyond.get(end, f"{end:.3f}") for end in ends)
        where = {math.inf: "beyond all U", -math.inf: "before all U"}.get(value, f"{value:.3f}")
        return f"{where} [{low}, {high}]"

    @property
    def _all(self) -> Mask:
        return self.accepted | self.refuted | self.between


def _figure(key: str, value: Callable[[Answered], Any]) -> Column:
    return Column(key=key, value=value)


#: Columns of ``cells.csv``: a row per cell and contender or test.
COLUMNS = (
    *(_figure(key, attrgetter(f"cell.{key}")) for key in ("processors", "tasks")),
    _figure("utilisation_per_processor", lambda row: row.cell.load / 1000),
    _figure("source", attrgetter("cell.source")),
    Column(key="kind"),
    Column(key="label"),
    _figure("policy", lambda row: row.scheduler and row.scheduler.policy),
    _figure("ties", lambda row: row.scheduler and row.scheduler.ties),
    _figure("sets", lambda row: row.results.sets(row.results.everything)),
    _figure("not_generated", lambda row: row.results.sets(~row.results.generated)),
    Column(key="undecided"),
    Column(key="not_placed"),
    _figure("decided", attrgetter("count.total")),
    _figure("schedulable", attrgetter("count.yes")),
    _figure("share", lambda row: row.count.share if row.count.total else None),
    _figure("share_low", attrgetter("count.interval.low")),
    _figure("share_high", attrgetter("count.interval.high")),
)
_METRICS = (
    _figure("jobs", lambda row: row.total("jobs")),
    _figure("migrations", lambda row: row.total("migrations")),
    _figure("migrations_per_schedulable_set", lambda row: row.mean("migrations")),
    *(
        _figure(f"{name}_per_1000_jobs", methodcaller("mean", name, per_job=True))
        for name in ("migrations", "task_migrations", "preemptions")
    ),
    *(_figure(name, methodcaller("mean", name)) for name in ("slack_mean", "slack_share_mean")),
)


#: Of studies with an exact test beside a sufficient one of the same scheduler.
_FOUND = (
    _figure(
        "share_of_schedulable",
        lambda row: row.of_schedulable.share if row.of_schedulable.total else None,
    ),
)

#: Of studies that simulate past misses.
LATE = ("miss_ratio", "response_mean", "response_max", "tardiness_mean", "tardiness_max")
_LATE = tuple(_figure(name, methodcaller("late", name)) for name in LATE)


def columns_of(spec: StudySpec) -> tuple[Column, ...]:
    def drawn(key: str) -> tuple[Column, ...]:
        values = {label: getattr(source, key) for label, source in spec.sources.items()}
        several = len(set(values.values())) > 1
        name = "lcm_limit" if key == "bound" else key
        return (_figure(name, lambda row: values[row.cell.source]),) * several

    exact = any(StudyResults(spec, np.zeros(0)).exact_tests(name) for name in spec.test_labels)
    more = (*_FOUND * exact, *(_METRICS if spec.metrics else ()), *(_LATE if spec.run_on else ()))
    return (*COLUMNS, *drawn("periods"), *drawn("bound"), *more)


def answered(results: StudyResults) -> Iterator[Answered]:
    """The rows of ``cells.csv``."""
    spec = results.spec
    # Rows are in the order of cells.
    ends = np.searchsorted(results.rows["cell"], np.arange(len(spec.cells) + 1))
    for at, cell in enumerate(spec.cells):
        small = StudyResults(spec, results.rows[ends[at] : ends[at + 1]])
        for label in small.labels():
            yield Answered(cell, label, small)
