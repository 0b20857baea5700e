"""Controls whose answer is known: what this machine can show, measured before it is believed.

Negative controls must show nothing (one core does not care for contended objects; core-local
objects on all cores cost what they cost alone). Positive controls must be recovered (an injected
delay, a forced overlap). The spread of the negative ones is the noise floor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from time import monotonic
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.catalog import Catalog, load_catalog
from deadbeat.executors.base import Injection, Progress, RunRequest, RunSettings
from deadbeat.executors.student import t_quantile_975
from deadbeat.model.calibration import Calibration
from deadbeat.model.errors import SynthesisError, TargetError
from deadbeat.model.jobs import (
    JOB_COUNTED,
    JOB_FINISHED,
    JOB_SOLO,
    WINDOW_OFF,
    JobTable,
)
from deadbeat.model.results import Point, RunKey
from deadbeat.model.tasks import Resource, Task, TaskSet
from deadbeat.store.jobfile import read_job_table
from deadbeat.synthesis.generator import Synthesiser
from deadbeat.synthesis.parameters import SynthesisParameters

if TYPE_CHECKING:
    from deadbeat.executors.hardware import HardwareExecutor

#: A control run holds about so many jobs of a task of 3 ms: enough for a median within a percent.
RUN_SECONDS = 0.25
SETTINGS = RunSettings(
    seconds=RUN_SECONDS,
    solo_seconds=RUN_SECONDS,
    windows=2,
    warmup_jobs=1,
    policy="fifo",
    extra_windows=2,
    wait_seconds=0.3,
)
#: Start-up, warm-up and probes of one control run, s.
RUN_OVERHEAD = 0.08
SPIN_SHARE = 0.2
INJECTED_SHARE = 0.2
TOLERANCE = 0.02
LEAST_OVERLAP = 0.9
LEAST_NEGATIVES = 3
LEAST_SETS = 5
SEED = 20_250_101


@frozen(kw_only=True)
class Observed:
    """What one control run showed; ratios of span over solo span, mean over the tasks.

    Attributes:
        slowdown: From means, as the summary defines it.
        slowdown_p50: From medians.
        span_ratio: Median span over C, solo and together alike.
        overlap: Share of task 0's jobs during which another task's job ran.
        solo_p50_ns: Median solo span of task 0.
    """

    slowdown: float
    slowdown_p50: float
    span_ratio: float
    overlap: float
    solo_p50_ns: float


def _quiet_jobs(table: JobTable) -> NDArray[Any]:
    """Jobs of the windows beside which the runtime found the host quiet."""
    off = (table.slots["flags"] & WINDOW_OFF) != 0
    return np.asarray(table.jobs[~off[table.jobs["slot"]]])


def _spans(quiet_jobs: NDArray[Any], task: int, *, solo: bool) -> NDArray[Any]:
    jobs = quiet_jobs[quiet_jobs["task"] == task]
    wanted = JOB_COUNTED | JOB_FINISHED | (JOB_SOLO if solo else 0)
    kept = jobs[(jobs["flags"] & (JOB_COUNTED | JOB_FINISHED | JOB_SOLO)) == wanted]
    return np.asarray(kept["finish_ns"] - kept["start_ns"], dtype=np.float64)


def _overlap(quiet_jobs: NDArray[Any]) -> float:
    """Share of task 0's together jobs that another task's job intersects in time."""
    done = JOB_COUNTED | JOB_FINISHED
    jobs = quiet_jobs[(quiet_jobs["flags"] & (done | JOB_SOLO)) == done]
    mine, others = jobs[jobs["task"] == 0], jobs[jobs["task"] != 0]
    if not len(mine) or not len(others):
        return 0.0
    starts, finishes = np.sort(others["start_ns"]), np.sort(others["finish_ns"])
    # an interval meets others when more have started by its end than finished by its beginning
    started = np.searchsorted(starts, mine["finish_ns"], side="left")
    finished = np.searchsorted(finishes, mine["start_ns"], side="right")
    return float(np.mean(started > finished))


def observe(table: JobTable) -> Observed | None:
    """The figures of the quiet windows of one control run; None when a task has none of a kind."""
    jobs = _quiet_jobs(table)
    means, medians, ratios, solo_p50 = [], [], [], 0.0
    for row in table.tasks:
        task = int(row["task"])
        solo, together = _spans(jobs, task, solo=True), _spans(jobs, task, solo=False)
        if not len(solo) or not len(together):
            return None
        means.append(together.mean() / solo.mean())
        medians.append(np.median(together) / np.median(solo))
        ratios.append(np.median(np.concatenate([solo, together])) / int(row["wcet_ns"]))
        solo_p50 = float(np.median(solo)) if task == 0 else solo_p50
    return Observed(
        slowdown=float(np.mean(means)),
        slowdown_p50=float(np.mean(medians)),
        span_ratio=float(np.mean(ratios)),
        overlap=_overlap(jobs),
        solo_p50_ns=solo_p50,
    )


def _median(values: Sequence[float]) -> float | None:
    """None where nothing was quiet."""
    return float(np.median(values)) if values else None


def control(
    name: str,
    kind: str,
    value: float | None,
    *,
    accepted: tuple[float, float],
    unit: str,
    message: str,
    sets: int = LEAST_SETS,
) -> dict[str, Any]:
    """One control as the executor protocol describes it; ``sets``: what its value rests on. A value
    off the accepted range is a failure from LEAST_SETS on, and undecided below: it may be noise."""
    inside = value is not None and accepted[0] <= value <= accepted[1]
    return {
        "name": name,
        "kind": kind,
        "passed": True if inside else None if value is None or sets < LEAST_SETS else False,
        "value": None if value is None else round(value, 5),
        "low": accepted[0],
        "high": accepted[1],
        "unit": unit,
        "message": message,
    }


class Bench:
    """Task sets for controls, and how they are run."""

    def __init__(
        self, executor: HardwareExecutor, catalog: Catalog, calibration: Calibration
    ) -> None:
        self._executor = executor
        self._calibration = calibration
        self._synthesiser = Synthesiser(catalog, calibration)
        self.cores = len(executor.cpus)
        self._settings = attrs.evolve(
            SETTINGS,
            policy="other" if calibration.policy == "other" else "fifo",
            layout="default" if calibration.layout == "default" else "shared-address-space",
            quiet_ps=calibration.yardstick_ps,
        )

    def task_set(
        self, *, cores: int, sync_share: str, contended_ratio: int, replica: int
    ) -> TaskSet:
        """A task set of the usual kind. SynthesisError where the pool is too small for it."""
        return self._synthesiser.synthesise(
            SynthesisParameters(
                cores=cores,
                tasks=cores,
                sync_share=Fraction(sync_share),
                contended_ratio=Fraction(contended_ratio),
            ),
            SEED + replica,
        )

    def overlapping(self) -> TaskSet:
        """The same contended task on every core, all released at the same moments."""
        one = self.task_set(cores=1, sync_share="1", contended_ratio=1, replica=77)
        first = one.tasks[0]
        tasks: list[Task] = [
            attrs.evolve(first, name=f"t{core}", core=core, offset_ns=0, seed=first.seed + core)
            for core in range(self.cores)
        ]
        resources: list[Resource] = [attrs.evolve(r, core=None) for r in one.resources]
        return attrs.evolve(one, cores=self.cores, tasks=tuple(tasks), resources=tuple(resources))

    def run(
        self, task_sets: Sequence[TaskSet], *, inject: Injection | None = None
    ) -> list[Observed | None]:
        """Runs them in one session; None for a set beside which the host was never quiet.

        Raises:
            TargetError: One failed: a control has no second meaning.
        """
        keys = [RunKey(Point(s.cores, 0, 0), number) for number, s in enumerate(task_sets)]
        requests = [RunRequest(key, s) for key, s in zip(keys, task_sets, strict=True)]
        observed = []
        with self._executor.open(requests, self._settings, inject=inject) as session:
            for key in keys:
                outcome = session.run(key)
                if outcome.file is None:
                    raise TargetError(f"a control run failed: {outcome.error}", "run it again")
                observed.append(observe(read_job_table(outcome.file)))
                outcome.file.unlink(missing_ok=True)
        return observed


def _flat_on_one_core(bench: Bench, replicas: int) -> tuple[dict[str, Any], list[float]]:
    sets = [
        bench.task_set(cores=1, sync_share="1/2", contended_ratio=alpha, replica=replica)
        for replica in range(replicas)
        for alpha in (0, 1)
    ]
    seen = bench.run(sets)
    pairs = zip(seen[::2], seen[1::2], strict=True)
    ratios = [b.span_ratio / a.span_ratio for a, b in pairs if a and b]
    return (
        control(
            "one-core-flat",
            "negative",
            _median(ratios),
            accepted=(1 - TOLERANCE, 1 + TOLERANCE),
            unit="ratio of spans",
            message="contended over core-local on one core, "
            f"median of {len(ratios)} quiet task sets",
            sets=len(ratios),
        ),
        [o.slowdown for o in seen if o],
    )


def _local_on_all_cores(bench: Bench, replicas: int) -> tuple[dict[str, Any], list[float]]:
    if bench.cores < 2:
        return _undecided("all-cores-local", "negative", "needs two cores"), []
    sets = [
        bench.task_set(cores=bench.cores, sync_share="1", contended_ratio=0, replica=replica)
        for replica in range(replicas)
    ]
    seen = [o for o in bench.run(sets) if o]
    return (
        control(
            "all-cores-local",
            "negative",
            _median([o.slowdown_p50 for o in seen]),
            accepted=(1 - TOLERANCE, 1 + TOLERANCE),
            unit="slowdown",
            message=f"core-local objects on all cores over alone, "
            f"median of {len(seen)} quiet task sets",
            sets=len(seen),
        ),
        [o.slowdown for o in seen],
    )


def _injected_delay(bench: Bench) -> dict[str, Any]:
    task_set = bench.task_set(cores=1, sync_share="0", contended_ratio=0, replica=7)
    delay_ns = round(task_set.tasks[0].wcet_ns * INJECTED_SHARE)
    seen = bench.run([task_set], inject=Injection(delay_ns=delay_ns))[0]
    if seen is None:
        return _undecided("injected-delay", "positive", "the host was not quiet")
    expected = 1 + delay_ns / seen.solo_p50_ns
    return control(
        "injected-delay",
        "positive",
        seen.slowdown_p50,
        accepted=(round(expected - TOLERANCE, 5), round(expected + TOLERANCE, 5)),
        unit="slowdown",
        message=f"{delay_ns} ns added to every job of one task",
    )


def _forced_overlap(bench: Bench) -> list[dict[str, Any]]:
    names = ("forced-overlap", "contention-seen")
    if bench.cores < 2:
        return [_undecided(name, "positive", "needs two cores") for name in names]
    seen = bench.run([bench.overlapping()])[0]
    if seen is None:
        return [_undecided(name, "positive", "the host was not quiet") for name in names]
    overlap = control(
        "forced-overlap",
        "positive",
        seen.overlap,
        accepted=(LEAST_OVERLAP, 1.0),
        unit="share of jobs",
        message="the same contended task on every core, released at the same moments",
    )
    slowdown = control(
        "contention-seen",
        "positive",
        seen.slowdown_p50,
        accepted=(1 + TOLERANCE, 10_000.0),
        unit="slowdown",
        message="what that overlap does to the tasks",
    )
    return [overlap, slowdown]


def _undecided(name: str, kind: str, reason: str) -> dict[str, Any]:
    return control(name, kind, None, accepted=(0.0, 0.0), unit="", message=f"undecided: {reason}")


def _smallest_effect(slowdowns: Sequence[float]) -> tuple[float | None, str]:
    """Bound that a set without contention stays within in 95 % of cases (prediction interval)."""
    n = len(slowdowns)
    if n < LEAST_NEGATIVES:
        return None, f"only {n} negative controls"
    values = np.asarray(slowdowns) - 1
    spread = float(values.std(ddof=1)) * math.sqrt(1 + 1 / n)
    effect = abs(float(values.mean())) + t_quantile_975(n - 1) * spread
    return effect, f"slowdown of {n} task sets without contention, 95 % prediction bound of one set"


def noise_floor(
    executor: HardwareExecutor, calibration: Calibration, *, seconds: float
) -> dict[str, Any]:
    """The noise floor as :meth:`deadbeat.executors.base.Executor.noise` describes it."""
    began = monotonic()
    spin_seconds = max(0.2, seconds * SPIN_SHARE)
    gaps = executor.spin_gaps(seconds=spin_seconds, policy=calibration.policy)
    bench = Bench(executor, load_catalog(), calibration)
    run = 2 * RUN_SECONDS + RUN_OVERHEAD
    replicas = max(1, int((seconds - spin_seconds - 2 * run) / (3 * run)))
    controls, slowdowns = _all_controls(bench, replicas)
    effect, basis = _smallest_effect(slowdowns)
    return {
        "seconds": round(monotonic() - began, 2),
        "smallest_effect": None if effect is None else round(effect, 5),
        "basis": basis,
        "cores": [
            {
                "core": gap["core"],
                "cpu": gap["cpu"],
                "lost_share": round(gap["lost_ns"] / max(gap["spun_ns"], 1), 6),
                "longest_gap_ns": gap["longest_ns"],
                "gaps": {k: v for k, v in gap.items() if k.startswith("above_")},
            }
            for gap in gaps
        ],
        "controls": controls,
    }


def _all_controls(bench: Bench, replicas: int) -> tuple[list[dict[str, Any]], list[float]]:
    controls: list[dict[str, Any]] = []
    slowdowns: list[float] = []
    try:
        for negative in (_flat_on_one_core, _local_on_all_cores):
            row, seen = negative(bench, replicas)
            controls.append(row)
            slowdowns += seen
        controls += [_injected_delay(bench), *_forced_overlap(bench)]
    except SynthesisError as error:
        controls.append(_undecided("controls", "negative", str(error)))
    return controls, slowdowns


def _costs_hold(bench: Bench, replicas: int) -> list[dict[str, Any]]:
    """Median span over C on one core must be one, whatever the share of synchronisation."""
    rows = []
    for share in ("0", "1/2", "1"):
        sets = [
            bench.task_set(cores=1, sync_share=share, contended_ratio=0, replica=100 + replica)
            for replica in range(replicas)
        ]
        seen = [o.span_ratio for o in bench.run(sets) if o]
        rows.append(
            control(
                f"cost-holds-at-{share}",
                "negative",
                _median(seen),
                accepted=(1 - TOLERANCE, 1 + TOLERANCE),
                unit="span over C",
                message=f"calibrated cost against measured span, sync share {share}, one core, "
                f"median of {len(seen)} quiet task sets",
                sets=len(seen),
            )
        )
    return rows


def selftest(
    executor: HardwareExecutor,
    catalog: Catalog,
    calibration: Calibration | None,
    *,
    seconds: float,
    progress: Progress,
) -> dict[str, Any]:
    """All controls, as :meth:`deadbeat.executors.base.Executor.selftest` describes them."""
    began = monotonic()
    known = calibration or executor.calibrate(
        catalog,
        pool="quick",
        seconds=max(10.0, seconds / 2),
        basis="warm",
        policy="fifo",
        progress=lambda share: progress(share / 2),
    )
    progress(0.5)
    noise = noise_floor(executor, known, seconds=max(4.0, seconds / 4))
    progress(0.75)
    run = 2 * RUN_SECONDS + RUN_OVERHEAD
    replicas = max(LEAST_SETS, int(seconds / 4 / (3 * run)))
    checks = noise["controls"] + _costs_hold(Bench(executor, catalog, known), replicas)
    progress(1.0)
    return {
        "passed": all(check["passed"] is not False for check in checks),
        "seconds": round(monotonic() - began, 2),
        "noise": noise,
        "checks": checks,
    }
