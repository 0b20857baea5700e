"""What runs primitives: the native runtime, a JVM with a collector, or a foreign command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from attrs import evolve, frozen

from deadbeat.base.model import rules
from deadbeat.base.model.rules import refuse
from deadbeat.base.model.words import inside, nearest, shown
from deadbeat.build.pool import NATIVE, PLACEMENTS, is_native, variants_of

#: Collectors of a JVM, and the word behind -XX:+ that asks for each.
COLLECTORS = {
    "Serial": "UseSerialGC",
    "Parallel": "UseParallelGC",
    "G1": "UseG1GC",
    "Z": "UseZGC",
    "Shenandoah": "UseShenandoahGC",
    "Epsilon": "UseEpsilonGC",
}
#: Who of a JVM has a real-time policy: only the threads that are timed, or all.
MUTATORS, WHOLE = "mutators", "whole"
SCHEDULING = (MUTATORS, WHOLE)
EXTERNAL = "external"
_JVM = re.compile(
    r"jvm(?::(?P<version>[0-9]{2,3})(?::(?P<collector>\w{1,40})(?::(?P<scheduling>\w{1,40}))?)?)?"
)
_EXTERNAL = re.compile(rf"{EXTERNAL}:(?P<name>[A-Za-z][A-Za-z0-9_]{{0,39}})")
#: A command may have commas of its own.
_NEXT = re.compile(r",\s*(?=[A-Za-z]\w*=)")
#: Heap over what lives: collectors need room to move it, and for what is dead.
HEAP_TIMES = 4


@frozen
class Jvm:
    """The words of ``jvm:25:G1:whole``; 0 and "" where they are not said."""

    version: int = 0
    collector: str = ""
    scheduling: str = MUTATORS

    @property
    def text(self) -> str:
        more = () if self.scheduling == MUTATORS else (self.scheduling,)
        return ":".join(["jvm", str(self.version), self.collector, *more])


def jvm_words(runtime: str) -> Jvm:
    match = _JVM.fullmatch(runtime)
    if match is None:
        return Jvm()
    version, collector = int(match["version"] or 0), match["collector"] or ""
    return Jvm(version, collector, match["scheduling"] or MUTATORS)


def further_collector(runtime: str, runtimes: Sequence[str]) -> bool:
    """Whether only its collector sets a JVM apart from one before it."""
    others = map(jvm_words, runtimes[: runtimes.index(runtime)])
    own = jvm_words(runtime)
    return bool(own.collector) and any(
        evolve(each, collector=own.collector) == own for each in others
    )


def external_name(runtime: str) -> str:
    match = _EXTERNAL.fullmatch(runtime)
    return match["name"] if match else ""


def runtime(value: Any) -> str:
    """``native``, ``jvm``, ``jvm:25:G1:whole`` or ``external:NAME``; RefusedError of any other."""
    word = str(value)
    if word == NATIVE or external_name(word):
        return word
    if not _JVM.fullmatch(word):
        hint = "native, jvm, jvm:25, jvm:25:G1, jvm:25:G1:whole or external:NAME"
        raise refuse(f"there is no runtime {shown(value)}", hint)
    jvm = jvm_words(word)
    if jvm.collector and jvm.collector not in COLLECTORS:
        hint = nearest(jvm.collector, COLLECTORS)
        raise refuse(f"no JVM has a collector {shown(jvm.collector)}", hint)
    rules.Choice(SCHEDULING).parse(jvm.scheduling)
    return word


@frozen
class External:
    """A command that speaks the format of the verb ``primitive``; ``does``: primitives and their
    variants, ``alloc:heap`` or ``copy``, as the command lists them."""

    name: str
    command: str
    does: tuple[str, ...] = ()

    @property
    def argv(self) -> tuple[str, ...]:
        return tuple(shlex.split(self.command))


def externals(value: Any) -> tuple[External, ...]:
    """``NAME=COMMAND``, or tables with both and what the command does."""
    if value in ([], ()):
        return ()
    if isinstance(value, str):
        value = _NEXT.split(value)
    if isinstance(value, Mapping):
        value = [value]
    listed = rules.items(value, "a list of external runtimes", "vm=./my-runtime")
    found = rules.each(listed, _external)
    if len({each.name for each in found}) < len(found):
        raise refuse("two external runtimes have one name", "give each a name of its own")
    return tuple(found)


def _external(value: Any) -> External:
    if isinstance(value, str):
        name, _, command = value.partition("=")
        value = {"name": name.strip(), "command": command.strip()}
    plain: Any = inside(value)
    found = External(str(plain.get("name", "")), str(plain.get("command", "")))
    with suppress(ValueError):  # an open quotation mark
        if external_name(f"{EXTERNAL}:{found.name}") and found.argv:
            return evolve(found, does=tuple(map(str, plain.get("does", ()))))
    hint = "NAME=COMMAND; a name has letters, digits and underscores"
    raise refuse(f"{shown(value)} is no external runtime", hint)


@frozen
class Usual:
    """Default sizes and placements. Placements: none: as little as shows
    what there is, on one CPU or on all that want one thing."""

    sizes: tuple[int, ...]
    shares: tuple[int, ...]
    placements: tuple[str, ...]


def usual(runtime: str) -> Usual:
    """A run of a JVM takes five times as long as a native one: it is asked for less."""
    if is_native(runtime):
        return Usual((64, 10 * 1024, 1024**2), (1, 4, 64), PLACEMENTS)
    return Usual((10 * 1024,), (4,), ())


def does(runtime: str, test: str, variant: str, external: Sequence[External]) -> bool:
    """Whether an external runtime has listed it; others have what their files say."""
    name = external_name(runtime)
    listed = next((each.does for each in external if each.name == name), None)
    return listed is None or ":".join(filter(None, [test, variant])) in listed


def known_to_external(listed: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """What of a command's list has a meaning here: ``alloc:heap``, ``copy``.
    Raises ValueError: something of it has none."""
    found = []
    for test, variants in listed.items():
        known = variants_of().get(test)
        if known is None:
            raise ValueError(f"there is no primitive {test}")
        for variant in variants:
            if variant not in known:
                raise ValueError(f"{test} has no variant {variant}")
        found += [f"{test}:{variant}" for variant in variants] or [test]
    return tuple(found)
