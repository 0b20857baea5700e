"""A design as a file: what threads and locks have in place of what was recorded.

[threads.control]
policy = "fifo"
priority = 40
cpus = [0]

[locks]
"*" = "inherit"

[process]
memory = "locked"
timer_slack = "1ns"
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from attrs import asdict, evolve, field, frozen

from deadbeat.base.model import rules
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.words import nearest, shown
from deadbeat.base.store.files import read_toml
from deadbeat.base.store.texts import shown as named
from deadbeat.program.derive.placer import Placing
from deadbeat.program.derive.replica import Replica
from deadbeat.program.run.whatif import moved

_POLICIES, _PROTOCOLS = ("other", "fifo", "rr", "deadline"), ("none", "inherit")
_TIMES = ("runtime", "deadline", "period")
_MEMORY, _SLACK = ("locked", "heap"), rules.DurationNs(1, 10**9)
_TIME, _PRIORITY = rules.DurationNs(1024, 1 << 50), rules.Whole(1, 99)


@frozen(kw_only=True)
class ReadDesign:
    """What a file asks for. ``locks``: names, or *, and protocols; ``memory``: locked, heap or "";
    ``slack_ns``: of timers; 0: as it is."""

    placings: tuple[Placing, ...] = ()
    locks: Mapping[str, str] = field(factory=dict)
    memory: str = ""
    slack_ns: int = 0


def design_text(name: str, design: ReadDesign) -> str:
    """The file of a design that is called ``name``."""
    lines = [f"# {name}: deadbeat predict RUN --design FILE"]
    process = [f'memory = "{design.memory}"'] * bool(design.memory)
    process += [f'timer_slack = "{design.slack_ns}ns"'] * bool(design.slack_ns)
    lines += ["", "[process]", *process] if process else []
    for each in design.placings:
        values = asdict(each)
        known = {key: values[key] for key in ("policy", "priority") if values[key]}
        known |= {key: list(each.cpus) for key in ("cpus",) if each.cpus}
        known |= {key: f"{values[f'{key}_ns']}ns" for key in _TIMES if values[f"{key}_ns"]}
        lines += ["", f"[threads.{json.dumps(each.name)}]"]
        lines += [f"{key} = {json.dumps(value)}" for key, value in known.items()]
    protocols = [f"{json.dumps(key)} = {json.dumps(word)}" for key, word in design.locks.items()]
    lines += ["", "[locks]", *protocols] if protocols else []
    return "\n".join([*lines, ""])


def designed(program: Replica, file: Path, cpus: Collection[int]) -> tuple[Replica, bool]:
    """The program by the design of a file, and whether its memory is locked. Raises UsageError."""
    names = {each.task.name for each in program.threads}
    found = read_design(file, names, {name for name, _ in program.locks}, cpus)
    locks = found.locks
    protocols = tuple(
        (name, str(locks.get(name) or (protocol == "none" and locks.get("*")) or protocol))
        for name, protocol in program.locks
    )
    made = evolve(program, threads=moved(program, found.placings), locks=protocols)
    return made, found.memory == "locked"


def read_design(
    file: Path, names: Collection[str], locks: Collection[str], cpus: Collection[int]
) -> ReadDesign:
    """What a file asks of threads and locks of these names.
    Raises UsageError: it names a thread, a lock or a CPU that is not there, or an unknown key."""
    text = read_toml(file, "a design", "name a TOML file", "run --try best writes such files")
    _known(file, "", text, ("threads", "locks", "process"))
    threads, chosen, process = (
        dict(_items(file, key, text.get(key, {}))) for key in ("threads", "locks", "process")
    )
    _known(file, "threads.", threads, {"*", *names, *(name.partition("#")[0] for name in names)})
    _known(file, "locks.", chosen, {"*", *locks})
    _known(file, "process.", process, ("memory", "timer_slack"))
    for name, value in chosen.items():
        if value not in _PROTOCOLS:
            raise _refused(file, f"locks.{name}", f"{shown(value)} is neither none nor inherit")
    memory, slack = process.get("memory", ""), process.get("timer_slack")
    if memory not in ("", *_MEMORY):
        raise _refused(file, "process.memory", f"{shown(memory)} is neither locked nor heap")
    try:
        slack_ns = 0 if slack is None else _SLACK.parse(slack)
    except rules.RefusedError as error:
        raise _refused(file, "process.timer_slack", str(error)) from None
    return ReadDesign(
        placings=tuple(_placing(file, name, value, cpus) for name, value in threads.items()),
        locks={name: str(value) for name, value in chosen.items()},
        memory=str(memory),
        slack_ns=slack_ns,
    )


def _placing(file: Path, name: str, value: object, cpus: Collection[int]) -> Placing:
    where = f"threads.{name}"
    said = dict(_items(file, where, value))
    _known(file, f"{where}.", said, ("policy", "priority", "cpus", *_TIMES))
    policy, priority, chosen = (said.get(key) for key in ("policy", "priority", "cpus"))
    if policy is not None and policy not in _POLICIES:
        raise _refused(file, f"{where}.policy", f"{shown(policy)} is no policy", _POLICIES)
    if (policy in ("fifo", "rr")) != (priority is not None):
        raise _refused(file, where, "a priority is of fifo and rr, and they need one")
    if policy == "deadline" and not {*_TIMES} <= {*said}:
        raise _refused(file, where, "a reservation has runtime, deadline and period")
    listed = isinstance(chosen, list) and {*map(shown, chosen)} <= {*map(str, cpus)}
    if chosen is not None and not (listed and chosen):
        text = f"{shown(chosen)} is no list of its CPUs"
        raise _refused(file, f"{where}.cpus", text, [*map(str, cpus)])
    if policy == "deadline" and isinstance(chosen, list) and {*cpus} - {*chosen}:
        raise _refused(file, f"{where}.cpus", "a reservation is of all CPUs")
    try:
        times = {f"{key}_ns": _TIME.parse(said[key]) for key in _TIMES if key in said}
        number = None if priority is None else _PRIORITY.parse(priority)
    except rules.RefusedError as error:
        raise _refused(file, where, str(error)) from None
    runtime, deadline, period = (times.get(f"{key}_ns", 0) for key in _TIMES)
    if not runtime <= deadline <= period:
        raise _refused(file, where, "its runtime is above its deadline, or that above its period")
    return Placing(
        name=name,
        policy=str(policy or ""),
        priority=number,
        cpus=tuple(chosen) if isinstance(chosen, list) else (),
        **times,
    )


def _items(file: Path, where: str, value: object) -> list[tuple[str, object]]:
    if not isinstance(value, dict):
        raise _refused(file, where, "it is no table")
    return [*value.items()]


def _known(file: Path, where: str, said: Collection[str], names: Collection[str]) -> None:
    for name in {*said} - {*names}:
        raise _refused(file, f"{where}{name}", "there is none of this name", sorted(names), name)


def _refused(
    file: Path, where: str, what: str, names: Collection[str] = (), word: str = ""
) -> UsageError:
    hint = nearest(word, names) if names else "run --try best writes such files"
    return UsageError(f"{named(file)}: {where}: {what}", hint)
