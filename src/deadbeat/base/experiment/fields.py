"""Fields that specifications of several kinds have."""

from __future__ import annotations

from typing import Any

import attrs

from deadbeat.base.model import rules
from deadbeat.base.model.specification import keyed

SEED = keyed(rules.Whole(0, 2**63 - 1), "--seed N", "Seed of everything that is random.", default=1)
BESIDE = keyed(
    rules.CommandLine(optional=True), "CMD", "Program that runs during all runs.", default=()
)


def name(help: str, default: Any = attrs.NOTHING) -> Any:
    """Name of the folder of results."""
    return keyed(rules.Name(), "--name NAME", help, default=default)


def cpus(help: str, *, shared: bool = False) -> Any:
    """CPUs to use; None: all."""
    return keyed(rules.Cpus(shared), "--cpus LIST", f"{help}  [all]", default=None)


def policy(*words: str) -> Any:
    """Scheduling policies of which the first is used unless another is asked for."""
    text = "Scheduling policy; other needs no root."
    return choice(f"--policy {'|'.join(words)}", text)


def priority(help: str, default: int, *, most: int = 99) -> Any:
    return keyed(rules.Whole(1, most), "--priority N", help, default=default)


def duration(low: str, high: str, help: str, default: float | None) -> Any:
    """Measuring time in seconds, in [low, high]."""
    return keyed(rules.Seconds(low, high), "--duration TIME", help, default=default)


def repeats(help: str, default: int, *, least: int = 1, most: int = 9999) -> Any:
    return keyed(rules.Whole(least, most), "--repeats N", help, default=default)


def choice(option: str, help: str, default: str = "") -> Any:
    """One of the words that ``option`` lists: ``--overrun skip|late``; by default the first."""
    words = tuple(option.rpartition(" ")[2].split("|"))
    return keyed(rules.Choice(words), option, help, default=default or words[0])


def flag(option: str, help: str, *, default: bool = False) -> Any:
    """True or false."""
    return keyed(rules.Flag(), option, help, default=default)
