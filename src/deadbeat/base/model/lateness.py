"""Why something was late: one vocabulary for jobs, rounds, wake-ups and programs.

A cause is a row of lateness.toml. What names it is in the recordings of the kinds that can see it:
the parts of a response (contention), the records of a program (`program.derive.late`), differences
between runs (load), and the sentence that kernel events gave of a wake-up, which `shown_by` finds.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

from deadbeat.base.model.words import time_text

#: Causes that a sentence has.
_SAID = 4
#: What of a thread's time a cause takes: ready without its CPU; on it while nothing moves; on it
#: and slower. Other words of the table (asleep) no kind asks for.
WAITING, STOPPED, SLOWER = "waiting", "stopped", "slower"


@frozen(kw_only=True)
class LateCause:
    """A row.

    Attributes:
        word: In tables and in JSON.
        sentence: What happened to the thread.
        did: What late jobs did, of any number; "": the word says it.
        evidence: What shows it.
        cure: What to do about it.
        takes: What of the thread's time; "": none of its own.
        shown_by: Pattern of the sentence of a wake-up (`machine.trace.reasons`); "": its events do
            not show it.
        was: Words for it in results of earlier versions.
    """

    word: str
    sentence: str
    evidence: str
    cure: str
    did: str = ""
    takes: str = ""
    shown_by: str = ""
    was: tuple[str, ...] = field(default=(), converter=tuple)


THROTTLED, FAIR_SERVER, KEPT = "throttled", "fair-server", "throttled or fair-server"
PREEMPTED, LOCK, WAITED, BEFORE = "preempted", "lock", "waited", "the job before"
QUOTA = "preempted, or throttled"
WAKE_UP, TIMER, MIGRATED = "late wake-up", "late timer", "migrated"
STOLEN, INTERRUPT, EITHER = "stolen", "interrupt", "interrupt or stolen"
FAULT, WORK, SIBLING, FREQUENCY = "page fault", "own work", "smt", "frequency"
BLIND, NOT_SEEN = "not seen (no right to trace)", "not seen"

_ROWS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
CAUSES = tuple(LateCause(word=word, **row) for word, row in _ROWS.items())


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
    """``9 waited for map_lock: up to 3 ms; 2 simply ran longer (own work): up to 1 ms``: the
    commonest, and how many misses have others."""
    words = []
    for each in found:
        if each.cause == LOCK and each.by:
            held = re.sub(r", held by (.+?)( \(.*\))?$", r", which \1 held\2", each.by)
            how = f"waited for {held}"
        elif each.cause == WORK:
            how = "simply ran longer" + f" in {each.by}" * bool(each.by) + f" ({WORK})"
        elif each.cause == BEFORE:
            how = f"waited for {BEFORE}" + f" ({each.by})" * bool(each.by)
        elif each.cause == WAITED and each.by:
            how = f"waited in {each.by}"
        elif each.by.startswith("policy "):
            how = f"{each.cause} ({each.by})"
        elif did := cause_named(each.cause).did:
            how = did + f" ({each.by})" * bool(each.by)
        else:
            how = f"{each.cause}{f' by {each.by}' if each.by else ''}"
        words.append(f"{each.misses:,} {how}: up to {time_text(each.most_ns)}")
    if len(found) > _SAID + 1:
        rest = sum(each.misses for each in found[_SAID:])
        words[_SAID:] = [f"{rest:,} by {len(found) - _SAID} other causes"]
    return "; ".join(words)
