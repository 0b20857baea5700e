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

_UNITS_S = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
#: What cyclictest does unasked: its interval, and how much longer that of each further thread is;
#: with a histogram all are alike.
_INTERVAL_US, _DISTANCE_US = 1000, 500


def said(plain: Any, key: str) -> str:
    """A text of the head of a JSON file of rt-tests."""
    return str(plain.get(f"{key}:", plain.get(key, "")))


def program(plain: Any) -> str:
    """The program of rt-tests that wrote it; "": it is no such file."""
    if not isinstance(plain, dict) or not isinstance(plain.get("thread"), dict):
        return ""
    words = said(plain, "cmdline").split()
    return PurePath(words[0]).name if words else "cyclictest" * ("resolution_in_ns" in plain)


def option(command: str, letter: str, name: str) -> str:
    """The value of an option of cyclictest; "": it is not there."""
    # Letters may stand together, the last with its value, glued or not: -mSp99.
    form = rf"(?<!\S)(?:-[A-Za-z]*{letter}(?=[\s\d])\s*|--{name}[=\s]\s*)(\w+)"
    return str((re.findall(form, command) or [""])[-1])


def called(command: str, *, threads: int) -> Foreign:
    """What a command line of cyclictest says; nothing of none.

    As version 2.40 does, seen by reading back: any ``-p`` asks for SCHED_FIFO, a priority above 0
    overrules another policy, and a real-time policy without one has the number of threads + 1.
    """
    if not command.strip():
        return Foreign()
    interval, priority = option(command, "i", "interval"), option(command, "p", "priority")
    number = int(priority) if priority.isdigit() else 0
    policy = option(command, "(?!)", "policy") or ("fifo" if priority.isdigit() else "other")
    if policy not in ("fifo", "rr"):
        policy = "fifo" if number else "other"
    elif number == 0:
        number = threads + 1
    match = re.fullmatch(r"(\d+)([smhd]?)", option(command, "D", "duration"))
    loops = option(command, "l", "loops")
    return Foreign(
        interval_ns=(int(interval) if interval.isdigit() else _INTERVAL_US) * 1000,
        priority=number,
        policy=policy,
        seconds=float(int(match[1]) * _UNITS_S[match[2]]) if match else None,
        cycles=int(loops) if loops.isdigit() and int(loops) else None,
    )


def _read(source: ForeignFile, user: Foreign) -> Foreign:
    plain, command = source.json, said(source.json, "cmdline")
    each = in_order(plain["thread"])
    step = 1 if plain["resolution_in_ns"] else 1000
    how = called(command, threads=len(each))
    places = [int(values.get("cpu", -1)) for _, values in each]
    placed = min(places, default=-1) >= 0 and len(set(places)) == len(places)
    ends = option(command, "h", "histogram") or option(command, "H", "histofall")
    known = ends.isdigit() or any(values.get("histogram") for _, values in each)
    distance = option(command, "d", "distance")
    apart = 0 if known else int(distance) if distance.isdigit() else _DISTANCE_US
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
            beyond=int(ends) if ends.isdigit() else 0,
            interval_ns=base + row * apart * 1000 if apart and base else None,
        )
        for row, ((number, values), place) in enumerate(zip(each, places, strict=True))
    )
    system, started = plain.get("sysinfo") or {}, str(plain.get("start_time", ""))
    with suppress(ValueError, TypeError):  # as it stands
        started = parsedate_to_datetime(started).isoformat(timespec="seconds")
    longer = f"the interval of each thread is {apart} us longer than of the one before"
    return evolve(
        how,
        cpus=cpus,
        threads=not placed,
        started=started,
        version=f"cyclictest V {said(plain, 'rt_test_version')}".strip(),
        host=str(system.get("nodename", "")),
        kernel=kernel_of(system),
        notes=(longer,) if apart and len(cpus) > 1 else (),
    )


IMPORTER = Importer(
    name="cyclictest --json",
    engine="cyclictest",
    fits=lambda source: program(source.json).startswith("cyclictest"),
    read=_read,
    hint="cyclictest --json=FILE -h 1000000 writes what can be read",
)
