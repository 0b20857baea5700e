"""How values and words that were not understood are named in messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

_SHOWN = 60


def shown(value: Any) -> str:
    """A value as it is quoted in a message: one short line."""
    return shortened(f'"{value}"' if isinstance(value, str) else repr(value))


def shortened(text: str) -> str:
    """One short line of ``text``."""
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def nearest(word: str, known: Iterable[str]) -> str:
    """``did you mean X?``, or the list of what exists when nothing is near."""
    words = list(known)
    close = get_close_matches(word.lower()[:_SHOWN], words, n=1, cutoff=0.5)
    return f"did you mean {close[0]}?" if close else "one of " + ", ".join(words)


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


def count_of(number: int, what: str) -> str:
    """``1 run``, ``12 runs``."""
    return f"{number} {what}{'' if number == 1 else 's'}"
