"""What is asked of a program."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from attrs import frozen

from deadbeat.base.experiment import fields
from deadbeat.base.model import rules
from deadbeat.base.model.specification import keyed
from deadbeat.base.model.words import nearest, shown
from deadbeat.program.run.requirement import Requirement, Requirements

_TIME = rules.DurationNs(1_000, 3600 * 10**9)


@frozen
class Deadlines:
    """``5ms`` (of every task), ``NAME=5ms``, or several with commas between; canonical: pairs of a
    name ("": every task) and ns."""

    def parse(self, value: Any) -> tuple[tuple[str, int], ...]:
        words = value.split(",") if isinstance(value, str) else value if value else ()
        found: dict[str, int] = {}
        for word in words if isinstance(words, list | tuple) else [words]:
            name, _, text = (
                word.strip().rpartition("=") if isinstance(word, str) else ("", "", word)
            )
            first, arrow, last = (part.strip() for part in name.partition("<-"))
            name = first + arrow + last
            if "->" in name or (arrow and (not first or not last or first == last)):
                raise rules.refuse(f"{shown(name)} names no two threads", "actuator<-sensor=20ms")
            if name in found:
                raise rules.refuse(f"two deadlines of {name or 'every task'}", "give one")
            found[name] = _TIME.parse(text)
        return tuple(found.items())

    @staticmethod
    def plain(found: tuple[tuple[str, int], ...]) -> list[str]:
        return [f"{name}={ns}ns" if name else f"{ns}ns" for name, ns in found]


#: Changes that can be tried, in the order of lists; the first ones are ``all``.
ALL = ("inherit", "rate-monotonic", "deadline-monotonic", "audsley", "pin", "deadline", "idle")
BEST = "best"
HELD = ("memory", "malloc", "slack")
CHANGES = (*ALL, BEST, *HELD, "design", "tune", "nothing", "version", "all")
_SHORT = {"rm": ALL[1], "dm": ALL[2]}


def _change(value: Any) -> str:
    word = _SHORT.get(value, value)
    if word == "design":
        raise rules.refuse("it names no file", "design:FILE, as --try best writes them")
    if isinstance(word, str) and (word in CHANGES[:-1] or word.startswith(("tune:", "design:"))):
        return word
    if word in (f"{BEST}:1", f"{BEST}:2", f"{BEST}:3"):
        return str(word)
    raise rules.refuse(f"{shown(value)} is no change", nearest(str(value), CHANGES))


def _allowed(value: Any) -> str:
    known = import_module("deadbeat.program.derive.rules").RULES  # heavy: help needs none
    rule, _, thread = value.partition(":") if isinstance(value, str) else ("", "", "")
    if rule in known and thread:
        return f"{rule}:{thread}"
    near = nearest(rule, known) if rule not in known else f"{rule}:logger"
    raise rules.refuse(f"{shown(value)} is no RULE:THREAD", near)


@frozen
class _File:
    """Path of a file to write."""

    def parse(self, value: Any) -> str:
        if isinstance(value, str) and value and not {*value} & {"\0", "\n"}:
            return value
        raise rules.refuse(f"{shown(value)} is no path", "name a file")


def processes(pids: Sequence[int]) -> str:
    """``process 812``; ``processes 812, 813``."""
    return f"process{'es' * (len(pids) > 1)} {', '.join(map(str, pids))}"


@frozen(kw_only=True)
class ProgramSpec:
    """Which program, for how long, how often, and what its jobs must keep."""

    name: str = fields.name("Name of the results.  [the program]", "program")
    command: tuple[str, ...] = keyed(
        rules.CommandLine(optional=True), "CMD", "The program and its arguments.", default=()
    )
    duration: float | None = fields.duration(
        "0.1",
        str(30 * 86400),
        "Measuring time, 10s or 5min; the program is ended then.  [when it ends by itself]",
        None,
    )
    pid: tuple[int, ...] = keyed(
        rules.ListOf(
            rules.Whole(1, 2**22).parse,
            "a list of processes",
            "812,813",
            rules.unique,
            optional=True,
        ),
        "--pid P",
        "Watch process P, or P,Q, which go on as they were.",
        default=(),
    )
    keep: str | None = keyed(
        rules.Choice(("misses",)),
        "--keep misses",
        "Watch it for days: of each miss keep what led to it, else counts.",
        default=None,
    )
    around: int = keyed(
        _TIME, "--around TIME", "Time before a miss that --keep keeps.", default=10**9
    )
    openmetrics: str | None = keyed(
        _File(),
        "--openmetrics FILE",
        "Counts for a collector, written each 15 s.",
        default=None,
    )
    learn: float = keyed(
        rules.Seconds("1", "3600"), "TIME", "Time in which --keep learns the process.", default=30.0
    )
    hourly: int = keyed(
        rules.Whole(0, 3600), "N", "Windows of misses that are kept an hour, at most.", default=240
    )
    kept_mb: int = keyed(
        rules.Whole(1, 2**20),
        "MB",
        "What windows of misses take of the disk, at most.",
        default=256,
    )
    stop: bool = keyed(
        rules.Flag(), "true|false", "End what --keep began on another machine.", default=False
    )
    user: str | None = keyed(
        rules.Name(),
        "--user NAME",
        "Run it as this user, which root alone can.  [who runs deadbeat]",
        default=None,
    )
    no_locks: bool = keyed(
        rules.Flag(),
        "true|false",
        "Leave out the library that sees locks, where it takes too much of a job.",
        default=False,
    )
    period: int | None = keyed(
        _TIME,
        "--period TIME",
        "Time between releases of every task, 1ms.  [what the program says]",
        default=None,
    )
    deadline: tuple[tuple[str, int], ...] = keyed(
        Deadlines(),
        "--deadline LIST",
        "Deadline of every task, 5ms, or of threads: control=5ms,logger=1s; of data:"
        " last<-first=20ms."
        "  [what the program says, or the period]",
        default=(),
    )
    requirement: tuple[Requirement, ...] = keyed(
        Requirements(),
        "TABLE",
        "What it must keep, by identifier: thread and within, age_of, share; rules; or proved."
        "  [nothing]",
        default=(),
    )
    build: str | None = keyed(
        _File(), "CMD", "Shell command that builds it, before it is run.", default=None
    )
    beside: tuple[str, ...] = keyed(
        rules.CommandLine(optional=True),
        "CMD",
        "A program that runs beside all runs.  [none]",
        default=(),
    )
    repeats: int = fields.repeats("Times the program is run; turns of --try: 5.", 1)
    tries: tuple[str, ...] = keyed(
        rules.ListOf(
            _change,
            "a list of changes",
            "inherit,pin",
            rules.unique,
            optional=True,
            named={"all": ALL},
        ),
        "--try LIST",
        "Run it with and without a change, in turns: inherit, rate-monotonic (rm),"
        " deadline-monotonic (dm), audsley, pin, deadline, idle, or all these; memory, malloc,"
        " slack, tune[:WORD], nothing; joint ones: best[:N], design:FILE.",
        default=(),
    )
    against: tuple[str, ...] = keyed(
        rules.CommandLine(optional=True), "CMD", "Another version, for turns.", default=()
    )

    allow: tuple[str, ...] = keyed(
        rules.ListOf(
            _allowed, "a list of RULE:THREAD", "page-fault:logger", rules.unique, optional=True
        ),
        "RULE:THREAD",
        "Faults that are known and accepted, as lists of findings name their rules: they stay in"
        " the answer.  [none]",
        default=(),
    )
    trace: tuple[str, ...] = keyed(
        rules.CommandLine(optional=True),
        "FILE",
        "Trace that was imported, and of which process.",
        default=(),
    )
    twin_of: str | None = keyed(
        rules.Name(),
        "--twin-of RUN",
        "Result that the program is the twin of; no program: it is made.  [none]",
        default=None,
    )

    @property
    def deadlines(self) -> dict[str, int]:
        """Deadlines that are given, else the shortest time of a requirement of the thread, ns."""
        asked = sorted(self.requirement, key=lambda each: -each.within)
        return {**{each.of: each.within for each in asked if each.within}, **dict(self.deadline)}

    def deadline_of(self, name: str, otherwise: int = 0) -> int:
        """Deadline of the task ``name``, ns; ``otherwise`` where none was given."""
        given = self.deadlines
        return given.get(name, given.get("", otherwise))
