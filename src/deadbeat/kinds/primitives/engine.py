"""The seam between an experiment and what runs its threads: a machine, or a made-up one."""

from __future__ import annotations

import json
import random
from abc import ABC, abstractmethod
from datetime import UTC, datetime
from typing import Any

import numpy as np
from attrs import evolve, frozen

from deadbeat.build.allocators import ALLOCATORS, LIBC, archive_of, lacking, link_words
from deadbeat.executors.hardware import LOCK_WAIT_S, HardwareExecutor
from deadbeat.executors.toolchains import toolchain_of
from deadbeat.kinds.primitives.cases import ABOVE, PrimitiveCase, PrimitiveKey, placed
from deadbeat.kinds.primitives.pool import NATIVE, is_native
from deadbeat.kinds.primitives.results import (
    LateSample,
    PrimitiveRun,
    RuntimeFacts,
    ThreadRun,
    WarmUp,
)
from deadbeat.kinds.primitives.runtimes import jvm_words
from deadbeat.kinds.primitives.spec import PrimitivesSpec
from deadbeat.kinds.primitives.topology import Topology, topology_of
from deadbeat.model.errors import DataError, RunError, UsageError
from deadbeat.model.examples import example_platform
from deadbeat.model.finding import Finding
from deadbeat.model.histogram import Histogram, from_counts
from deadbeat.model.platform import Platform
from deadbeat.model.words import count_of
from deadbeat.settings.tune import with_tuning
from deadbeat.targets.base import Target

#: Beyond a run: start-up and the guardian's own bound.
_PATIENCE_S = 40.0
_VERSION = 1


class PrimitiveEngine(ABC):
    """Runs one process of threads that repeat an operation."""

    @abstractmethod
    def topology(self) -> Topology:
        """CPUs that may be used, and what they share."""

    @abstractmethod
    def describe(self) -> Platform:
        """The machine as it stands now."""

    @abstractmethod
    def runtimes(self, wanted: tuple[str, ...]) -> tuple[str, ...]:
        """Each with its version and collector.

        Raises:
            UsageError: One of them is not to be had.
        """

    @abstractmethod
    def allocators(self, wanted: tuple[str, ...]) -> tuple[str, ...]:
        """Those wanted; none: all that are installed.

        Raises:
            UsageError: One of them is not to be had.
        """

    @abstractmethod
    def run(self, spec: PrimitivesSpec, key: PrimitiveKey) -> PrimitiveRun:
        """One run."""


class HardwarePrimitives(PrimitiveEngine):
    """The runtime's verb ``primitive`` (runtime/src/host/primitive.c) on ``target``."""

    def __init__(
        self, target: Target, *, cross: str | None = None, lock_wait: float = LOCK_WAIT_S
    ) -> None:
        self._target = target
        self._topology: Topology | None = None
        self._toolchain = toolchain_of(target, cross=cross)
        self._executor = HardwareExecutor(
            target=target, toolchain=self._toolchain, lock_wait=lock_wait
        )

    def topology(self) -> Topology:
        if self._topology is None:
            self._topology = topology_of(self._executor.describe())
        return self._topology

    def describe(self) -> Platform:
        return with_tuning(self._executor.describe(), self._target)

    def runtimes(self, wanted: tuple[str, ...]) -> tuple[str, ...]:
        for other in (word for word in wanted if word != NATIVE):
            raise UsageError(f"{other} is not to be had here", "leave --runtimes away")
        return wanted

    def allocators(self, wanted: tuple[str, ...]) -> tuple[str, ...]:
        found = (LIBC, *(name for name in ALLOCATORS if archive_of(self._toolchain, name)))
        for name in wanted:
            if name not in found:
                raise UsageError(lacking(name), f"found: {', '.join(found)}")
        return wanted or found

    def run(self, spec: PrimitivesSpec, key: PrimitiveKey) -> PrimitiveRun:
        started = datetime.now(UTC).isoformat()
        out = f"{self._target.folder}/primitive"
        timeout = spec.seconds + _PATIENCE_S
        options = options_of(spec, key, self.topology()) | {"--out": out}
        extra = link_words(self._toolchain, allocator_of(key.case))
        talk = self._executor.converse(
            "primitive", spec.policy, options, timeout=timeout, extra=extra
        )
        for line in talk:
            if not line.startswith("done "):
                raise RunError(f"unexpected words of the program: {line[:80]}")
        with self._executor.understood():
            return parsed(self._target.read_text(out) or "", key, started)


def allocator_of(case: PrimitiveCase) -> str:
    """Of a native program."""
    return case.runtime.partition(":")[2] or LIBC


def options_of(spec: PrimitivesSpec, key: PrimitiveKey, topology: Topology) -> dict[str, str]:
    """What every runtime is told of a run."""
    case, real_time = key.case, spec.policy != "other"
    primitive = case.primitive
    second = spec.priority + (primitive.handles and case.handler == ABOVE)
    options = {
        "--primitive": case.test,
        "--cpus": ",".join(map(str, placed(case, spec, topology))),
        "--amount": str(primitive.amount),
        "--priority": str(spec.priority if real_time else 0),
        "--second-priority": str(second if real_time else 0),
        "--batch": str(spec.batch if primitive.batches else 1),
        "--period-ns": str(spec.period or 0),
        "--seconds-ns": str(round(spec.seconds * 1e9)),
    }
    more = {
        "--variant": case.variant,
        "--size": str(case.size or ""),
        "--work": str(spec.work or ""),
        "--count": str(spec.samples or ""),
    }
    return options | {name: word for name, word in more.items() if word}


def parsed(text: str, key: PrimitiveKey, started: str) -> PrimitiveRun:
    """What the program wrote.

    Raises:
        DataError: It is damaged, or of another version.
    """
    try:
        plain = json.loads(text)
        if plain["version"] != _VERSION:
            raise DataError("the result is of another version", "a defect: the runtime wrote it")
        if is_native(key.case.runtime) and plain.get("allocator", LIBC) != allocator_of(key.case):
            raise DataError("the program had another allocator", "a defect: it was linked wrong")
        # of a pair, one may only answer; a thread that works alone and had no turn is told
        group = key.case.primitive.group
        each = [*map(_thread, plain["threads"])]
        threads = tuple(thread for thread in each if group == 1 or thread.times.total)
        numbers: dict[str, Any] = {name: int(plain[name]) for name in _NUMBERS}
        warm_up = WarmUp(**plain["warm_up"]) if "warm_up" in plain else None
        return PrimitiveRun(
            key=key,
            started=started,
            threads=threads,
            warm_up=warm_up,
            runtime=RuntimeFacts(**plain["runtime"]) if "runtime" in plain else None,
            problems=(*_unsteady(warm_up), *_without_a_turn(each, group)),
            **numbers,
        )
    except (KeyError, TypeError, ValueError) as error:
        hint = "a defect: the runtime wrote it"
        raise DataError(f"the result of a primitive is damaged: {error!r}", hint) from error


_NUMBERS = ("batch", "clock_cost_ps", "sample_cost_ps", "resolution_ns", "measured_ns")


def _thread(plain: Any) -> ThreadRun:
    made = {
        **{name: from_counts(plain[name]) for name in ("times", "gaps")},
        **{name: tuple(map(_late, plain[name])) for name in ("late_times", "late_gaps")},
    }
    return ThreadRun(**{**plain, **made})


def _unsteady(warm_up: WarmUp | None) -> tuple[Finding, ...]:
    if warm_up is None or warm_up.steady:
        return ()
    text = f"after {warm_up.windows} windows of warming up the medians still differed"
    return (Finding(id="not-steady", severity="warning", message=text),)


def _without_a_turn(threads: list[ThreadRun], group: int) -> tuple[Finding, ...]:
    """Threads, or pairs, of which none has a sample."""
    had = {each.thread // group for each in threads if each.times.total}
    idle = sorted({each.thread // group for each in threads} - had)
    if not idle:
        return ()
    what = count_of(len(idle), "pair" if group == 2 else "thread")
    text = f"{what} had no sample: others had the CPU to the end, or too little time was left"
    return (Finding(id="no-turn", severity="warning", message=text),)


def _late(row: list[Any]) -> LateSample:
    moment, value, tags = map(int, row[:3])
    cause = str(row[3]) if len(row) > 3 else ""
    return LateSample(moment_ns=moment, value_ns=value, tags=tags, cause=cause)


def _made_up_jvm(runtime: str) -> str:
    version, collector = jvm_words(runtime)
    return f"jvm:{version or 25}:{collector or 'G1'}"


def _made_up_machine() -> Platform:
    """Eight CPUs, two and two of which share the last-level cache, as those of two Xeon E5405."""
    caches = ((0, 2), (4, 6), (1, 3), (5, 7))
    topology = {
        str(cpu): {
            "siblings": [cpu],
            "caches": [
                {"level": 2, "type": "Unified", "size_bytes": 6 * 2**20, "shared_cpus": [*group]}
            ],
        }
        for group in caches
        for cpu in group
    }
    return evolve(example_platform(len(topology)), details={"topology": topology})


@frozen
class SimulatedPrimitives(PrimitiveEngine):
    """A made-up machine; every run is a function of its key."""

    def topology(self) -> Topology:
        return topology_of(self.describe())

    def describe(self) -> Platform:
        return _made_up_machine()

    def runtimes(self, wanted: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(each if each == NATIVE else _made_up_jvm(each) for each in wanted)

    def allocators(self, wanted: tuple[str, ...]) -> tuple[str, ...]:
        return wanted or (LIBC,)

    def run(self, spec: PrimitivesSpec, key: PrimitiveKey) -> PrimitiveRun:
        draw = random.Random(f"primitive {key.text}")
        middle = (
            draw.gauss(6, 0.3)
            + np.log1p(key.case.size) / 8
            + (key.case.placement in ("cache", "far"))
        )
        times = np.array([int(draw.lognormvariate(middle, 0.2)) for _ in range(500)], np.int64)
        worst = LateSample(moment_ns=int(times.argmax()) * 1000, value_ns=int(times.max()), tags=1)
        pair = key.case.primitive.group == 2
        return PrimitiveRun(
            key=key,
            started="",
            batch=1,
            clock_cost_ps=25_000,
            sample_cost_ps=9_000,
            resolution_ns=20,
            measured_ns=round(spec.seconds * 1e9),
            threads=tuple(
                ThreadRun(
                    thread=thread,
                    cpu=cpu,
                    policy=spec.policy,
                    priority=spec.priority,
                    looked=1,
                    preempted=1,
                    migrated=0,
                    waited=0,
                    watch_ns=4 * int(np.median(times)),
                    times=Histogram.of(times),
                    gaps=Histogram.of(times // 2),
                    late_times=(worst,),
                )
                for thread, cpu in enumerate(placed(key.case, spec, self.topology()))
                if not pair or thread % 2
            ),
        )
