"""Why something was late: one vocabulary for jobs, rounds, wake-ups and programs.

A cause is a row of `CAUSES`. What names it is in the recordings of the kinds that can see it: the
parts of a response (contention), the records of a program (`deadbeat.derive.late`), differences
between runs (load), and the sentence that kernel events gave of a wake-up, which `shown_by` finds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attrs import field, frozen

from deadbeat.model.words import time_text

#: Causes that a sentence has.
_SAID = 4
#: What of a thread's time a cause takes: ready without its CPU; on it while nothing moves; on it
#: and slower; asleep.
WAITING, STOPPED, SLOWER, ASLEEP = "waiting", "stopped", "slower", "asleep"


@frozen(kw_only=True)
class LateCause:
    """A row.

    Attributes:
        word: In tables and in JSON.
        sentence: What happened to the thread.
        evidence: What shows it.
        cure: What to do about it.
        takes: What of the thread's time; "": none of its own.
        shown_by: Pattern of the sentence of a wake-up (`deadbeat.trace.reasons`); "":
            the events around a wake-up do not show it.
        was: Words for it in results of earlier versions.
    """

    word: str
    sentence: str
    evidence: str
    cure: str
    takes: str = ""
    shown_by: str = ""
    was: tuple[str, ...] = ()


THROTTLED, FAIR_SERVER, KEPT = "throttled", "fair-server", "throttled or fair-server"
PREEMPTED, LOCK, WAITED, BEFORE = "preempted", "lock", "waited", "the job before"
QUOTA = "preempted, or throttled"
WAKE_UP, TIMER, MIGRATED = "late wake-up", "late timer", "migrated"
STOLEN, INTERRUPT, EITHER = "stolen", "interrupt", "interrupt or stolen"
FAULT, WORK, SIBLING, FREQUENCY = "page fault", "own work", "smt", "frequency"
BLIND, NOT_SEEN = "not seen (no right to trace)", "not seen"

#: Every cause; of a sentence that has what several look for, the first.
CAUSES = (
    LateCause(
        word=NOT_SEEN,
        sentence="nothing that was recorded says what took its time",
        evidence="what is left when the other causes are taken off; events that were lost",
        cure="record the kernel's events (`--causes`, `--trace`), or measure longer",
        takes=SLOWER,
        shown_by="^unknown|^nothing stands out|unknown who had|no event says",
        was=("unknown",),
    ),
    LateCause(
        word=BLIND,
        sentence="the kernel does not show who had its CPU",
        evidence="no event of the kernel: the right to trace is lacking",
        cure="trace it as root: `deadbeat doctor --abilities`",
    ),
    LateCause(
        word=THROTTLED,
        sentence="the kernel throttled it (RT bandwidth control, or a quota)",
        evidence="others ran, or nothing, while it was ready and had precedence; at"
        " sched_rt_runtime_us = -1 it goes",
        cure="real-time tasks want all of a core: give the others a core of their own, or lower the"
        " utilisation; what the kernel keeps is a setting (`kernel.sched_rt_runtime_us`)",
        takes=WAITING,
        shown_by="although the thread goes before",
        was=("rt-bandwidth",),
    ),
    LateCause(
        word=FAIR_SERVER,
        sentence="the fair server gave its CPU to ordinary threads",
        evidence="the same, where it stays at sched_rt_runtime_us = -1",
        cure="leave ordinary threads a core of their own, or set the knob `fair-server`",
        takes=WAITING,
    ),
    LateCause(
        word=KEPT,
        sentence="the kernel kept its CPU for ordinary threads (RT bandwidth or fair server)",
        evidence="one of the two, and nothing tells which",
        cure="repeat `deadbeat load --remedies rt-bandwidth` in runs of 2 s",
        takes=WAITING,
        was=("bandwidth",),
    ),
    LateCause(
        word=STOLEN,
        sentence="the host took the CPU",
        evidence="stolen ticks, pure computation that stood still, or no event on any CPU",
        cure="the machine under the machine: no setting within it helps",
        takes=STOPPED,
        shown_by="no event on any CPU",
        was=("steal", "host stall"),
    ),
    LateCause(
        word=EITHER,
        sentence="an interrupt, the firmware or the host stopped the CPU",
        evidence="it had the CPU and nothing moved; no tick and no event tells which",
        cure="record the kernel's events, or measure beside an idle host",
        takes=STOPPED,
        was=("host-or-interrupt",),
    ),
    LateCause(
        word=PREEMPTED,
        sentence="another thread had its CPU",
        evidence="who ran while it was ready: of its priority or above, or in the kernel",
        cure="a thread that should not run there: move it, its interrupt or its timer to another"
        " CPU, or leave that CPU out (`--cpus`)",
        takes=WAITING,
        shown_by="of the same or a higher priority|it was preempted",
        was=("core held", "other-task", "fair-scheduling"),
    ),
    LateCause(
        word=QUOTA,
        sentence="another thread had its CPU, or a quota throttled it",
        evidence="as preempted, by a program that a CPU quota throttled meanwhile",
        cure="as preempted; or give its group a larger quota (`cpu.max`)",
        takes=WAITING,
    ),
    LateCause(
        word=BEFORE,
        sentence="its own job before still ran",
        evidence="the job before ended after its release",
        cure="look at that one",
        takes=WAITING,
    ),
    LateCause(
        word=LOCK,
        sentence="it waited for what another thread held",
        evidence="who ended its sleep, and in which lock or object",
        cure="contention itself: look at which object, and at who holds it for how long",
        takes=ASLEEP,
        was=("resource held",),
    ),
    LateCause(
        word=WAITED,
        sentence="it slept in a call",
        evidence="a system call that is no lock, and what ended it",
        cure="take the call out of the job",
        takes=ASLEEP,
        shown_by="it slept in between",
    ),
    LateCause(
        word=INTERRUPT,
        sentence="interrupts took its CPU",
        evidence="handlers ran for most of what is too long",
        cure="move the interrupt to another CPU (knob `irq-affinity`), or the task",
        takes=STOPPED,
        shown_by=r" ran for [\d.]+ .?s$",
    ),
    LateCause(
        word=TIMER,
        sentence="its timer came late",
        evidence="the interrupt of the timer, or its handler until it woke the thread, was late",
        cure="limit idle states (`cpuidle`); look for who keeps interrupts off",
        takes=ASLEEP,
        shown_by="^the timer's",
    ),
    LateCause(
        word=WAKE_UP,
        sentence="it was woken, and ran late",
        evidence="its CPU was idle, or a thread of lower priority was in the kernel there",
        cure="the way out of an idle state: limit them (`cpuidle`), or `idle=poll` for a test",
        takes=WAITING,
        shown_by="ready without its CPU|to reading the clock",
        was=("wake-up",),
    ),
    LateCause(
        word=MIGRATED,
        sentence="it moved between CPUs",
        evidence="it started or ended on another CPU than its own; with `pin` rounds are shorter",
        cure="something moved a pinned thread: a cpuset, a hot-unplug, another tool",
        was=("migration",),
    ),
    LateCause(
        word=FAULT,
        sentence="it took page faults",
        evidence="page faults between its events",
        cure="lock its memory, and touch it before the first release",
        takes=SLOWER,
    ),
    LateCause(
        word=SIBLING,
        sentence="threads on the sibling of its core slowed it down",
        evidence="the remedy `smt` takes slower execution back",
        cure="leave the sibling idle (knob `smt`)",
        takes=SLOWER,
    ),
    LateCause(
        word=FREQUENCY,
        sentence="the CPU ran at a lower frequency",
        evidence="the remedy `governor` takes slower execution back",
        cure="fix the frequency (knob `governor`)",
        takes=SLOWER,
    ),
    LateCause(
        word=WORK,
        sentence="its own work took longer",
        evidence="CPU time beyond its usual; the use that took longest",
        cure="contention without sleeping (spinning, cache lines that travel), or a longer input;"
        " `--set run.counters=true` may tell more",
        takes=SLOWER,
        was=("execution",),
    ),
)


def cause_named(word: str) -> LateCause:
    """The row of a word of today or of an earlier version. KeyError: there is none."""
    for each in CAUSES:
        if word == each.word or word in each.was:
            return each
    raise KeyError(word)


def spoken(word: str) -> str:
    """The word of today; what is none is left as it is."""
    return next((each.word for each in CAUSES if word in each.was), word)


def word_of(sentence: str) -> str:
    """The word of what kernel events say of a wake-up, in any version."""
    fitting = (each.word for each in CAUSES if each.shown_by and re.search(each.shown_by, sentence))
    return next(fitting, NOT_SEEN)


@frozen(kw_only=True)
class LateJob:
    """One of the worst jobs of a campaign, and what it is put down to; or a row of jobs of a task
    that never finished.

    Attributes:
        run: Run text. job: index of its record, of a row the first's. task: index.
        response_ns, deadline_ns: Its response time (of a row: at least) and its relative deadline.
        parts_ns: Part -> ns; sums to ``response_ns``. Empty where nothing is known of it.
        cause: A word of `CAUSES`.
        holder: Who held the core or the resource, as far as it is known; "".
        evidence: One line: what the cause rests on.
        traced: Whether scheduling events were there to look at.
        skipped: Releases in the row that never finished; 0: it finished.
    """

    run: str
    job: int
    task: int
    response_ns: int
    deadline_ns: int
    parts_ns: dict[str, int]
    cause: str = field(converter=spoken)
    holder: str = ""
    evidence: str = ""
    traced: bool = False
    finished: bool = True
    skipped: int = 0
    details: dict[str, Any] = field(factory=dict)

    @property
    def lateness_ns(self) -> int:
        """Response beyond the deadline, negative before it; of a row: at least."""
        return self.response_ns - self.deadline_ns


# ---------- all misses by cause ----------


@frozen(kw_only=True)
class MissCause:
    """``misses`` of a task by a cause, which took ``most_ns`` more than usual at most. ``of``: as
    many of its misses were looked at, evenly over time."""

    task: str
    cause: str
    by: str
    misses: int
    most_ns: int
    of: int


def counted(task: str, found: Iterable[tuple[str, str, int, int]]) -> Iterator[MissCause]:
    """The causes of a task, the commonest first. ``found``: cause, by whom, how much more than
    usual it took, ns, and of how many misses."""
    many: Counter[tuple[str, str]] = Counter()
    most: Counter[tuple[str, str]] = Counter()
    for cause, by, ns, misses in found:
        many[cause, by] += misses
        most[cause, by] = max(most[cause, by], ns)
    for (cause, by), misses in many.most_common():
        yield MissCause(
            task=task,
            cause=cause,
            by=by,
            misses=misses,
            most_ns=most[cause, by],
            of=many.total(),
        )


def causes_words(found: Sequence[MissCause]) -> str:
    """``9 waited for map_lock, up to 3 ms; 2 own work, up to 1 ms``: the commonest, and how many
    misses have others."""
    words = [f"{each.misses:,} {_words(each)}, up to {time_text(each.most_ns)}" for each in found]
    rest = sum(each.misses for each in found[_SAID:])
    words[_SAID:] = [f"{rest:,} by {len(found) - _SAID} other causes"] * (rest > 0)
    return "; ".join(words)


def _words(each: MissCause) -> str:
    if each.cause == LOCK and each.by:
        return f"waited for {each.by}"
    if each.by.startswith("policy "):
        return f"{each.cause} ({each.by})"
    return f"{each.cause}{f' by {each.by}' if each.by else ''}"
