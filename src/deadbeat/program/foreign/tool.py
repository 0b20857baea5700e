"""Other programs that read formats of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import IO

from deadbeat.base.model.errors import DataError
from deadbeat.machine.targets.bounded import installed, read_bounded
from deadbeat.program.foreign.gathered import Gathered

#: A line of Babeltrace's log, without where it is from and with what values; of others.
_ERROR = re.compile(r" E \S+ \S+@\S+ (?:\[[^]]*\] )?(.+?)(?:: [\w-]+=.*)?$|(.*\b[Ee]rror\b.*)")
_OPTIONS = re.compile(r" *\((?:re)?run with [^)]*\)")


def read_by(words: Sequence[str], package: str, read: Callable[[IO[bytes]], Gathered]) -> Gathered:
    """What ``read`` finds in what a program of Debian's ``package`` prints.
    Raises DataError: it is not installed, or can read nothing."""
    if not installed(words[0]):
        raise DataError(f"{words[0]} is not installed, which reads it", f"apt install {package}")
    found, status, said = read_bounded(words, read)
    why = _reason(said) or f"status {status}" * bool(status)
    if not found.seen:
        raise DataError(f"{words[0]} finds no event in it{f': {why}' * bool(why)}")
    if status:
        found.notes.append(f"what comes after it was damaged: {words[0]} says {why}")
    return found


def _reason(said: Sequence[str]) -> str:
    """The first line that is an error, else the last; without options of the program."""
    lines = [line.strip() for line in said if line.strip()]
    errors = filter(None, map(_ERROR.search, lines))
    found = next((each[1] or each[2] for each in errors), (lines or [""])[-1])
    return _OPTIONS.sub("", found)[:200]
