"""Controls with a known answer: what this machine can show, measured before it is believed.

Negative controls must show nothing (one core does not care for contended objects; core-local
objects on all cores cost what they cost alone). Positive controls must be recovered (an injected
delay, a forced overlap, the price of a queue computed by hand). Each value is a mean over task
sets, or rounds of prices, with Student's interval; every slot counts, as in a campaign.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from fractions import Fraction
from time import monotonic

import attrs
import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from deadbeat.base.model.errors import SynthesisError, TargetError
from deadbeat.base.model.jobs import JobTable
from deadbeat.base.stats.intervals import student_half_width
from deadbeat.build.native import native_root
from deadbeat.tasksets.catalog import Catalog
from deadbeat.tasksets.executors.base import (
    ControlResult,
    Costing,
    Progress,
    RunRequest,
    RunSettings,
    SelftestResult,
)
from deadbeat.tasksets.executors.hardware import HardwareExecutor
from deadbeat.tasksets.executors.metrics import job_columns
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.results import Point, RunKey
from deadbeat.tasksets.model.tasks import Resource, Task, TaskSet
from deadbeat.tasksets.prices.table import (
    FIRST,
    FIRST_NS,
    OTHERS,
    OTHERS_NS,
    ROUND,
    WHO,
    WORK,
    PriceBatch,
)
from deadbeat.tasksets.prices.works import PriceWork, Pricing
from deadbeat.tasksets.store.jobfile import read_job_table
from deadbeat.tasksets.synthesis.generator import Synthesiser
from deadbeat.tasksets.synthesis.parameters import SynthesisParameters

RUN_SECONDS = 0.5
SETTINGS = RunSettings(seconds=RUN_SECONDS)
#: Start-up and end of one control run, s.
RUN_OVERHEAD = 0.05
INJECTED_SHARE = 0.2
TOLERANCE = 0.02
WIDEST = 0.1
LEAST_OVERLAP = 0.9
LEAST_SETS = 5
SEED = 20_250_101
#: Private copies of these are priced, (object, size): in user space and in the kernel.
_COPIES = (("atomic_line", 64), ("futex", 64), ("event_flag", 64), ("pipe", 4))
#: Steps of a generator, about 2 ns each, while the queue of `price-of-hold` is held.
_HOLDS = (1_100, 3_000, 5_000, 7_000, 9_500)


@frozen(kw_only=True)
class Observed:
    """What one control run showed; ratios are means over the tasks.

    Attributes:
        slowdown: Mean span together over mean span alone, as the summary defines it.
        span_ratio: Median span over C, alone and together alike.
        overlap: Share of task 0's jobs during which another task's job ran.
    """

    slowdown: float
    span_ratio: float
    overlap: float


def observe(table: JobTable) -> Observed | None:
    """The figures of one control run; None when a task has no job of a kind."""
    jobs = job_columns(table)
    done = jobs.counted & jobs.finished
    means, ratios = [], []
    for row in table.tasks:
        mine = done & (jobs.task == int(row["task"]))
        solo, together = jobs.span_ns[mine & jobs.solo], jobs.span_ns[mine & ~jobs.solo]
        if not len(solo) or not len(together):
            return None
        means.append(together.mean() / solo.mean())
        ratios.append(np.median(jobs.span_ns[mine]) / int(row["wcet_ns"]))
    # Share of task 0's together jobs that another task's job intersects in time.
    together = done & ~jobs.solo
    mine, others = together & (jobs.task == 0), together & (jobs.task != 0)
    if not mine.any() or not others.any():
        overlap = 0.0
    else:
        starts, finishes = np.sort(jobs.start_ns[others]), np.sort(jobs.finish_ns[others])
        # an interval meets others when more have started by its end than finished by its beginning
        started = np.searchsorted(starts, jobs.finish_ns[mine], side="left")
        finished = np.searchsorted(finishes, jobs.start_ns[mine], side="right")
        overlap = float(np.mean(started > finished))
    return Observed(
        slowdown=float(np.mean(means)),
        span_ratio=float(np.mean(ratios)),
        overlap=overlap,
    )


@frozen
class ControlRow:
    """What is done to see something with a known answer.

    Attributes:
        kind: ``negative``: must show nothing; ``positive``: must be recovered.
        accepted: Range of the mean over task sets or rounds, in ``unit``.
        cores: Fewest cores it takes.
        widest: An interval that is wider on one side, and than the range, decides nothing.
    """

    name: str
    kind: str
    accepted: tuple[float, float]
    unit: str
    message: str
    cores: int = field(default=1, kw_only=True)
    widest: float = field(default=WIDEST, kw_only=True)
    of: str = field(default="task sets", kw_only=True)

    def judge(self, values: Sequence[float]) -> ControlResult:
        """From a value per task set or round.

        It fails when the whole interval of the mean lies off the accepted range, and is undecided
        when that interval is too wide to say so, or the sets are too few for one.
        """
        low, high = self.accepted
        count = len(values)
        mean = float(np.mean(values)) if count else None
        half = math.inf
        if count >= LEAST_SETS:
            half = student_half_width(np.asarray(values, dtype=np.float64))
        passed: bool | None = None
        if mean is not None and math.isfinite(half):
            if mean + half < low or mean - half > high:
                passed = False
            elif half <= max(self.widest, 0.5 * (high - low)):
                passed = True
        about = "" if not math.isfinite(half) else f" +- {half:.3g}"
        return ControlResult(
            name=self.name,
            kind=self.kind,
            passed=passed,
            value=None if mean is None else round(mean, 5),
            low=low,
            high=high,
            unit=self.unit,
            message=f"{self.message}; {count} {self.of}{about}",
        )

    def undecided(self, reason: str) -> ControlResult:
        row = attrs.evolve(self, accepted=(0.0, 0.0), unit="", message=f"undecided: {reason}")
        return row.judge(())


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
        self, task_sets: Sequence[TaskSet], *, inject: Mapping[str, str] | None = None
    ) -> list[Observed | None]:
        """Runs them in one session; None for a set with a task that has no job of a kind.
        Raises TargetError: one failed: a control has no second meaning."""
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


_NEAR_ONE = (1 - TOLERANCE, 1 + TOLERANCE)
FLAT = ControlRow(
    "one-core-flat",
    "negative",
    _NEAR_ONE,
    "ratio of spans",
    "contended over core-local on one core",
)
LOCAL = ControlRow(
    "all-cores-local",
    "negative",
    _NEAR_ONE,
    "slowdown",
    "core-local objects on all cores over alone",
    cores=2,
)
DELAY = ControlRow(
    "injected-delay",
    "positive",
    (1 - 5 * TOLERANCE, 1 + 5 * TOLERANCE),
    "of the delay",
    f"{INJECTED_SHARE:.0%} of C added to every job of one task",
)
OVERLAP = ControlRow(
    "forced-overlap",
    "positive",
    (LEAST_OVERLAP, 1.0),
    "share of jobs",
    "the same contended task on every core, released at the same moments",
    cores=2,
)
SEEN = ControlRow(
    "contention-seen",
    "positive",
    (1 + TOLERANCE, 10_000.0),
    "slowdown",
    "what that overlap does to the tasks",
    cores=2,
)
#: C is what the work takes on the calm machine. A host that got slower since fails, as it should:
#: 0.98 to 1.07 C in a quiet hour of a virtual machine, up to 1.46 beside nine busy processes.
COSTS = tuple(
    ControlRow(
        f"cost-holds-at-{share}",
        "negative",
        (0.9, 1.15),
        "span over C",
        f"measured span over calibrated cost, sync share {share}, one core",
    )
    for share in ("0", "1/2", "1")
)
#: Two cores, one token, first come first served, no thinking: while one holds for H the other
#: waits, and gets the token h later. Each is served once in 2 (H + h): a slope of 2, whatever h is
#: (machine-repairman model, `deadbeat.tasksets.prices.rates.repairman(2, 1.0)`).
HOLD = ControlRow(
    "price-of-hold",
    "positive",
    (1.9, 2.1),
    "ns a ns",
    "what a longer hold adds to the price of a queue, two cores",
    cores=2,
    of="rounds",
)
COPIES = ControlRow(
    "private-copies",
    "negative",
    (0.99, 1.01),
    "ratio",
    "objects that are not shared, beside another core over alone",
    cores=2,
    widest=0.01,
    of="rounds",
)


def _of_sets(bench: Bench, replicas: int, *, cores: int, share: str, first: int) -> list[Observed]:
    """What sets without contended objects show."""
    sets = [
        bench.task_set(cores=cores, sync_share=share, contended_ratio=0, replica=first + replica)
        for replica in range(replicas)
    ]
    return [seen for seen in bench.run(sets) if seen]


def _all_controls(bench: Bench, replicas: int) -> Iterator[ControlResult]:
    try:
        sets = [
            bench.task_set(cores=1, sync_share="1/2", contended_ratio=alpha, replica=replica)
            for replica in range(replicas)
            for alpha in (0, 1)
        ]
        flat_seen = bench.run(sets)
        pairs = zip(flat_seen[::2], flat_seen[1::2], strict=True)
        yield FLAT.judge([b.span_ratio / a.span_ratio for a, b in pairs if a and b])
        if bench.cores < LOCAL.cores:
            yield LOCAL.undecided("needs two cores")
        else:
            seen = _of_sets(bench, replicas, cores=bench.cores, share="1", first=0)
            yield LOCAL.judge([one.slowdown for one in seen])
        # The share of an injected delay that is recovered.
        recovered = []
        for replica in range(replicas):
            task_set = bench.task_set(cores=1, sync_share="0", contended_ratio=0, replica=replica)
            delay_ns = round(task_set.tasks[0].wcet_ns * INJECTED_SHARE)
            delay = {"--inject-ns": str(delay_ns), "--inject-task": "0", "--inject-every": "1"}
            delays_seen = bench.run([task_set], inject=delay)[0]
            if delays_seen is not None:
                recovered.append((delays_seen.slowdown - 1) * task_set.tasks[0].wcet_ns / delay_ns)
        yield DELAY.judge(recovered)
        if bench.cores < OVERLAP.cores:
            yield from (row.undecided("needs two cores") for row in (OVERLAP, SEEN))
        else:
            both = [one for one in bench.run([bench.overlapping()] * replicas) if one]
            yield OVERLAP.judge([one.overlap for one in both])
            yield SEEN.judge([one.slowdown for one in both])
        for row in COSTS:
            share = row.name.removeprefix("cost-holds-at-")
            seen = _of_sets(bench, replicas, cores=1, share=share, first=100)
            yield row.judge([one.span_ratio for one in seen])
    except SynthesisError as error:
        yield attrs.evolve(FLAT, name="controls").undecided(str(error))


def call_costs(batch: PriceBatch) -> NDArray[np.float64]:
    """What a call took, ns: round x work x core of its two x (alone, beside the other)."""
    slots = np.array(batch.slots, dtype=np.float64)
    number, work, who = slots[:, [ROUND, WORK, WHO]].astype(int).T
    both = who < 0
    found = np.zeros((number.max() + 1, work.max() + 1, 2, 2))
    found[number, work, np.maximum(who, 0), both.astype(int)] = slots[:, FIRST_NS] / slots[:, FIRST]
    found[number[both], work[both], 1, 1] = slots[both, OTHERS_NS] / slots[both, OTHERS]
    return found


def hold_slopes(costs: NDArray[np.float64]) -> list[float]:
    """For each round the slope, by least squares, of the price over what it is alone."""
    each = (one.mean(axis=1).T for one in costs)
    return [float(np.polyfit(alone, shared, 1)[0]) for alone, shared in each]


def price_controls(
    executor: HardwareExecutor, policy: str, seconds: float
) -> Iterator[ControlResult]:
    if len(executor.cpus) < HOLD.cores:
        yield from (row.undecided("needs two cores") for row in (COPIES, HOLD))
        return
    cores = 0, len(executor.cpus) - 1
    copies = (PriceWork(object=n, size=size, cores=cores, shared=False) for n, size in _COPIES)
    asked = Pricing(works=tuple(copies), seconds=seconds / 2, policy=policy)
    seen = call_costs(executor.price(asked))
    yield COPIES.judge([float((one[..., 1] / one[..., 0]).mean()) for one in seen])
    if policy == "other":
        yield HOLD.undecided("needs SCHED_FIFO: a holder may lose its core")
        return
    holds = tuple(PriceWork(object="held_queue", size=size, cores=cores) for size in _HOLDS)
    machine = copy(executor)
    machine.pools = native_root() / "runtime/controls"
    seen = call_costs(machine.price(Pricing(works=holds, seconds=seconds / 2)))
    yield HOLD.judge(hold_slopes(seen))


def selftest(
    executor: HardwareExecutor,
    catalog: Catalog,
    calibration: Calibration | None,
    *,
    seconds: float,
    progress: Progress,
) -> SelftestResult:
    """All controls; ``calibration`` None: it makes its own short one."""
    began = monotonic()
    known = calibration or executor.calibrate(
        catalog,
        Costing(pool="quick", seconds=max(10.0, seconds / 2)),
        lambda share: progress(share / 2),
    )
    progress(0.5)
    gaps = executor.spin_gaps(seconds=max(0.5, seconds / 30), policy=known.policy)
    # eight runs a replica: two on one core, one each of the others, three for the costs
    replicas = max(LEAST_SETS, int(seconds / 3 / (8 * (RUN_SECONDS + RUN_OVERHEAD))))
    checks = (
        *_all_controls(Bench(executor, catalog, known), replicas),
        *price_controls(executor, known.policy, seconds / 6),
    )
    progress(1.0)
    return SelftestResult(
        seconds=round(monotonic() - began, 2),
        cores=tuple(
            {
                "core": gap["core"],
                "cpu": gap["cpu"],
                "lost_share": round(gap["lost_ns"] / max(gap["spun_ns"], 1), 6),
                "longest_gap_ns": gap["longest_ns"],
            }
            for gap in gaps
        ),
        checks=checks,
    )
