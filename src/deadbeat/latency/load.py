"""A background load: what it is made of, and what it really does.

A profile is a file of ``latency/loads`` with a `LoadProfile` called ``LOAD``; nothing else has to
be told of it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

from attrs import frozen

from deadbeat.latency import loads
from deadbeat.model.latency import LoadPoint
from deadbeat.targets.base import Target

#: Percent, CPUs and seconds -> the commands (argv) that make the load; at 0 % there is none.
Commands = Callable[[int, tuple[int, ...], float], tuple[tuple[str, ...], ...]]


@frozen(kw_only=True)
class LoadProfile:
    """One kind of load.

    Attributes:
        name: As in `LoadPoint`.
        title: A few words.
        stresses: Which part of the kernel it keeps busy, and so what it can show.
        program: What it needs; ``package``: Debian's name of what brings it.
        commands: What is started.
        judged: Whether its share of CPU time is what was asked for, so that it can be missed.
    """

    name: str
    title: str
    stresses: str
    program: str
    package: str
    commands: Commands
    judged: bool = False


class RunningLoad(Protocol):
    """A load that runs, from `Loads.start` to `stop`."""

    def begin(self) -> None:
        """Measuring begins: what it achieves is counted from here."""

    def end(self) -> dict[str, Any]:
        """Measuring ends: LatencyRun.load."""

    def stop(self) -> None:
        """Ends it and all its processes; safe to call again."""


class Loads(Protocol):
    """Starts loads on a target; a made-up one for tests starts nothing."""

    def unavailable(self, target: Target, point: LoadPoint) -> str:
        """Why this load cannot run there, and what to install; "" where it can."""

    def start(self, target: Target, point: LoadPoint, *, seconds: float) -> RunningLoad:
        """Starts it and waits until it has settled. ``seconds``: its own bound.

        Raises:
            TargetError: It cannot be started, or dies at once.
        """


def stress_ng(words: str) -> Commands:
    """One stress-ng on all CPUs: its options, with N for the processes of each kind.

    N is one a CPU at full strength, its share below, at least one.
    """

    def commands(
        percent: int, cpus: tuple[int, ...], seconds: float
    ) -> tuple[tuple[str, ...], ...]:
        count = str(max(1, round(len(cpus) * percent / 100)))
        options = (count if word == "N" else word for word in words.split())
        return (("stress-ng", "--taskset", ",".join(map(str, cpus)), *options),)

    return commands


def profiles() -> dict[str, LoadProfile]:
    """Every profile by its name."""
    modules = (
        import_module(f"{loads.__name__}.{module.name}")
        for module in pkgutil.iter_modules(loads.__path__)
    )
    return {module.LOAD.name: module.LOAD for module in modules}
