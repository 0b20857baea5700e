"""A background load: what it is made of, and what it really does.

A profile is a file of ``latency/loads`` with a `LoadProfile` called ``LOAD``; nothing else has to
be told of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from attrs import frozen

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
