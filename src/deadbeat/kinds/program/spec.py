"""What is asked of a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from deadbeat.model import rules
from deadbeat.model.specification import keyed
from deadbeat.model.words import shown


@frozen
class CommandLine:
    """A program and its arguments."""

    def parse(self, value: Any) -> tuple[str, ...]:
        words = list(value) if isinstance(value, list | tuple) else []
        if not words or not all(isinstance(each, str) and "\0" not in each for each in words):
            raise rules.refuse(
                f"{shown(value)} is no command", "deadbeat run -- ./program ARGUMENT"
            )
        return tuple(words)

    @staticmethod
    def plain(words: Sequence[str]) -> list[str]:
        return list(words)


_TIME = rules.DurationNs(1_000, 3600 * 10**9)


@frozen(kw_only=True)
class ProgramSpec:
    """Which program, for how long, how often, and what its jobs must keep."""

    name: str = keyed(rules.Name(), "--name NAME", "Name of the results.", default="program")
    command: tuple[str, ...] = keyed(CommandLine(), "CMD", "The program and its arguments.")
    duration: float | None = keyed(
        rules.Seconds("0.1", str(30 * 86400)),
        "--duration TIME",
        "Measuring time, 10s or 5min; the program is ended then.  [when it ends by itself]",
        default=None,
    )
    period: int | None = keyed(
        _TIME,
        "--period TIME",
        "Time between releases of every task, 1ms.  [what the program tells]",
        default=None,
    )
    deadline: int | None = keyed(
        _TIME,
        "--deadline TIME",
        "Deadline of every task after its release.  [what the program tells, or the period]",
        default=None,
    )
    repeats: int = keyed(
        rules.Whole(1, 9999), "--repeats N", "Times the program is run.", default=1
    )
