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
