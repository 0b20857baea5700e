"""A background load: what it is made of, and what it really does.

A profile is a file of ``latency/loads`` with a `LoadProfile` called ``LOAD``; nothing else has to
be told of it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Protocol

from attrs import field, frozen

from deadbeat.kinds.latency import loads
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
        kinds: Of stress-ng's workers (``--vm N`` begins N of kind ``vm``): each must work.
        computes: Whether its workers together want at least the percentage of all CPUs' time.
        least: What its workers together must do a second, for each of them, else it is no such
            load: name of a rate of ``throughput`` -> least value per worker. Far below what the
            slowest board does: it tells a load from none.
    """

    name: str
    title: str
    stresses: str
    program: str
    package: str
    commands: Commands
    judged: bool = False
    kinds: tuple[str, ...] = ()
    computes: bool = False
    least: Mapping[str, float] = field(factory=dict)


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

    N is one a CPU at full strength, its share below: see `strengths`.
    """

    def commands(
        percent: int, cpus: tuple[int, ...], seconds: float
    ) -> tuple[tuple[str, ...], ...]:
        count = str(len(cpus) * percent // 100)
        options = (count if word == "N" else word for word in words.split())
        return (("stress-ng", "--taskset", ",".join(map(str, cpus)), *options),)

    return commands


def strengths(profile: LoadProfile, cpus: int) -> tuple[int, ...]:
    """The percentages that a load has on so many CPUs: those that give whole workers.

    Any where it is a share of time; else 25 and 50 % of two CPUs would be the same load.
    """
    return tuple(each for each in range(1, 101) if profile.judged or cpus * each % 100 == 0)


def profiles() -> dict[str, LoadProfile]:
    """Every profile by its name."""
    modules = (
        import_module(f"{loads.__name__}.{module.name}")
        for module in pkgutil.iter_modules(loads.__path__)
    )
    return {module.LOAD.name: module.LOAD for module in modules}
