"""cyclictest ``--json``, rt-tests 1.6 to 2.9.

Known defects: keys end in a colon (``rt_test_version:``); ``resolution_in_ns`` is 1 for nanoseconds
and 0 for microseconds; what exceeds the histogram is in ``cycles`` and nowhere else; a thread that
never ran has a minimum and ``-nan``; missed wake-ups, interval, priority and policy are not there.
"""

from __future__ import annotations

import re
from contextlib import suppress
from email.utils import parsedate_to_datetime
from pathlib import PurePath
from typing import Any

from attrs import evolve

from deadbeat.latencies.latency.foreign import (
    Foreign,
    ForeignFile,
    Importer,
    counts_of,
    in_order,
    kernel_of,
    thread,
)
from deadbeat.machine.host.values import parse_cpu_list

_UNITS_S = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
#: What cyclictest does unasked: its interval, and how much longer that of each further thread is;
#: with a histogram all are alike.
_INTERVAL_US, _DISTANCE_US = 1000, 500
_LETTERS = {
    "affinity": "a", "aligned": "A", "breaktrace": "b", "clock": "c", "distance": "d",
    "duration": "D", "fifo": "F", "histogram": "h", "histofall": "H", "interval": "i",
    "loops": "l", "nsecs": "N", "oscope": "o", "priority": "p", "threads": "t",
}  # fmt: skip
#: What takes a value, and what takes the next word for one if that is a number.
_VALUED = {*"bcdDFhHilop", "histfile", "json", "latency", "mainaffinity", "policy", "spike"}
_WITH = {*_VALUED, *"aAt"}
_UP_TO_ONE = re.compile(rf"[^{''.join(each for each in _WITH if len(each) == 1)}]*.?")
#: A name may be cut short as long as it is no other's beginning.
_LONG = (*_LETTERS, *_VALUED - {*_LETTERS.values()}, "priospread", "dbg_cyclictest", "laptop")


def said(plain: Any, key: str) -> str:
    """A text of the head of a JSON file of rt-tests."""
    return str(plain.get(f"{key}:", plain.get(key, "")))


def begun(plain: Any) -> str:
    """When a JSON file of rt-tests says that it began."""
    started = str(plain.get("start_time", ""))
    with suppress(ValueError, TypeError):  # as it stands
        started = parsedate_to_datetime(started).isoformat(timespec="seconds")
    return started


def program(plain: Any) -> str:
    """The program of rt-tests that wrote it; "": it is no such file."""
    if not isinstance(plain, dict) or not isinstance(plain.get("thread"), dict):
        return ""
    words = said(plain, "cmdline").split()
    return PurePath(words[0]).name if words else "cyclictest" * ("resolution_in_ns" in plain)


def options(command: str) -> dict[str, str]:
    """The options of cyclictest in its command line, by letter, or by name where it has none.

    As getopt_long reads them: ``-smp -p 80`` is ``-s``, ``-m``, ``-p "-p"`` and a stray word.
    """
    found: dict[str, str] = {}
    words = re.split(r"(?:^|\s)[#|>&;]", command)[0].split()[1:]
    while words and words[0] != "--":
        word = words.pop(0)
        keys, value = [], ""
        if word.startswith("--"):
            name, _, value = word[2:].partition("=")
            full = [each for each in _LONG if each.startswith(name)]
            keys = [_LETTERS.get(name := full[0] if len(full) == 1 else name, name)]
        elif word.startswith("-"):
            letters = _UP_TO_ONE.match(word, 1)
            keys, value = [*letters[0]] if letters else [], word[letters.end() :] if letters else ""
        found |= dict.fromkeys(keys, "")
        if keys and keys[-1] in _WITH:
            if not value and words and (keys[-1] in _VALUED or words[0][0].isdigit()):
                value = words.pop(0)
            found[keys[-1]] = value
    return found


def _whole(value: str) -> int:
    """The number that atoi reads."""
    found = re.match(r"[-+]?\d+", value)
    return int(found[0]) if found else 0


def pinned(command: str) -> tuple[int, ...]:
    """The CPUs that its threads have in turn; empty: it does not say them as numbers."""
    with suppress(ValueError):
        return tuple(sorted(parse_cpu_list(options(command).get("a", ""))))
    return ()


def called(command: str, *, threads: int) -> Foreign:
    """What a command line of cyclictest says; nothing of none.

    As version 2.40 does, seen by reading back: any ``-p`` asks for SCHED_FIFO, a priority above 0
    overrules another policy, and a real-time policy without one has the number of threads + 1.
    """
    if not command.strip():
        return Foreign()
    given = options(command)
    number, interval = _whole(given.get("p", "")), _whole(given.get("i", ""))
    policy = given.get("policy") or ("fifo" if "p" in given else "other")
    if policy not in ("fifo", "rr"):
        policy = "fifo" if number else "other"
    elif number == 0:
        number = threads + 1
    match = re.fullmatch(r"(\d+)([smhd]?)", given.get("D", ""))
    return Foreign(
        interval_ns=(interval or _INTERVAL_US) * 1000,
        priority=number,
        policy=policy,
        seconds=float(int(match[1]) * _UNITS_S[match[2]]) if match else None,
        cycles=_whole(given.get("l", "")) or None,
        unit_ns=1 if "N" in given else 1000,
    )


def _read(source: ForeignFile, user: Foreign) -> Foreign:
    plain, command = source.json, said(source.json, "cmdline")
    each = in_order(plain["thread"])
    step = 1 if plain["resolution_in_ns"] else 1000
    how = called(command, threads=len(each))
    places = [int(values.get("cpu", -1)) for _, values in each]
    placed, given = min(places, default=-1) >= 0, options(command)
    ends = _whole(given.get("h", given.get("H", "")))
    known = ends or any(values.get("histogram") for _, values in each)
    apart = 0 if known else _whole(given["d"]) if given.get("d") else _DISTANCE_US
    base = how.interval_ns or user.interval_ns or 0
    cpus = tuple(
        thread(
            place if placed else number,
            counts_of(values),
            step=step,
            cycles=int(values["cycles"]),
            least=int(values["min"]),
            greatest=int(values["max"]),
            mean=float(values["avg"]),
            beyond=ends,
            interval_ns=base + row * apart * 1000 if apart and base else None,
        )
        for row, ((number, values), place) in enumerate(zip(each, places, strict=True))
    )
    system = plain.get("sysinfo") or {}
    notes = []
    if apart and len(cpus) > 1:
        notes.append(f"the interval of each thread is {apart} us longer than of the one before")
    if code := plain.get("return_code"):
        notes.append(f"it ended with code {code}")
    return evolve(
        how,
        cpus=cpus,
        threads=not placed,
        started=begun(plain),
        version=f"cyclictest V {said(plain, 'rt_test_version')}".strip(),
        host=str(system.get("nodename", "")),
        kernel=kernel_of(system),
        notes=tuple(notes),
    )


IMPORTER = Importer(
    name="cyclictest --json",
    engine="cyclictest",
    fits=lambda source: program(source.json).startswith("cyclictest"),
    read=_read,
    hint="cyclictest --json=FILE -h 1000000 writes what can be read",
)
