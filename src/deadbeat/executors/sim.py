"""The scheduling simulator as an executor: what a policy alone predicts, labelled ``simulated``.

Every job takes exactly its task's C and nothing costs anything, so what shows in a report is the
policy's own doing (preemption, queueing behind equals); contention and latency are not in it. Costs
come from ``model.examples``: it needs no machine, and says nothing about any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import attrs
import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from deadbeat.emit import emit_batch, task_set_id
from deadbeat.executors.base import (
    UNSCALED_PPM,
    Progress,
    RunOutcome,
    RunRequest,
    RunSettings,
)
from deadbeat.executors.fake import FakeExecutor, no_trace
from deadbeat.executors.tables import (
    Timing,
    counted_until_ns,
    plan_slots,
    releases_in,
    task_rows,
    witness_rows,
)
from deadbeat.model import jobs as j
from deadbeat.model.calibration import Calibration
from deadbeat.model.errors import UsageError
from deadbeat.model.jobs import JobTable
from deadbeat.model.platform import Platform
from deadbeat.model.results import RunKey
from deadbeat.model.tasks import TaskSet
from deadbeat.sched.simulator import policies
from deadbeat.sched.spans import BoundTask, simulate_jobs
from deadbeat.store.jobfile import new_header

if TYPE_CHECKING:
    from deadbeat.catalog import Catalog


@frozen(kw_only=True)
class SimExecutor:
    """A machine with ``cores`` identical processors under ``policy`` (a name of sched.policies).

    Raises:
        UsageError: There is no such policy.
    """

    cores: int = 2
    policy: str = "p-fifo"

    def __attrs_post_init__(self) -> None:
        if self.policy not in policies():
            raise UsageError(
                f'--executor: there is no policy "{self.policy}"', "one of " + ", ".join(policies())
            )

    @property
    def _made_up(self) -> FakeExecutor:
        return FakeExecutor(cores=self.cores, name=f"simulated-{self.policy}", contention=0.0)

    def describe(self) -> Platform:
        return attrs.evolve(
            self._made_up.describe(),
            soc=f"scheduling simulator, {self.policy}",
            fingerprint=f"simulated:{self.policy}:{self.cores}",
        )

    def environment(self) -> dict[str, Any]:
        return self._made_up.environment()

    def unavailable(
        self, catalog: Catalog, *, policy: str, participants: int = 1
    ) -> dict[str, str]:
        return self._made_up.unavailable(catalog, policy=policy, participants=participants)

    def calibrate(
        self,
        catalog: Catalog,
        *,
        pool: str,
        seconds: float,
        basis: str,
        policy: str,
        progress: Progress,
        layout: str = "default",
        participants: int = 1,
    ) -> Calibration:
        """Costs by formula, as the fake executor's; takes no time."""
        made_up = self._made_up.calibrate(
            catalog,
            pool=pool,
            seconds=seconds,
            basis=basis,
            policy=policy,
            progress=progress,
            layout=layout,
            participants=participants,
        )
        return attrs.evolve(made_up, platform=self.describe())

    def selftest(
        self,
        catalog: Catalog,
        calibration: Calibration | None,
        *,
        seconds: float,
        progress: Progress,
    ) -> dict[str, Any]:
        return self._made_up.selftest(catalog, calibration, seconds=seconds, progress=progress)

    def open(
        self,
        requests: Sequence[RunRequest],
        settings: RunSettings,
        *,
        program: Path | None = None,
    ) -> SimSession:
        """A simulation needs no program: a given one changes nothing."""
        return SimSession(
            executor=self,
            task_sets={request.key: request.task_set for request in requests},
            settings=settings,
        )

    def close(self) -> None:
        """Nothing was put anywhere."""


@attrs.define(kw_only=True, slots=False)
class SimSession:
    """Runs of one batch: each is a function of its task set and the settings."""

    executor: SimExecutor
    task_sets: Mapping[RunKey, TaskSet] = field(repr=False)
    settings: RunSettings

    @cached_property
    def source(self) -> str:
        return emit_batch(list(self.task_sets.values()))

    @property
    def program(self) -> None:
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing was put anywhere."""

    def run(self, key: RunKey, *, period_ppm: int = UNSCALED_PPM) -> RunOutcome:
        table = simulate_run(
            self.task_sets[key],
            self.settings,
            policy=self.executor.policy,
            period_ppm=period_ppm,
        )
        return RunOutcome(key=key, table=table, trace=no_trace(self.settings))


def simulate_run(
    task_set: TaskSet, settings: RunSettings, *, policy: str, period_ppm: int = UNSCALED_PPM
) -> JobTable:
    """The jobs of one run, slot by slot; each slot is simulated by itself."""
    slots = plan_slots(task_set, settings, period_ppm=period_ppm)
    timings = [Timing.of(task, period_ppm) for task in task_set.tasks]
    parts = []
    for slot in slots:
        part = _slot_jobs(task_set, timings, slot, settings, policy)
        due_ns = part["release_ns"] + [timings[task].deadline_ns for task in part["task"]]
        counted = part["release_ns"] >= slot["start_ns"]
        counted &= due_ns <= counted_until_ns(slots, slot, settings)
        part["flags"][counted] |= np.uint32(j.JOB_COUNTED)
        parts.append(part)
    jobs = np.concatenate(parts)
    jobs = jobs[np.lexsort((jobs["release_ns"], jobs["task"]))]
    flags = j.RUN_REALTIME | j.RUN_LOCKED if settings.policy == "fifo" else 0
    flags |= j.RUN_LATE if settings.overrun == "late" else 0
    return JobTable(
        header=new_header(
            set_id=task_set_id(task_set),
            flags=flags | (j.RUN_SPLIT if settings.split else 0),
            measured_ns=int((slots["end_ns"] - slots["start_ns"]).sum()),
            wall_ns=int(slots["end_ns"][-1]),
            period_ppm=period_ppm,
        ),
        tasks=task_rows(task_set, settings, jobs, period_ppm=period_ppm),
        slots=slots,
        probes=witness_rows(task_set, slots),
        jobs=jobs,
    )


def _slot_jobs(
    task_set: TaskSet,
    timings: Sequence[Timing],
    slot: Any,
    settings: RunSettings,
    policy: str,
) -> NDArray[Any]:
    """Jobs released in one slot, in no order."""
    solo = int(slot["kind"]) == j.SLOT_SOLO
    chosen = [int(slot["task"])] if solo else list(range(len(timings)))
    begin_ns = int(slot["begin_ns"])
    length_ns = int(slot["end_ns"]) - begin_ns
    tasks = [
        BoundTask(
            core=task_set.tasks[index].core,
            priority=task_set.tasks[index].priority,
            wcet_ns=max(1, round(task_set.tasks[index].cost_ps / 1000)),
            period_ns=timings[index].period_ns,
            deadline_ns=timings[index].deadline_ns,
            offset_ns=releases_in(timings[index], slot).start - begin_ns,
        )
        for index in chosen
    ]
    behind = 2 * max(max(task.period_ns, task.deadline_ns) for task in tasks)
    found = simulate_jobs(
        tasks,
        cores=task_set.cores,
        horizon_ns=length_ns + behind,
        skip_overruns=settings.overrun == "skip",
        policy=policy,
    )
    task, _, release, start, finish, _ = found[found[:, 2] < length_ns].T
    rows = np.zeros(len(task), dtype=j.JOB_DTYPE)
    rows["task"] = np.array(chosen)[task]
    rows["slot"] = slot["slot"]
    rows["release_ns"] = release + begin_ns
    ran = finish >= 0
    rows["start_ns"] = np.where(ran, start + begin_ns, j.NEVER)
    rows["finish_ns"] = np.where(ran, finish + begin_ns, j.NEVER)
    rows["flags"] = np.where(ran, j.JOB_STARTED | j.JOB_FINISHED, j.JOB_SKIPPED)
    rows["flags"] |= j.JOB_SOLO if solo else 0
    if settings.split:
        cost = np.array([bound.wcet_ns for bound in tasks])[task]
        rows["cpu_ns"] = np.where(ran, cost, 0)
        rows["run_delay_before_ns"] = np.where(ran, start - release, 0)
        rows["run_delay_within_ns"] = np.where(ran, finish - start - cost, 0)
        rows["voluntary_switches"] = np.where(ran, 1, 0)
        rows["flags"] |= np.where(ran, j.JOB_SPLIT, 0).astype(np.uint32)
    return rows


def parse_sim(text: str) -> SimExecutor:
    """``sim`` or ``sim:cores=4,policy=g-edf``. Raises UsageError for anything else."""
    values: dict[str, Any] = {}
    for part in filter(None, text.removeprefix("sim").removeprefix(":").split(",")):
        key, _, value = part.partition("=")
        if key == "cores" and value.isdecimal() and 1 <= int(value) <= 1024:
            values["cores"] = int(value)
        elif key == "policy" and value:
            values["policy"] = value
        else:
            raise UsageError(f"--executor: {part!r} is unknown", "for example sim:cores=4")
    return SimExecutor(**values)
