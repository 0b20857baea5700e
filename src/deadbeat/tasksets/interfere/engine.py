"""The seam between an interference matrix and what runs its slots: a machine, or a made-up one."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime

from attrs import evolve, frozen

from deadbeat.base.model.errors import DataError
from deadbeat.base.model.platform import Platform, example_platform
from deadbeat.base.model.words import Json
from deadbeat.build.programs import VerbEngine
from deadbeat.tasksets.executors.hardware import HardwareExecutor
from deadbeat.tasksets.executors.simulated import FakeExecutor
from deadbeat.tasksets.interfere.results import ALONE, ASLEEP, InterfereRun, footprint_of
from deadbeat.tasksets.interfere.spec import (
    CACHE,
    CORE,
    MEMORY,
    SIBLING,
    InterfereKey,
    InterfereSpec,
    SetWork,
    VictimCaches,
    machine_of,
    placed,
)
from deadbeat.tasksets.prices.stage import Pricer
from deadbeat.tasksets.prices.works import PriceWork

#: Beyond twice a run: start-up and the guardian's own bound.
_PATIENCE_S = 60.0
_VERSION = 1
_SLOT_NS = 3_000_000


class HardwareChannels(VerbEngine):
    """The runtime's verb ``interfere`` (runtime/src/host/interfere.c) on ``target``."""

    def pricer(self, cpus: tuple[int, ...]) -> Pricer:
        """What measures prices on some of them."""
        return HardwareExecutor(
            target=self._target, cpus=cpus, toolchain=self._toolchain, lock_wait=self._lock_wait
        )

    def run(self, spec: InterfereSpec, key: InterfereKey) -> InterfereRun:
        started = datetime.now(UTC).isoformat()
        works = "".join(f"{work.line}\n" for work in spec.works)
        cpus = spec.cpus or self.cpus()
        beside = placed(spec, key.place, machine_of(self._machine.describe(), cpus[0]))
        options = {
            "--cpus": ",".join(map(str, beside)),
            "--entries": self._machine.put_text("works", works),
            "--seconds-ns": str(round(spec.duration * 1e9)),
            "--seed": str(spec.seed * 9973 + key.repeat),
        }
        timeout = 2 * spec.duration + _PATIENCE_S
        text = self.written("interfere", spec.policy, options, timeout=timeout)
        with self._machine.understood():
            return parsed(text, key, started, spec.works)


def parsed(
    text: str, key: InterfereKey, started: str, asked: Sequence[SetWork] = ()
) -> InterfereRun:
    """What the program wrote. Raises DataError: it is damaged, or of another version."""
    hint = "a defect: the runtime wrote it"
    try:
        plain = json.loads(text)
        if plain["version"] != _VERSION:
            raise DataError("the slots are of another version", hint)
        works = tuple(zip(asked, plain["works"], strict=True))
        return InterfereRun(
            key=key,
            started=started,
            clock_cost_ps=int(plain["clock_cost_ps"]),
            slot_ns=int(plain["slot_ns"]),
            refused={one.text: str(work["error"]) for one, work in works if work["error"]},
            footprints=tuple(footprint_of(one, work["bytes"]) for one, work in works),
            slots=tuple((a, b, c, d, e, f) for a, b, c, d, e, f in plain["slots"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"the slots are damaged: {error!r}", hint) from error


#: Caches of the made-up machine: CPUs 0 and 1 are one core, so are 2 and 3.
_OWN, _SHARED = 512 * 1024, 32 * 1024**2
_TOPOLOGY: Json = {
    str(cpu): {
        "siblings": [cpu & ~1, cpu | 1],
        "caches": [
            {"type": "Unified", "size_bytes": _OWN, "shared_cpus": [cpu & ~1, cpu | 1]},
            {"type": "Unified", "size_bytes": _SHARED, "shared_cpus": [0, 1, 2, 3]},
        ],
    }
    for cpu in range(4)
}


class SimulatedChannels:
    """A made-up machine of two cores with two threads each, with known slowdowns."""

    def cpus(self) -> tuple[int, ...]:
        return (0, 1, 2, 3)

    def describe(self) -> Platform:
        return evolve(example_platform(4), details={"topology": _TOPOLOGY})

    def pricer(self, cpus: tuple[int, ...]) -> Pricer:
        return _MadeUpPrices(platform=evolve(self.describe(), cpus=cpus))

    def run(self, spec: InterfereSpec, key: InterfereKey) -> InterfereRun:
        draw = random.Random(f"interfere {spec.seed} {key.text}")
        beside = placed(spec, key.place, machine_of(self.describe(), (spec.cpus or self.cpus())[0]))
        slots, works = [], range(len(spec.works))
        for victim, aggressor in itertools.product(works, (ALONE, ALONE, ASLEEP, *works)):
            # A byte takes the longer the further away it is.
            work = spec.works[victim]
            ps = {CORE: 20, CACHE: 50, MEMORY: 200}.get(_level(work), 1000)
            use_ns = max(1000, _made_up_footprint(work) * ps // 1000)
            slower = true_slowdown(spec, victim, aggressor, key.place)
            there, uses = 0 if aggressor == ALONE else len(beside) - 1, max(1, _SLOT_NS // use_ns)
            slots += [
                (turn, victim, aggressor, uses, there, round(uses * use_ns * slower * noise))
                for turn in range(20)
                for noise in [draw.gauss(1, 0.03)]
            ]
        return InterfereRun(
            key=key,
            started="",
            clock_cost_ps=25_000,
            slot_ns=_SLOT_NS,
            refused={},
            slots=tuple(slots),
            footprints=tuple(map(_made_up_footprint, spec.works)),
        )


@frozen(kw_only=True)
class _MadeUpPrices(FakeExecutor):
    """Its prices: others slow an object or memory as `true_slowdown` says, however many."""

    platform: Platform

    def describe(self) -> Platform:
        return self.platform

    def true_price_ns(self, work: PriceWork, beside: int) -> float:
        alone = super().true_price_ns(work, 0)
        spec = InterfereSpec(works=(SetWork(work.object, work.size, work.shared),))
        return alone * true_slowdown(spec, 0, 0) if beside and not work.visit else alone


def _made_up_footprint(work: SetWork) -> int:
    streams = work.fragment in ("memory_stream", "pointer_chase")
    return work.size * 1024 if streams else footprint_of(work, 4096)


def _level(work: SetWork) -> str:
    machine = VictimCaches(own_bytes=_OWN, shared_bytes=_SHARED)
    return machine.level(_made_up_footprint(work)) if work.resource == "memory" else ""


def true_slowdown(spec: InterfereSpec, victim: int, aggressor: int, place: str = "others") -> float:
    """On the made-up machine: an object is shared, memory has a bandwidth, the shared cache room
    for one, and a sibling the same core; the kernel has a lock for pipes."""
    if aggressor < 0:
        return 1.0
    one, other = spec.works[victim], spec.works[aggressor]
    if one.locked and other.locked:
        return 2.0
    if one == other and one.shared:
        return 3.0
    if place == SIBLING and _level(one) == CORE:
        return 1.8
    if one.resource == other.resource == "pipe":
        return 1.4
    slowed = {(MEMORY, MEMORY): 1.5, (CACHE, MEMORY): 1.3}
    return slowed.get((_level(one), _level(other)), 1.0)
