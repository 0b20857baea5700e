"""Other programs that read formats of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import IO

from deadbeat.base.model.errors import DataError
from deadbeat.machine.targets.bounded import installed, read_bounded
from deadbeat.program.foreign.gathered import Gathered


def read_by(words: Sequence[str], package: str, read: Callable[[IO[bytes]], Gathered]) -> Gathered:
    """What ``read`` finds in what a program of Debian's ``package`` prints.
    Raises DataError: it is not installed, or can read nothing."""
    if not installed(words[0]):
        raise DataError(f"{words[0]} is not installed, which reads it", f"apt install {package}")
    found, status, why = read_bounded(words, read)
    if not found.seen:
        raise DataError(f"{words[0]} finds no event in it{f': {why}' * bool(why)}")
    if status:
        found.notes.append(f"what comes after it was damaged: {words[0]} says {why}")
    return found
