"""The rows of a study as masks and counts: what every figure, table and conclusion starts from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deadbeat.kinds.study.chunks import (
    ACCEPTED,
    NO,
    NOT_APPLICABLE,
    REFUTED,
    TEST_UNDECIDED,
    UNDECIDED,
    YES,
    Rows,
)
from deadbeat.kinds.study.spec import StudySpec, SweepCell
from deadbeat.sched import tests as test_facts
from deadbeat.stats.proportions import Count, Mean

Mask = NDArray[np.bool_]

_OPEN = (TEST_UNDECIDED, NOT_APPLICABLE)


class StudyResults:
    """Columns over all task sets of a study. A mask is a truth value per row.

    A scheduler or test is named by its label in the specification.
    """

    def __init__(self, spec: StudySpec, rows: Rows) -> None:
        self.spec = spec
        self.rows = rows
        self._place = {label: f"s{k}" for k, label in enumerate(spec.contenders)}
        self._test = {name: f"t{k}" for k, name in enumerate(spec.tests)}

    # -- masks of the cells

    def _of_cell(self, values: Iterable[Any]) -> NDArray[Any]:
        column: NDArray[Any] = np.array(list(values))[self.rows["cell"]]
        return column

    @cached_property
    def processors(self) -> NDArray[np.int64]:
        return self._of_cell(cell.processors for cell in self.spec.cells)

    @cached_property
    def tasks(self) -> NDArray[np.int64]:
        return self._of_cell(cell.tasks for cell in self.spec.cells)

    @cached_property
    def load(self) -> NDArray[np.int64]:
        """Thousandths of the processors, as aimed at."""
        return self._of_cell(cell.load for cell in self.spec.cells)

    @cached_property
    def source(self) -> NDArray[np.str_]:
        return self._of_cell(cell.source for cell in self.spec.cells)

    @cached_property
    def generated(self) -> Mask:
        there: Mask = self.rows["generated"]
        return there

    @cached_property
    def everything(self) -> Mask:
        return np.ones(len(self.rows), dtype=np.bool_)

    # -- masks of the answers

    def labels(self) -> tuple[str, ...]:
        """Contenders, then tests."""
        return (*self._place, *self._test)

    def is_test(self, label: str) -> bool:
        return label in self._test

    def _answers(self, label: str) -> NDArray[np.int8]:
        column: NDArray[np.int8] = self.rows[
            f"{self._place[label]}.answer" if label in self._place else self._test[label]
        ]
        return column

    def yes(self, label: str) -> Mask:
        """Schedulable, or accepted; of a necessary test: not refuted."""
        answers = self._answers(label)
        if label in self._test and test_facts()[label].kind == "necessary":
            return self.decided(label) & np.not_equal(answers, REFUTED)
        return np.equal(answers, ACCEPTED if self.is_test(label) else YES)

    def decided(self, label: str) -> Mask:
        """Answered: not out of budget, not outside what a test is for, and generated at all."""
        answers = self._answers(label)
        if self.is_test(label):
            return self.generated & ~np.isin(answers, _OPEN)
        return self.generated & np.isin(answers, (YES, NO))

    def undecided(self, label: str) -> Mask:
        answers = self._answers(label)
        if self.is_test(label):
            return self.generated & np.isin(answers, _OPEN)
        return self.generated & np.equal(answers, UNDECIDED)

    def placed(self, label: str) -> Mask:
        """Whether the partitioning heuristic found a place for every task."""
        there: Mask = self.rows[f"{self._place[label]}.placed"]
        return there & self.generated

    def figure(self, label: str, name: str) -> NDArray[Any]:
        """A column of the simulation, ``migrations`` for example."""
        column: NDArray[Any] = self.rows[f"{self._place[label]}.{name}"]
        return column

    # -- counts

    def count(self, label: str, mask: Mask) -> Count:
        """Yes of all decided sets in ``mask``."""
        inside = mask & self.decided(label)
        return Count(int(np.sum(inside & self.yes(label))), int(np.sum(inside)))

    def mean(self, label: str, name: str, mask: Mask) -> Mean:
        """Of a figure over the schedulable sets in ``mask``."""
        inside = mask & self.yes(label)
        return Mean.of(self.figure(label, name)[inside].astype(np.float64))

    def per_job(self, label: str, name: str, mask: Mask) -> Mean:
        """A figure per 1000 jobs, a set's ratio first, over the schedulable sets in ``mask``."""
        inside = mask & self.yes(label)
        jobs = np.maximum(1, self.figure(label, "jobs")[inside])
        return Mean.of(1000.0 * self.figure(label, name)[inside] / jobs)

    def cells(self) -> tuple[SweepCell, ...]:
        return self.spec.cells


def table(results: StudyResults) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
    """Columns and rows of ``cells.csv``: one per cell and contender or test."""
    spec = results.spec
    columns = (*_COLUMNS, *(_METRICS if spec.metrics else ()))
    made = []
    # Rows are in the order of cells, ``spec.sets`` each.
    for at, cell in enumerate(spec.cells):
        inside = np.zeros(len(results.rows), dtype=np.bool_)
        inside[at * spec.sets : (at + 1) * spec.sets] = True
        small = StudyResults(spec, results.rows[at * spec.sets : (at + 1) * spec.sets])
        for label in small.labels():
            made.append(_row(small, cell, label, columns))
    return columns, made


_COLUMNS = (
    "processors",
    "tasks",
    "utilisation_per_processor",
    "source",
    "kind",
    "label",
    "policy",
    "ties",
    "sets",
    "not_generated",
    "undecided",
    "not_placed",
    "decided",
    "schedulable",
    "share",
    "share_low",
    "share_high",
)
_METRICS = (
    "jobs",
    "migrations",
    "migrations_per_schedulable_set",
    "migrations_per_1000_jobs",
    "task_migrations_per_1000_jobs",
    "preemptions_per_1000_jobs",
    "slack_mean",
    "slack_share_mean",
)


def _row(
    small: StudyResults, cell: SweepCell, label: str, columns: Iterable[str]
) -> dict[str, Any]:
    everything = small.everything
    count = small.count(label, everything)
    low, high = count.interval
    row: dict[str, Any] = dict.fromkeys(columns)
    row |= {
        "processors": cell.processors,
        "tasks": cell.tasks,
        "utilisation_per_processor": cell.load / 1000,
        "source": cell.source,
        "kind": "test" if small.is_test(label) else "simulation",
        "label": label,
        "sets": len(small.rows),
        "not_generated": int(np.sum(~small.generated)),
        "undecided": int(np.sum(small.undecided(label))),
        "decided": count.total,
        "schedulable": count.yes,
        "share": count.share if count.total else None,
        "share_low": low,
        "share_high": high,
    }
    if small.is_test(label):
        return row
    scheduler = small.spec.contenders[label]
    row |= {
        "policy": scheduler.policy,
        "ties": scheduler.ties,
        "not_placed": int(np.sum(small.generated & ~small.placed(label))),
    }
    if small.spec.metrics and count.yes:
        row |= _means(small, label)
    return row


def _means(small: StudyResults, label: str) -> Mapping[str, Any]:
    good, everything = small.yes(label), small.everything
    return {
        "jobs": int(small.figure(label, "jobs")[good].sum()),
        "migrations": int(small.figure(label, "migrations")[good].sum()),
        "migrations_per_schedulable_set": small.mean(label, "migrations", everything).value,
        "migrations_per_1000_jobs": small.per_job(label, "migrations", everything).value,
        "task_migrations_per_1000_jobs": small.per_job(label, "task_migrations", everything).value,
        "preemptions_per_1000_jobs": small.per_job(label, "preemptions", everything).value,
        "slack_mean": small.mean(label, "slack_mean", everything).value,
        "slack_share_mean": small.mean(label, "slack_share_mean", everything).value,
    }
