"""What a campaign takes: time, and room on the disk."""

from __future__ import annotations

import math
from collections import Counter

import attrs
from attrs import frozen

from deadbeat.executors.base import SLOT_MIN_NS
from deadbeat.executors.tables import SOLO_SAMPLE, RunTiming, rounds_min, slot_lengths
from deadbeat.kinds.contention.plan import group_of, most_runs, plan
from deadbeat.kinds.contention.spec import CampaignSpec
from deadbeat.kinds.contention.stress import Group
from deadbeat.store.campaign import estimate_bytes

#: Wall time of a simulated job and of the rest of its run (generate, store, summarise), generous.
_SECONDS_PER_JOB, _SECONDS_PER_RUN = 12e-6, 0.05
#: Wall time of a run beyond its timetable (start, set-up, commit), s.
_OVERHEAD_S = 0.05
#: Kept per task set beside its jobs: its tables in C, in the executable and in the index.
_PROGRAM_BYTES = 48 * 1024


@frozen(kw_only=True)
class CampaignCost:
    """What a campaign takes."""

    runs: int
    jobs: int
    bytes: int
    seconds: float


def estimate(
    spec: CampaignSpec, *, calibrated: bool = False, simulated: bool = False
) -> CampaignCost:
    """What a resolved campaign takes, from its parameters alone; bytes are an upper bound.

    Args:
        calibrated: No calibration is to be made.
        simulated: Nobody waits for the slots to pass: jobs are computed.
    """
    keys = plan(spec)
    need = jobs = 0
    seconds = 0.0
    cells = Counter((key.point.per_core, key.point.cores, group_of(spec, key)) for key in keys)
    for (per_core, cores, group), runs in cells.items():
        row = _row_of(spec, per_core)
        tasks = row.most_tasks(cores, group)
        sampled = min(tasks, SOLO_SAMPLE)
        length_s = run_length_s(row, tasks)
        slots = math.ceil(length_s * 1e9 / SLOT_MIN_NS)
        # of the slots one in 1 + sampled runs all tasks, the others one each
        running = (tasks + sampled) / (1 + sampled)
        per_run = math.ceil(length_s * running * _jobs_per_second(row, group))
        jobs += runs * per_run
        seconds += runs * (length_s + _OVERHEAD_S)
        need += estimate_bytes(
            runs=runs,
            jobs=per_run,
            tasks=tasks,
            slots=slots,
            cores=cores,
            details=spec.run.causes,
            counted=slots * tasks if spec.run.counters else 0,
        )
        need += runs * _PROGRAM_BYTES * max(1, tasks // 2)
    runs = most_runs(spec)
    part = runs / len(keys)
    seconds, jobs, need = part * seconds, math.ceil(part * jobs), math.ceil(part * need)
    if simulated:
        seconds = jobs * _SECONDS_PER_JOB + runs * _SECONDS_PER_RUN
    elif not calibrated:
        seconds += spec.calibration.seconds
    return CampaignCost(runs=runs, jobs=jobs, bytes=need, seconds=seconds)


def _row_of(spec: CampaignSpec, per_core: int) -> CampaignSpec:
    """``spec`` as if it had one row: that with ``per_core`` tasks a core; 0: the grid."""
    tasks = spec.tasks
    if spec.loaded is not None and per_core:
        factors = (spec.loaded.deadline_factor,)
        tasks = attrs.evolve(tasks, per_core=per_core, deadline_factor=factors)
    return attrs.evolve(spec, loaded=None, tasks=tasks)


def run_length_s(spec: CampaignSpec, tasks: int) -> float:
    """Length of the timetable of a run of so many tasks of the grid or the groups, s: the fewest
    rounds may take longer than what is asked. A bound: with slots of the slowest task there can be.
    """
    slowest_ns = int(spec.longest_period_ns)
    slowest = RunTiming(
        period_ns=slowest_ns,
        deadline_ns=slowest_ns,
        offset_ns=0,
        wcet_ns=slowest_ns // 10,
        core=0,
    )
    round_ns = (1 + min(tasks, SOLO_SAMPLE)) * sum(
        slot_lengths([slowest], [slowest], spec.run.settings)
    )
    return max(spec.run.seconds, rounds_min(tasks) * round_ns / 1e9)


def run_seconds(spec: CampaignSpec, *, simulated: bool) -> float:
    """Wall time of a run of a resolved specification before any is known."""
    whole = estimate(spec, calibrated=True, simulated=simulated)
    return whole.seconds / whole.runs


def _jobs_per_second(spec: CampaignSpec, group: Group | None) -> float:
    """Mean release rate of a task, 1/s, or a bound on it."""
    if spec.by_utilisation:
        rate = 1e9 / spec.tasks.period_min
    else:
        factors = spec.tasks.deadline_factor
        rate = _inverse_wcet(spec) * float(sum(1 / factor for factor in factors) / len(factors))
    if group is not None and group.critical_cores and spec.stress is not None:
        # A task alone on a core that is filled has the whole fill.
        rate = max(rate, _inverse_wcet(spec) * float(spec.stress.fill_utilisation))
    return rate


def _inverse_wcet(spec: CampaignSpec) -> float:
    """Mean of 1/C, 1/s; for non-uniform C its bound, that of the shortest C."""
    low, high, drawn = spec.tasks.wcet_min, spec.tasks.wcet_max, spec.stress
    if drawn is not None and drawn.wcet_min is not None:
        return 1e9 / drawn.wcet_min.smallest
    plain = drawn is None or (drawn.distribution or drawn.wcet_max) is None
    if plain and spec.tasks.distribution == "uniform" and high > low:
        # E[1/C] of a uniform C.
        return 1e9 * math.log(high / low) / (high - low)
    return 1e9 / low
