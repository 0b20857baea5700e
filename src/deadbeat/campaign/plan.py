"""From a specification to an ordered list of runs, and what that list will take.

Order is by hashes of the seed, so that it is the same on every machine and Python version. Blocks
(M, rho, replica) come in random order; inside a block the same programs run under every alpha, next
to each other in time, in random order too (measurement.md, "Design of an experiment").
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from hashlib import sha256

import attrs
from attrs import frozen

from deadbeat.campaign.rules import Problem
from deadbeat.campaign.spec import CampaignSpec, read_spec, spec_dict, usage
from deadbeat.executors.base import RunSettings
from deadbeat.model.calibration import Calibration
from deadbeat.model.platform import Platform
from deadbeat.model.results import Point, RunKey
from deadbeat.store.campaign import estimate_bytes
from deadbeat.synthesis import SynthesisParameters, seed_for

#: Task sets of one program at most: what the build cost per set was measured with.
BATCH_LIMIT = 1000
#: Wall time of a run beyond its windows (start, probes, commit), as a share of them.
_OVERHEAD = 0.05
_SOLO_JOBS = 20
#: Kept per task set beside its jobs: its tables in C, in the executable and in the index.
_PROGRAM_BYTES = 48 * 1024


@frozen(kw_only=True)
class Resolved:
    """A specification that fits a machine.

    Attributes:
        spec: With cores and cpus filled in.
        missing_cores: Core counts the preset names that do not exist here; they are left out.
    """

    spec: CampaignSpec
    missing_cores: tuple[int, ...] = ()


@frozen(kw_only=True)
class Estimate:
    """What a campaign takes at most: repeats within the budget included."""

    runs: int
    jobs: int
    bytes: int
    seconds: float


def resolve(
    spec: CampaignSpec, platform: Platform, *, names: Mapping[str, str] | None = None
) -> Resolved:
    """Fills in what depends on the machine, and refuses what it does not have.

    Args:
        names: What a path is called where it was written (``cores`` -> ``--cores``).

    Raises:
        UsageError: A CPU or a core count that does not exist here.
    """
    where = {"cores": "cores", "cpus": "cpus", **(names or {})}
    cpus = platform.cpus if spec.cpus is None else spec.cpus
    strange = [cpu for cpu in cpus if cpu not in platform.cpus]
    if strange:
        known = ", ".join(map(str, platform.cpus))
        raise usage(
            (Problem(where["cpus"], f"there is no CPU {strange[0]} to use", f"use {known}"),)
        )
    available = len(cpus)
    if spec.cores is None:
        every = range(1, available + 1)
        cores = tuple(sorted({1, available})) if spec.preset == "quick" else tuple(every)
    else:
        cores = spec.cores
    missing = tuple(count for count in cores if count > available)
    if missing and spec.preset != "paper":
        places = [
            Problem(where["cores"], f"M = {count} asked", _cores_hint(available))
            for count in missing
        ]
        raise usage(tuple(places[:1]))
    fitting = tuple(count for count in cores if count <= available)
    if not fitting:
        raise usage(
            (Problem(where["cores"], f"none of M = {cores} exists", _cores_hint(available)),)
        )
    whole = attrs.evolve(spec, cores=fitting, cpus=tuple(cpus))
    if spec.run.solo_seconds is None:
        run = attrs.evolve(spec.run, solo_seconds=_solo_seconds(whole))
        whole = attrs.evolve(whole, run=run)
    return Resolved(spec=read_spec(spec_dict(whole), names=names), missing_cores=missing)


def _solo_seconds(spec: CampaignSpec) -> float:
    """Half the measuring time; more where its tasks would run too few jobs alone.

    The runtime gives every task SOLO_JOBS (20) jobs whatever is asked: this asks for what it does.
    """
    tasks = max(spec.cores or (1,)) * spec.tasks.per_core
    bounds_ns = spec.tasks.wcet_min + spec.tasks.wcet_max
    mean_ns = _SOLO_JOBS * bounds_ns * spec.tasks.deadline_factor / 2
    slowest_ns = (spec.run.warmup_jobs + 4) * spec.longest_period_ns
    least_ns = tasks * max(mean_ns, slowest_ns)
    return max(spec.run.seconds / 2, math.ceil(least_ns / 10**6) / 1000)


def solo_seconds(spec: CampaignSpec) -> float:
    """Solo time of a run of a resolved specification."""
    return _solo_seconds(spec) if spec.run.solo_seconds is None else spec.run.solo_seconds


def _cores_hint(available: int) -> str:
    return f"{available} core{'s' if available != 1 else ''} can be used here"


def plan(spec: CampaignSpec) -> tuple[RunKey, ...]:
    """All runs of a resolved specification, in the order in which they are to be run."""
    blocks = [
        (cores, share, replica)
        for cores in spec.cores or ()
        for share in spec.grid.sync_share
        for replica in range(spec.grid.replicas)
    ]
    blocks.sort(key=lambda block: _rank(spec.seed, *block))
    return tuple(
        RunKey(Point(cores, share, ratio), replica)
        for cores, share, replica in blocks
        for ratio in sorted(
            spec.grid.contended_ratio,
            key=lambda ratio: _rank(spec.seed, cores, share, replica, ratio),
        )
    )


def _rank(seed: int, *place: int) -> bytes:
    return sha256(f"order {seed} {place}".encode()).digest()


def batches(keys: Sequence[RunKey], limit: int = BATCH_LIMIT) -> tuple[tuple[RunKey, ...], ...]:
    """``keys`` cut into programs of at most ``limit`` sets; only a longer block is cut itself."""
    found: list[tuple[RunKey, ...]] = []
    current: list[RunKey] = []
    for block in _blocks(keys):
        if current and len(current) + len(block) > limit:
            found.append(tuple(current))
            current = []
        current += block
        while len(current) > limit:
            found.append(tuple(current[:limit]))
            current = current[limit:]
    return (*found, tuple(current)) if current else tuple(found)


def _blocks(keys: Sequence[RunKey]) -> list[list[RunKey]]:
    found: list[list[RunKey]] = []
    for key in keys:
        if found and _block_of(found[-1][-1]) == _block_of(key):
            found[-1].append(key)
        else:
            found.append([key])
    return found


def _block_of(key: RunKey) -> tuple[int, int, int]:
    return key.point.cores, key.point.sync_share_milli, key.replica


def set_seed(spec: CampaignSpec, key: RunKey) -> int:
    """Seed of the task set of ``key``: common to all rho and alpha of one M and replica."""
    return seed_for(spec.seed, key.point.cores, key.replica)


def parameters(spec: CampaignSpec, key: RunKey) -> SynthesisParameters:
    """What the task set of ``key`` is asked to be."""
    tasks = spec.tasks
    return SynthesisParameters(
        cores=key.point.cores,
        tasks=key.point.cores * tasks.per_core,
        segments_max=tasks.segments_max,
        wcet_min_ns=tasks.wcet_min,
        wcet_max_ns=tasks.wcet_max,
        distribution=tasks.distribution,
        sync_share=Fraction(key.point.sync_share_milli, 1000),
        contended_ratio=Fraction(key.point.contended_ratio_milli, 1000),
        deadline_factor=tasks.deadline_factor,
        classes_min=tasks.classes_min,
        classes_max=tasks.classes_max,
        priorities=tasks.priorities,
        fragments=tasks.fragments,
    )


def settings(spec: CampaignSpec, calibration: Calibration) -> RunSettings:
    """How every run is carried out; the calibration tells what a quiet host looks like."""
    run = spec.run
    return RunSettings(
        seconds=run.seconds,
        solo_seconds=solo_seconds(spec),
        windows=run.windows,
        warmup_jobs=run.warmup_jobs,
        overrun=run.overrun,
        policy=run.policy,
        split=run.split or run.causes,
        counters=run.counters,
        causes=run.causes,
        layout=run.layout,
        quiet_ps=calibration.yardstick_ps,
        tolerance=spec.quiet.tolerance,
        extra_windows=spec.quiet.extra_windows,
        wait_seconds=spec.quiet.wait_seconds,
    )


def repeat_budget(spec: CampaignSpec) -> int:
    """Further attempts the whole campaign gets for runs off the quiet mode."""
    return math.ceil(len(plan(spec)) * spec.quiet.repeat_share)


def estimate(spec: CampaignSpec, *, calibrated: bool = False) -> Estimate:
    """Upper bound on what a resolved campaign takes, from its parameters alone."""
    keys = plan(spec)
    rate = _jobs_per_second(spec)
    jobs_at = {
        cores: math.ceil(
            (spec.run.seconds * cores * spec.tasks.per_core + solo_seconds(spec)) * rate
        )
        for cores in spec.cores or ()
    }
    attempts = 1 + spec.quiet.repeat_share if spec.quiet.repeats else 1.0
    need = 0
    for cores in spec.cores or ():
        runs = sum(key.point.cores == cores for key in keys)
        tasks = cores * spec.tasks.per_core
        need += estimate_bytes(
            runs=math.ceil(runs * attempts),
            jobs=math.ceil(jobs_at[cores] * (1 + spec.quiet.extra_windows / spec.run.windows)),
            tasks=tasks,
            windows=spec.run.windows * (1 + tasks) + spec.quiet.extra_windows,
            details=spec.run.causes,
            counted=(2 * spec.run.windows + spec.quiet.extra_windows) * tasks
            if spec.run.counters
            else 0,
        )
        need += runs * _PROGRAM_BYTES * max(1, tasks // 2)
    measured = spec.run.seconds + solo_seconds(spec)
    # a window done again is at most as long as the longest of them
    rounds = max(1, spec.run.windows - 1)
    longest = max(spec.run.seconds / spec.run.windows, solo_seconds(spec) / rounds)
    again = spec.quiet.extra_windows * longest + spec.quiet.wait_seconds
    length = (measured + again) * (1 + _OVERHEAD)
    before = spec.quiet.noise_seconds + (0 if calibrated else spec.calibration.seconds)
    return Estimate(
        runs=len(keys),
        jobs=sum(jobs_at[key.point.cores] for key in keys),
        bytes=need,
        seconds=before + len(keys) * attempts * length,
    )


def _jobs_per_second(spec: CampaignSpec) -> float:
    """Mean release rate of a task, 1/s; for non-uniform C its bound, that of the shortest C."""
    low, high, factor = spec.tasks.wcet_min, spec.tasks.wcet_max, spec.tasks.deadline_factor
    if spec.tasks.distribution == "uniform" and high > low:
        # E[1/C] of a uniform C.
        return 1e9 * math.log(high / low) / (high - low) / float(factor)
    return 1e9 / (low * float(factor))
