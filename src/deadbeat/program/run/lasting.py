"""A design as lines that make it last from outside: a script of chrt and taskset, or a drop-in of
systemd that runs it. What a program alone can do about its mutexes and memory is said in them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from deadbeat.base.model.errors import UsageError
from deadbeat.program.derive.placer import Placing
from deadbeat.program.run.designed import ReadDesign, read_design
from deadbeat.program.run.results import FIRST, ProgramStore
from deadbeat.program.run.tried import best_first, summarised

_SCRIPT = """#!/bin/sh
# {title}: gives the threads of process $1 their places, for which it waits. Run it as root.
set -eu
pid=$1
of() {{ grep -lxF -e "$1" /proc/"$pid"/task/*/comm | cut -d / -f 5 | sort -n; }}
comes() {{
    for try in $(seq 100); do
        [ "$(of "$1" 2>/dev/null | wc -l)" -ge "$2" ] && return
        sleep 0.1
    done
    echo "process $pid has no thread $1" >&2
    exit 1
}}
"""
_UNIT = """# {title}: {place} of a unit of systemd; the script beside it is {script}
[Service]
{lines}ExecStartPost=+/bin/sh {script} $MAINPID
"""
_HEAP = "MALLOC_TRIM_THRESHOLD_=-1 MALLOC_MMAP_MAX_=0"
_INSIDE = {
    "inherit": "# its mutexes: PTHREAD_PRIO_INHERIT, in the code that makes them",
    "locked": "# its memory: mlockall(MCL_CURRENT | MCL_FUTURE), in the program",
    "heap": f"# its malloc: {_HEAP} in its environment",
}


def lasting(path: Path, file: Path | None) -> tuple[ReadDesign, Mapping[str, str], str]:
    """The design of ``file`` for a result, or without one the best that helped; names of threads by
    the kernel, and what it is called. Raises UsageError: none helped; as `read_design`."""
    store = ProgramStore.open(path)
    found = summarised(store)
    if found.traced is None:
        raise UsageError(f"{path.name} has no traced job", "deadbeat run -- ./program")
    seen = [each for each in (found.traced, store.load(FIRST).traced) if each]
    every = [task for each in seen for task in each.tasks]
    comms = {task.name: task.comm or task.name.partition("#")[0] for task in every}
    if file is not None:
        locks = {lock.name for each in seen for lock in each.locks}
        return read_design(file, comms, locks, store.platform.cpus), comms, str(file)
    for each in best_first(found.tried):
        if each.verdict == "better" and each.design:
            return each.design, comms, f"{each.name} of {path.name}"
    raise UsageError(
        f"no change of {path.name} helped", "run --try best looks for one; or --design FILE"
    )


def script(title: str, design: ReadDesign, comms: Mapping[str, str]) -> str:
    lines = [line for each in design.placings for line in _lines(each, comms)]
    if design.slack_ns:
        text = f'echo {design.slack_ns} > /proc/"$thread"/timerslack_ns'
        lines.append(f'for thread in $(ls /proc/"$pid"/task); do {text}; done')
    return _SCRIPT.format(title=title) + "".join(f"{each}\n" for each in (*lines, *_inside(design)))


def unit(title: str, design: ReadDesign, at: Path) -> str:
    """A drop-in that runs the script ``at``."""
    lines = [line for line in _inside(design) if line != _INSIDE["heap"]]
    lines += ["LimitMEMLOCK=infinity"] * (design.memory == "locked")
    lines += [f"TimerSlackNSec={design.slack_ns}ns"] * bool(design.slack_ns)
    lines += [f"Environment={_HEAP}"] * bool(design.memory)
    words = {"title": title, "script": shlex.quote(str(at.resolve())), "place": "NAME.service.d/"}
    return _UNIT.format(lines="".join(f"{each}\n" for each in lines), **words)


def _inside(design: ReadDesign) -> list[str]:
    inherits = ["inherit"] * ("inherit" in design.locks.values())
    return [_INSIDE[word] for word in (*inherits, design.memory) if word in _INSIDE]


def _lines(placing: Placing, comms: Mapping[str, str]) -> Iterator[str]:
    """What places the threads of a name; of the n-th one of a name that."""
    threads = '$(ls /proc/"$pid"/task)'
    if placing.name != "*":
        name, _, number = placing.name.partition("#")
        comm = shlex.quote(comms.get(placing.name, name))
        yield f"comes {comm} {number or 1}"
        threads = f"$(of {comm} | sed -n {number}p)" if number else f"$(of {comm})"
    yield f"for thread in {threads}; do {'; '.join(_words(placing))}; done"


def _words(placing: Placing) -> Iterator[str]:
    if placing.cpus:  # first: a reservation is of all CPUs, or refused
        yield f'taskset -cp {",".join(map(str, placing.cpus))} "$thread"'
    if placing.policy == "deadline":
        times = f"-T {placing.runtime_ns} -D {placing.deadline_ns} -P {placing.period_ns}"
        yield f'chrt -d {times} -p 0 "$thread"'
    elif placing.policy:
        yield f'chrt -{placing.policy[0]} -p {placing.priority or 0} "$thread"'
