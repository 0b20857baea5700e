"""What tracing showed of a program: in words, and as tables."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import asdict, evolve, field, fields, frozen

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.finding import Finding
from deadbeat.base.model.lateness import LOCK, MissCause, causes_words
from deadbeat.base.model.traces import WorstMoment
from deadbeat.base.model.words import Json, capital, count_of, time_text
from deadbeat.base.report.document import Column, Part, Subsection, Table, percent
from deadbeat.program.derive.ages import (
    DataPath,
    ages_of,
    bounded,
    chains_of,
    explained,
    links_of,
)
from deadbeat.program.derive.broken import BrokenRule, rules_of
from deadbeat.program.derive.jobs import SURE_JOBS
from deadbeat.program.derive.late import Late, Stretches, causes, late
from deadbeat.program.derive.records import Recording, RecordKind
from deadbeat.program.derive.rules import RULES
from deadbeat.program.derive.system import reduced
from deadbeat.program.derive.tasks import (
    ASSUMED,
    DerivedLock,
    DerivedRun,
    DerivedSet,
    DerivedTask,
    derive,
    names_of,
)
from deadbeat.program.derive.timeline import worst_moments
from deadbeat.program.run.spec import ProgramSpec

#: Why a chain is not seen.
_INVISIBLE = "no link was seen; memory that they share without a lock or a call is not visible"
_POLICIES = ("sched_setscheduler", "sched_setattr")
#: Late jobs that are kept, of each task.
_KEPT = 20
#: Causes of misses on a page, the commonest.
_COMMON = 12
#: Of the execution time of a job, what tracing took of it is said as a share of it.
_MUCH = 0.1


@frozen
class TracingCost:
    """CPU time that tracing took: of an event (95 % interval), of a system call of another program,
    and of a job by its events; measured before the program began."""

    event_ns: tuple[float, float]
    other_call_ns: float
    job_ns: dict[str, tuple[float, float]]


@frozen(kw_only=True)
class TracedProgram(DerivedSet):
    """Task set of a run. ``taken``: what was done to it so that a test takes it; ``proved``,
    ``unproved``, ``load``: as of `deadbeat.program.derive.system.Reduced`;
    ``late``: the worst of each task; ``causes``: of all misses; ``refused``: threads that did not
    get the policy that they asked for; ``rules`` that it broke, of ``rules_judged``; ``ages``:
    LAST<-FIRST -> how old data may be, ns."""

    late: tuple[Late, ...] = ()
    causes: tuple[MissCause, ...] = ()
    paths: tuple[DataPath, ...] = ()
    ages: Mapping[str, int] = field(factory=dict)
    moments: tuple[WorstMoment, ...] = ()
    taken: tuple[str, ...] = ()
    proved: tuple[str, ...] = ()
    unproved: tuple[str, ...] = ()
    load: str = ""
    refused: tuple[str, ...] = ()
    throttled: tuple[str, ...] = ()
    allowed: Mapping[str, str] = field(factory=dict)
    cost: TracingCost | None = None
    rules: tuple[BrokenRule, ...] = ()
    rules_judged: tuple[str, ...] = ()
    rules_not_seen: tuple[str, ...] = ()

    @property
    def known(self) -> tuple[DerivedTask, ...]:
        """Threads with jobs."""
        return tuple(task for task in self.tasks if task.kind != "none")

    @property
    def misses(self) -> int:
        return sum(task.misses or 0 for task in self.tasks)


NOTHING = TracedProgram(tasks=(), locks=(), chains=())


def traced(
    recording: Recording,
    deadlines: Mapping[str, int],
    *,
    derived: DerivedRun | None = None,
    allow: Sequence[str] = (),
    since: int = 0,
) -> TracedProgram:
    """The task set of what was recorded, and why its jobs were late. ``derived``: if known;
    ``allow``: RULE:THREAD that the user accepts; ``since``: jobs that ended earlier are explained
    elsewhere."""
    found = derived or derive(recording, deadlines=deadlines)
    less, events = reduced(found), recording.events
    asked = [number for number, name in recording.calls.items() if name in _POLICIES]
    refused = np.isin(events["a"], asked) & (events["kind"] == RecordKind.EXIT)
    refused &= abs(events["b"]) == errno.EPERM
    job_ns = {}
    for task in found.tasks:
        if task.name in found.rows:
            # What the events of a thread took of one of its jobs, from and to, ns. An event of the
            # shim takes no longer than one of the kernel, nor than from one to the next.
            mine = events[events["tid"] == task.tid]
            rows = found.rows[task.name]
            low, high = recording.event_ns
            at = mine["ns"].astype(np.int64) - recording.begin_ns
            mine = mine[(at >= rows["before"].min()) & (at <= rows["end"].max())]
            own = mine["ns"][mine["kind"] >= RecordKind.INIT]
            most = min(high, float(np.median(np.diff(own)))) if len(own) > 1 else high
            jobs, kernel = rows["pieces"].sum(), len(mine) - len(own)
            job_ns[task.name] = low * kernel / jobs, (high * kernel + most * len(own)) / jobs
    cost = TracingCost(recording.event_ns, recording.other_call_ns, job_ns)
    rules, every = rules_of(recording, found, allow), late(recording, found)
    every = tuple(each for each in every if each.at_ns + each.response_ns > since)
    chains = chains_of(found, ages_of(deadlines))
    if chains:
        seen, tids = Stretches(recording, found), {task.name: task.tid for task in found.tasks}
        chains = tuple(explained(each, seen, tids) for each in chains)
    if less.proved:
        chains = tuple(bounded(each, found) for each in chains)
    chains = tuple(sorted(chains, key=lambda e: (-(e.misses or 0), -(e.age_max_ns or 0))))
    worst = [[each for each in every if each.task == task.name][:_KEPT] for task in found.tasks]
    return TracedProgram(
        **{n: getattr(found, n) for each in fields(DerivedSet) if (n := each.name) != "chains"},
        **{name: getattr(less, name) for name in ("proved", "unproved", "load")},
        chains=tuple(links_of(found)),
        taken=less.lines,
        late=tuple(each for mine in worst for each in mine),
        causes=tuple(causes(every, found)),
        paths=chains,
        ages={name: ns for name, ns in deadlines.items() if "<-" in name},
        moments=worst_moments(recording, found),
        cost=cost if recording.event_ns[1] else None,
        throttled=recording.throttled,
        allowed=recording.allowed,
        refused=tuple({names_of(recording.threads)[tid]: 1 for tid in events["tid"][refused]}),
        rules=rules.broken,
        rules_judged=rules.judged,
        rules_not_seen=rules.not_seen,
    )


def require_named(
    found: TracedProgram, spec: ProgramSpec, marked: Iterable[str] = (), *, kept: bool = True
) -> None:
    """UsageError where a deadline, or a fault that is allowed, is of no thread and no ``marked``
    task."""
    names = {task.name for task in found.tasks} | {*marked}
    ends = {name for pair in ages_of(found.ages) for name in pair}
    known = {"", *names, *(each.partition("#")[0] for each in names)}
    allowed = {each.partition(":")[2] for each in spec.allow} - known
    given = {name for name in dict(spec.deadline) if "<-" not in name} | ends
    for name in [*(given - known), *allowed]:
        option = "--set allow" if name in allowed else "--deadline"
        text = f"{option} {name}: no thread has this name"
        hint = f"the threads are {', '.join(sorted(names))}"
        raise UsageError(text, "the run is kept; " * kept + hint)


def policy_words(task: DerivedTask) -> str:
    """``FIFO 80``; ``ordinary``."""
    if task.policy in ("other", "batch"):
        return "ordinary"
    return f"{task.policy.upper()} {task.priority}" if task.priority else task.policy.upper()


def how(task: DerivedTask) -> str:
    """``FIFO 80 on CPU 1``."""
    return f"{policy_words(task)} on {_cpus(task)}"


def _cpus(task: DerivedTask) -> str:
    cpus = ",".join(map(str, task.cpus))
    return f"CPU {cpus}" if len(task.cpus) == 1 else f"CPUs {cpus}" if cpus else "any CPU"


def worst_task(found: TracedProgram) -> DerivedTask | None:
    """The task that missed most of its deadlines, the stated ones first; those without one last.
    None: none has jobs."""
    return max(
        found.known,
        key=lambda task: (
            *(bool(task.misses), bool(task.misses) and task.deadline_from != ASSUMED),
            *(task.misses or 0, task.deadline_ns is not None, task.response_max_ns or 0),
        ),
        default=None,
    )


def answer(found: TracedProgram, label: str = "") -> Iterator[str]:
    """The task that missed most of its deadlines, and why; or that none did."""
    if not found.known:
        yield f"{label}no thread of the program works in jobs: none waits again and again."
        yield from _unjudged(found)
        return
    by_misses = worst_task(found)
    assert by_misses is not None
    stale = not by_misses.misses and any(each.misses for each in found.paths)
    if stale:
        yield label + " ".join(data(found))
        label = "Else "
    if by_misses.misses:
        worst = time_text(by_misses.response_max_ns or 0)
        of = f"{by_misses.misses:,} of {count_of(by_misses.jobs, 'deadline')}"
        if by_misses.deadline_from == ASSUMED:
            of += f" (none given: its {time_text(by_misses.deadline_ns or 0)} period)"
        skipped = f", and skipped {count_of(by_misses.skipped, 'release')}, or served them late"
        of += skipped * (by_misses.skipped > 0)
        yield f"{label}{_who(by_misses)} missed {of}; worst response {worst}."
        yield from _causes(found, by_misses)
        yield from unended(found)
        late = sorted(
            (task for task in found.known if task.misses and task != by_misses),
            key=lambda task: -(task.misses or 0),
        )
        if late:
            parts = [f"{each.name} {each.misses:,} of {each.jobs:,}" for each in late]
            yield f"Late too: {_named(parts)}."
        rest = [task.skipped for task in found.known if task.deadline_ns and task != by_misses]
        if any(rest):
            yield f"{count_of(sum(rest), 'release')} of others had no job: skipped, or served late."
    elif judged := [task for task in found.known if task.deadline_ns]:
        count = count_of(sum(task.jobs for task in judged), "job")
        of = _named([task.name for task in urgent_first(judged)])
        near = max(judged, key=lambda task: (task.response_max_ns or 0) / (task.deadline_ns or 1))
        worst, limit = time_text(near.response_max_ns or 0), time_text(near.deadline_ns or 0)
        left = count_of(lone := sum(task.skipped for task in judged), "more release")
        left = f"; {left} had no job: skipped, or served late" * (lone > 0)
        who = f"{worst} of {limit}, {_who(near)}"
        yield f"{label}no deadline was missed in {count} of {of}; nearest: {who}{left}."
        yield from unended(found)
        yield from worst_rule(found)
    else:
        yield f"{label}no thread has a known deadline: give --deadline {offer(found)}."
        yield from worst_rule(found)
    yield from [] if stale else data(found)
    yield from _unjudged(found)


def data(found: TracedProgram) -> Iterator[str]:
    """How old the data were that the last thread of a chain used: of each with a deadline, else of
    the one with the oldest."""
    for (last, first), allowed in ages_of(found.ages).items():
        mine = [each for each in found.paths if (each.tasks[-1], each.tasks[0]) == (last, first)]
        worst = sorted(mine, key=lambda e: (e.misses or 0, e.at_least, e.age_max_ns or 0))
        for chain in worst[-1:]:
            used = f"{count_of(chain.jobs, 'job')} of {last} used data of {first}"
            age, limit = time_text(chain.age_max_ns or 0), time_text(allowed)
            if chain.misses:
                late = f"{chain.misses:,} of {used} older than {limit}, up to {age}"
                yield f"{late}: {chain.longer.words}."
            elif chain.at_least or chain.unknown:
                more = f"; of {count_of(chain.unknown, 'more job')} it is not known"
                least = "at least" if chain.at_least else "at most"
                more = f"{more * (chain.unknown > 0)}; it is not known whether {limit} are kept"
                yield f"{used} {least} {age} old{more}."
            else:
                least = f"{age} old, {limit} allowed{_bound(chain)}"
                yield f"No data were too old: {used} at most {least}."
        if not mine:
            yield f"It is not known how old data of {first} are as {last} uses them: {_INVISIBLE}."
    if found.paths and not found.ages:
        chain = max(found.paths, key=lambda each: each.age_max_ns or 0)
        way = f" (by {', '.join(chain.tasks[1:-1])})" if chain.tasks[2:] else ""
        mean, most = time_text(chain.age_mean_ns or 0), time_text(chain.age_max_ns or 0)
        most += f" ({time_text(chain.age_max_sending_ns)} until one of them ended)" * (
            0 < chain.age_max_sending_ns < (chain.age_max_ns or 0)
        )
        mean, upto = ("at least " + mean, "seen") if chain.at_least else (mean, "at most")
        yield (
            f"Data of {chain.tasks[0]} are {mean} old as a job of {chain.tasks[-1]} that used them"
            f" ends, {most} {upto}{way}{_bound(chain)}."
        )


def _bound(chain: DataPath) -> str:
    bound = chain.age_bound_ns
    return f"; where all deadlines are met, {time_text(bound)} ({chain.bound_by})" if bound else ""


def worst_rule(found: TracedProgram) -> Iterator[str]:
    """What may make jobs late though none was."""
    open_ = [each for each in found.rules if not each.accepted]
    for worst in open_[:1]:
        more = f"; {count_of(len(open_) - 1, 'more fault')} below" if open_[1:] else ""
        many = f"in {count_of(worst.jobs, 'job')}, " if worst.jobs else ""
        yield f"But {worst.thread} {RULES[worst.rule].title} ({many}{worst.where}){more}."


def unended(found: TracedProgram) -> Iterator[str]:
    """Threads of which a job may hang."""
    for task in found.known:
        if task.unended:
            yield f"But {task.name} {task.unended}: if a job hangs, it is not counted."


def _who(task: DerivedTask) -> str:
    if task.period_ns:
        word = "a burst every" if task.kind == "bursty" else "every"
        every = f"{word} {time_text(task.period_ns)}"
    elif not task.typical_gap_ns:
        every = "once"
    else:
        every = (
            f"every {time_text(task.typical_gap_ns)}, at least {time_text(task.min_gap_ns)} apart"
        )
    return f"{task.name} ({policy_words(task)}, {_cpus(task)}, {every})"


def urgent_first(tasks: Iterable[DerivedTask]) -> list[DerivedTask]:
    return sorted(tasks, key=lambda task: (task.policy != "deadline", -task.priority))


def _named(names: Sequence[str]) -> str:
    """Three of them, and how many more."""
    more = [f"{len(names) - 3} more"] * (len(names) > 3)
    return " and ".join(", ".join([*names[:3], *more]).rsplit(", ", 1))


def offer(found: TracedProgram) -> str:
    """A deadline to give: the distance of jobs of the thread that works most."""
    even = [task for task in found.known if task.even and task.jobs >= SURE_JOBS]
    if not even:
        return "NAME=5ms"
    most = max(even, key=lambda task: (task.charged_mean_ns or 0.0) * task.jobs)
    return f"{most.name}={time_text(most.typical_gap_ns or 0).replace(' ', '').replace('µ', 'u')}"


def instead(found: TracedProgram) -> Iterator[str]:
    """What it has where no job was found."""
    yield from _unjudged(found)
    yield from _unseen(found)


def _unseen(found: TracedProgram) -> Iterator[str]:
    """What is not seen, a sentence each."""
    for line in found.not_seen:
        yield capital(line) if line.startswith("it ") else f"not seen: {line}"
    if found.rules_not_seen:
        yield f"not seen: whether these rules are broken: {', '.join(found.rules_not_seen)}"


def _unjudged(found: TracedProgram) -> Iterator[str]:
    """Threads that work and are not judged, most urgent first, by what they lack."""
    reasons: dict[str, list[str]] = {}
    for task in urgent_first(found.tasks):
        why = task.left_out or "no known deadline" * (task.kind != "none")
        if why and not task.deadline_ns:
            who = f"{task.name} ({policy_words(task)})" if task.priority else task.name
            reasons.setdefault(why, []).append(who)
    if reasons:
        every = "; ".join(f"{_named(names)}: {why}" for why, names in reasons.items())
        yield f"Not judged: {every}."


def verdict(found: TracedProgram) -> Iterator[str]:
    """Which test proves that the deadlines are met, or why nothing is proved."""
    if not found.load:
        return
    words = [f"Schedulable by {test} (largest C and locks seen)." for test in found.proved[:1]]
    words += [f"No guarantee: {reason}." for reason in found.unproved[:1]]
    if (more := len(found.unproved) - 1) > 0:
        words.append(f"{count_of(more, 'more reason')}: --json.")
    yield " ".join([*words, f"{count_of(len(found.known), 'task')}, {found.load}."])


def _causes(found: TracedProgram, task: DerivedTask) -> Iterator[str]:
    """All its misses by cause, the commonest first."""
    mine = [each for each in found.causes if each.task == task.name]
    if not mine:
        return
    looked = " that were looked at" * (mine[0].of < (task.misses or 0))
    words = causes_words(mine)
    if len(mine) == 1:
        many, _, how = words.partition(" ")
        who = f"All {many} late jobs" if many != "1" else "The late job"
        were = (" were" if many != "1" else " was") * how.startswith(("throttled", "preempted"))
        yield f"{who}{looked}{were} {how}."
    else:
        yield f"Of {'those' if looked else 'these'}{looked}: {words}."
    plain = [lock.name for lock in found.locks if lock.protocol == "none"]
    held = [name for name in plain for e in mine if e.cause == LOCK and e.by.startswith(f"{name},")]
    if held:
        have = "have" if len({*held}) > 1 else "has"
        foreign = [lock.name for lock in found.locks if lock.foreign and lock.name in held]
        but = (
            f"; {foreign[0]} must not: a thread unlocks it that did not lock it" if foreign else ""
        )
        yield f"{_named([*dict.fromkeys(held)])} {have} no priority inheritance{but}."


def doubts(found: TracedProgram) -> Iterator[Finding]:
    """What makes it doubtful."""
    kept = sum(task.jobs for task in found.known)
    if found.dropped > kept:
        text = f"{found.dropped:,} of {found.dropped + kept:,} jobs are not known"
        yield Finding(id="jobs-lost", severity="warning", message=text)


def lines(found: TracedProgram) -> Iterator[str]:
    """What held it back, what is not seen, and what was lost."""
    yield from found.throttled
    if found.refused:
        threads = ", ".join(found.refused)
        keys = [key for key in ("RLIMIT_RTPRIO", "capabilities") if key in found.allowed]
        why = "; ".join(["EPERM", *(f"{key}: {found.allowed[key]}" for key in keys)])
        yield f"the kernel refused {threads} the policy asked for ({why}): it ran as it was before"
    for link in sorted((each for each in found.chains if each.lost), key=lambda each: -each.lost):
        sent = count_of(link.lost + link.messages, "message")
        yield f"{link.lost:,} of {sent} of {link.from_} to {link.to} were lost on the way"
    if found.lost:
        were = "was" if found.lost == 1 else "were"
        events, jobs = count_of(found.lost, "event"), count_of(found.dropped, "job")
        yield f"{events} {were} lost, and {jobs} with them"
    if found.cost and found.cost.job_ns:
        shares = {task.name: found.cost.job_ns.get(task.name, (0, 0))[1] / task.c_mean_ns
                  for task in found.known if task.c_mean_ns}  # fmt: skip
        name = max(shares or found.cost.job_ns, key=lambda each: shares.get(each, 0))
        ends = found.cost.job_ns[name]
        much, share = "", shares.get(name, 0)
        if share > _MUCH:
            own = any(task.sections for task in found.known if task.name == name)
            cure = " (--set no_locks=true leaves locks out)" * own
            much = f", {percent(share)} of its execution time{cure}"
        yield f"Tracing cost at most {time_text(ends[1])} a job ({name}){much}."
    if found.rules_judged and not found.rules:
        yield f"None of {len(found.rules_judged)} rules for real-time threads was broken."
    yield from _unseen(found)


def time_column(key: str, heading: str, **more: Any) -> Column:
    return Column(key=key, heading=heading, format=time_text, **more)


def _words(key: str, heading: str, value: Callable[[Any], str] | None = None) -> Column:
    return Column(key=key, heading=heading, words=True, value=value)


def _waits(found: TracedProgram, task: DerivedTask) -> str:
    locks = (lock for lock in found.locks if any(w.waiter == task.name for w in lock.waited))
    return ", ".join(lock.name for lock in locks)


def _mean_and_most(task: DerivedTask) -> str:
    """``0.49/12.5 ms``: in the unit of the larger."""
    most, unit = time_text(task.c_max_ns or 0).split(" ")
    scale = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]
    return f"{(task.c_mean_ns or 0) / scale:.3g}/{most} {unit}"


#: On the first screen of a page.
_FIRST = ("name", "every_ns", "c", "deadline_ns", "response_max_ns", "misses")
#: Leave a narrow terminal first: the others are the answer.
_SPARE = ("kind", "every_ns", "c", "jobs", "waits")


def tasks_table(found: TracedProgram, *, first: bool = False) -> Table:
    """``first``: of the first screen, which has half of a page."""
    columns = (
        _words("name", "thread"),
        _words("kind", "kind"),
        time_column("every_ns", "every", value=lambda task: task.period_ns or task.typical_gap_ns),
        Column(key="c", heading="C mean/most", raw=False, spare=first, format=_mean_and_most,
               value=lambda task: task if task.c_max_ns else None),
        *(Column(key=key) for key in ("c_mean_ns", "c_max_ns", "charged_mean_ns")),
        time_column("deadline_ns", "deadline"),
        *(Column(key=key) for key in ("response_p50_ns", "response_p99_ns")),
        time_column("response_max_ns", "worst"),
        Column(key="misses", heading="missed"),
        Column(key="jobs", heading="jobs"),
        _words("waits", "waits for", lambda task: _waits(found, task)),
    )  # fmt: skip
    return Table(
        name="tasks",
        columns=[
            evolve(each, page=not first or each.key in _FIRST, spare=each.key in _SPARE)
            for each in columns
        ],
        rows=sorted(found.known, key=lambda task: task.deadline_ns is None),
        terminal=True,
        title="C: execution time of a job in the program, mean and largest",
    )


_THREADS = (
    _words("name", "thread"),
    _words("policy", "policy", policy_words),
    _words("cpus", "CPUs", _cpus),
    _words("deadline_from", "deadline is"),
    time_column("charged_max_ns", "most, charged", terminal=False),
    Column(key="longer", heading="longer", terminal=False, format=percent,
           value=lambda task: None if task.quantile is None else 1 - task.quantile,
           help="share of jobs that take longer than the largest seen, at most (95 %)"),
    time_column("min_gap_ns", "least gap"),
    time_column("jitter_ns", "jitter", terminal=False),
    time_column("suspension_mean_ns", "suspended"),
    evolve(_words("unsure", "unsure"), long=True),
)  # fmt: skip
_CHAINS = (
    _words("tasks", "data", lambda chain: " -> ".join(chain.tasks)),
    _words("kinds", "links", lambda chain: ", ".join(chain.kinds)),
    Column(key="jobs", heading="jobs"),
    time_column("age_mean_ns", "age, mean"),
    time_column("age_max_ns", "oldest"),
    time_column("age_bound_ns", "bound", help="where all deadlines are met and every job sends"),
    time_column("reaction_mean_ns", "reaction, mean"),
    time_column("reaction_max_ns", "longest"),
    time_column("deadline_ns", "may be"),
    Column(key="misses", heading="too old"),
)
_LINKS = (
    _words("from_", "from"),
    _words("to", "to"),
    _words("kind", "kind"),
    evolve(_words("channel", "through"), long=True),
    Column(key="messages", heading="messages"),
    Column(key="lost", heading="lost"),
    time_column("age_ns", "oldest"),
    time_column("reaction_ns", "longest reaction"),
)
_SECTIONS = (
    _words("lock", "lock", lambda row: row[1].lock),
    _words("site", "taken at", lambda row: row[1].site),
    _words("thread", "thread", lambda row: row[0]),
    Column(key="count", heading="sections", value=lambda row: row[1].count),
    time_column("mean_ns", "mean", value=lambda row: row[1].mean_ns),
    time_column("max_ns", "longest", value=lambda row: row[1].max_ns),
)


_CAUSES = (
    _words("task", "late thread"),
    _words("cause", "cause"),
    evolve(_words("by", "by"), long=True),
    Column(key="misses", heading="jobs"),
    Column(key="of", heading="of", help="misses that were looked at", terminal=False),
    time_column("most_ns", "more than usual, up to", terminal=False),
)
LATE = (
    _words("task", "late thread"),
    Column(key="job", heading="job"),
    time_column("at_ns", "released at"),
    time_column("response_ns", "response"),
    _words("cause", "cause"),
    _words("by", "by"),
    time_column("ns", "more than usual"),
)


_RULES = (
    _words("rule", "rule"),
    _words("thread", "thread"),
    Column(key="count", heading="times"),
    Column(key="jobs", heading="jobs"),
    evolve(_words("where", "where"), long=True),
    evolve(_words("cure", "cure", lambda row: "accepted" if row.accepted else row.cure), long=True),
    Column(key="accepted"),
)


def rules_table(found: TracedProgram) -> Table:
    title = "Faults that need no miss"
    return Table(name="rules", columns=_RULES, rows=found.rules, terminal=True, title=title)


def tables(found: TracedProgram, sharing: Mapping[str, float]) -> list[Table]:
    """Threads, chains, locks and their sections, late jobs. ``sharing``: protocol -> what sharing
    its lock costs an operation, ns."""
    sections = [(task.name, each) for task in found.tasks for each in task.sections]
    charged = "Charged: with system calls and wake-up; suspended: waits in a job, but for locks"
    ages = (
        "Age: from the release of the first thread's job to the end of the last one's that used"
        " its data; reaction: until the first such end"
    )

    def waited(lock: DerivedLock) -> str:
        return ", ".join(
            f"{each.waiter} for {each.holder}, {count_of(each.count, 'time')},"
            f" up to {time_text(each.max_ns)}"
            for each in lock.waited
        )

    def bites(lock: DerivedLock) -> str:
        words = ["high waits for low without inheritance"] * inverts(found, lock)
        price = f": {time_text(sharing.get(lock.protocol, 0))} more an operation"
        shared = f"shared by cores{price * (lock.protocol in sharing)}"
        return "; ".join(words + [shared] * across(found, lock))

    columns = (
        _words("name", "lock"),
        _words("protocol", "protocol"),
        time_column("longest_ns", "longest"),
        evolve(_words("waited", "who waited for whom", waited), long=True),
        evolve(_words("bites", "beware", bites), long=True),
        evolve(_words("users", "users", lambda lock: ", ".join(lock.users)), spare=True),
        Column(key="count", heading="sections", spare=True),
    )
    title = "Locks; longest: CPU time of a section"
    locks = Table(name="locks", columns=columns, rows=found.locks, terminal=True, title=title)
    made = (
        rules_table(found),
        Table(name="threads", columns=_THREADS, rows=found.known, terminal=True, title=charged),
        Table(name="chains", columns=_CHAINS, rows=found.paths, terminal=True, title=ages),
        Table(name="links", columns=_LINKS, rows=found.chains, title="Who sends data to whom"),
        locks,
        Table(name="sections", columns=_SECTIONS, rows=sections, title="Sections by call site"),
        Table(name="late", columns=LATE, rows=found.late, page=False),  # a file
    )
    return [tasks_table(found), *(table for table in made if table.rows)]


def late_parts(found: TracedProgram) -> Iterator[Part]:
    """All misses by cause; the worst of them one by one."""
    if found.causes:
        rows = sorted(found.causes, key=lambda each: -each.misses)
        title = "Why jobs were late"
        if (more := len(rows) - _COMMON) > 0:
            title += f"; {count_of(more, 'cause')} less common"
        yield Table(name="causes", columns=_CAUSES, rows=rows[:_COMMON], title=title)
    if found.late:
        worst = sorted(found.late, key=lambda each: -each.response_ns)[:_KEPT]
        table = Table(name="late-jobs", columns=LATE, rows=worst, title="The worst first")
        yield Subsection(f"{count_of(len(worst), 'late job')}, one by one", [table], folded=True)


def inverts(found: TracedProgram, lock: DerivedLock) -> bool:
    """Whether one waited for one that is less urgent, which then does not inherit."""
    rank = {task.name: (task.policy == "deadline", task.priority) for task in found.tasks}
    waits = (rank[w.waiter] > rank.get(w.holder, rank[w.waiter]) for w in lock.waited)
    return lock.protocol == "none" and any(waits)


def across(found: TracedProgram, lock: DerivedLock) -> bool:
    """Whether threads on more than one CPU take it."""
    cpus = [{*task.cpus} for task in found.tasks if task.name in lock.users]
    return len(cpus) > 1 and len(set[int]().union(*cpus)) > 1


def worst_jobs(found: TracedProgram, worst: int) -> tuple[str, ...]:
    """The worst late jobs, one by one: what took longer than usual."""
    late = sorted(found.late, key=lambda each: -each.response_ns)[:worst]
    chains = tuple(
        f"{' -> '.join(chain.tasks)}: the oldest data, {time_text(chain.age_max_ns or 0)} at"
        f" {time_text(chain.at_ns)}: {'; '.join(stage.words for stage in chain.worst)}"
        for chain in found.paths[:worst]
    )
    if not late and not chains:
        known = any(task.deadline_ns for task in found.known)
        return ("No job missed a deadline." if known else "No deadline is known: give --deadline.",)
    return chains + tuple(
        f"{each.task}, job {each.job} at {time_text(each.at_ns)}: response"
        f" {time_text(each.response_ns)};{f' since job {each.since}:' * (each.since < each.job)}"
        f" {each.cause}{f' ({each.by})' if each.by else ''}"
        f" {time_text(each.ns)}"
        for each in late
    )


def plain(found: TracedProgram, sharing: Mapping[str, float]) -> dict[str, Json]:
    values: dict[str, Any] = asdict(found, filter=lambda each, _: each.name != "moments")
    for plain_lock, lock in zip(values["locks"], found.locks, strict=True):
        cores = across(found, lock)
        plain_lock |= {"inverts": inverts(found, lock), "across_cores": cores}
        plain_lock["sharing_ns"] = sharing.get(lock.protocol) if cores else None
    for link in values["chains"]:
        link["from"] = link.pop("from_")
    return values
