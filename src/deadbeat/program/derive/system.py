"""A derived task set as a task system, and its reductions to what a schedulability test takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import evolve, frozen

from deadbeat.base.model.systems import Chain, CriticalSection, Lock, TaskSystem, TimedTask
from deadbeat.base.model.words import count_of, time_text
from deadbeat.program.derive.records import REAL_TIME
from deadbeat.program.derive.tasks import NOT_SEEN, DerivedLock, DerivedSet, DerivedTask
from deadbeat.sched.analysis import ASKED_ONLY, TestResult, analyze, tests

#: A jitter or suspension below this is that of switches and of tracing.
RESOLUTION_NS = 20_000
#: What a wake-up may take, which no test knows of.
LATE_NS = 100_000
#: Of kernel and POSIX mutexes -> of task systems.
_PROTOCOLS = {"spin": "any"}
#: Of a test, which says nothing then: a tenth of a second.
_STEPS_MAX = 10_000_000


@frozen(kw_only=True)
class Reduced:
    """``system`` in keys that a test takes, ``lines``: how. ``proved``: tests that accept its
    real-time tasks; ``unproved``: why nothing is proved. ``load``: in words."""

    system: TaskSystem
    lines: tuple[str, ...] = ()
    proved: tuple[str, ...] = ()
    unproved: tuple[str, ...] = ()
    load: str = ""


def system_of(derived: DerivedSet, *, name: str = "") -> TaskSystem:
    """Tasks of known separation, in ns; what has no job, period or least gap is none of them."""
    tasks = [task for task in derived.tasks if task.charged_max_ns and _period(task)]
    cpus = sorted({cpu for task in tasks for cpu in task.cpus})
    place = {task.name: number for number, task in enumerate(tasks)}
    seen = {section.lock for task in tasks for section in task.sections}
    unseen = [lock for lock in derived.locks if lock.waited and lock.name not in seen]
    timed = tuple(_timed(task, cpus, unseen) for task in tasks)
    used = {section.lock for task in timed for section in task.sections}
    return TaskSystem(
        processors=max(len(cpus), 1),
        tasks=timed,
        name=name,
        unit="ns",
        locks=tuple(
            Lock(name=lock.name, protocol=_PROTOCOLS.get(lock.protocol, lock.protocol))
            for lock in derived.locks
            if lock.name in used
        ),
        chains=tuple(
            Chain(tasks=(place[link.from_], place[link.to]), name=f"{link.from_} to {link.to}")
            for link in derived.chains
            if link.kind == "woken" and link.from_ in place and link.to in place
        ),
    )


def _period(task: DerivedTask) -> int:
    """Distance of its releases at least; of bursts the least time in which one job more comes."""
    if task.burst > 1 and task.gaps_ns:
        return task.gaps_ns[min(task.burst, len(task.gaps_ns)) - 1]
    if task.kind == "periodic" and task.period_ns:
        return task.period_ns
    return task.min_gap_ns or 0


def _timed(task: DerivedTask, cpus: list[int], unseen: Sequence[DerivedLock]) -> TimedTask:
    """``unseen``: locks that were waited for while their sections were not seen."""
    period, wcet = _period(task), max(task.charged_max_ns or 0, 1)
    allowed = tuple(cpus.index(cpu) for cpu in task.cpus)
    sections = [
        CriticalSection(
            lock=section.lock,
            length=max(section.max_ns, 1),
            count=max(section.job_most, 1),
            site=section.site,
            source=f"measured: largest of {section.count}",
        )
        for section in task.sections
    ]
    sections += [
        CriticalSection(
            lock=lock.name,
            length=min(max(lock.waited[0].max_ns, 1), wcet),
            source="derived: the longest wait, its sections were not seen",
        )
        for lock in unseen
        if task.name in {*lock.users, *(each.holder for each in lock.waited)}
    ]
    within, source = sum(each.length * each.count for each in sections), ""
    if within > wcet:  # of a job that is merged or warm-up
        wcet, source = within, ", or all its sections at their longest"
    return TimedTask(
        name=task.name,
        wcet=wcet,
        period=period,
        deadline=task.deadline_ns or period,
        offset=max(task.offset_ns or 0, 0),
        priority=task.priority,
        home=allowed[0] if len(allowed) == 1 else None,
        sections=tuple(sections),
        jitter=task.jitter_ns or 0 if task.kind == "periodic" else 0,
        suspension=task.suspension_max_ns,
        arrivals=((1, task.burst),) if task.burst > 1 else (),
        affinity=allowed if len(allowed) < len(cpus) else (),
        source=f"measured: largest of {task.jobs} jobs{source}",
        budget=task.runtime_ns or None if task.policy == "deadline" else None,
    )


def reduced(derived: DerivedSet, *, name: str = "") -> Reduced:
    """In as few steps as let a test take it; every step is safe: what meets its deadlines
    afterwards met them before."""
    system = system_of(derived, name=name)
    if not system.tasks:
        return Reduced(system=system)
    there = {task.name for task in system.tasks}
    cpus = sorted({cpu for task in derived.tasks for cpu in task.cpus if task.name in there})
    load = _load(system, derived, cpus)
    resting = {task.name for task in derived.tasks if task.name not in there and task.rests}
    policies = {task.name: task.policy for task in derived.tasks}
    users = {
        lock.name: {*lock.users, *(each.holder for each in lock.waited)} - {NOT_SEEN}
        for lock in derived.locks
    }
    system, lines = _shared(system, {name: len(each) for name, each in users.items()})
    lines += [
        f"{task.name}: no task, it only begins and ends"
        for task in derived.tasks
        if task.name in resting and task.policy in REAL_TIME
    ]
    plain = [lock.name for lock in system.locks if lock.protocol == "none"]
    chained = {task.name for task in derived.tasks if task.kind == "chained"}
    for step in _STEPS:
        if step not in (_resolution, _bound) and (plain or _taken(system, policies)):
            break
        tasks = []
        for task in system.tasks:
            after, line = step(task)
            tasks.append(after)
            lines += [f"{task.name}: {line}"] * bool(line)
        system = evolve(system, tasks=tuple(tasks))
        if step is _resolution and system.chains:
            system = evolve(system, chains=())
            lines += [f"{name}: chained; taken by its least separation" for name in sorted(chained)]
    urgent = sorted(system.tasks, key=lambda task: -task.priority)
    ordinary = [task.name for task in urgent if policies[task.name] not in REAL_TIME]
    reasons = [
        f"{lock} has no priority inheritance, so {task.name}'s wait has no bound"
        for lock in plain
        for task in urgent
        if any(each.lock == lock for each in task.sections)
    ]
    reasons += [
        f"{user} takes {lock.name} and has no period"
        for lock in system.locks
        for user in sorted(users[lock.name] - there)
    ]
    reasons += [
        f"{task.name} runs as {task.policy} and has no known period"
        for task in derived.tasks
        if task.policy in REAL_TIME and task.name not in there | resting
    ]
    proved: tuple[str, ...] = ()
    if not reasons and len(ordinary) < len(urgent):
        # ordinary threads have no effect on the others, but for what they lock
        tasks = [task for task in urgent if task.sections or task.name not in ordinary]
        seen = {task.name: task.response_max_ns or 0 for task in derived.tasks}
        proved, reason = _proof(evolve(system, tasks=tuple(tasks)), policies, seen)
        reasons = [reason] * bool(reason)
    reasons += _refuted(derived)
    proved = () if reasons else proved
    reasons += [
        f"{name} is not a real-time thread: nothing bounds its response" for name in ordinary
    ]
    return Reduced(
        system=system, lines=tuple(lines), proved=proved, unproved=tuple(reasons), load=load
    )


def _refuted(derived: DerivedSet) -> Iterator[str]:
    """What was seen that no proof allows: a deadline missed, a lock held by who is not seen."""
    urgent = {task.name for task in derived.tasks if task.policy in REAL_TIME}
    for task in derived.tasks:
        if task.misses and task.name in urgent:
            yield f"{task.name} missed {count_of(task.misses, 'deadline')} in this run"
    for lock in derived.locks:
        for each in lock.waited:
            if each.holder == NOT_SEEN and each.waiter in urgent:
                yield f"{each.waiter} waited for {lock.name}, which {NOT_SEEN} held"


def _load(system: TaskSystem, derived: DerivedSet, cpus: list[int]) -> str:
    """``U 0.20 on CPU 1``: what the tasks ask for."""
    known = {
        task.name: task.demand(
            (task.charged_mean_ns or 0.0) * task.jobs, task.jobs, max(derived.seconds * 1e9, 1)
        )
        for task in derived.tasks
    }
    load = dict[str, float]()
    for task in system.tasks:
        where = f"{system.processors} CPUs" if task.home is None else f"CPU {cpus[task.home]}"
        load[where] = load.get(where, 0.0) + known[task.name]
    return ", ".join(f"U {load[where]:.2f} on {where}" for where in sorted(load))


def _proof(
    system: TaskSystem, policies: Mapping[str, str], seen: Mapping[str, int]
) -> tuple[tuple[str, ...], str]:
    """Tests that accept it, in whichever order equal priorities are served; else why none does.
    ``seen``: response times, which no bound may be below."""
    if reason := _torn(system, policies):
        return (), reason
    tasks, found = system.tasks, _results(system, policies)
    accepted = [each.facts.name for each in found if each.answer == "accepted"]
    if len({task.priority for task in tasks}) < len(tasks):
        for first in range(1, len(tasks)):
            turned = evolve(system, tasks=(*tasks[first:], *tasks[:first]))
            also = {each.facts.name: each.answer for each in _results(turned, policies)}
            accepted = [name for name in accepted if also[name] == "accepted"]
    if accepted:
        longer = next(_longer(tasks, found, seen), "")
        return (() if longer else tuple(accepted)), longer
    for result in found:
        for task, bound in zip(tasks, result.bounds, strict=False):
            if result.answer != "not applicable" and (bound is None or bound > task.deadline):
                return (), f"{result.facts.name} does not prove that {task.name} meets its deadline"
    keys = ("sections", "jitter", "suspension", "arrivals", "affinity", "deadline")
    task, key = next((task, key) for key in keys for task in tasks if getattr(task, key))
    return (), f"no test takes {key} of {task.name} together with the rest"


def _longer(
    tasks: Sequence[TimedTask], found: Sequence[TestResult], seen: Mapping[str, int]
) -> Iterator[str]:
    """Response times that tests which accept the tasks have no room for: they lack something."""
    for each in found:
        for task, bound in zip(tasks, each.bounds, strict=False):
            worst = seen[task.name]
            if each.answer == "accepted" and bound is not None and worst > bound + LATE_NS:
                most = f"at most {time_text(bound)} by {each.facts.name}"
                yield f"{task.name} took {time_text(worst)} to respond, {most}"


def _torn(system: TaskSystem, policies: Mapping[str, str]) -> str:
    """Why no test takes the tasks together, or accepts them."""
    fixed = [policies[task.name] != "deadline" for task in system.tasks]
    bound = any(each.home is not None for each in system.tasks)
    for task in system.tasks:
        beside = [each for each in system.tasks if each.home == task.home]
        if not all(fixed) and any(fixed) and policies[task.name] != "deadline":
            return f"no test takes {task.name} beside SCHED_DEADLINE"
        if task.budget is not None and task.budget < task.wcet:
            budget, most = time_text(task.budget), time_text(task.wcet)
            return f"{task.name} reserves {budget} but took up to {most}"
        if task.home is not None and (load := sum(each.utilisation for each in beside)) > 1:
            heavy = max(beside, key=lambda each: each.utilisation)
            longest = f"if every job took its longest ({heavy.name}: {time_text(heavy.wcet)})"
            return f"{longest}, its CPU would be {100 * float(load):.4g} % full"
        if system.processors > 1 and task.home is None and (task.affinity or bound):
            return f"no test takes {task.name}, which may use some CPUs but not all"
    return ""


def _shared(system: TaskSystem, users: dict[str, int]) -> tuple[TaskSystem, list[str]]:
    """Without locks that one thread alone takes: no other waits for them."""
    tasks = tuple(
        evolve(task, sections=tuple(each for each in task.sections if users[each.lock] > 1))
        for task in system.tasks
    )
    locks = tuple(lock for lock in system.locks if users[lock.name] > 1)
    alone = [lock.name for lock in system.locks if users[lock.name] == 1]
    lines = [f"{name}: one thread takes it: no lock" for name in alone]
    return evolve(system, tasks=tasks, locks=locks), lines


def _results(system: TaskSystem, policies: Mapping[str, str]) -> list[TestResult]:
    """What tests of its scheduler say."""
    word = "fp" if any(policies[task.name] != "deadline" for task in system.tasks) else "edf"
    places = {"gp"[task.home is not None] for task in system.tasks}
    names = [f"{place}-{word}" for place in (places if system.processors > 1 else "gp")]
    chosen = [
        facts.name
        for facts in tests().values()
        if facts.kind in ("sufficient", "exact") and facts.cost < ASKED_ONLY
        if system.locks or "+" not in facts.scheduler
        if facts.scheduler.partition("+")[0] in names
    ]
    return list(analyze(system, names=chosen, priorities="given", budget=_STEPS_MAX).results)


def _taken(system: TaskSystem, policies: Mapping[str, str]) -> bool:
    """Whether a test says something of it, accepted or not."""
    return any(result.answer != "not applicable" for result in _results(system, policies))


Step = Callable[[TimedTask], tuple[TimedTask, str]]


def _resolution(task: TimedTask) -> tuple[TimedTask, str]:
    """A jitter or a suspension below what tracing resolves is none."""
    jitter, suspension = (
        value if value >= RESOLUTION_NS else 0 for value in (task.jitter, task.suspension)
    )
    changed = (jitter, suspension) != (task.jitter, task.suspension)
    line = f"a jitter or suspension below {RESOLUTION_NS // 1000} us is none" if changed else ""
    return evolve(task, jitter=jitter, suspension=suspension), line


def _bursts(task: TimedTask) -> tuple[TimedTask, str]:
    """A burst is one job that takes as long as all of it."""
    if not task.arrivals:
        return task, ""
    most = task.arrivals[-1][1]
    sections = tuple(evolve(each, count=each.count * most) for each in task.sections)
    after = evolve(task, arrivals=(), wcet=task.wcet * most, sections=sections)
    return after, f"a burst of {most} jobs is one job"


def _jitter(task: TimedTask) -> tuple[TimedTask, str]:
    """Releases with jitter are sporadic, and the deadline counts from the release."""
    if not 0 < task.jitter < min(task.period, task.deadline):
        return task, ""
    period, deadline = task.period - task.jitter, task.deadline - task.jitter
    after = evolve(task, jitter=0, period=period, deadline=deadline)
    return after, "jitter: sporadic, period and deadline shorter by it"


def _suspension(task: TimedTask) -> tuple[TimedTask, str]:
    if not task.suspension:
        return task, ""
    after = evolve(task, suspension=0, wcet=task.wcet + task.suspension)
    return after, "suspension counts as execution"


def _bound(task: TimedTask) -> tuple[TimedTask, str]:
    if task.home is None or not task.affinity:
        return task, ""
    return evolve(task, affinity=()), f"bound to processor {task.home}: partitioned tests alone"


def _constrained(task: TimedTask) -> tuple[TimedTask, str]:
    if task.deadline <= task.period:
        return task, ""
    return evolve(task, deadline=task.period), "deadline: no longer than its separation"


_STEPS: tuple[Step, ...] = (_resolution, _bound, _bursts, _jitter, _suspension, _constrained)
