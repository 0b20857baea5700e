"""Executors without a machine: exact, deterministic, labelled ``simulated`` wherever they show.

No clock, no process, no root; costs come from ``model.examples``, so they say nothing about any
machine. `FakeExecutor` slows jobs down by a formula and injects what goes wrong on real machines
(``Faults``); it serves demonstrations and tests. `SimExecutor` is the scheduling simulator: every
job takes exactly its C and nothing costs anything, so what a report shows is the policy's own
doing (preemption, queueing behind equals) without contention and latency.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import chain, repeat
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from deadbeat.base.model import jobs as j
from deadbeat.base.model.errors import RunError, TargetError
from deadbeat.base.model.jobs import JobTable
from deadbeat.base.model.platform import Platform, example_platform
from deadbeat.base.model.traces import RunTrace
from deadbeat.base.model.words import Json
from deadbeat.tasksets.catalog import Catalog
from deadbeat.tasksets.emit import emit_batch, task_set_id
from deadbeat.tasksets.executors.base import (
    UNSCALED_PPM,
    ControlResult,
    Costing,
    Progress,
    RunOutcome,
    RunRequest,
    RunSettings,
    SelftestResult,
    StartedForEach,
    needing_fifo,
    unheard,
)
from deadbeat.tasksets.executors.tables import (
    RunTiming,
    counted_until_ns,
    plan_slots,
    releases_in,
    task_rows,
    witness_rows,
)
from deadbeat.tasksets.model.calibration import Calibration, Cost
from deadbeat.tasksets.model.examples import example_calibration, example_entries, example_fragments
from deadbeat.tasksets.model.results import RunKey
from deadbeat.tasksets.model.tasks import Entry, Kind, TaskSet
from deadbeat.tasksets.prices.table import PriceBatch, Slot
from deadbeat.tasksets.prices.works import PriceWork, Pricing
from deadbeat.tasksets.store.jobfile import new_header

_WAKE_UP_NS = 2_000
#: Rate and window of a made-up price stage.
_ROUNDS_PER_S, _WINDOW_NS = 2, 4_000_000
Rows = NDArray[Any]
Timings = Sequence[RunTiming]
_NO_KERNEL = "a simulated machine has no kernel to trace"


@frozen(kw_only=True)
class Faults:
    """What goes wrong, by run or by count of runs in this process.

    Attributes:
        fail: Run text -> number of first attempts that fail.
        interrupt_after, terminate_after, kill_after: The process sends itself SIGINT (SIGTERM,
            SIGKILL) in the run after this number of runs.
        lose_after: The machine is lost (TargetError) in the run after this number of runs.
    """

    fail: Mapping[str, int] = field(factory=dict)
    interrupt_after: int | None = None
    terminate_after: int | None = None
    kill_after: int | None = None
    lose_after: int | None = None


@frozen(kw_only=True)
class FakeExecutor:
    """A simulated machine with ``cores`` cores.

    Attributes:
        cores: Logical cores it has, 1 to 1024.
        name: Its name; the fingerprint derives from it, so that another name is a foreign machine.
        contention: Slowdown that full contention adds per further core; 0: none at all.
        pace: What a job takes alone, over its calibrated cost.
        salt: Another one jitters otherwise, as another run of the same programs does.
        noise: Relative standard deviation of a price from slot to slot.
        faults: What goes wrong.
    """

    #: Its timetable begins so long after the program.
    SETUP_NS: ClassVar[int] = 1_000_000
    boot_s: ClassVar[float] = 0.0

    cores: int = 2
    name: str = "simulated"
    contention: float = 0.6
    pace: float = 1.0
    salt: int = 0
    noise: float = 0.02
    faults: Faults = field(factory=Faults)
    _attempts: dict[str, int] = field(factory=dict, init=False, eq=False, repr=False)

    def describe(self) -> Platform:
        return attrs.evolve(
            example_platform(self.cores),
            name=self.name,
            soc="formula",
            fingerprint=f"simulated:{self.name}:{self.cores}",
        )

    def environment(self) -> dict[str, Json]:
        return {"simulated": True, "hostname": self.name, "cpus_online": list(range(self.cores))}

    def unavailable(
        self, catalog: Catalog, *, policy: str, participants: int = 1
    ) -> dict[str, str]:
        """The same as on Linux: priority protocols need a real-time policy."""
        needy = needing_fifo(catalog) if policy == "other" else {}
        return {name: f"needs {words}: not under {policy}" for name, words in needy.items()}

    def calibrate(
        self, catalog: Catalog, asked: Costing, progress: Progress = unheard
    ) -> Calibration:
        """Costs by formula from names and ranks of sizes; cold is half as much again at first use.

        Takes no time, whatever is asked.
        """
        every = example_entries(catalog.fragments.values())
        unavailable = self.unavailable(catalog, policy=asked.policy)
        wanted = {str(entry): entry for entry in catalog.entries(asked.pool, mode=asked.layout)}
        full = example_calibration(every, cores=self.cores)
        changed = _cold if asked.basis == "cold" else attrs.evolve
        progress(1.0)
        return attrs.evolve(
            full,
            platform=self.describe(),
            basis=asked.basis,
            policy=asked.policy,
            pool=asked.pool,
            layout=asked.layout,
            costs={
                text: tuple(map(changed, full.costs[text]))
                for text, entry in wanted.items()
                if entry.fragment not in unavailable
            },
            refused={
                text: unavailable[entry.fragment]
                for text, entry in wanted.items()
                if entry.fragment in unavailable
            },
            seconds=asked.seconds,
        )

    def price(self, asked: Pricing, progress: Progress = unheard) -> PriceBatch:
        """What `true_price_ns` says, within the noise of a quiet machine; takes no time."""
        noise = np.random.default_rng([asked.seed, self.salt])
        slots: list[Slot] = []
        for number in range(max(1, round(asked.seconds * _ROUNDS_PER_S))):
            for place in noise.permutation(len(asked.works)):
                work = asked.works[place]
                members = len(work.cores)
                for who in (*range(members), *([-1] if members > 1 else [])):
                    beside = members - 1 if who < 0 else 0
                    call_ns = self.true_price_ns(work, beside) * (1 + self.noise * noise.normal())
                    calls = max(1, round(_WINDOW_NS / call_ns))
                    took_ns, trip_ps = round(calls * call_ns), round(60e3 + 900 * noise.normal())
                    trips = (trip_ps, trip_ps + 100) if members > 1 else (0, 0)
                    row = (number, int(place), who, beside + 1, took_ns, calls)
                    slots.append((*row, beside * took_ns, beside * calls, *trips))
        progress(1.0)
        errors = ("",) * len(asked.works)
        return PriceBatch(works=asked.works, errors=errors, slots=tuple(slots))

    def true_price_ns(self, work: PriceWork, beside: int) -> float:
        """Time of a call beside other cores: an operation on a shared object is ``contention``
        times its own time longer for each; of a visit, a tenth of that."""
        own = _true_cost(work.object, work.size).repeat_ps / 1000
        more = own * self.contention * beside * work.shared
        return own + 500 + more / 10 if work.visit else own + more

    def selftest(
        self,
        catalog: Catalog,
        calibration: Calibration | None,
        *,
        seconds: float,
        progress: Progress,
    ) -> SelftestResult:
        progress(1.0)
        return SelftestResult(
            seconds=seconds,
            cores=tuple(
                {"core": core, "cpu": core, "lost_share": 0.0, "longest_gap_ns": 0}
                for core in range(self.cores)
            ),
            checks=tuple(
                ControlResult(
                    name=name,
                    kind=kind,
                    passed=True,
                    value=value,
                    low=0.99 * value,
                    high=1.01 * value,
                    unit="slowdown",
                    message="simulated: true by construction",
                )
                for name, kind, value in (
                    ("one-core-flat", "negative", 1.0),
                    ("injected-delay", "positive", 2.0),
                )
            ),
        )

    def open(
        self, requests: Sequence[RunRequest], settings: RunSettings, *, program: Path | None = None
    ) -> FakeSession:
        """A simulation needs no program: a given one changes nothing."""
        return FakeSession(
            executor=self,
            task_sets={request.key: request.task_set for request in requests},
            settings=settings,
        )

    def jobs(self, task_set: TaskSet, settings: RunSettings, period_ppm: int) -> JobTable:
        """The jobs of one run."""
        slots = plan_slots(task_set, settings, period_ppm=period_ppm)
        timings = [RunTiming.of(task, period_ppm) for task in task_set.tasks]
        jobs = self.simulated(task_set, settings, slots, timings)
        jobs = jobs[np.lexsort((jobs["release_ns"], jobs["task"]))]
        flags = j.RUN_REALTIME | j.RUN_LOCKED if settings.policy == "fifo" else 0
        flags |= j.RUN_LATE if settings.overrun == "late" else 0
        header = new_header(
            set_id=task_set_id(task_set),
            flags=flags | (j.RUN_SPLIT if settings.split else 0),
            clock_cost_ps=20_000 if self.SETUP_NS else 0,
            measured_ns=int((slots["end_ns"] - slots["start_ns"]).sum()),
            setup_ns=self.SETUP_NS,
            wall_ns=self.SETUP_NS + int(slots["end_ns"][-1]),
            period_ppm=period_ppm,
        )
        tasks = task_rows(task_set, settings, jobs, period_ppm=period_ppm)
        probes = self.probes(task_set, slots, timings)
        return JobTable(header=header, tasks=tasks, slots=slots, probes=probes, jobs=jobs)

    def probes(self, task_set: TaskSet, slots: Rows, timings: Timings) -> Rows:
        """What is noted beside the jobs of ``slots``."""
        return witness_rows(task_set, slots)

    def simulated(
        self, task_set: TaskSet, settings: RunSettings, slots: Rows, timings: Timings
    ) -> Rows:
        """The jobs of one run, in no order.

        A job takes its task's cost, plus 0.1 % jitter, times 1 + 0.01 (M - 1) + contention x SY
        share x contended share x (K - 1) in together slots, K being the cores with critical tasks:
        all M unless computation fills some, and that contends for nothing. Jobs of one core run in
        order of release.
        """
        jitter = np.random.default_rng(int(task_set_id(task_set)[:16], 16) + self.salt)
        slowdowns = self.slowdowns(task_set)
        normal = chain.from_iterable(jitter.standard_normal(1024).tolist() for _ in repeat(None))
        homes = [task.core for task in task_set.tasks]
        # per core: its tasks, and by how much they are slower together
        together: dict[int, tuple[list[int], float]] = {}
        for core in sorted(set(homes)):
            here = [index for index, home in enumerate(homes) if home == core]
            together[core] = here, slowdowns[any(task_set.tasks[i].critical for i in here)]
        costs_ns = [self.pace * task.cost_ps / 1000 for task in task_set.tasks]
        rows: list[tuple[int, ...]] = []
        for slot in slots:
            solo = int(slot["kind"]) == j.SLOT_SOLO
            chosen = [([int(slot["task"])], 1.0)] if solo else together.values()
            due_ns = counted_until_ns(slots, slot, settings)
            for here, factor in chosen:
                tasks = {index: (timings[index], costs_ns[index] * factor) for index in here}
                rows += _core_jobs(tasks, slot, settings, normal, due_ns=due_ns)
        return np.array(rows, dtype=j.JOB_DTYPE)

    def slowdowns(self, task_set: TaskSet) -> dict[bool, float]:
        """Slowdowns in together slots: on cores with critical tasks, and on others."""
        shared = task_set.sync_share_real * task_set.contended_ratio_real
        rivals = len({task.core for task in task_set.tasks if task.critical}) - 1
        beside = 1.0 + (task_set.cores - 1) * 0.01
        return {True: beside + rivals * self.contention * shared, False: beside}

    def close(self) -> None:
        """Nothing was put anywhere."""


@cache
def _true_cost(name: str, size: int) -> Cost:
    entries = example_entries(example_fragments()) | {Entry(name, size): Kind.SY}
    return example_calibration(entries, cores=1).costs[f"{name}/{size}"][0]


def _cold(cost: Cost) -> Cost:
    names = ("first_ps", "first_low_ps", "first_high_ps")
    return attrs.evolve(cost, **{name: getattr(cost, name) * 3 // 2 for name in names})


@attrs.define(kw_only=True, slots=False)
class FakeSession(StartedForEach):
    """Runs of one batch; each attempt is a function of the run and the number of the attempt."""

    executor: FakeExecutor
    task_sets: Mapping[RunKey, TaskSet] = field(repr=False)
    settings: RunSettings

    @cached_property
    def source(self) -> str:
        return emit_batch(list(self.task_sets.values()))

    @property
    def program(self) -> Path | None:
        return None

    def run(self, key: RunKey, *, period_ppm: int = UNSCALED_PPM) -> RunOutcome:
        faults, text = self.executor.faults, key.text
        attempts = self.executor._attempts
        runs = sum(attempts.values())
        for after, number in (
            (faults.interrupt_after, signal.SIGINT),
            (faults.terminate_after, signal.SIGTERM),
            (faults.kill_after, signal.SIGKILL),
        ):
            if runs == after:
                os.kill(os.getpid(), number)
        if runs == faults.lose_after:
            raise TargetError("the simulated machine is lost", "the same command resumes")
        attempt = attempts.get(text, 0)
        attempts[text] = attempt + 1
        if attempt < faults.fail.get(text, 0):
            return RunOutcome(
                key=key, error=RunError(f"run {text} failed: injected", "it is simulated")
            )
        table = self.executor.jobs(self.task_sets[key], self.settings, period_ppm)
        trace = RunTrace(unavailable=_NO_KERNEL) if self.settings.causes else None
        return RunOutcome(key=key, table=table, trace=trace)


def _core_jobs(
    tasks: Mapping[int, tuple[RunTiming, float]],
    slot: Any,
    settings: RunSettings,
    normal: Iterator[float],
    *,
    due_ns: int,
) -> list[tuple[int, ...]]:
    """Jobs of the tasks of one core in one slot, as tuples of JOB_DTYPE; those due by ``due_ns``
    count.

    Args:
        tasks: Index -> timing and what a job takes, ns.
        normal: Draw of the jitter.
    """
    start_ns, end_ns, number = int(slot["start_ns"]), int(slot["end_ns"]), int(slot["slot"])
    alone = j.JOB_SOLO if int(slot["kind"]) == j.SLOT_SOLO else 0
    done = j.JOB_STARTED | j.JOB_FINISHED | (j.JOB_SPLIT if settings.split else 0)
    skips, split = settings.overrun == "skip", (0,) * 5
    releases = [
        (release, index)
        for index, (timing, _) in tasks.items()
        for release in releases_in(timing, slot)
    ]
    free_ns = int(slot["begin_ns"])
    busy_until = dict.fromkeys(tasks, 0)
    rows: list[tuple[int, ...]] = []
    for release, index in sorted(releases):
        timing, cost_ns = tasks[index]
        counted = release >= start_ns and release + timing.deadline_ns <= due_ns
        flags = alone | (j.JOB_COUNTED if counted else 0)
        begin = max(release, free_ns) + _WAKE_UP_NS
        if (skips and release < busy_until[index]) or begin >= end_ns + timing.deadline_ns:
            never = (release, j.NEVER, j.NEVER, 0, 0, 0, 0, 0, index, number)
            rows.append((*never, flags | j.JOB_SKIPPED))
            continue
        span = round(cost_ns * (1 + 0.001 * next(normal)))
        free_ns = busy_until[index] = begin + span
        if settings.split:
            split = (span, begin - release - _WAKE_UP_NS, 0, 1, 0)
        rows.append((release, begin, begin + span, *split, index, number, flags | done))
    return rows
