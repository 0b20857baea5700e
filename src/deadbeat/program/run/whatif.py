"""What a measured program would do otherwise: its jobs again, in the simulator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial

import numpy as np
from attrs import evolve, frozen

from deadbeat.base.model.platform import Platform
from deadbeat.machine.host.judgements import rt_kept
from deadbeat.machine.host.kernel import release_of
from deadbeat.program.derive.placer import Placing
from deadbeat.program.derive.replica import Replica, ReplicaThread
from deadbeat.program.derive.switches import Times
from deadbeat.program.derive.tasks import DerivedTask
from deadbeat.sched.program import COMPUTE, LOCK, OP, POLICIES, PROTOCOLS, run_program

#: Weight of an ordinary thread of nice 0, and of another by 1.25 a step (sched_prio_to_weight in
#: kernel/sched/core.c); of SCHED_IDLE.
_WEIGHT, _STEP, _IDLE_WEIGHT = 1024, 1.25, 3
#: By default fixed priorities have so much of which period; the fair server has the rest.
_RUNTIME_NS, _PERIOD_NS = 950_000_000, 1_000_000_000
#: CPUs on which threads are made to begin.
_STARTS = 4

#: Misses, and the worst response by its deadline or period: the less the better.
Score = tuple[int, float]


@frozen(kw_only=True)
class Foreseen:
    """What jobs of a thread come to; responses in ns, 0: of none. ``misses``: those that ended
    after their deadline, or never."""

    jobs: int = 0
    misses: int = 0
    p50_ns: int = 0
    p99_ns: int = 0
    max_ns: int = 0
    first_ns: int = -1  # release of the first that was missed


def foreseen(
    replica: Replica,
    cpus: Sequence[int],
    *,
    placings: Sequence[Placing] = (),
    inherit: bool = False,
    start: int | None = None,
    deadlines: Mapping[str, int] | None = None,
) -> dict[str, Foreseen]:
    """Thread -> what the simulator has of it.

    Args:
        cpus: CPUs of the machine. A thread that may use none of these has ``cpu % number``.
        placings: Threads with another policy, priority or CPUs; ``inherit``: of all plain locks.
        start: Place of the CPU on which threads begin that may use several.
        deadlines: In place of those of the replica's tasks.
    """
    threads = moved(replica, placings)
    all_of_them = [*threads, *replica.beside]
    everyone = {cpu for each in all_of_them for cpu in each.task.cpus} | {*cpus}
    does = _does(replica)
    rows = [[*_row(each, cpus, everyone), _first(each.was_on, cpus)] for each in all_of_them]
    if start is not None:
        rows = [row if row[2].bit_count() == 1 else [*row[:-1], start + 1] for row in rows]
    urgent = [*zip([each.task.priority for each in threads], does.locks, strict=False)]
    locks = [
        (
            PROTOCOLS.index("inherit" if inherit and protocol == "none" else protocol),
            max((priority for priority, used in urgent if number in used), default=0),
        )
        for number, (_, protocol) in enumerate(replica.locks)
    ]
    found = run_program(
        cpus=len(cpus),
        threads=np.array(rows, np.int64).reshape(-1, 9),
        job_ends=does.job_ends,
        releases=does.releases,
        op_ends=does.op_ends,
        ops=does.ops,
        locks=np.array(locks, np.int64).reshape(-1, 2),
        horizon=replica.end_ns,
        limits=(*replica.limits, replica.run) if replica.limits else (),
    )
    ends = does.job_ends
    wanted = {each.task.name: each.task.deadline_ns for each in threads} | dict(deadlines or {})
    return {
        each.task.name: _judged(jobs, wanted[each.task.name], replica.end_ns)
        for each, jobs in zip(threads, np.split(found, ends[:-1]), strict=False)
    }


def from_worst(
    replica: Replica,
    cpus: Sequence[int],
    placings: Sequence[Placing] = (),
    *,
    inherit: bool = False,
) -> tuple[int | None, dict[str, Foreseen]]:
    """Where threads begin that have a priority and may use several CPUs, if there are some, so that
    most is missed, as it may be so for good; and what the simulator has then."""
    tasks = [each.task for each in moved(replica, placings)]
    free = any(task.priority and len({*task.cpus} & {*cpus}) > 1 for task in tasks)
    starts = range(len(cpus))[:_STARTS] if free else (None,)
    simulate = partial(foreseen, replica, cpus, placings=placings, inherit=inherit)
    every = ((start, simulate(start=start)) for start in starts)
    return max(every, key=lambda each: score_of(each[1], tasks))


def score_of(every: Mapping[str, Foreseen], tasks: Iterable[DerivedTask]) -> Score:
    """The score of ``tasks`` by what the simulator has."""
    rows = [(every[task.name], task) for task in tasks if task.name in every]
    ratios = (
        row.max_ns / limit for row, task in rows if (limit := task.deadline_ns or task.period_ns)
    )
    return sum(row.misses for row, _ in rows), max(ratios, default=0.0)


@frozen(kw_only=True, eq=False)
class _Does:
    """What threads do, whatever their policies, as `run_program` has it; ``locks``: of each."""

    job_ends: Times
    releases: Times
    op_ends: Times
    ops: Times
    locks: tuple[set[int], ...]


@lru_cache(maxsize=4)
def _does(replica: Replica) -> _Does:
    ends, op_ends, ops = list[int](), list[Times](), [np.zeros(0, OP)]
    done, many, threads = 0, 0, (*replica.threads, *replica.beside)
    for each in threads:
        # Operations with each job's overhead before them, and the number until the end of each.
        starts = np.append(0, each.ends[:-1])
        more = np.zeros(len(each.ends), OP)
        more["kind"], more["ns"] = COMPUTE, np.rint(each.overhead)
        mine = np.insert(each.ops, starts, more)
        op_ends.append(each.ends + np.arange(1, len(each.ends) + 1) + many)
        many, done = many + len(mine), done + len(each.releases)
        ops.append(mine)
        ends.append(done)
    every, none = np.concatenate(ops), np.zeros(0, np.int64)
    return _Does(
        job_ends=np.array(ends, np.int64),
        releases=np.concatenate([none, *(each.releases for each in threads)]),
        op_ends=np.concatenate([none, *op_ends]),
        ops=np.column_stack([every[name] for name in OP.names or ()]).astype(np.int64),
        locks=tuple({*each.ops["target"][each.ops["kind"] == LOCK].tolist()} for each in threads),
    )


def limits_of(platform: Platform) -> tuple[int, ...]:
    """What real-time threads leave to others on a machine, as `run_program` has it; Linux's
    defaults where that is not known."""
    release = release_of(platform.kernel)
    runtime, period = (platform.details.get(f"rt_{word}_us") for word in ("runtime", "period"))
    runtime = runtime if isinstance(runtime, int) else round(_RUNTIME_NS / 1e3)
    grouped = platform.details.get("rt_group_sched")
    kept = rt_kept(runtime, period, release, grouped if isinstance(grouped, bool) else None)
    least = int(period) * 1000 if isinstance(period, int) else _PERIOD_NS
    throttling = (round((1 - kept) * least), least) if kept and kept < 1 else (0, 0)
    return *throttling, *((_PERIOD_NS - _RUNTIME_NS, _PERIOD_NS) if release >= (6, 12) else (0, 0))


def moved(replica: Replica, placings: Sequence[Placing]) -> tuple[ReplicaThread, ...]:
    """Its threads as ``placings`` have them."""
    rules, threads = {each.name: each for each in placings}, []
    for each in replica.threads:
        rule = rule_of(each.task.name, rules)
        task = placed(each.task, rule)
        period, deadline = rule.period_ns or each.period_ns, rule.deadline_ns or each.deadline_ns
        threads.append(evolve(each, task=task, period_ns=period, deadline_ns=deadline))
    return tuple(threads)


def rule_of(name: str, rules: Mapping[str, Placing]) -> Placing:
    """The rule of a thread; one without change where there is none."""
    found = rules.get(name) or rules.get(name.partition("#")[0]) or rules.get("*")
    return found or Placing(name=name)


def placed(task: DerivedTask, rule: Placing) -> DerivedTask:
    """``task`` as ``rule`` has it."""
    return evolve(
        task,
        policy=rule.policy or task.policy,
        priority=rule.priority or (0 if rule.policy in ("other", "deadline") else task.priority),
        cpus=rule.cpus or task.cpus,
        runtime_ns=rule.runtime_ns or task.runtime_ns,
    )


def _row(thread: ReplicaThread, cpus: Sequence[int], everyone: set[int]) -> list[int]:
    task = thread.task
    known = [place for place, cpu in enumerate(cpus) if cpu in task.cpus]
    if {*task.cpus} >= everyone or not task.cpus:
        known = [*range(len(cpus))]
    mask = sum(1 << place for place in {*known} or {cpu % len(cpus) for cpu in task.cpus})
    policy = POLICIES.index(task.policy) if task.policy in POLICIES else 0
    period = thread.period_ns or task.period_ns or 0
    reserved = (
        (task.runtime_ns, thread.deadline_ns or period, period)
        if task.policy == "deadline"
        else (0, 0, 0)
    )
    weight = round(_WEIGHT / _STEP**thread.nice) if task.policy != "idle" else _IDLE_WEIGHT
    weight = task.priority if policy else weight
    signed = mask - (1 << 64) * (mask >= 1 << 63)
    return [policy, weight, signed, int(thread.after), *reserved, thread.wake_ns]


def _first(was: Sequence[int], cpus: Sequence[int]) -> int:
    """Where a thread is when it is placed, as `run_program` has it: on the CPU that it was on."""
    return cpus.index(was[0]) + 1 if len(was) == 1 and was[0] in cpus else 0


def _judged(jobs: Times, deadline: int | None, end_ns: int) -> Foreseen:
    released = jobs[jobs[:, 0] >= 0]
    ended = released[:, 2] >= 0
    response = np.where(ended, released[:, 2], end_ns) - released[:, 0]
    late = response > deadline if deadline else np.zeros(len(response), bool)
    counts = ended | late
    if not counts.any():
        return Foreseen()
    middle, high = np.quantile(response[counts], [0.5, 0.99], method="inverted_cdf").tolist()
    return Foreseen(
        jobs=int(counts.sum()),
        misses=int(late.sum()),
        p50_ns=int(middle),
        p99_ns=int(high),
        max_ns=int(response[counts].max()),
        first_ns=int(released[late, 0].min(initial=end_ns)) if late.any() else -1,
    )
