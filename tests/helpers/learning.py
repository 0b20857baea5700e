"""What a function of a check or a knob asks of a machine, learned by running it on its cases."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import TypeVar

from attrs import evolve
from machine import test_checks_all, test_knobs

from deadbeat.machine.host.values import UnreadError
from deadbeat.machine.settings.check import all_checks
from deadbeat.machine.settings.facts import Facts, commands, gather
from deadbeat.machine.settings.knob import all_knobs
from deadbeat.machine.settings.making import MAKES, NotHereError
from deadbeat.machine.settings.rows import rows
from deadbeat.machine.targets.fake import FakeTarget
from deadbeat.machine.targets.readings import Reading, Readings
from helpers.checks import Case, has_code

T = TypeVar("T")


class _Asked(dict[str, T]):
    """Reads of a target what it is asked for."""

    def __init__(self, read: Callable[[str], T]) -> None:
        super().__init__()
        self.read = read

    def __missing__(self, key: str) -> T:
        self[key] = found = self.read(key)
        return found


def asked(ask: Callable[[Facts], object], cases: Iterable[Case]) -> list[str]:
    """What ``ask`` looks at on any of the machines, in the order of asking."""
    found: dict[str, None] = {}
    for given in cases:
        target = FakeTarget(files=given.files, outputs=given.outputs, refused=given.refused)
        facts = gather(target, (), workload=given.workload, rt_cpus=given.rt_cpus)
        ask(evolve(facts, readings=_readings(target, found)))
    return list(found)


def _readings(target: FakeTarget, found: dict[str, None]) -> Readings:
    def file(path: str) -> Reading:
        found[path] = None
        return target.read_many([path]).files[path]

    def matched(pattern: str) -> tuple[str, ...]:
        found[pattern] = None
        readings = target.read_many([pattern])
        files.update(readings.files)
        return readings.patterns[pattern]

    def output(name: str) -> Reading:
        found[f"command:{name}"] = None
        return target.read_many([], {name: commands()[name]}).commands[name]

    files = _Asked(file)
    return Readings(files=files, patterns=_Asked(matched), commands=_Asked(output))


def _make(name: str, value: str, facts: Facts) -> None:
    with suppress(NotHereError, UnreadError):
        MAKES[name](facts, value)
    all_knobs()[name].fixed(facts)


def learned() -> Mapping[str, Mapping[str, list[str]]]:
    """``checks`` and ``knobs`` -> id or name -> what the function reads."""
    checks = {
        each.id: asked(each.run, test_checks_all.CASES.get(each.id, {}).values())
        for each in all_checks()
        if each.id in rows() and has_code(each)
    }
    knobs: dict[str, dict[str, None]] = {}
    for word, machine, _ in test_knobs.CASES:
        name, _, value = word.partition("=")
        if name in MAKES:
            case = Case(files={**test_knobs.ONLINE, **machine}, rt_cpus=(2, 3))
            make = partial(_make, name, value or all_knobs()[name].value)
            knobs.setdefault(name, {}).update(dict.fromkeys(asked(make, [case])))
    return {"checks": checks, "knobs": {name: list(own) for name, own in sorted(knobs.items())}}
