"""How values, words and lengths of time are named for people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:  # a JSON value
    Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
else:  # cattrs and typing.get_type_hints do not resolve a recursive alias
    Json = Any


def inside(value: object, *keys: str) -> Mapping[str, Json]:
    """The table below ``keys`` of nested ones; empty where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


#: Where figures come from that carry a label (`Platform.kind`). ``virtual-time``: a processor that
#: takes a ns for an instruction, and no time for anything else; ``emulated``: one as fast as the
#: host happens to be; ``parallel-time``: several of virtual time that are all busy, in short turns.
LAB = ("virtual-time", "parallel-time", "emulated")
#: ``extrapolated``: replayed from the prices of another machine.
LABELLED = (*LAB, "simulated", "extrapolated")

#: Instead of a figure that is not known.
UNDECIDED = "undecided"

_SHOWN = 60


def shown(value: Any) -> str:
    """A value as it is quoted in a message: one short line."""
    return shortened(f'"{value}"' if isinstance(value, str) else repr(value))


def shortened(text: str, most: int = _SHOWN) -> str:
    """One short line of ``text``."""
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= most else text[: most - 3] + "..."


#: Control characters but tab and ends of line, what turns the direction of text, halves of pairs.
_UNSEEN = re.compile(
    "[\\0-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)


def escape(text: str) -> str:
    """Text for a page, also within quotes; control characters are replaced."""
    import html  # noqa: PLC0415  costs --help two milliseconds

    return html.escape(_UNSEEN.sub("\N{REPLACEMENT CHARACTER}", text))


#: A list of up to _FEW words is shown whole; of a longer one _SOME.
_FEW, _SOME = 12, 5


def near(word: str, known: Sequence[str]) -> str:
    """``did you mean X?``; "" when nothing is near."""
    from difflib import get_close_matches  # noqa: PLC0415  as much

    close = get_close_matches(word, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]}?" if close else ""


def nearest(word: str, known: Iterable[str]) -> str:
    """Say what is `near`, or what exists: from a long list the words that resemble it most."""
    words = list(known)
    if close := near(word.lower()[:_SHOWN], words):
        return close
    if len(words) <= _FEW:
        return "one of " + ", ".join(words)
    from difflib import get_close_matches  # noqa: PLC0415  as much

    some = get_close_matches(word.lower()[:_SHOWN], words, n=_SOME, cutoff=0) or words[:_SOME]
    return f"{len(words)} exist, the nearest: {', '.join(some)}"


def beside_label(command: object) -> tuple[str, ...]:
    """What a result says of the program that ran beside it; nothing without one."""
    words = command if isinstance(command, list | tuple) else ()
    return (f"beside {shortened(' '.join(map(str, words)))}",) if words else ()


def loud(labels: Iterable[str]) -> tuple[str, ...]:
    """Labels as they stand on figures: where something ran is in capitals unless a real machine."""
    return tuple(each.upper() if each in LABELLED else each for each in labels)


def origin(labels: Iterable[str]) -> str:
    """Where figures with these labels are from: ``simulated``, ``extrapolated`` or ``measured``."""
    own = {label.lower() for label in labels}
    return next((each for each in ("simulated", "extrapolated") if each in own), "measured")


def duration(seconds: float) -> str:
    """``2 min 5 s``, ``3 h 10 min``; whole seconds."""
    whole = max(0, round(seconds))
    minutes, rest = divmod(whole, 60)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def size(count: float) -> str:
    """Bytes in decimal units: ``8.4 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def count_of(number: int, what: str) -> str:
    """``1 run``, ``12 runs``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def time_text(value_ns: float | None) -> str:
    """Nanoseconds with three digits: 1234567 -> ``1.23 ms``."""
    if value_ns is None:
        return "–"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        # What three digits round up to the next unit belongs to it: 999.6 ns is 1 µs.
        if abs(value_ns) >= 0.9995 * size:
            shown = value_ns / size
            return f"{shown:,.0f} {unit}" if shown >= 999.5 else f"{shown:.3g} {unit}"
    return f"{value_ns:.0f} ns"


def _ns_unit(value: float) -> tuple[float, str]:
    return (1e6, "ms") if value >= 1e6 else (1.0, "ns")


def _three_digits(value: float) -> str:
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 100 else f"{value:.3g}"


def ns_text(value: float) -> str:
    """``9 ns``, ``41.2 ns``, ``4,510 ns``, ``1.31 ms``."""
    size, unit = _ns_unit(value)
    return f"{_three_digits(value / size)} {unit}"


def ns_range(low: float | None, high: float | None) -> str | None:
    """``40 to 1,200``, or with its unit, ``1.2 to 3.4 ms``; None where an end is not known."""
    if low is None or high is None:
        return None
    size, unit = _ns_unit(high)
    return f"{_three_digits(low / size)} to {_three_digits(high / size)}" + f" {unit}" * (
        unit != "ns"
    )


def us_text(value_ns: float | None) -> str:
    """Microseconds with one decimal, for columns of a table: ``2,465.3``."""
    return "–" if value_ns is None else f"{value_ns / 1e3:,.1f}"


def seconds_text(seconds: float) -> str:
    """``12 s``, ``5 min``, ``6 h``, ``2.5 days``."""
    for unit, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
