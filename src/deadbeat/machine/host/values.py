"""A value of the host, or why it is not known; and the few forms that values have in its files.

A reader is a function from a path to the file's text, or None where it is missing or unreadable:
``LocalTarget().read_text``, what `gathered` passes, or ``dict.get`` in a test. `gathered` answers
``command:NAME=WORDS`` with what a shell prints, too.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

from attrs import frozen

from deadbeat.base.model.errors import TargetError
from deadbeat.base.model.words import Json, shown
from deadbeat.machine.targets.base import Target

#: What a reader is asked for that no file tells: ``command:NAME=WORDS``, words for a shell.
COMMAND = "command:"

Read = Callable[[str], str | None]
T = TypeVar("T")

#: No kernel has more CPUs; a larger number in a file is damage.
CPU_MAX = 65535


@frozen
class Unknown:
    """In place of a value that cannot be read: never a guess, never a silent gap."""

    reason: str

    def __str__(self) -> str:
        return f"unknown: {self.reason}"


#: A fact about a machine, parts of it perhaps unknown.
Fact: TypeAlias = "Json | Unknown | Sequence[Fact] | Mapping[str, Fact]"
#: A value that was not asked for.
NOT_ASKED = Unknown("not asked")


class UnreadError(ValueError):
    """Something that was asked for could not be read; says what and why."""


def known(value: T | Unknown) -> T:
    """``value``. UnreadError where it is `Unknown`."""
    if isinstance(value, Unknown):
        raise UnreadError(value.reason)
    return value


def or_none(value: T | Unknown) -> T | None:
    """A value that was read, else None."""
    return None if isinstance(value, Unknown) else value


def is_unknown(value: object) -> bool:
    """Whether a value, or what a record holds in its place, is `Unknown`."""
    if isinstance(value, Unknown):
        return True
    return isinstance(value, str) and (value == "unknown" or value.startswith("unknown: "))


def gathered(target: Target, ask: Callable[[Read], T], first: Sequence[str] = ()) -> T:
    """What ``ask`` makes of a target's files, in as few round trips as its answers allow.

    It is asked again with what it lacked, until it lacks nothing.

    Args:
        ask: A pure function of the reader.
        first: Files and patterns to be read at once, whether it wants them or not.

    Raises:
        TargetError: Nothing at all could be read, or what was makes no sense.
    """
    reader = _BatchReader(first)
    with understood(target):
        answer = ask(reader)
        wanted = [*first, *reader.take_lacking()]
        while wanted:
            commands = {each for each in wanted if each.startswith(COMMAND)}
            words = dict(each.removeprefix(COMMAND).split("=", 1) for each in commands)
            readings = target.read_many([w for w in wanted if w not in commands], words)
            printed = {f"{COMMAND}{n}={words[n]}": r for n, r in readings.commands.items()}
            found = {**readings.files, **printed}
            reader.held |= {each: reading.text for each, reading in found.items()}
            answer = ask(reader)
            wanted = reader.take_lacking()
    return answer


@contextmanager
def understood(target: Target) -> Iterator[None]:
    """What ``target`` gave is parsed in the block. TargetError: It is none of what can be given."""
    try:
        yield
    except (ValueError, ArithmeticError, LookupError, TypeError) as error:
        raise TargetError(
            f"{target.name} gives what makes no sense: {shown(str(error))}",
            "are its /proc and /sys the kernel's own? If so, report it, with --debug",
        ) from error


class _BatchReader:
    """Texts that were read, and a list of what else was asked for."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self.held: dict[str, str | None] = {}
        self._lacking: dict[str, None] = {}
        # to a shell "*" ends at a slash
        globs = [fnmatch.translate(path).replace(".*", "[^/]*") for path in patterns]
        self._known = re.compile("|".join(globs) or r"(?!)")

    def __call__(self, path: str) -> str | None:
        if path not in self.held and not self._known.match(path):
            self._lacking[path] = None
        return self.held.get(path)

    def take_lacking(self) -> list[str]:
        lacking, self._lacking = list(self._lacking), {}
        return lacking


def stripped(read: Read, path: str) -> str | None:
    """Text of a file without surrounding blanks and NUL bytes (device tree strings end in one)."""
    text = read(path)
    return None if text is None else text.strip(" \t\n\0")


def value(read: Read, path: str) -> str | Unknown:
    text = stripped(read, path)
    return Unknown(f"{path} cannot be read") if text is None else text


def integer(read: Read, path: str) -> int | Unknown:
    text = value(read, path)
    if isinstance(text, Unknown):
        return text
    return int(text) if re.fullmatch(r"-?\d+", text) else Unknown(f"{path} holds {text!r}")


def cpu_list(read: Read, path: str) -> list[int] | Unknown:
    """CPU numbers listed in a file."""
    text = value(read, path)
    if isinstance(text, Unknown):
        return text
    try:
        return parse_cpu_list(text)
    except ValueError:
        return Unknown(f"{path} holds {text!r}")


def chosen(text: str) -> str:
    """``madvise`` of ``always [madvise] never``; the text where nothing is marked."""
    found = re.search(r"\[([^]]+)\]", text)
    return found[1] if found else text


def parse_cpu_list(text: str) -> list[int]:
    """CPU numbers of the kernel's list format, ``0-2,5``; ``(null)`` and "" are none.

    ValueError where it is no such list.
    """
    cpus: list[int] = []
    for part in text.replace("(null)", "").split(","):
        if part.strip():
            first, _, last = part.partition("-")
            if int(last or first) > CPU_MAX:
                raise ValueError(f"there is no CPU {last or first}")
            cpus += range(int(first), int(last or first) + 1)
    return cpus


def cpu_set(text: str) -> set[int]:
    """`parse_cpu_list` as a set. UnreadError where it is no such list."""
    try:
        return set(parse_cpu_list(text))
    except ValueError:
        raise UnreadError(f"{text[:40]!r} is not a list of CPUs") from None


def cpus_text(cpus: Iterable[int]) -> str:
    """``0-2,5``, as the kernel writes it; ``none``."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs) or "none"


def cpu_mask(cpus: Iterable[int]) -> str:
    """CPUs as the kernel reads a mask: ``3,ffffffff``.

    It takes words of 32 bits with commas between; more digits in one, or more words than it has
    CPUs for, are an overflow to it (lib/bitmap-str.c, bitmap_parse)."""
    mask = sum(1 << cpu for cpu in set(cpus))
    words = []
    while mask >> 32:
        words.append(f"{mask & 0xFFFFFFFF:08x}")
        mask >>= 32
    return ",".join([f"{mask:x}", *reversed(words)])


def mask_cpus(text: str) -> list[int]:
    """CPUs of a mask in hexadecimal, ``ff,00000003``. UnreadError where it is none."""
    digits = text.replace(",", "")
    if not re.fullmatch(r"[0-9a-fA-F]+", digits):
        raise UnreadError(f"{text[:40]!r} is not a mask of CPUs")
    bits = int(digits, 16)
    return [cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1]
