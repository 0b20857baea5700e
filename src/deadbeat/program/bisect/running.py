"""The figure of one run of a program."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from deadbeat.base.model.errors import RunError
from deadbeat.base.model.words import shown
from deadbeat.machine.targets.guarded import ended_words
from deadbeat.machine.targets.repeated import Programs
from deadbeat.program.bisect.spec import TRACED, words_of

#: What finds jobs: another kind, loaded by name.
_RUN = "deadbeat.program.run.figured"
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"


def figure(
    programs: Programs, metric: str, command: Sequence[str], folder: Path, most_s: float | None
) -> float:
    """The figure of one run. Raises RunError: it has none."""
    word, _, name = metric.partition(":")
    if word in TRACED:
        words = ("env", "-C", str(folder), *command)
        found: float = import_module(_RUN).figure(words, most_s, word, name)
        return found
    ran = programs.run(command, folder, programs.scratch, most_s)
    if ran.ended and ran.status:
        raise RunError(f"it ended {ended_words(ran.status)}{programs.last_words(programs.scratch)}")
    value = {"cpu": ran.cpu_s, "wall": ran.wall_s}.get(word)
    if value is None:
        value = printed(name, programs.scratch.read_text(errors="replace"))
    if not 0 < value < math.inf:
        raise RunError(f"{words_of(metric)} is {value:g}, which has no logarithm")
    return value


def printed(name: str, text: str) -> float:
    """The last number that follows ``name`` in what a program printed. Raises RunError: none."""
    found = re.findall(rf"(?<![\w]){re.escape(name)}\s*[:=]?\s*({_NUMBER})", text)
    if not found:
        raise RunError(f"it prints no number behind {shown(name)}")
    return float(found[-1])
