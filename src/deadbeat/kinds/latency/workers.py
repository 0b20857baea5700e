"""What the processes of a stress-ng do: each worker is told apart, and counted.

Its own count of operations comes only when it ends, after several runs. Of /proc, one look before
and one after a run tell CPU time, switches and bytes written of every worker with its descendants:
what was skipped, or stands still, is seen. A process belongs to a load by its ancestor, which names
our folder in its command line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from attrs import field, frozen

from deadbeat.host.proc import STAT, UPTIME, task_of, uptime_of
from deadbeat.targets.readings import Readings

#: For `Target.read_many`: one process of grep for all files of all processes.
FILES = (STAT, UPTIME)
COMMAND = r"""
files=
for process in /proc/[0-9]*; do
    read -r name < $process/comm || continue
    case $name in
    stress-ng*) files="$files $process/stat $process/cmdline $process/status $process/io" ;;
    esac
done 2>/dev/null
[ -z "$files" ] || grep -as '' $files /dev/null | tr '\0' ' '; :"""
_TICK_S = 0.01
_TITLE = re.compile(r"stress-ng-([a-z0-9-]+)")
_SWITCHES = ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")


@frozen(kw_only=True)
class Worker:
    """One process that a stress-ng began, with all its descendants.

    Attributes:
        kind: ``vm``, ``timerfd``.
        ticks: CPU time, in ticks of 10 ms, of those that run and of their children that ended.
        switches: Of those that run.
        written: Bytes that went to a disk (not to files in memory); None: not to be had.
    """

    kind: str
    ticks: int = 0
    switches: int = 0
    written: int | None = None


@frozen(kw_only=True)
class Look:
    """All workers at one moment: process number -> worker; None: they could not be read."""

    workers: Mapping[int, Worker] | None = None
    uptime_s: float | None = None


@frozen
class _Process:
    parent: int
    ticks: int
    said: Mapping[str, int] = field(factory=dict)
    title: str = ""


def look_of(readings: Readings, folder: str) -> Look:
    """What `FILES` and `COMMAND` (called ``load``) gave; ``folder``: of the load's own files."""
    text = readings.commands["load"].text
    return Look(
        workers=None if text is None else workers_of(text, folder),
        uptime_s=uptime_of(readings.files[UPTIME].text or ""),
    )


def workers_of(text: str, folder: str) -> dict[int, Worker]:
    """The workers in what `COMMAND` printed."""
    all_of = _processes(text)
    roots = {
        number for number, process in all_of.items() if f"--temp-path {folder} " in process.title
    }
    first = [number for number, process in all_of.items() if process.parent in roots]
    return {
        number: _worker(all_of, number)
        for number in first
        if _TITLE.match(all_of[number].title) is not None
    }


def _processes(text: str) -> dict[int, _Process]:
    lines: dict[int, dict[str, list[str]]] = {}
    for number, name, line in re.findall(r"^/proc/(\d+)/(\w+):(.*)$", text, re.M):
        lines.setdefault(int(number), {}).setdefault(name, []).append(line)
    found = {}
    for number, files in lines.items():
        task = task_of("".join(files.get("stat", ())))
        if task is None:
            continue
        said = {}
        for line in (*files.get("status", ()), *files.get("io", ())):
            name, _, value = line.partition(":")
            if value.strip().isdigit():
                said[name] = int(value)
        title = " ".join(files.get("cmdline", ()))
        found[number] = _Process(task.parent, task.tree_ticks, said, f"{title} ")
    return found


def _worker(all_of: Mapping[int, _Process], number: int) -> Worker:
    match = _TITLE.match(all_of[number].title)
    assert match is not None
    own, new = {number}, {number}
    while new:
        new = {child for child, process in all_of.items() if process.parent in new} - own
        own |= new
    several = [all_of[each] for each in own]
    written = [each.said["write_bytes"] for each in several if "write_bytes" in each.said]
    return Worker(
        kind=match[1],
        ticks=sum(each.ticks for each in several),
        switches=sum(each.said.get(name, 0) for each in several for name in _SWITCHES),
        written=sum(written) if written else None,
    )


def asked_of(commands: Iterable[Sequence[str]], kinds: Sequence[str]) -> dict[str, int]:
    """How many workers of each kind the commands of a load begin."""
    found = dict.fromkeys(kinds, 0)
    for argv in commands:
        for option, value in pairwise(argv):
            if option.removeprefix("--") in found and value.isdigit():
                found[option.removeprefix("--")] += int(value)
    return {kind: count for kind, count in found.items() if count}


def did(
    asked: Mapping[str, int], before: Look, after: Look, *, least: Mapping[str, float]
) -> dict[str, Any]:
    """`LatencyRun.load`'s ``workers`` and ``throughput`` between two looks.

    ``workers``: kind -> asked for, those that were there, and those that did anything; None: could
    not be read. A rate that is 0 is left out, unless ``least`` of it is wanted.
    """
    if before.workers is None or after.workers is None:
        return {"workers": None, "throughput": {}}
    kept = [
        (before.workers[number], worker)
        for number, worker in after.workers.items()
        if number in before.workers
    ]
    there, working = dict.fromkeys(asked, 0), dict.fromkeys(asked, 0)
    for old, new in kept:
        if new.kind in asked:
            there[new.kind] += 1
            working[new.kind] += (new.ticks, new.switches) != (old.ticks, old.switches)
    seconds = (after.uptime_s or 0.0) - (before.uptime_s or 0.0)
    return {
        "workers": {kind: [count, there[kind], working[kind]] for kind, count in asked.items()},
        "throughput": {
            name: rate
            for name, rate in (_rates(asked, kept, seconds) if seconds > 0 else {}).items()
            if rate or name in least
        },
    }


def _rates(
    asked: Iterable[str], kept: Sequence[tuple[Worker, Worker]], seconds: float
) -> dict[str, float]:
    """What the workers of each kind did together in a second."""
    rates: dict[str, float] = {}
    for kind in asked:
        pairs = [(old, new) for old, new in kept if new.kind == kind]
        ticks = sum(max(new.ticks - old.ticks, 0) for old, new in pairs)
        switches = sum(max(new.switches - old.switches, 0) for old, new in pairs)
        rates[f"{kind} CPU s/s"] = round(ticks * _TICK_S / seconds, 3)
        rates[f"{kind} switches/s"] = round(switches / seconds, 1)
        known = [
            (old.written, new.written)
            for old, new in pairs
            if old.written is not None and new.written is not None
        ]
        if known and len(known) == len(pairs):
            written = sum(max(new - old, 0) for old, new in known)
            rates[f"{kind} written B/s"] = round(written / seconds, 1)
    return rates
