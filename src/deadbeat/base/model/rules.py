"""What a value of a campaign may be: one rule per kind of value.

A rule turns what a person wrote (TOML value or command-line text) into the canonical value, or
refuses it with what was found and a hint. Fields state their rule with `specification.keyed`: type,
range, option and help of a key stand in one place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, Protocol

from attrs import field, frozen

from deadbeat.base.model.words import nearest, shown

UNITS_NS = {
    "ns": 1, "us": 1_000, "µs": 1_000, "ms": 10**6, "s": 10**9,
    "min": 60 * 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "d": 86_400 * 10**9,
}  # fmt: skip
_DURATION = re.compile(r" ?([0-9][0-9_]{0,20}(?:\.[0-9]{1,12})?) ?([A-Za-zµ]{1,8}) ?")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LIST_LIMIT = 4096


@frozen
class Problem:
    """One thing wrong with a campaign: where, what was found, what to do."""

    path: str
    found: str
    hint: str = ""

    def __str__(self) -> str:
        head = f"{self.path}: {self.found}" if self.path else self.found
        return f"{head} ({self.hint})" if self.hint else head


class RefusedError(Exception):
    """Carries problems; their paths are relative to the value that was parsed."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


class Rule(Protocol):
    """Parses one value; raises RefusedError."""

    def parse(self, value: Any) -> Any: ...


@frozen
class ReadBy:
    """A rule that is a function."""

    parse: Callable[[Any], Any]


def refuse(found: str, hint: str = "", path: str = "") -> RefusedError:
    return RefusedError(Problem(path, found, hint))


def _fraction(value: Any, what: str, example: str) -> Fraction:
    """An exact number; floats count as the decimal a person wrote."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, float) and math.isfinite(value):
        return Fraction(repr(value))
    if isinstance(value, str) and re.fullmatch(r"[-+0-9_./ ]{1,40}", value):
        try:
            return Fraction(value.replace("_", "").strip())
        except (ValueError, ZeroDivisionError):
            pass
    raise refuse(f"{shown(value)} is not {what}", f"write it like {example}")


def _within(number: Fraction, low: Fraction | int, high: Fraction | int, text: str) -> None:
    if not low <= number <= high:
        raise refuse(f"{text} is out of range", f"from {_plain(low)} to {_plain(high)}")


def _plain(number: Fraction | int) -> str:
    """A bound as a person writes it; a whole one with all its digits."""
    return str(int(number)) if number == int(number) else f"{float(number):.12g}"


@frozen
class Number:
    """A real number in [low, high]."""

    low: str | int
    high: str | int

    def parse(self, value: Any) -> Any:
        """The number as the rule keeps it."""
        number = self.read(value)
        _within(number, Fraction(self.low), Fraction(self.high), shown(value))
        return self.kept(number)

    def read(self, value: Any) -> Fraction:
        return _fraction(value, "a number", str(self.high))

    def kept(self, number: Fraction) -> Any:
        return float(number)


class Ratio(Number):
    """An exact number in [low, high]: ``0.9``, ``9/10`` or ``90%``."""

    def read(self, value: Any) -> Fraction:
        percent = isinstance(value, str) and value.endswith("%")
        return super().read(value[:-1]) / 100 if percent else super().read(value)

    def kept(self, number: Fraction) -> Fraction:
        return number


class Factor(Ratio):
    """An exact positive number: ``10``, ``2.5`` or ``5/2``."""

    def read(self, value: Any) -> Fraction:
        return _fraction(value, "a factor", "10, 2.5 or 5/2")


class Whole(Number):
    """An integer in [low, high]."""

    def read(self, value: Any) -> Fraction:
        # Of a list or a range the first: one number is asked for.
        several = re.match(r"([0-9]{1,20})(?:,|-|\.\.)", value) if isinstance(value, str) else None
        number = _fraction(value, "a whole number", several[1] if several else str(self.low))
        if number.denominator != 1:
            raise refuse(f"{shown(value)} is not a whole number", f"write it like {self.low}")
        return number

    def kept(self, number: Fraction) -> int:
        return int(number)


class Seconds(Number):
    """A length of time in seconds; ``0.6``, ``"600ms"`` and ``"0.6s"`` are the same."""

    def read(self, value: Any) -> Fraction:
        if isinstance(value, str) and _DURATION.fullmatch(value):
            return Fraction(duration_ns(value), UNITS_NS["s"])
        return _fraction(value, "a number of seconds", "0.6 or 600ms")


@frozen
class Factors:
    """One exact positive number, a list of them, or a range in whole steps: ``2..10``."""

    low: int
    high: int

    def parse(self, value: Any) -> tuple[Fraction, ...]:
        if isinstance(value, Fraction):
            value = [value]
        listed = items(value, "a factor or a list of them", "10, 2,5,10 or 2..10")
        factors = each(listed, Factor(self.low, self.high).parse)
        if len(set(factors)) != len(factors):
            raise refuse(f"{shown(value)} lists a factor twice", "list each once")
        # Several are levels of the design, and those are known by thousandths.
        if len(factors) > 1 and any((1000 * factor).denominator != 1 for factor in factors):
            raise refuse(f"{shown(value)} is finer than a thousandth", "round it to 0.001")
        return tuple(sorted(factors))

    @staticmethod
    def plain(factors: tuple[Fraction, ...]) -> str | list[str]:
        return str(factors[0]) if len(factors) == 1 else [str(factor) for factor in factors]


def duration_ns(value: Any) -> int:
    """Nanoseconds of ``100us``, ``0.5ms``, ``500_000ns``; a bare number has no unit: refused."""
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise refuse(f"{shown(value)} is not a length of time with its unit", "write it like 100us")
    digits, unit = match.groups()
    scale = UNITS_NS.get(unit.lower())
    if scale is None:
        raise refuse(f"{shown(value)} has an unknown unit", nearest(unit, UNITS_NS))
    number = Fraction(digits.replace("_", "")) * scale
    if number.denominator != 1:
        raise refuse(f"{shown(value)} is not a whole number of nanoseconds", "round it")
    return int(number)


def duration_text(value_ns: int) -> str:
    """A length of time as `duration_ns` reads it, in the largest unit that holds it whole: 50us."""
    fitting = [unit for unit, size in UNITS_NS.items() if value_ns and value_ns % size == 0]
    unit = max(fitting, key=lambda unit: UNITS_NS[unit], default="ns")
    return f"{value_ns // UNITS_NS[unit]}{unit}"


def duration_words(value_ns: int) -> str:
    """A length of time for a reader, in the largest unit in which at most three decimals have it
    exactly: ``1.5 ms``."""
    fitting = [
        size for size in UNITS_NS.values() if size <= value_ns and value_ns * 1000 % size == 0
    ]
    size = max(fitting, default=1)
    unit = next(unit for unit, each in UNITS_NS.items() if each == size)
    return f"{value_ns / size:.12g} {unit}"


@frozen
class DurationNs:
    """A length of time with its unit, in [low_ns, high_ns]; canonical: integer nanoseconds.

    Attributes:
        auto: Or ``auto`` (None: resolved on the machine).
    """

    low_ns: int
    high_ns: int
    auto: bool = field(default=False, kw_only=True)

    def parse(self, value: Any) -> Any:
        if self.auto and value in (None, "auto"):
            return None
        number = duration_ns(value)
        if not self.low_ns <= number <= self.high_ns:
            ends = " to ".join(map(duration_text, (self.low_ns, self.high_ns)))
            raise refuse(f"{shown(value)} is out of range", f"from {ends}")
        return number

    @staticmethod
    def plain(number: int) -> str:
        return f"{number}ns"


@frozen
class Choice:
    """One word of a closed list."""

    words: tuple[str, ...]

    def parse(self, value: Any) -> str:
        if isinstance(value, str) and value in self.words:
            return value
        raise refuse(f"{shown(value)} is not a choice", nearest(str(value), self.words))


@frozen
class Flag:
    """true or false."""

    def parse(self, value: Any) -> bool:
        if isinstance(value, bool):
            return value
        raise refuse(f"{shown(value)} is neither true nor false", "write true or false")


@frozen
class CommandLine:
    """A program and its arguments; ``optional``: or none."""

    optional: bool = False

    def parse(self, value: Any) -> tuple[str, ...]:
        words: list[Any] = list(value) if isinstance(value, list | tuple) else [None]
        right = all(isinstance(each, str) and "\0" not in each for each in words)
        if not right or not (words or self.optional):
            raise refuse(
                f"{shown(value)} is no command",
                'write it behind --, in a file as ["./program", "WORD"]',
            )
        return tuple(words)


@frozen
class Name:
    """A name that is a safe folder name on any file system."""

    def parse(self, value: Any) -> str:
        if isinstance(value, str) and _NAME.fullmatch(value):
            return value
        hint = "letters, digits, '.', '_' and '-'; 64 at most"
        raise refuse(f"{shown(value)} is not a name", hint)


def ascending(found: Iterable[Any]) -> tuple[Any, ...]:
    """Each once, in order."""
    return tuple(sorted(set(found)))


def unique(found: Iterable[Any]) -> tuple[Any, ...]:
    """Each once, where it stands first."""
    return tuple(dict.fromkeys(found))


@frozen
class ListOf:
    """A TOML list, or text with commas, of what ``one`` reads.

    Attributes:
        what, example: The list in words, and as it is written.
        kept: From the items as read to the value.
        optional: It may be empty.
        named: Words for whole lists: ``all``.
        plain_one: Canonical form of an item.
    """

    one: Callable[[Any], Any]
    what: str
    example: str
    kept: Callable[[list[Any]], tuple[Any, ...]] = tuple
    optional: bool = field(default=False, kw_only=True)
    named: Mapping[str, tuple[Any, ...] | None] = field(factory=dict, kw_only=True)
    plain_one: Callable[[Any], Any] = field(default=lambda item: item, kw_only=True)

    def parse(self, value: Any) -> Any:
        if isinstance(value, str) and value in self.named:
            return self.named[value]
        if self.optional and value in ([], ()):
            return ()
        return self.kept(each(items(value, self.what, self.example), self.one))

    def plain(self, found: tuple[Any, ...]) -> list[Any]:
        return [self.plain_one(item) for item in found]


@frozen
class Shares:
    """An axis of the grid in thousandths: a list of shares, or ``{step = 0.1}`` for 0 to 1.

    On a command line: ``0,0.5,1``, ``0..1:0.1`` or ``step=0.1``.
    """

    def parse(self, value: Any) -> tuple[int, ...]:
        if isinstance(value, str) and value.startswith("step="):
            value = {"step": value.removeprefix("step=")}
        if isinstance(value, Mapping):
            return self._steps(value)
        listed = items(value, "a list of shares", "[0, 0.5, 1] or {step = 0.1}")
        shares = each(listed, share_milli)
        doubled = sorted({share for share in shares if shares.count(share) > 1})
        if doubled:
            raise refuse(f"{doubled[0] / 1000:g} is listed twice", "list each share once")
        return tuple(sorted(shares))

    @staticmethod
    def plain(shares: tuple[int, ...]) -> list[float]:
        return [milli / 1000 for milli in shares]

    def _steps(self, table: Mapping[Any, Any]) -> tuple[int, ...]:
        extra = [str(key) for key in table if key != "step"]
        if extra or "step" not in table:
            key = extra[0] if extra else ""
            hint = "an axis is a list or {step = 0.1}"
            raise refuse(f"unknown key {shown(key)}", hint, shown(key)[1:-1])
        try:
            step = share_milli(table["step"])
        except RefusedError as error:
            raise refuse(error.problems[0].found, error.problems[0].hint, "step") from None
        if step == 0 or 1000 % step:
            divisors = [d for d in range(1, 1001) if 1000 % d == 0]
            near = min(divisors, key=lambda d: (abs(d - step), d))
            text = f"{shown(table['step'])} does not divide 1"
            raise refuse(text, f"the nearest is {near / 1000:g}", "step")
        return tuple(range(0, 1001, step))


def share_milli(value: Any, *, least: int = 0) -> int:
    """A share of ``least`` thousandths to 1 in thousandths, exactly."""
    number = _fraction(value, "a share", "0.5")
    _within(number, Fraction(least, 1000), 1, shown(value))
    if (number * 1000).denominator != 1:
        raise refuse(f"{shown(value)} is finer than a thousandth", "round it to 0.001")
    return int(number * 1000)


@frozen
class Cpus:
    """CPU numbers in the order of the logical cores (None: all this process may use).

    Where they may be ``shared``, ``0-1*32`` is the list 32 times: 64 logical cores on two CPUs.
    """

    shared: bool = False

    def parse(self, value: Any) -> tuple[int, ...] | None:
        if value == "all":
            return None
        times = 1
        if self.shared and isinstance(value, str) and (match := _TIMES.fullmatch(value)):
            value, times = match[1], _COUNT.parse(int(match[2]))
        numbers = each(items(value, "a list of CPU numbers", "0,1 or 0-3"), _CPU.parse)
        counts = set(map(numbers.count, numbers))
        if len(counts) > 1 or (counts != {1} and not self.shared):
            hint = "list each CPU once" + (", or all as often" if self.shared else "")
            raise refuse(f"{shown(value)} names a CPU twice", hint)
        return tuple(numbers * times)


_COUNT = Whole(1, 1024)
_CPU = Whole(0, 65535)
_TIMES = re.compile(r"(.*\d)\s*\*\s*(\d{1,4})\s*")
_PART = r"\s*(\d{1,20}(?:\.\d{1,12})?)\s*"
_RANGE = re.compile(rf"{_PART}(\.\.|-){_PART}(?::{_PART})?")
NAMES = ListOf(Name().parse, "a list of names", "matmul,fft", optional=True, named={"": ()})
#: Core counts M; ``all`` (None): resolved on the machine.
CORES = ListOf(
    _COUNT.parse, "a list of core counts", "1,2,4 or 1..4 or all", ascending, named={"all": None}
)
#: Core counts of machines that need not be there.
CORE_COUNTS = ListOf(_COUNT.parse, "a list of core counts", "4,16 or 2..8", ascending)


def items(value: Any, what: str, example: str, step: float = 1) -> list[Any]:
    """Items of a TOML list or of text with commas; ``1..4``, ``1-4`` and ``0..1:0.1`` are ranges,
    which hold their end when they hit it. ``step``: of a range that names none."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [value]
    if isinstance(value, str):
        value = [part for part in (piece.strip() for piece in value.split(",")) if part]
    if not isinstance(value, (list, tuple)):
        raise refuse(f"{shown(value)} is not {what}", f"write it like {example}")
    found = [item for part in value for item in _expand(part, Fraction(repr(step)))]
    if not 0 < len(found) <= _LIST_LIMIT:
        raise refuse(f"{len(found)} items found", f"1 to {_LIST_LIMIT} items, like {example}")
    return found


def _expand(part: Any, step: Fraction) -> list[Any]:
    match = _RANGE.fullmatch(part) if isinstance(part, str) else None
    low, high = (Fraction(match[1]), Fraction(match[3])) if match else (Fraction(0), Fraction(0))
    whole = low.denominator == high.denominator == 1
    if match is None:
        return [part]
    if match[2] == "-" and not whole:
        hint = f"write it like {match[1]}..{match[3]}:{match[4] or 0.1}"
        raise refuse(f"{shown(part)} is not a range", hint)
    if low > high:
        hint = f"write it like {match[3]}{match[2]}{match[1]}"
        raise refuse(f"{shown(part)} is not an ascending range", hint)
    by = Fraction(match[4] or step)
    if by == 0 or (by == 1 and match[4] is None and not whole):
        raise refuse(f"{shown(part)} names no step", f"write it like {match[1]}..{match[3]}:0.1")
    if (high - low) / by >= _LIST_LIMIT:
        raise refuse(f"{shown(part)} is too long a range", f"at most {_LIST_LIMIT} numbers")
    found = (low + by * count for count in range(int((high - low) / by) + 1))
    return [int(n) if n.denominator == 1 else f"{float(n):.15g}" for n in found]


def each(listed: list[Any], parse: Callable[[Any], Any]) -> list[Any]:
    """Parses all items; every refusal is reported with its index."""
    parsed: list[Any] = []
    problems: list[Problem] = []
    for index, item in enumerate(listed):
        try:
            parsed.append(parse(item))
        except RefusedError as error:
            problems += [Problem(f"[{index}]", p.found, p.hint) for p in error.problems]
    if problems:
        raise RefusedError(*problems)
    return parsed


_SIZE = re.compile(r"([0-9]{1,13})\s*(B|KB|MB|K|M)?", re.IGNORECASE)
_BYTES = {"": 1, "B": 1, "K": 1024, "KB": 1024, "M": 1024**2, "MB": 1024**2}
#: Largest size that is allocated or copied.
SIZE_LIMIT = 2**32


def bytes_of(value: Any) -> int:
    """Bytes of ``64``, ``10K``, ``1M``."""
    match = _SIZE.fullmatch(str(value).strip())
    size = int(match[1]) * _BYTES[(match[2] or "").upper()] if match else 0
    if not 0 < size <= SIZE_LIMIT:
        raise refuse(f"{shown(value)} is not a size", "bytes up to 4G, like 64, 10K or 1M")
    return size


def size_word(size: int) -> str:
    """A size as it is typed: ``10K``."""
    for word, unit in (("M", 1024**2), ("K", 1024)):
        if size % unit == 0:
            return f"{size // unit}{word}"
    return str(size)


#: Sizes of memory in bytes, as they are typed: ``64,10K,1M``.
BYTE_SIZES = ListOf(bytes_of, "a list of sizes", "64,10K,1M", optional=True, plain_one=size_word)
