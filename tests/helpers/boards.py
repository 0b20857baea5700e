"""Result folders of made-up boards, as the commands write them: what a source saw, or its opposite.

Every board calls itself hardware: its figures are chosen, and verdicts on them can be had.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, frozen

from deadbeat.base.model import jobs as j
from deadbeat.base.model.histogram import Histogram
from deadbeat.base.model.platform import Platform, example_platform
from deadbeat.base.model.specification import plain_of
from deadbeat.base.model.traces import COUNTER_EVENTS
from deadbeat.latencies.latency.model import CpuLatency, LatencyKey, LatencyRun, LoadPoint
from deadbeat.latencies.latency.spec import load_word
from deadbeat.latencies.latency.store import LatencyStore
from deadbeat.latencies.load.spec import LoadSpec
from deadbeat.latencies.load.store import LoadStore
from deadbeat.tasksets.contention.kind import write
from deadbeat.tasksets.contention.plan import resolve
from deadbeat.tasksets.contention.spec import specify
from deadbeat.tasksets.executors.base import RunSettings
from deadbeat.tasksets.executors.simulated import FakeExecutor
from deadbeat.tasksets.model.tasks import TaskSet
from helpers.campaigns import begin, run
from helpers.loads import MS, SECOND, back_to_back, run_of

Surface = Callable[[int, float, float], float]


def board(*, cpus: int = 4, cores: int | None = None, **platform: Any) -> Platform:
    """PREEMPT_RT 6.12 unless ``platform`` says otherwise; of ``cores`` physical cores."""
    step = cores or cpus
    pairs = {str(cpu): {"siblings": [*range(cpu % step, cpus, step)]} for cpu in range(cpus)}
    details = {"topology": pairs, **platform.pop("details", {})}
    given = {"kernel": "6.12.3 #1", "preemption": "rt", "soc": "board", "kind": "hardware"}
    return evolve(example_platform(cpus), **{**given, **platform}, details=details)


def flat(cores: int, rho: float, alpha: float) -> float:
    return 1.0


@frozen(kw_only=True)
class Board(FakeExecutor):
    """Slowdowns by ``surface`` of what was drawn, a share ``misses`` of jobs that never start, and
    ``counts``: event -> per job."""

    place: Platform
    surface: Surface = flat
    misses: Surface = lambda *_: 0.0
    counts: Mapping[str, Callable[[float], float]] = {}

    def describe(self) -> Platform:
        return evolve(self.place, fingerprint=f"{self.name} {self.place.soc}")

    def slowdowns(self, task_set: TaskSet) -> dict[bool, float]:
        return dict.fromkeys((True, False), self.surface(*drawn(task_set)))

    def jobs(self, task_set: TaskSet, settings: RunSettings, period_ppm: int) -> Any:
        table = super().jobs(task_set, settings, period_ppm)
        rows, share = table.jobs.copy(), self.misses(*drawn(task_set))
        together = np.flatnonzero((rows["flags"] & j.JOB_SOLO == 0) & (rows["flags"] & 1 == 1))
        numbers = np.arange(len(together)) + 0.5
        lost = together[np.floor(numbers * share) < np.floor((numbers + 1) * share)]
        rows["start_ns"][lost] = rows["finish_ns"][lost] = j.NEVER
        rows["flags"][lost] = j.JOB_COUNTED | j.JOB_SKIPPED
        return evolve(table, jobs=rows, counters=self._counters(table, task_set))

    def _counters(self, table: Any, task_set: TaskSet) -> Any:
        slow, found = self.surface(*drawn(task_set)), []
        for event, count in self.counts.items():
            for slot, task in {(job["slot"], job["task"]) for job in table.jobs}:
                jobs = np.sum((table.jobs["slot"] == slot) & (table.jobs["task"] == task))
                number = COUNTER_EVENTS.index(event)
                found.append((task, slot, number, j.COUNTER_COUNTED, int(jobs * count(slow)), 1, 1))
        return np.array(sorted(found), j.COUNTER_DTYPE)


def drawn(task_set: TaskSet) -> tuple[int, float, float]:
    return task_set.cores, task_set.sync_share_real, task_set.contended_ratio_real


def campaign(folder: Path, name: str, executor: Board, asked: Mapping[str, Any]) -> None:
    usual = {"name": name, "preset": "quick", "calibration": {"prices": 0}}
    layer = {**usual, "run": {"seconds": 0.05}, **asked}
    spec = resolve(specify(layer), executor.describe()).spec
    store = begin(folder, spec)
    run(spec, store, executor)
    assert not store.failed()
    write(store, figures=False)


def grid(
    folder: Path,
    name: str,
    *,
    cores: Sequence[int] = (1, 4),
    axis: Sequence[float] = (0, 0.5, 1),
    mix: str = "random",
    sets: int = 3,
    place: Platform | None = None,
    **more: Any,
) -> None:
    """Mode 1."""
    axes = {"sync_share": [*axis], "contended_ratio": [*axis], "replicas": sets, "mix": mix}
    executor = Board(cores=16, place=place or board(cpus=16), **more)
    campaign(folder, name, executor, {"cores": [*cores], "loaded": None, "grid": axes})


def drawn_sets(
    folder: Path,
    name: str,
    *,
    place: Platform | None = None,
    sets: int = 12,
    asked: Mapping[str, Any] | None = None,
    factor: Any = 10,
    policy: str = "fifo",
    counters: bool = False,
    **more: Any,
) -> None:
    """Mode 2; ``asked``: of [stress]."""
    stress = {"cores": [16], "sets": sets, **(asked or {})}
    executor = Board(cores=16, place=place or board(cpus=16), **more)
    how = {"seconds": 0.05, "policy": policy, "counters": counters}
    layer = {"mode": "stress", "stress": stress, "tasks": {"deadline_factor": factor}, "run": how}
    campaign(folder, name, executor, layer)


def latency(
    folder: Path,
    name: str,
    *,
    maxima_us: Mapping[str, float],
    mean_us: float = 10.0,
    spread: float = 0.01,
    policy: str = "fifo",
    services: int | None = None,
    **platform: Any,
) -> None:
    """A matrix of five runs for each load; their maxima and means differ by ``spread``."""
    loads = [LoadPoint(*_load(word)) for word in maxima_us]
    spec = {"name": name, "loads": [load_word(load) for load in loads], "policy": policy}
    store = LatencyStore.create(folder / name, spec, board(**platform))
    for load, top_us in zip(loads, maxima_us.values(), strict=True):
        for repeat in range(5):
            by = 1 + spread * (repeat - 2) / 2
            waits = [round(1000 * mean_us * by)] * 999 + [round(1000 * top_us * by)]
            seen = CpuLatency(
                cpu=0, expected=1000, cycles=1000, missed=0, raw=Histogram.of(waits), placed=0
            )
            key = LatencyKey(load, "prober", repeat)
            how = {"interval_ns": MS, "priority": 90, "policy": policy}
            when = f"2026-01-01T00:00:{repeat:02d}Z"
            store.keep(LatencyRun(key=key, started=when, seconds=1.0, cpus=(seen,), **how))
    if services is not None:
        line = {"title": "services, running", "value": services, "text": f"{services}"}
        (store.path / "doctor.json").write_text(json.dumps({"inventory": [line]}))


def _load(word: str) -> tuple[str, int]:
    profile, _, percent = ("cpu", "", "0") if word == "idle" else word.partition("-")
    return profile, int(percent)


def load(
    folder: Path,
    name: str,
    *,
    plain: Mapping[int, int],
    remedied: Mapping[int, int] | None = None,
    remedies: Sequence[str] = ("preemption", "pin", "smt", "governor"),
    policy: str = "fifo",
    cpus: int = 8,
    cores: int | None = 4,
    **platform: Any,
) -> None:
    """Threads -> failures a second, the source's table; ``remedied``: with all ``remedies``."""
    spec = LoadSpec(
        name=name, cpus=tuple(range(cpus)), normal=tuple(n - 1 for n in plain), policy=policy,
        round=10 * MS, deadline=15 * MS, seconds=10.0, repeats=3, remedy_repeats=3,
    )  # fmt: skip
    changes = dict.fromkeys(remedies, "done") if remedied else {}
    place = board(cpus=cpus, cores=cores, **{"preemption": "full", **platform})
    if cores is None:
        place = evolve(place, details={})
    store = LoadStore.create(
        folder / name, plain_of(spec), place, unit_ps=1000, changes=changes, impossible={}
    )
    for condition, rates in (("plain", plain), ("all", remedied or {})):
        for threads, rate in rates.items():
            lengths = [16 * MS if rate and at % (100 // rate) == 50 % (100 // rate) else 10 * MS
                       for at in range(1000)]  # fmt: skip
            for repeat in range(1, 4):
                window = {"normal": threads - 1, "condition": condition, "repeat": repeat}
                made = run_of(back_to_back(lengths), window_ns=(0, 10 * SECOND), **window)
                store.keep(evolve(made, policy=policy))
