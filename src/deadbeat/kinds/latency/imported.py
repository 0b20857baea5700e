"""Files of other tools as runs of a matrix: what they say, and what they do not."""

from __future__ import annotations

import pkgutil
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from math import isclose

from attrs import frozen

from deadbeat.kinds.latency import importers
from deadbeat.kinds.latency.cyclictest_json import expecting
from deadbeat.model.errors import DataError, UsageError
from deadbeat.model.finding import Finding
from deadbeat.model.latency import CpuLatency, LatencyKey, LatencyRun, LoadPoint
from deadbeat.model.rules import duration_text

_INTERVAL_MAX_NS, _PERIODS_LATE_MAX = 10**12, 10**6
_NOT_RECORDED = (
    "read from a file: what else ran, load, temperature, steal and the like are not known;"
    " priority and policy are as asked for, not as read back"
)


@frozen(kw_only=True)
class Foreign:
    """What a file says. None and "": it does not.

    Attributes:
        engine: Whose result it is.
        cpus: What each thread saw, without what follows from the interval.
        skips: Whether periods that passed while a wake-up was late were skipped, as cyclictest
            does; else the next sleep begins after a late wake-up, and nothing is missed.
        interval_ns, seconds, priority, policy: How it was measured.
        started: When, as the file says.
        version: Of the program.
        host, kernel, cmdline: Of the machine.
    """

    engine: str
    cpus: tuple[CpuLatency, ...]
    skips: bool = True
    interval_ns: int | None = None
    seconds: float | None = None
    priority: int | None = None
    policy: str = ""
    started: str = ""
    version: str = ""
    host: str = ""
    kernel: str = ""
    cmdline: str = ""


@frozen(kw_only=True)
class Importer:
    """A format.

    Attributes:
        name: Whose.
        engine: Name of the engine in keys and tables.
        fits: Whether a text looks like it.
        read: Text and name of the file -> what it says. DataError where it is damaged.
    """

    name: str
    engine: str
    fits: Callable[[str], bool]
    read: Callable[[str, str], Foreign]


@frozen(kw_only=True)
class Missing:
    """What a person says of files that do not say it themselves."""

    interval_ns: int | None = None
    seconds: float | None = None
    priority: int | None = None


def all_importers() -> tuple[Importer, ...]:
    """Every format, in the order of their files."""
    names = sorted(module.name for module in pkgutil.iter_modules(importers.__path__))
    return tuple(import_module(f"{importers.__name__}.{name}").IMPORTER for name in names)


def foreign_engines() -> tuple[str, ...]:
    """Engines whose results can be read."""
    return tuple(sorted({importer.engine for importer in all_importers()}))


def read_foreign(text: str, name: str) -> Foreign:
    """What a file of another tool says.

    Raises:
        DataError: Of none of the known formats, or damaged.
    """
    for importer in all_importers():
        if importer.fits(text):
            found = importer.read(text, name)
            if not found.cpus:
                raise DataError(f"{name} holds no figures of any CPU", f"is it of {importer.name}?")
            return found
    known = ", ".join(importer.name for importer in all_importers())
    raise DataError(f"{name} is of no format that is known", f"one of: {known}")


def as_run(
    foreign: Foreign, load: LoadPoint, repeat: int, *, name: str, told: Missing
) -> LatencyRun:
    """A run of what a file says; ``told`` serves where it says nothing.

    Raises:
        UsageError: The interval, or the priority, is nowhere, or is told otherwise than the file
            says it.
        DataError: What the file says cannot be.
    """
    _refuse_other(foreign, told, name)
    interval = foreign.interval_ns or told.interval_ns
    if interval is not None and not 0 < interval <= _INTERVAL_MAX_NS:
        raise DataError(f"{name}: an interval of {interval} ns", "is the file damaged?")
    if interval is None:
        raise UsageError(f"{name} does not say its interval", "give it with --interval")
    policy = foreign.policy or "fifo"
    priority = foreign.priority if foreign.priority is not None else told.priority
    if priority is None:
        raise UsageError(f"{name} does not say its priority", "give it with --priority")
    seconds = foreign.seconds or told.seconds
    if any((cpu.raw.max_ns or 0) // interval > _PERIODS_LATE_MAX for cpu in foreign.cpus):
        raise DataError(f"{name}: a latency of more than a million periods", "is it damaged?")
    cpus = tuple(_cpu(cpu, foreign.skips, seconds, interval) for cpu in foreign.cpus)
    return LatencyRun(
        key=LatencyKey(load, foreign.engine, repeat),
        started=foreign.started,
        seconds=seconds or max(cpu.expected for cpu in cpus) * interval / 1e9,
        interval_ns=interval,
        priority=priority if policy != "other" else 0,
        policy=policy,
        cpus=cpus,
        load={"asked": load.percent, "judged": False, "achieved": {}, "commands": [], "died": ""},
        circumstances={"missing": {"all": f"read from {name}"}},
        problems=(Finding(id="imported", severity="warning", message=_NOT_RECORDED),),
        engine_version=foreign.version,
    )


def _refuse_other(foreign: Foreign, told: Missing, name: str) -> None:
    """What a file says is not said otherwise: nobody knows which of the two is right."""

    def refuse(option: str, asked: str, said: str) -> UsageError:
        return UsageError(
            f"{option} {asked}: {name} says {said}", f"leave {option} out, or say the same"
        )

    if None not in (told.priority, foreign.priority) and told.priority != foreign.priority:
        raise refuse("--priority", str(told.priority), str(foreign.priority))
    asked, said = told.interval_ns, foreign.interval_ns
    if asked is not None and said is not None and asked != said:
        raise refuse("--interval", duration_text(asked), duration_text(said))
    seconds, said_s = told.seconds, foreign.seconds
    if seconds is not None and said_s is not None and not isclose(seconds, said_s, rel_tol=0.01):
        raise refuse("--duration", f"{seconds:g} s", f"{said_s:g} s")


def _cpu(cpu: CpuLatency, skips: bool, seconds: float | None, interval_ns: int) -> CpuLatency:
    if not skips:
        return CpuLatency(
            cpu=cpu.cpu, expected=cpu.cycles, cycles=cpu.cycles, missed=0, raw=cpu.raw
        )
    found = expecting(cpu, seconds=seconds or 0.0, interval_ns=interval_ns)
    if seconds is not None:
        return found
    whole = (found.cycles + found.missed) * interval_ns / 1e9
    return expecting(cpu, seconds=whole, interval_ns=interval_ns)


def options_of(command: str, names: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Values of a command line: name -> what stands behind one of its options (``-i``,
    ``--interval``; glued or not)."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    found: dict[str, str] = {}
    for name, options in names.items():
        for place, word in enumerate(words):
            for option in options:
                value = _value(option, word, words[place + 1 : place + 2])
                if value is not None:
                    found[name] = value
    return found


def _value(option: str, word: str, following: Sequence[str]) -> str | None:
    if option.startswith("--"):
        if word.startswith(f"{option}="):
            return word.removeprefix(f"{option}=")
        return following[0] if word == option and following else None
    # Letters may stand together, the last with its value: -mSp99.
    match = re.fullmatch(rf"-[A-Za-z]*{option[1]}(\d\w*)?", word)
    if match is None:
        return None
    return match[1] or (following[0] if following else None)
