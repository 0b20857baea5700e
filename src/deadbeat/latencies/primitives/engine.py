"""The seam between an experiment and what runs its threads: a machine, or a made-up one."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, frozen

from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.base.model.finding import Finding, finding
from deadbeat.base.model.histogram import Histogram, bucket_of, from_counts
from deadbeat.base.model.platform import Platform, example_platform
from deadbeat.base.model.words import Json, count_of
from deadbeat.build.pool import LIBC, is_native
from deadbeat.build.programs import VerbEngine
from deadbeat.latencies.primitives.cases import (
    ABOVE,
    PrimitiveCase,
    PrimitiveKey,
    allocator_name,
    layout,
    placed,
)
from deadbeat.latencies.primitives.runs import (
    LateSample,
    MemoryFacts,
    PrimitiveRun,
    RuntimeFacts,
    ThreadRun,
    WarmUp,
)
from deadbeat.latencies.primitives.runtimes import external_name, jvm_words
from deadbeat.latencies.primitives.spec import PrimitivesSpec
from deadbeat.latencies.primitives.topology import Topology, topology_of

#: Beyond a run: start-up and the guardian's own bound.
_PATIENCE_S = 40.0
_VERSION = 1
#: All pairs of a matrix, and each of them at least.
_MATRIX_S, _PAIR_S = 5.0, 0.005
_DEFECT = "a defect of the runtime that wrote it"


class HardwarePrimitives(VerbEngine):
    """The runtime's verb ``primitive`` (runtime/src/host/primitive.c) on ``target``."""

    @cached_property
    def topology(self) -> Topology:
        """CPUs that may be used, and what they share."""
        return topology_of(self._machine.describe())

    def run(self, spec: PrimitivesSpec, key: PrimitiveKey) -> PrimitiveRun:
        started = datetime.now(UTC).isoformat()
        timeout = max(spec.duration, 10 * _MATRIX_S) + _PATIENCE_S
        options = options_of(spec, key, self.topology)
        extra = link_words(spec.allocators, allocator_of(key.case))
        text = self.written("primitive", spec.policy, options, timeout=timeout, extra=extra)
        with self._machine.understood():
            return parsed(text, key, started, wanted_of(spec, key.case, self.topology))


def pair_seconds(spec: PrimitivesSpec, topology: Topology) -> float:
    """Time for each pair of a matrix, so that all together take a few seconds at most."""
    pairs = len(layout(spec, topology).pairs("each"))
    return max(min(spec.duration, _MATRIX_S / pairs), _PAIR_S)


def allocator_of(case: PrimitiveCase) -> str:
    return case.runtime.partition(":")[2] or LIBC


def link_words(allocators: Iterable[str], name: str) -> tuple[str, ...]:
    """What a program with the allocator of that name is linked with, before the C library.
    Raises UsageError: there is no such archive."""
    if name == LIBC:
        return ()
    path = next(Path(word) for word in allocators if allocator_name(word) == name)
    if not path.is_file():
        hint = "an allocator is libc, or a static archive by its path: /usr/lib/libjemalloc.a"
        raise UsageError(f"--allocators: there is no file {path}", hint)
    return str(path.resolve()), "-lstdc++"


@frozen
class Wanted:
    cpu: int
    policy: str
    priority: int

    def __str__(self) -> str:
        return f"on CPU {self.cpu} under {self.policy} with priority {self.priority}"


def wanted_of(spec: PrimitivesSpec, case: PrimitiveCase, topology: Topology) -> tuple[Wanted, ...]:
    fixed = spec.policy != "other"
    second = case.primitive.handles and case.handler == ABOVE
    return tuple(
        Wanted(cpu, spec.policy, (spec.priority + (second and i % 2)) * fixed)
        for i, cpu in enumerate(placed(case, spec, topology))
    )


def options_of(spec: PrimitivesSpec, key: PrimitiveKey, topology: Topology) -> dict[str, str]:
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
        "--seconds-ns": str(round(spec.duration * 1e9)),
    }
    if case.placement == "each":
        pairs, seconds = options["--cpus"], pair_seconds(spec, topology)
        options |= {"--pairs": pairs, "--seconds-ns": str(round(seconds * 1e9))}
        options["--cpus"] = ",".join(pairs.split(",")[:2])
    if case.placement == "both":
        options["--amount"] = "2"  # locks
    more = {
        "--variant": case.variant,
        "--size": str(case.size or ""),
        "--work": str(spec.work or ""),
        "--count": str(spec.samples or ""),
    }
    kept = {"--keep": "1"} if spec.keep else {}
    kept |= {"--counter": "1"} if spec.clock == "tsc" else {}
    return options | kept | {name: word for name, word in more.items() if word}


def parsed(
    text: str, key: PrimitiveKey, started: str, wanted: tuple[Wanted, ...] = ()
) -> PrimitiveRun:
    """What the program wrote; its threads must be as ``wanted``, where that is said.
    Raises DataError: it is damaged, or of another version."""
    try:
        plain = json.loads(text)
        if plain["version"] != _VERSION:
            raise DataError("the result is of another version", _DEFECT)
        own = plain.get("allocator", LIBC) == LIBC
        if is_native(key.case.runtime) and own != (allocator_of(key.case) == LIBC):
            hint = "an archive must define all of malloc, and the C library be glibc"
            raise DataError("the program had another allocator", hint)
        # in a pair, one may only answer; a thread that works alone and had no turn is reported
        group = key.case.primitive.group
        each = [*map(_thread, plain["threads"])]
        _check(each, wanted)
        threads = tuple(thread for thread in each if group == 1 or thread.times.total)
        numbers: dict[str, Any] = {name: int(plain[name]) for name in _NUMBERS}
        warm_up = WarmUp(**plain["warm_up"]) if "warm_up" in plain else None
        if "runtime" in plain:
            runtime = plain["runtime"]
            made = {
                "threads": tuple(
                    (str(w), int(p), int(n)) for w, p, n in runtime.get("threads", ())
                ),
                "memory": MemoryFacts(**runtime["memory"]) if "memory" in runtime else None,
            }
            facts = RuntimeFacts(**{**runtime, **made})
        else:
            facts = None
        locked = facts.memory.locked if facts and facts.memory else None
        return PrimitiveRun(
            key=key,
            started=started,
            threads=threads,
            warm_up=warm_up,
            memory_locked=plain.get("memory_locked", locked),
            runtime=facts,
            problems=tuple(_doubts(warm_up, each, group)),
            **numbers,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"the result of a primitive is damaged: {error!r}", _DEFECT) from error


_NUMBERS = ("batch", "clock_cost_ps", "sample_cost_ps", "resolution_ns", "measured_ns")


def _thread(plain: Any) -> ThreadRun:
    made = {
        **{name: from_counts(plain[name]) for name in ("times", "gaps")},
        **{name: tuple(map(_late, plain[name])) for name in ("late_times", "late_gaps")},
        **({"samples": np.array(plain["samples"], np.int64)} if "samples" in plain else {}),
        "after": tuple(plain.get("after", ())),
    }
    return ThreadRun(**{**plain, **made})


def _check(threads: list[ThreadRun], wanted: tuple[Wanted, ...]) -> None:
    if wanted and [each.thread for each in threads] != [*range(len(wanted))]:
        raise DataError(
            f"the result has {count_of(len(threads), 'thread')}, not {len(wanted)}", _DEFECT
        )
    for each, asked in zip(threads, wanted, strict=False):
        if (found := Wanted(each.cpu, each.policy, each.priority)) != asked:
            raise DataError(f"thread {each.thread} was {found}, not {asked}", _DEFECT)
    for each in threads:
        if each.times.total != each.gaps.total:
            raise DataError(f"thread {each.thread} has not a gap for each sample", _DEFECT)
        if not (_sound(each.times) and _sound(each.gaps)):
            raise DataError(f"a histogram of thread {each.thread} contradicts itself", _DEFECT)


def _sound(found: Histogram) -> bool:
    """Whether the least and the greatest lie in the first and the last bucket."""
    ends = [bucket_of(each) for each in (found.min_ns, found.max_ns) if each is not None]
    return ends == [*found.buckets[:1], *found.buckets[-1:]]


def _doubts(warm_up: WarmUp | None, threads: list[ThreadRun], group: int) -> Iterator[Finding]:
    if warm_up and not warm_up.steady:
        text = f"after {warm_up.windows} windows of warming up the medians still differed"
        yield finding("not-steady", text)
    idle = {each.thread // group for each in threads}
    idle -= {each.thread // group for each in threads if each.times.total}
    if idle:
        what = count_of(len(idle), "pair" if group == 2 else "thread")
        text = f"{what} had no sample: others had the CPU to the end, or too little time was left"
        yield finding("no-turn", text)


def _late(row: list[Any]) -> LateSample:
    moment, value, tags = map(int, row[:3])
    cause = str(row[3]) if len(row) > 3 else ""
    return LateSample(moment_ns=moment, value_ns=value, tags=tags, cause=cause)


@frozen
class SimulatedPrimitives:
    """A made-up machine; every run is a function of its key."""

    @property
    def topology(self) -> Topology:
        return topology_of(self.describe())

    def describe(self) -> Platform:
        """Eight CPUs, two and two of which share the last-level cache, as in two Xeon E5405."""
        topology: dict[str, Json] = {
            str(cpu): {
                "siblings": [cpu],
                "caches": [
                    {"level": 2, "type": "Unified", "size_bytes": 6 * 2**20, "shared_cpus": group}
                ],
            }
            for group in ([0, 2], [4, 6], [1, 3], [5, 7])
            for cpu in group
        }
        return evolve(example_platform(len(topology)), details={"topology": topology})

    def probed(self, spec: PrimitivesSpec) -> PrimitivesSpec:
        full = []
        for each in spec.runtimes:
            if external_name(each):
                hint = "leave --set external or --simulated away"
                raise UsageError(f"{each} cannot be made up", hint)
            jvm = jvm_words(each)
            made = evolve(jvm, version=jvm.version or 25, collector=jvm.collector or "G1")
            full.append(each if is_native(each) else made.text)
        return evolve(spec, runtimes=tuple(full))

    def run(self, spec: PrimitivesSpec, key: PrimitiveKey) -> PrimitiveRun:
        draw = random.Random(f"primitive {key.text}")
        middle = draw.gauss(6, 0.3) + np.log1p(key.case.size) / 8
        middle += key.case.placement in ("cache", "far")
        count = min(spec.samples or 500, 10_000)
        times = np.array([int(draw.lognormvariate(middle, 0.2)) for _ in range(count)], np.int64)
        topology, place = self.topology, key.case.placement
        half = len(placed(key.case, spec, topology)) // 2

        def far(thread: int, cpu: int, partner: int | None) -> bool:
            if place == "both":
                return thread >= half
            known = place == "each" and partner is not None
            return known and not topology.same_cache(cpu, partner or 0)

        worst = LateSample(moment_ns=int(times.argmax()) * 1000, value_ns=int(times.max()), tags=1)
        return PrimitiveRun(
            key=key,
            started="",
            batch=1,
            clock_cost_ps=25_000,
            sample_cost_ps=9_000,
            resolution_ns=20,
            measured_ns=round(spec.duration * 1e9),
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
                    times=Histogram.of(times * (3 if far(thread, cpu, partner) else 1)),
                    gaps=Histogram.of(times // 2),
                    late_times=(worst,),
                    partner=partner,
                    after=after,
                    samples=times if spec.keep else None,
                )
                for thread, cpu, partner, after in self._takers(spec, key.case, len(times))
            ),
        )

    def _takers(
        self, spec: PrimitivesSpec, case: PrimitiveCase, samples: int
    ) -> Iterator[tuple[int, int, int | None, tuple[int, ...]]]:
        cpus = placed(case, spec, self.topology)
        pair = case.primitive.group == 2
        for thread, cpu in enumerate(cpus):
            if pair and case.variant != "message" and thread % 2 != (case.placement != "each"):
                continue
            turns = [samples // len(cpus)] * len(cpus)
            turns[0] += samples - sum(turns)
            contends = case.primitive.contends
            yield thread, cpu, cpus[thread ^ 1] if pair else None, tuple(turns) if contends else ()
