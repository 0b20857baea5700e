"""`deadbeat.open`: a campaign for whoever analyses it in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from deadbeat.executors.metrics import JobColumns, job_columns
from deadbeat.experiment.columns import Columns, pandas
from deadbeat.kinds.base import OpenedResult, Shown
from deadbeat.kinds.contention.evidence import where_it_ran
from deadbeat.kinds.contention.plan import group_of
from deadbeat.kinds.contention.predict import (
    Priced,
    TaskPrediction,
    is_plain,
    pace_in,
    predict_tasks,
    why_not,
)
from deadbeat.kinds.contention.rounds_kept import without_overlapped
from deadbeat.kinds.contention.run_reader import factor_at, spec_of
from deadbeat.kinds.contention.summarise import Attempts, summarise
from deadbeat.model import jobs as j
from deadbeat.model.calibration import Calibration
from deadbeat.model.errors import DataError, DeadbeatError, UsageError
from deadbeat.model.jobs import JobTable
from deadbeat.model.platform import Platform
from deadbeat.model.results import RunKey, Summary
from deadbeat.model.tasks import TaskSet
from deadbeat.model.words import Json
from deadbeat.store.campaign import CampaignStore
from deadbeat.store.summary import read_summary

_SPLIT_COLUMNS = (
    "cpu_ns",
    "run_delay_before_ns",
    "run_delay_within_ns",
    "voluntary_switches",
    "involuntary_switches",
)


class CampaignView(OpenedResult):
    """A campaign, read only.

    Attributes:
        store: Its directory, for what is not offered here.
    """

    def __init__(self, store: CampaignStore, show: Callable[[Path], Shown] | None = None) -> None:
        self.store = store
        if show is not None:
            self.show = show

    @property
    def path(self) -> Path:
        return self.store.path

    @property
    def rows(self) -> Sequence[Mapping[str, Json]]:
        """A row per point (or group), with the columns of summary.csv."""
        return [cell.row(self.summary.mode) for cell in self.summary.cells]

    def __repr__(self) -> str:
        return f"CampaignView({str(self.store.path)!r}, {len(self.keys)} runs)"

    @cached_property
    def keys(self) -> tuple[RunKey, ...]:
        """The runs that are finished, in order."""
        return tuple(sorted(self.store.committed()))

    @cached_property
    def summary(self) -> Summary:
        """The stored summary if it fits the runs that are there; else a new one (not written).

        Raises:
            DataError: A file of the campaign is damaged.
        """
        stored = read_summary(self.store)
        if stored and stored.meta.get("runs_digest") == Attempts.of(self.store).digest():
            return stored
        return summarise(self.store)

    @property
    def place(self) -> Platform | None:
        """Where it was measured; None: not known."""
        return where_it_ran(self._calibration, self.store.load_origin())

    @property
    def simulated(self) -> bool:
        """Whether the campaign ran on a simulator: then nothing in it was measured."""
        return self.place is not None and self.place.kind == "simulated"

    @cached_property
    def _calibration(self) -> Calibration | None:
        return self.store.load_calibration()

    def sets_to_pandas(self) -> Any:
        """A pandas DataFrame with a row per task set and the columns of sets.csv.

        Raises:
            DeadbeatError: pandas is not installed.
        """
        return pandas().DataFrame([each.row(self.summary.mode) for each in self.summary.sets])

    def task_set(self, key: RunKey | str) -> TaskSet:
        """The task set of a run.

        Raises:
            DataError: Its program is not stored, or damaged.
        """
        return self.store.programs.task_set(_key(key))

    def jobs(self, key: RunKey | str) -> Columns:
        """All jobs of a run, warm-up and solo included (see ``counted`` and ``solo``).

        As in the summary, no job counts that a job of an earlier slot overlaps.

        Columns: those of `analysis.metrics.JobColumns` that are per job, ``core``, and, where the
        run recorded the split, its five columns and ``blocked_ns``.

        Raises:
            UsageError: There is no such run.
            DataError: Its file is damaged.
        """
        table, _ = without_overlapped(self.store.table(_key(key)))
        return Columns(_columns(table, job_columns(table)))

    def predict(self, key: RunKey | str) -> tuple[TaskPrediction, ...]:
        """Predicted (replayed with prices) and measured response times of every task of a run.

        Raises:
            UsageError: There is no such run.
            DataError: Its file is damaged.
            DeadbeatError: It ran under a policy that is not modelled.
        """
        table, _ = without_overlapped(self.store.table(_key(key)))
        reason = why_not(table)
        if reason:
            raise DeadbeatError(f"{key} is not predicted: {reason}", "profile with --policy fifo")
        priced = self._priced.at_pace(1.0) if is_plain(_key(key).point) else self._priced
        return predict_tasks(table, job_columns(table), self.task_set(key), priced)

    @cached_property
    def _priced(self) -> Priced:
        if self._calibration is None:
            raise DataError(f"{self.path} has no calibration", "restore it from a backup")
        return Priced.of(self.store, self._calibration).at_pace(pace_in(self.store))

    def all_jobs(self) -> Columns:
        """Counted jobs of the together slots of all runs: about 150 bytes a job in memory.

        Columns: those every run has of `jobs`, and ``cores``, ``sync_share``, ``contended_ratio``,
        ``deadline_factor`` (NaN where T is drawn), ``replica``, and of a stress campaign ``group``,
        in front.
        """
        parts: list[dict[str, NDArray[Any]]] = []
        spec = spec_of(self.store)
        for key in self.keys:
            jobs = self.jobs(key)
            chosen = jobs["counted"] & ~jobs["solo"]
            factor = factor_at(spec, key.point)
            axes: dict[str, Any] = {
                "cores": key.point.cores,
                "sync_share": key.point.sync_share,
                "contended_ratio": key.point.contended_ratio,
                "deadline_factor": np.nan if factor is None else factor,
                "replica": key.replica,
            }
            group = None if spec is None else group_of(spec, key)
            if group is not None:
                axes["group"] = group.name
            part = {name: np.full(int(chosen.sum()), value) for name, value in axes.items()}
            parts.append(part | {name: column[chosen] for name, column in jobs.items()})
        if not parts:
            return Columns({})
        names = [name for name in parts[0] if all(name in part for part in parts)]
        return Columns({name: np.concatenate([part[name] for part in parts]) for name in names})


def open_campaign(path: Path | str) -> CampaignView:
    """The campaign in the folder ``path`` (``runs/latest``), as `deadbeat.open`.

    Raises:
        DataError: No campaign there, or it is damaged or of another format.
    """
    return CampaignView(CampaignStore.open(path))


def _key(key: RunKey | str) -> RunKey:
    if not isinstance(key, str):
        return key
    try:
        return RunKey.parse(key)
    except DataError as error:
        raise UsageError(error.message, error.hint) from None


def _columns(table: JobTable, columns: JobColumns) -> dict[str, NDArray[Any]]:
    found = {
        attribute.name: getattr(columns, attribute.name)
        for attribute in attrs.fields(JobColumns)
        if attribute.name != "solo_median_ns"
    }
    found["core"] = table.tasks["core"].astype(np.int64)[columns.task]
    split = columns.flags & j.JOB_SPLIT != 0
    if len(split) and split.any():
        found |= {name: np.ascontiguousarray(table.jobs[name]) for name in _SPLIT_COLUMNS}
        running = found["cpu_ns"] + found["run_delay_within_ns"]
        found["blocked_ns"] = np.where(split, columns.span_ns - running, np.nan)
    return found
