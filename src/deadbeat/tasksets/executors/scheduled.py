"""A machine with processors that follow a scheduling policy; and what asks for such a machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.base.model import jobs as j
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.platform import Platform
from deadbeat.base.model.systems import TimedTask
from deadbeat.base.model.words import Json, nearest
from deadbeat.sched.simulator import policies, simulate_jobs
from deadbeat.tasksets.executors.base import RunSettings
from deadbeat.tasksets.executors.simulated import FakeExecutor, Faults, Rows, Timings
from deadbeat.tasksets.executors.tables import RunTiming, counted_until_ns, releases_in
from deadbeat.tasksets.model.examples import example_calibration, example_entries, example_fragments
from deadbeat.tasksets.model.tasks import Kind, TaskSet
from deadbeat.tasksets.prices.rates import NOTHING, RatesByRivals, prepared, priced_matrices
from deadbeat.tasksets.prices.replay import ReplayTask, Slowdowns, replay_releases
from deadbeat.tasksets.prices.table import StoredPrices, price_table
from deadbeat.tasksets.prices.works import PriceWork, Pricing

#: Ends the name of a machine on which nothing slows anything: 1.00 is by construction.
NO_CONTENTION = ", no contention"


@frozen(kw_only=True)
class SimExecutor(FakeExecutor):
    """A machine with ``cores`` identical processors under ``policy`` (a name of sched.policies).
    Raises UsageError: there is no such policy."""

    SETUP_NS: ClassVar[int] = 0

    policy: str = "p-fifo"
    contention: float = 0.0
    noise: float = 0.0

    def __attrs_post_init__(self) -> None:
        if self.policy not in policies():
            raise UsageError(
                f'--executor: there is no policy "{self.policy}"', nearest(self.policy, policies())
            )
        if self.contention and self.policy != "p-fifo":
            raise UsageError(
                "--executor: contention is simulated under p-fifo alone", "drop one of the two"
            )

    def rates(self, task_set: TaskSet) -> RatesByRivals:
        """How its cores slow one another, by its own prices: what a prediction takes, too."""
        pairs = [(0, other) for other in (1,) if task_set.cores > 1]
        groups = [*pairs, tuple(range(task_set.cores))][: max(1, task_set.cores - 1)]
        used = {
            use.entry
            for task in task_set.tasks
            for segment in task.segments
            for use in segment.uses
            if segment.kind is Kind.SY
        }
        works = tuple(
            PriceWork(object=entry.fragment, size=entry.size, cores=cores)
            for entry in sorted(used)
            for cores in groups
        )
        batch = self.price(Pricing(works=works, seconds=4.0))
        stored = StoredPrices(platform=self.describe(), policy="fifo", batches=(batch,))
        table = price_table(stored)
        return RatesByRivals(priced_matrices(table.of(state=table.usual())) or (NOTHING,))

    def describe(self) -> Platform:
        return attrs.evolve(
            super().describe(),
            name=f"simulated-{self.policy}",
            soc=f"scheduling simulator, {self.policy}{NO_CONTENTION * (not self.contention)}",
            fingerprint=f"simulated:{self.policy}:{self.cores}",
        )

    def environment(self) -> dict[str, Json]:
        return {**super().environment(), "hostname": f"simulated-{self.policy}"}

    def simulated(
        self, task_set: TaskSet, settings: RunSettings, slots: Rows, timings: Timings
    ) -> Rows:
        """The jobs of one run, each slot simulated by itself; with contention each is replayed with
        the prices, as predictions are."""
        tasks: Sequence[ReplayTask] = ()
        if self.contention:
            rates = self.rates(task_set)
            entries = example_entries(example_fragments())
            calibration = example_calibration(entries, cores=task_set.cores)
            tasks, _ = prepared(task_set, calibration, rates.matrices[0])
        parts: list[Rows] = []
        for slot in slots:
            if tasks:
                wait_for(parts, slots, slot)
            if tasks and int(slot["kind"]) == j.SLOT_TOGETHER:
                part = replayed_jobs(tasks, timings, slot, rates)
            else:
                part = _slot_jobs(task_set, timings, slot, settings, self.policy)
            parts.append(counted(part, timings, slots, slot, settings))
        return np.concatenate(parts)


def wait_for(parts: Sequence[Rows], slots: Rows, slot: Any) -> None:
    """Moves ``slot`` and the later ones behind the last job of the slots before, ``parts``."""
    late_ns = max([0, *(int(part["finish_ns"].max()) for part in parts[-1:])]) - slot["begin_ns"]
    if late_ns > 0:
        for name in ("begin_ns", "start_ns", "end_ns"):
            slots[name][int(slot["slot"]) :] += late_ns


def counted(part: Rows, timings: Timings, slots: Rows, slot: Any, settings: RunSettings) -> Rows:
    """The jobs of a slot, with the flag of those that count."""
    due_ns = part["release_ns"] + np.array([timing.deadline_ns for timing in timings])[part["task"]]
    count = part["release_ns"] >= slot["start_ns"]
    count &= due_ns <= counted_until_ns(slots, slot, settings)
    part["flags"][count] |= np.uint32(j.JOB_COUNTED)
    return part


def _slot_jobs(
    task_set: TaskSet, timings: Sequence[RunTiming], slot: Any, settings: RunSettings, policy: str
) -> NDArray[Any]:
    """Jobs released in one slot, in no order."""
    solo = int(slot["kind"]) == j.SLOT_SOLO
    chosen = [int(slot["task"])] if solo else list(range(len(timings)))
    begin_ns = int(slot["begin_ns"])
    length_ns = int(slot["end_ns"]) - begin_ns
    tasks = [
        TimedTask(
            home=task_set.tasks[index].core,
            priority=task_set.tasks[index].priority,
            wcet=max(1, round(task_set.tasks[index].cost_ps / 1000)),
            period=timings[index].period_ns,
            deadline=timings[index].deadline_ns,
            offset=releases_in(timings[index], slot).start - begin_ns,
        )
        for index in chosen
    ]
    behind = 2 * max(max(task.period, task.deadline) for task in tasks)
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
        cost = np.array([bound.wcet for bound in tasks])[task]
        rows["cpu_ns"] = np.where(ran, cost, 0)
        rows["run_delay_before_ns"] = np.where(ran, start - release, 0)
        rows["run_delay_within_ns"] = np.where(ran, finish - start - cost, 0)
        rows["voluntary_switches"] = np.where(ran, 1, 0)
        rows["flags"] |= np.where(ran, j.JOB_SPLIT, 0).astype(np.uint32)
    return rows


_COUNTED_FAULTS = ("interrupt-after", "terminate-after", "kill-after", "lose-after")


def parse_simulated(text: str) -> FakeExecutor:
    """``fake:cores=4,kill-after=7,fail=RUN`` (hidden) or ``sim:cores=4,policy=g-edf``.

    Of ``fake``, ``contention`` and ``salt`` make campaigns of the same programs that differ by a
    known amount; ``fail`` may be repeated, and ``RUN*3`` means the first three attempts.

    Raises:
        UsageError: Anything else.
    """
    kind, _, options = text.partition(":")
    fake = kind == "fake"
    values: dict[str, Any] = {}
    faults: dict[str, Any] = {"fail": {}}
    for part in filter(None, options.split(",")):
        key, _, value = part.partition("=")
        run, _, attempts = value.partition("*")
        if key == "cores" and value.isdecimal() and 1 <= int(value) <= 1024:
            values["cores"] = int(value)
        elif not fake and key == "policy" and value:
            values["policy"] = value
        elif fake and key == "fail" and (attempts or "1").isdecimal():
            faults["fail"][run] = int(attempts or 1)
        elif fake and key in _COUNTED_FAULTS and value.isdecimal():
            faults[key.replace("-", "_")] = int(value)
        elif fake and key == "salt" and value.isdecimal():
            values["salt"] = int(value)
        elif key == "contention" and value.replace(".", "", 1).isdecimal():
            values["contention"] = float(value)
        elif fake and key == "name" and value:
            values["name"] = value
        else:
            raise UsageError(f"--executor: {part!r} is unknown", f"for example {kind}:cores=4")
    return FakeExecutor(faults=Faults(**faults), **values) if fake else SimExecutor(**values)


def replayed_jobs(
    tasks: Sequence[ReplayTask], timings: Sequence[RunTiming], slot: Any, slowdowns: Slowdowns
) -> NDArray[Any]:
    """Jobs of a slot's tasks released in it, in no order; a release that finds its predecessor
    unfinished is skipped."""
    solo = int(slot["kind"]) == j.SLOT_SOLO
    begin_ns = int(slot["begin_ns"])
    releases = [
        (release - begin_ns, index)
        for index in ([int(slot["task"])] if solo else range(len(timings)))
        for release in releases_in(timings[index], slot)
    ]
    done = {
        (task, release): (start, finish)
        for task, release, start, finish in replay_releases(
            tasks, slowdowns, releases, horizon_ns=math.inf
        )
    }
    rows = np.zeros(len(releases), dtype=j.JOB_DTYPE)
    for row, (release, index) in zip(rows, releases, strict=True):
        row["task"], row["slot"], row["release_ns"] = index, slot["slot"], release + begin_ns
        row["start_ns"] = row["finish_ns"] = j.NEVER
        row["flags"] = j.JOB_SKIPPED | (j.JOB_SOLO if solo else 0)
        if (index, release) in done:
            start, finish = done[index, release]
            row["start_ns"], row["finish_ns"] = round(start) + begin_ns, round(finish) + begin_ns
            row["flags"] ^= j.JOB_SKIPPED | j.JOB_STARTED | j.JOB_FINISHED
    return rows
