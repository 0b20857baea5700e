"""What tracing showed of a program: in words, and as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from attrs import asdict, frozen

from deadbeat.derive.late import Late, late
from deadbeat.derive.records import Recording
from deadbeat.derive.system import reduced
from deadbeat.derive.tasks import DerivedSet, DerivedTask, derive
from deadbeat.derive.timeline import worst_moments
from deadbeat.model.errors import DeadbeatError
from deadbeat.model.traces import WorstMoment
from deadbeat.model.words import Json, count_of, time_text
from deadbeat.report.document import Column, Table

#: Late jobs that are kept, of each task.
_KEPT = 20


@frozen(kw_only=True)
class TracedProgram(DerivedSet):
    """Task set of a run. ``taken``: what was done to it so that a test takes it; ``proved``,
    ``unproved``, ``load``: as of `deadbeat.derive.system.Reduced`."""

    late: tuple[Late, ...] = ()
    moments: tuple[WorstMoment, ...] = ()
    taken: tuple[str, ...] = ()
    proved: tuple[str, ...] = ()
    unproved: tuple[str, ...] = ()
    load: str = ""

    @property
    def known(self) -> tuple[DerivedTask, ...]:
        """Threads with jobs."""
        return tuple(task for task in self.tasks if task.kind != "none")

    @property
    def misses(self) -> int:
        return sum(task.misses or 0 for task in self.tasks)


def traced(recording: Recording, deadlines: dict[str, int]) -> TracedProgram:
    """The task set of what was recorded, and why its jobs were late.
    Raises DeadbeatError: a deadline is of no thread."""
    found = derive(recording, deadlines=deadlines)
    names = {task.name for task in found.tasks}
    for name in deadlines:
        if name and name not in names | {each.partition("#")[0] for each in names}:
            raise DeadbeatError(f"--deadline {name}: no thread has this name", _named(names))
    less = reduced(found)
    return TracedProgram(
        tasks=found.tasks,
        locks=found.locks,
        chains=found.chains,
        late=late(recording, found, most=_KEPT),
        moments=worst_moments(recording, found),
        lost=found.lost,
        dropped=found.dropped,
        not_seen=found.not_seen,
        taken=less.lines,
        proved=less.proved,
        unproved=less.unproved,
        load=less.load,
    )


def _named(names: set[str]) -> str:
    return f"the threads are {', '.join(sorted(names))}"


def policy_words(task: DerivedTask) -> str:
    """``FIFO 80``; ``ordinary``."""
    if task.policy in ("other", "batch"):
        return "ordinary"
    return f"{task.policy.upper()} {task.priority}" if task.priority else task.policy.upper()


def _cpus(task: DerivedTask) -> str:
    cpus = ",".join(map(str, task.cpus))
    return f"CPU {cpus}" if len(task.cpus) == 1 else f"CPUs {cpus}" if cpus else "any CPU"


def _every(task: DerivedTask) -> str:
    if task.period_ns:
        word = "a burst every" if task.kind == "bursty" else "every"
        return f"{word} {time_text(task.period_ns)}"
    return f"at least {time_text(task.min_gap_ns)} apart" if task.min_gap_ns else "once"


def answer(found: TracedProgram, label: str = "") -> Iterator[str]:
    """The task that missed most of its deadlines, and why; or that none did."""
    if not found.known:
        yield f"{label}no thread of the program works in jobs: none waits again and again."
        return
    by_misses = max(found.known, key=lambda task: (task.misses or 0, task.response_max_ns or 0))
    who = f"{by_misses.name} ({policy_words(by_misses)}, {_cpus(by_misses)}, {_every(by_misses)})"
    worst = time_text(by_misses.response_max_ns or 0)
    if by_misses.misses:
        of = f"{by_misses.misses:,} of {count_of(by_misses.jobs, 'deadline')}"
        yield f"{label}{who} missed {of}; worst response {worst}."
        yield from _causes(found, by_misses)
    elif any(task.deadline_ns for task in found.known):
        count = count_of(sum(task.jobs for task in found.known if task.deadline_ns), "job")
        yield f"{label}no deadline was missed in {count}; worst response {worst}, of {who}."
    else:
        yield f"{label}no thread has a known deadline: give --deadline NAME=5ms."


def verdict(found: TracedProgram) -> Iterator[str]:
    """Which test proves that the deadlines are met, or of which task and key nothing is proved."""
    if not found.load:
        return
    tasks = f"{count_of(len(found.known), 'task')}, {found.load}"
    words = [f"schedulable by {test} (largest C seen)" for test in found.proved[:1]]
    words += [f"not proved: {reason}" for reason in found.unproved[:1]]
    more = len(found.unproved) - 1
    yield f"{tasks}; {'; '.join(words)}{f' ({more} more)' if more > 0 else ''}."


def _causes(found: TracedProgram, task: DerivedTask) -> Iterator[str]:
    mine = [each for each in found.late if each.task == task.name]
    if not mine:
        return
    causes = Counter((each.cause, each.by) for each in mine)
    (cause, by), count = causes.most_common(1)[0]
    most = max(each.ns for each in mine if (each.cause, each.by) == (cause, by))
    words = f"waited for {by}" if cause == "lock" else f"{cause}{f' by {by}' if by else ''}"
    words = f"throttled (policy {by})" if cause == "throttled" else words
    yield f"{count} of the worst {len(mine)}: {words}, up to {time_text(most)}."
    for lock in found.locks:
        if cause == "lock" and by.startswith(f"{lock.name},") and lock.protocol == "none":
            yield f"{lock.name} has no priority inheritance."


def lines(found: TracedProgram) -> Iterator[str]:
    """What is not seen, and what was lost."""
    if found.lost or found.dropped:
        yield f"{found.lost:,} events were lost, and {count_of(found.dropped, 'job')} with them"
    for line in found.not_seen:
        yield f"not seen: {line}"


def _time(key: str, heading: str, **more: Any) -> Column:
    return Column(key=key, heading=heading, format=time_text, **more)


def _waits(found: TracedProgram, task: DerivedTask) -> str:
    whom = [
        f"{lock.name} ({', '.join(holders)})"
        for lock in found.locks
        if (holders := {each.holder: 1 for each in lock.waited if each.waiter == task.name})
    ]
    return ", ".join(whom)


def tables(found: TracedProgram) -> Sequence[Table]:
    """Tasks, locks and chains."""
    columns = (
        Column(key="name", heading="thread", words=True),
        Column(key="kind", heading="kind", words=True),
        _time("every", "every", value=lambda task: task.period_ns or task.min_gap_ns),
        _time("c_mean_ns", "C typical"),
        _time("c_max_ns", "most", help="largest C of its jobs, in the program"),
        _time("deadline_ns", "deadline"),
        Column(key="deadline_from", heading="from", words=True, terminal=False),
        _time("response_max_ns", "worst"),
        Column(key="misses", heading="missed"),
        Column(key="jobs", heading="jobs"),
        Column(key="policy", heading="policy", words=True, value=policy_words, spare=True),
        Column(key="cpus", heading="CPUs", words=True, value=_cpus, spare=True),
        _time("suspension_mean_ns", "suspended", terminal=False),
        Column(
            key="waits", heading="waits for", words=True, value=lambda task: _waits(found, task)
        ),
        Column(key="unsure", heading="unsure", words=True, terminal=False),
    )
    tasks = Table(
        name="tasks",
        columns=columns,
        rows=found.known,
        terminal=True,
        title="C: execution time of a job; typical: mean, most: largest of the jobs",
    )
    locks = Table(
        name="locks",
        columns=(
            Column(key="name", heading="lock", words=True),
            Column(key="protocol", heading="protocol", words=True),
            Column(key="users", heading="users", words=True, value=lambda x: ", ".join(x.users)),
            Column(key="count", heading="sections"),
            _time("longest_ns", "longest"),
            Column(
                key="waited",
                heading="who waited for whom, at most",
                words=True,
                value=lambda x: ", ".join(
                    f"{w.waiter} for {w.holder} {w.count} times, {time_text(w.max_ns)}"
                    for w in x.waited
                ),
            ),
        ),
        rows=found.locks,
    )
    chains = Table(
        name="chains",
        columns=(
            Column(key="from_", heading="from", words=True),
            Column(key="to", heading="to", words=True),
            Column(key="share", heading="share", format=lambda share: f"{100 * share:.0f} %"),
        ),
        rows=found.chains,
    )
    return [tasks, *([locks] if found.locks else []), *([chains] if found.chains else [])]


def worst_jobs(found: TracedProgram, worst: int) -> tuple[str, ...]:
    """The worst late jobs, one by one: what took longer than usual."""
    late = sorted(found.late, key=lambda each: -each.response_ns)[:worst]
    if not late:
        return ("No late job is known: no deadline was missed, or none is known.",)
    return tuple(
        f"{each.task}, job {each.job} at {time_text(each.at_ns)}: response"
        f" {time_text(each.response_ns)}; {each.cause}{f' ({each.by})' if each.by else ''}"
        f" {time_text(each.ns)}"
        for each in late
    )


def plain(found: TracedProgram) -> dict[str, Json]:
    values: dict[str, Any] = asdict(found)
    values["chains"] = [
        {"from": each.from_, "to": each.to, "share": each.share} for each in found.chains
    ]
    return values
