"""The seam between an interference matrix and what runs its slots: a machine, or a made-up one."""

from __future__ import annotations

import json
import random
from abc import ABC, abstractmethod
from datetime import UTC, datetime

from deadbeat.executors.hardware import LOCK_WAIT_S, HardwareExecutor
from deadbeat.executors.toolchains import toolchain_of
from deadbeat.kinds.channels.results import ALONE, ASLEEP, InterfereRun
from deadbeat.kinds.channels.spec import InterfereKey, InterfereSpec
from deadbeat.model.errors import DataError, RunError
from deadbeat.model.examples import example_platform
from deadbeat.model.platform import Platform
from deadbeat.settings.tune import with_tuning
from deadbeat.targets.base import Target

#: Beyond twice a run: start-up and the guardian's own bound.
_PATIENCE_S = 60.0
_VERSION = 1
_SLOT_NS = 3_000_000


class ChannelEngine(ABC):
    """Runs the slots of one run."""

    @abstractmethod
    def cpus(self) -> tuple[int, ...]:
        """CPUs that may be used."""

    @abstractmethod
    def describe(self) -> Platform:
        """The machine as it stands now."""

    @abstractmethod
    def run(self, spec: InterfereSpec, key: InterfereKey) -> InterfereRun:
        """One run."""


class HardwareChannels(ChannelEngine):
    """The runtime's verb ``interfere`` (runtime/src/host/interfere.c) on ``target``."""

    def __init__(
        self, target: Target, *, cross: str | None = None, lock_wait: float = LOCK_WAIT_S
    ) -> None:
        self._target = target
        self._executor = HardwareExecutor(
            target=target, toolchain=toolchain_of(target, cross=cross), lock_wait=lock_wait
        )

    def cpus(self) -> tuple[int, ...]:
        return self._executor.cpus

    def describe(self) -> Platform:
        return with_tuning(self._executor.describe(), self._target)

    def run(self, spec: InterfereSpec, key: InterfereKey) -> InterfereRun:
        started = datetime.now(UTC).isoformat()
        out = f"{self._executor.folder}/channels"
        works = "".join(f"{work.line}\n" for work in spec.works)
        options = {
            "--cpus": ",".join(map(str, spec.cpus or self.cpus())),
            "--entries": self._executor.put_text("works", works),
            "--seconds-ns": str(round(spec.seconds * 1e9)),
            "--seed": str(spec.seed * 9973 + key.repeat),
            "--out": out,
        }
        timeout = 2 * spec.seconds + _PATIENCE_S
        for line in self._executor.converse("interfere", spec.policy, options, timeout=timeout):
            if not line.startswith("done "):
                raise RunError(f"unexpected words of the program: {line[:80]}")
        with self._executor.understood():
            return parsed(self._target.read_text(out) or "", key, started)


def parsed(text: str, key: InterfereKey, started: str) -> InterfereRun:
    """What the program wrote.

    Raises:
        DataError: It is damaged, or of another version.
    """
    hint = "a defect: the runtime wrote it"
    try:
        plain = json.loads(text)
        if plain["version"] != _VERSION:
            raise DataError("the slots are of another version", hint)
        works = plain["works"]
        return InterfereRun(
            key=key,
            started=started,
            clock_cost_ps=int(plain["clock_cost_ps"]),
            slot_ns=int(plain["slot_ns"]),
            refused={
                f"{work['name']}:{work['size']}": str(work["error"])
                for work in works
                if work["error"]
            },
            slots=tuple((a, b, c, d, e, f) for a, b, c, d, e, f in plain["slots"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"the slots are damaged: {error!r}", hint) from error


class SimulatedChannels(ChannelEngine):
    """A made-up machine, on which memory slows memory, and an object those who share it."""

    def cpus(self) -> tuple[int, ...]:
        return (0, 1, 2, 3)

    def describe(self) -> Platform:
        return example_platform()

    def run(self, spec: InterfereSpec, key: InterfereKey) -> InterfereRun:
        draw = random.Random(f"interfere {spec.seed} {key.repeat}")
        slots = []
        for turn in range(20):
            for victim in range(len(spec.works)):
                for aggressor in (ALONE, ALONE, ASLEEP, *range(len(spec.works))):
                    took = _SLOT_NS * true_slowdown(spec, victim, aggressor) * draw.gauss(1, 0.03)
                    beside = 0 if aggressor == ALONE else len(spec.cpus or self.cpus()) - 1
                    slots.append((turn, victim, aggressor, 1000, beside, round(took)))
        return InterfereRun(
            key=key,
            started="",
            clock_cost_ps=25_000,
            slot_ns=_SLOT_NS,
            refused={},
            slots=tuple(slots),
        )


def true_slowdown(spec: InterfereSpec, victim: int, aggressor: int) -> float:
    """On the made-up machine."""
    if aggressor < 0:
        return 1.0
    one, other = spec.works[victim], spec.works[aggressor]
    if one == other and one.shared:
        return 3.0
    return 1.5 if "memory" in one.fragment and "memory" in other.fragment else 1.0
