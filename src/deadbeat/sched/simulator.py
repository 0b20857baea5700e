"""Simulate a task system under a policy, and say what that proves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from attrs import asdict, evolve, field, frozen
from numpy.typing import NDArray

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.systems import TaskSystem, TimedTask
from deadbeat.base.model.words import nearest
from deadbeat.sched.arrays import EXTRAS, task_rows
from deadbeat.sched.locks import NO_LOCKS, PATTERNS, decide

if TYPE_CHECKING:
    from deadbeat.sched import _core
else:
    from deadbeat.sched.core import lazy as _core

Answer = Literal["yes", "no", "undecided"]
Model = Literal["periodic-sync", "periodic-offset", "sporadic"]
Method = Literal["exact", "thesis"]
Execution = Literal["up-to-wcet", "exactly-wcet"]
Robustness = Literal["robust", "fragile", "never", "undecided"]

MODELS: tuple[Model, ...] = get_args(Model)
ANSWERS: tuple[Answer, ...] = ("no", "yes", "undecided")
_NEVER = np.iinfo(np.int64).max
#: Bound of every parameter, cost and horizon (kParameterMax in time.hpp).
TIME_MAX = 1 << 60

JOB_FIELDS = ("task", "job", "release", "start", "finish", "deadline")
_NO_ROWS: NDArray[np.int64] = np.empty((0, 6), dtype=np.int64)


@frozen(kw_only=True)
class Costs:
    """Time added to the job that causes it, in the system's unit. Above zero nothing is proved.

    Attributes:
        context_switch: A processor takes up another job than it ran last.
        migration: A job resumes, or a task continues, on another processor.
        cache_reload: A job resumes on its processor after another one ran there.
        migration_across: More than ``migration``, from one cluster of ``cluster_size`` processors
            to another, whatever the policy.
    """

    context_switch: int = 0
    migration: int = 0
    cache_reload: int = 0
    migration_across: int = 0

    def __bool__(self) -> bool:
        return self != Costs()


@frozen(kw_only=True)
class Scheduler:
    """A policy and its options; ``policies()`` lists which policy looks at which.

    Partition ``auto`` is first-fit on single processors, worst-fit on clusters; admission ``auto``
    is exact for p-edf and p-fp, by utilisation for other policies. Protocol: how locks are taken;
    ``any``: as they say themselves.
    """

    policy: str = "g-edf"
    ties: str = "index"
    priorities: str = "rm"
    partition: str = "auto"
    order: str = "utilisation-desc"
    admission: str = "auto"
    unplaced: str = "reject"
    balance: str = "both"
    cluster_size: int = 2
    threshold: tuple[int, int] | None = None
    protocol: str = "any"
    costs: Costs = field(factory=Costs)


@frozen(kw_only=True)
class PolicyFacts:
    """What a policy declares of itself (core/include/deadbeat/sched/policy.hpp).

    In ``policies()`` that is what holds under all its options; in a verdict, under those used.
    """

    name: str
    title: str
    reference: str
    memoryless: bool
    predictable: bool
    predictable_reason: str
    clusters: bool
    partitions: bool
    fixed_priority: bool
    implicit_only: bool


@frozen(kw_only=True)
class Verdict:
    """What was found, and what it rests on.

    Attributes:
        schedulable: The answer for ``model``; ``undecided`` is never a guess.
        proved: Whether it holds for the model, not only for what was simulated.
        execution: The execution times the answer is for: any up to C where the policy is
            predictable (no job finishes later when others need less), exactly C where it is not.
        because: The argument, or what one lacks; one line.
        proof: What proves it, or "": one-hyper-period, repetition, thesis, miss, overload,
            placement, one-processor, exploration, or the name of a schedulability test.
        reference: Where that proof is from, where it needs a source.
        pattern: Model sporadic: the releases that miss, in words.
        states: Model sporadic: how many states were explored.
        first_miss: The earliest deadline that a job missed, or None.
        first_miss_task, first_miss_job: Which one (indices from 0), or None.
        until: [0, until) was simulated.
        repeat: The instants between which the schedule repeats, where that was looked for.
        figures: Per task, a column per figure: see ``TaskMetrics`` in engine.hpp.
        jobs: int64, a row per job (JOB_FIELDS), -1 for what did not happen; empty unless recorded.
        segments: int64, a row (task, job, processor, start, end) per stretch; likewise.
        releases: int64, a row (task, release) per release of ``pattern`` before ``until``, by
            release; empty where all tasks are released at 0 and periodically from there on.
        holds: int64, a row (task, job, lock, holder, start, end) per stretch that a job of the
            recorded pattern waits for a lock, or is itself the holder. ``all_jobs``: of all
            patterns. Both of systems with locks only.
        truncated: More was to record than asked for.
        placed: Cluster of each task; empty where tasks are not bound.
        scheduler: What was asked for, with what ``auto`` stood for.
        facts: What the policy declares under these options.
    """

    schedulable: Answer
    proved: bool
    execution: Execution
    because: str
    proof: str
    reference: str
    pattern: str
    states: int
    model: Model
    method: Method
    scheduler: Scheduler
    facts: PolicyFacts
    first_miss: int | None
    first_miss_task: int | None
    first_miss_job: int | None
    until: int
    events: int
    repeat: tuple[int, int] | None
    placed: tuple[int, ...]
    remarks: tuple[str, ...]
    truncated: bool
    figures: Mapping[str, NDArray[Any]] = field(eq=False, repr=False)
    jobs: NDArray[np.int64] = field(eq=False, repr=False)
    segments: NDArray[np.int64] = field(eq=False, repr=False)
    releases: NDArray[np.int64] = field(eq=False, repr=False)
    holds: NDArray[np.int64] = field(eq=False, repr=False, default=_NO_ROWS)
    all_jobs: NDArray[np.int64] = field(eq=False, repr=False, default=_NO_ROWS)


@frozen(kw_only=True)
class TiesVerdict:
    """What is found under each tie rule, and what that says of the system.

    Attributes:
        answer: ``robust``: schedulable under every listed rule. ``fragile``: under some of them,
            under others not. ``never``: under none. ``undecided``: the undecided ones among them
            could still change the answer. Other ways to break ties are not covered.
        rules: The listed rules, in the order of ``verdicts``.
    """

    answer: Robustness
    rules: tuple[str, ...]
    verdicts: Mapping[str, Verdict]


@cache
def policies() -> Mapping[str, PolicyFacts]:
    """Every policy of the core by name."""
    return {entry["name"]: PolicyFacts(**entry) for entry in _core.policies()}


@cache
def tie_rules() -> tuple[str, ...]:
    return tuple(_core.tie_rules())


@cache
def option_words(option: str) -> tuple[str, ...]:
    """The words that an option of ``Scheduler`` takes: priorities, partition, order, ..."""
    return tuple(_core.option_words(option))


def facts_of(scheduler: Scheduler) -> PolicyFacts:
    """What its policy declares under its options. Raises UsageError as ``core_options``."""
    name, _, protocol = scheduler.policy.partition("+")
    if protocol:
        own = policies()[name]
        title = own.title + f", locks: {protocol}" * (protocol != NO_LOCKS)
        return evolve(own, name=scheduler.policy, title=title, partitions=False, clusters=False)
    return PolicyFacts(**_core.policy_facts(core_options(scheduler)))


def resolved(scheduler: Scheduler) -> Scheduler:
    """With what ``auto`` stands for, where the policy places tasks."""
    facts = policies().get(scheduler.policy)
    if facts is None or not facts.partitions:
        return scheduler
    capacity = scheduler.cluster_size if facts.clusters else 1
    return evolve(
        scheduler,
        partition=_core.heuristic_for(scheduler.partition, capacity),
        admission=_core.admission_for(core_options(scheduler), capacity),
    )


def default_model(system: TaskSystem) -> Model:
    """``periodic-sync`` unless a task has an offset."""
    return "periodic-offset" if any(task.offset for task in system.tasks) else "periodic-sync"


def simulate(
    system: TaskSystem,
    scheduler: Scheduler | None = None,
    *,
    model: Model | None = None,
    method: Method = "exact",
    horizon: int | None = None,
    budget: int = 5_000_000,
    run_on: bool = False,
    record_jobs: bool = False,
    record_segments: bool = False,
    seed: int = 0,
    patterns: int = PATTERNS,
    states: int = 500_000,
) -> Verdict:
    """Simulates ``system`` as long as the verdict for ``model`` needs.

    Args:
        scheduler: Policy and options; global EDF, ties by index, unless given.
        model: Arrival model; by default ``default_model``.
        method: ``exact``, or ``thesis``: two hyper-periods, states compared at their ends.
        horizon: Simulate no longer than this.
        budget: Scheduling points after which the answer is ``undecided``: releases of jobs, and
            instants at which the policy itself asks to decide (quanta, zero laxity, a server's
            budget used up). Those of one instant come together.
        run_on: Go on after a miss, for figures; late jobs keep their priority.
        seed: Model sporadic: number of the first random release pattern.
        patterns: Model sporadic, and systems with locks, jitter, suspension or stretches without
            preemption (then always sporadic): how many of them are simulated.
        states: Model sporadic: how many states are explored before it is ``undecided``; 0: none.

    Raises:
        UsageError: An unknown policy, rule or option, or a model the system does not fit.
    """
    known = scheduler or Scheduler()
    chosen = model or default_model(system)
    require_number("the horizon", horizon if horizon is not None else 1, least=1)
    require_model(system, chosen, method)
    require_sound(system)
    if system.beyond:
        own = ("policy", "protocol", "priorities", "ties")
        asked: dict[str, Any] = {name: getattr(known, name) for name in own}
        asked |= {"horizon": horizon, "patterns": patterns, "seed": seed, "budget": budget}
        if (placed := placed_by(known, system)) is None:
            raise UsageError("the tasks find no place", "name a home for each, or --partition")
        found = decide(placed, **asked, model=model, costs=bool(known.costs))
        return _verdict(found, evolve(known, **found["scheduler"]), "sporadic", method)
    if known.protocol != "any":
        raise UsageError("a protocol is of locks, there are none", "leave out --protocol")
    options = core_options(known, system)
    options.horizon = horizon or 0
    options.budget = require_number("the budget", budget, least=1)
    options.stop_at_miss = not run_on
    options.record_jobs = record_jobs
    options.record_segments = record_segments
    rows = task_rows(system.tasks)
    if chosen == "sporadic":
        options.seed = require_number("the seed", seed, least=0)
        states = require_number("the budget of states", states, least=0)
        patterns = require_number("the number of patterns", patterns, least=0, most=1_000_000)
        found = _core.decide_sporadic(system.processors, rows, options, states, patterns)
    else:
        index = MODELS.index(chosen)
        found = _core.decide(system.processors, rows, options, index, method == "thesis")
    return _verdict(found, known, chosen, method)


def simulate_ties(
    system: TaskSystem,
    scheduler: Scheduler | None = None,
    *,
    rules: Sequence[str] | None = None,
    **arguments: Any,
) -> TiesVerdict:
    """The verdict under every tie rule of ``rules`` (by default all there are).

    Args:
        scheduler: See ``simulate``; its tie rule is ignored.
        arguments: See ``simulate``.

    Raises:
        UsageError: See ``simulate``.
    """
    listed = tie_rules() if rules is None else tuple(dict.fromkeys(rules))
    if not listed:
        raise UsageError("no tie rule is given", "one or more of " + ", ".join(tie_rules()))
    known = scheduler or Scheduler()
    verdicts = {rule: simulate(system, evolve(known, ties=rule), **arguments) for rule in listed}
    answers = {verdict.schedulable for verdict in verdicts.values()}
    if {"yes", "no"} <= answers:
        robustness: Robustness = "fragile"
    elif "undecided" in answers:
        robustness = "undecided"
    else:
        robustness = "robust" if answers == {"yes"} else "never"
    return TiesVerdict(answer=robustness, rules=listed, verdicts=verdicts)


def placed_by(scheduler: Scheduler, system: TaskSystem) -> TaskSystem | None:
    """Homes where tasks are bound, as of tasks that only compute; None: not all find a place."""
    bound = scheduler.policy.startswith(("p-", "c-"))
    if not bound or all(task.home is not None for task in system.tasks):
        return system
    none: dict[str, Any] = {"sections": (), **dict.fromkeys(EXTRAS, 0)}
    plain = evolve(
        system, locks=(), chains=(), tasks=tuple(evolve(t, **none) for t in system.tasks)
    )
    if plain.beyond:
        return system
    placed = simulate(plain, evolve(scheduler, protocol="any"), horizon=1).placed
    homes = zip(system.tasks, placed, strict=True)
    tasks = tuple(evolve(task, home=home) for task, home in homes)
    return None if min(placed) < 0 else evolve(system, tasks=tasks)


def simulate_jobs(
    tasks: Sequence[TimedTask],
    *,
    cores: int,
    horizon_ns: int,
    skip_overruns: bool,
    policy: str = "p-fifo",
) -> NDArray[np.int64]:
    """The jobs of ``tasks`` in ns released in [0, horizon), by task and job: what a run should do.

    Every job takes exactly its C; nothing else runs and nothing costs anything. A job that is still
    unfinished at the horizon has no finish.

    Args:
        policy: ``p-fifo`` is what the main job runs under: SCHED_FIFO, each task on its core.
        skip_overruns: A release that finds its predecessor unfinished never runs.

    Returns:
        int64, shape (jobs, 6), columns JOB_FIELDS; -1 where start or finish are missing.
    """
    options = _core.Options()
    options.policy = policy
    options.priorities = "given"
    options.unplaced = "least-loaded"  # overloaded cores are a question here, not an error
    options.stop_at_miss = False
    options.skip_overruns = skip_overruns
    options.metrics = False
    options.record_jobs = True
    found = _core.simulate(cores, task_rows(tasks), options, horizon_ns)
    jobs: NDArray[np.int64] = found["jobs"]
    jobs[jobs == _NEVER] = -1
    return jobs[np.lexsort((jobs[:, 1], jobs[:, 0]))]


_WORDS = ("priorities", "partition", "order", "admission", "unplaced", "balance")


def core_options(scheduler: Scheduler, system: TaskSystem | None = None) -> _core.Options:
    """The core's options of ``scheduler``. ``system``: where given, also what the policy can
    schedule is checked. Raises UsageError: an unknown policy, rule or word; a number out of range;
    a system the policy is not defined for."""
    require_word("policy", scheduler.policy, tuple(policies()))
    require_word("tie rule", scheduler.ties, tie_rules())
    for name in _WORDS:
        require_word(name, getattr(scheduler, name), option_words(name))
    if scheduler.cluster_size < 1:
        raise UsageError(f"the cluster size is {scheduler.cluster_size}", "1 or more processors")
    if system is not None:
        facts = policies()[scheduler.policy]
        if facts.clusters and system.processors % scheduler.cluster_size:
            raise UsageError(
                f"clusters of {scheduler.cluster_size} do not divide {system.processors}"
                " processors",
                "the cluster size must divide the number of processors",
            )
        other = next(
            (i for i, task in enumerate(system.tasks) if task.deadline != task.period), None
        )
        if facts.implicit_only and other is not None:
            raise UsageError(
                f"{scheduler.policy} is defined for D = T, {system.label(other)} has another"
                " deadline"
            )
    options = _core.Options()
    for name in ("policy", "ties", "cluster_size", *_WORDS):
        setattr(options, name, getattr(scheduler, name))
    if scheduler.threshold is not None:
        above, below = scheduler.threshold
        if not (0 < above <= TIME_MAX and 0 < below <= TIME_MAX):
            hint = "a fraction of two integers from 1 to 2^60"
            raise UsageError(f"the threshold is {above}/{below}", hint)
        options.threshold_numerator, options.threshold_denominator = above, below
    for name, value in asdict(scheduler.costs).items():
        setattr(options.costs, name, require_number(f"the cost {name}", value, least=0))
    return options


def require_sound(system: TaskSystem) -> None:
    """Raises UsageError, one line, for the first parameter out of range."""
    if not 1 <= system.processors <= 1024:
        raise UsageError(f"there are {system.processors} processors", "1 to 1024")
    if not 1 <= len(system.tasks) <= 65535:
        raise UsageError(f"there are {len(system.tasks)} tasks", "1 to 65535")
    for index, task in enumerate(system.tasks):
        for name in ("wcet", "period", "deadline"):
            require_number(f"{name} of {system.label(index)}", getattr(task, name), least=1)
        for name in ("offset", "home", "budget", "server_period", "server_deadline"):
            value = getattr(task, name)
            if value is not None:
                require_number(f"{name} of {system.label(index)}", value, least=0)
        if abs(task.priority) > TIME_MAX:
            raise UsageError(f"the priority of {system.label(index)} is {task.priority}")


def require_model(system: TaskSystem, model: Model | None = None, method: Method = "exact") -> None:
    """Raises UsageError for a model or method that ``system`` does not fit; None fits."""
    require_word("model", model or default_model(system), MODELS)
    require_word("method", method, get_args(Method))
    late = next((i for i, task in enumerate(system.tasks) if task.offset), None)
    if late is not None and model == "periodic-sync":
        raise UsageError(
            f"{system.label(late)} has an offset, the model periodic-sync has none",
            "use the model periodic-offset",
        )
    if method == "thesis" and (model == "sporadic" or late is not None):
        raise UsageError(
            "the thesis's procedure is for periodic releases without offsets",
            "use the method exact",
        )


def require_word(what: str, word: str, known: Sequence[str]) -> None:
    """Raises UsageError for a word that is not one of ``known``."""
    if word not in known:
        raise UsageError(f'there is no {what} "{word}"', nearest(word, known))


def require_number(what: str, value: int, *, least: int, most: int = TIME_MAX) -> int:
    if not least <= value <= most:
        raise UsageError(f"{what} is {value}", f"{least} to {'2^60' if most == TIME_MAX else most}")
    return value


#: Fields of a verdict that the core names and gives alike.
_AS_FOUND = (
    *("proved", "execution", "because", "proof", "reference", "pattern", "states", "until"),
    *("events", "truncated", "segments", "releases"),
)


def _verdict(found: dict[str, Any], scheduler: Scheduler, model: Model, method: Method) -> Verdict:
    names = ("first_miss", "first_miss_task", "first_miss_job")
    misses: Any = {name: found[name] if found["first_miss"] >= 0 else None for name in names}
    jobs = found["jobs"]
    jobs[jobs == _NEVER] = -1
    return Verdict(
        **{name: found[name] for name in _AS_FOUND},
        schedulable=ANSWERS[found["answer"]],
        model=model,
        method=method,
        scheduler=resolved(scheduler),
        facts=facts_of(scheduler),
        **misses,
        repeat=(found["repeat_from"], found["repeat_to"]) if found["repeat_to"] >= 0 else None,
        placed=tuple(map(int, found["placed"])),
        remarks=tuple(found["remarks"]),
        figures=found["metrics"],
        jobs=jobs,
        holds=found.get("holds", _NO_ROWS),
        all_jobs=found.get("all", _NO_ROWS),
    )
