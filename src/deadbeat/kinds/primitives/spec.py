"""What is timed: which primitives, of which size, by how many threads, and where they run."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

from attrs import evolve, frozen

from deadbeat.build.allocators import ALLOCATORS, LIBC
from deadbeat.kinds.primitives.pool import NATIVE, Primitive, is_native, primitives_of, variants_of
from deadbeat.kinds.primitives.runtimes import HEAP_TIMES, Runtimes, runtime_refusal
from deadbeat.model import rules
from deadbeat.model.errors import UsageError
from deadbeat.model.rules import refuse
from deadbeat.model.specification import keyed
from deadbeat.model.words import nearest, shown

_SIZE = re.compile(r"([0-9]{1,13})\s*(B|KB|MB|K|M)?", re.IGNORECASE)
_UNITS = {"": 1, "B": 1, "K": 1024, "KB": 1024, "M": 1024**2, "MB": 1024**2}
#: A run whose threads hold more memory than this is refused.
MEMORY_LIMIT = 2**32


@frozen
class ByteSizes:
    """Sizes in bytes: ``64,10K,1M``."""

    def parse(self, value: Any) -> tuple[int, ...]:
        return tuple(rules.each(rules.items(value, "a list of sizes", "64,10K,1M"), self._one))

    def _one(self, value: Any) -> int:
        match = _SIZE.fullmatch(str(value).strip())
        size = int(match[1]) * _UNITS[(match[2] or "").upper()] if match else 0
        if not 0 < size <= MEMORY_LIMIT:
            raise refuse(f"{shown(value)} is not a size", "bytes up to 4G, like 64, 10K or 1M")
        return size

    @staticmethod
    def plain(sizes: tuple[int, ...]) -> list[str]:
        return [size_word(size) for size in sizes]


def size_word(size: int) -> str:
    """A size as it is typed: ``10K``."""
    for word, unit in (("M", 1024**2), ("K", 1024)):
        if size % unit == 0:
            return f"{size // unit}{word}"
    return str(size)


@frozen
class PrimitiveTests:
    """Primitives, each with or without one of its variants: ``alloc,event:futex``."""

    def parse(self, value: Any) -> tuple[str, ...]:
        listed = rules.items(value, "a list of primitives", "alloc,event:futex")
        return tuple(dict.fromkeys(rules.each(listed, self._one)))

    def _one(self, value: Any) -> str:
        name, _, variant = str(value).partition(":")
        known = variants_of()
        if name not in known:
            raise refuse(f"there is no primitive {shown(name)}", nearest(name, sorted(known)))
        if variant and variant not in known[name]:
            hint = nearest(variant, known[name])
            raise refuse(f"{name} has no variant {shown(variant)}", hint)
        return str(value)

    @staticmethod
    def plain(tests: tuple[str, ...]) -> list[str]:
        return list(tests)


#: Where threads run. one, all: threads that work alone. same, other: the two of a pair.
PLACEMENTS = ("one", "all", "same", "other")


@frozen
class ThreadPlacements:
    """Some of `PLACEMENTS`."""

    def parse(self, value: Any) -> tuple[str, ...]:
        listed = rules.items(value, "a list of placements", "one,all,same,other")
        return tuple(dict.fromkeys(rules.each(listed, rules.Choice(PLACEMENTS).parse)))

    @staticmethod
    def plain(placements: tuple[str, ...]) -> list[str]:
        return list(placements)


@frozen
class AllocatorNames:
    """The C library's, and those of `ALLOCATORS`."""

    def parse(self, value: Any) -> tuple[str, ...]:
        listed = rules.items(value, "a list of allocators", "libc,jemalloc")
        return tuple(dict.fromkeys(rules.each(listed, rules.Choice((LIBC, *ALLOCATORS)).parse)))

    @staticmethod
    def plain(allocators: tuple[str, ...]) -> list[str]:
        return list(allocators)


@frozen(kw_only=True)
class PrimitivesSpec:
    """What is timed, where, how long and how often."""

    name: str = keyed(rules.Name(), "--name NAME", "Name of the results.", default="primitives")
    tests: tuple[str, ...] = keyed(
        PrimitiveTests(),
        "--tests LIST",
        "Primitives, or one way of doing them: alloc,event:futex.  [all]",
        default=(),
    )
    sizes: tuple[int, ...] = keyed(
        ByteSizes(),
        "--sizes LIST",
        "Sizes of what is allocated or copied: 64,10K,1M.",
        default=(64, 10 * 1024, 1024**2),
    )
    runtimes: tuple[str, ...] = keyed(
        Runtimes(),
        "--runtimes LIST",
        "What runs them: native; jvm, or jvm:VERSION:COLLECTOR with G1, Z, Shenandoah, ...",
        default=(NATIVE,),
    )
    allocators: tuple[str, ...] = keyed(
        AllocatorNames(),
        "--allocators LIST",
        "Allocators of native programs: libc,tuned,jemalloc,tcmalloc,mimalloc,tlsf.  [installed]",
        default=(),
    )
    placements: tuple[str, ...] = keyed(
        ThreadPlacements(),
        "--placements LIST",
        "Where threads run: one CPU or all; pairs on the same CPU or on two (other).",
        default=PLACEMENTS,
    )
    cpus: tuple[int, ...] | None = keyed(
        rules.Cpus(), "--cpus LIST", "CPUs to use: 0-3.  [all]", default=None
    )
    policy: str = keyed(
        rules.Choice(("fifo", "other")),
        "--policy fifo|other",
        "Scheduling policy; other needs no permission and marks every result.",
        default="fifo",
    )
    priority: int = keyed(
        rules.Whole(1, 79),
        "--priority N",
        "Priority of the threads; a handler runs one above its firer.",
        default=30,
    )
    period: int | None = keyed(
        rules.DurationNs(20_000, 10**9),
        "--period TIME",
        "Time between releases of an event, 1ms; it counts from its release.  [back to back]",
        default=None,
    )
    batch: int = keyed(
        rules.Whole(1, 1_000_000),
        "--batch N",
        "Operations between two readings of the clock, for what it cannot resolve.",
        default=1,
    )
    seconds: float = keyed(
        rules.Seconds("0.01", "60"), "--seconds S", "Length of a run.", default=0.2
    )
    repeats: int = keyed(
        rules.Whole(1, 9999), "--repeats N", "Times each is run, as a new process.", default=3
    )
    seed: int = keyed(
        rules.Whole(0, 2**63 - 1), "--seed N", "Seed of everything that is random.", default=1
    )


def resolved(spec: PrimitivesSpec, allowed: Sequence[int]) -> PrimitivesSpec:
    """With the machine's CPUs and the tests in full.

    Raises:
        UsageError: It asks for a CPU that is not there, or for nothing that can be run.
    """
    cpus = spec.cpus or tuple(allowed)
    for cpu in cpus:
        if cpu not in allowed:
            known = ",".join(map(str, allowed))
            raise UsageError(f"--cpus: there is no CPU {cpu} to use", f"use some of {known}")
    all_tests = {name for runtime in spec.runtimes for name in primitives_of(runtime)}
    tests, allocators = spec.tests or tuple(sorted(all_tests)), spec.allocators or (LIBC,)
    spec = evolve(spec, cpus=cpus, tests=tests, allocators=allocators)
    runs, refused = cases(spec)
    if not runs:
        why = "; ".join(f"{name}: {reason}" for name, reason in refused.items())
        raise UsageError(f"nothing of this can be run: {why}", "see deadbeat primitives --help")
    return spec


@frozen(order=True)
class PrimitiveCase:
    """What is compared with other such: an operation, and where its threads run.

    Attributes:
        size: Bytes; 0: it has none.
    """

    test: str
    variant: str
    size: int
    placement: str
    runtime: str = NATIVE

    @property
    def text(self) -> str:
        size = [size_word(self.size)] if self.size else []
        runtime = [self.runtime] if self.runtime != NATIVE else []
        return "-".join(filter(None, [self.test, self.variant, *size, self.placement, *runtime]))

    @property
    def operation(self) -> str:
        """Without where: ``event futex``."""
        return " ".join(filter(None, [self.test, self.variant]))


@frozen(order=True)
class PrimitiveKey:
    """A run: which case, and which repeat."""

    case: PrimitiveCase
    repeat: int

    @property
    def text(self) -> str:
        case = self.case
        runtime = "" if case.runtime == NATIVE else f"{case.runtime.replace(':', '-')}."
        return f"{case.test}.{case.variant}.{case.size}.{case.placement}.{runtime}{self.repeat:04d}"

    @classmethod
    def parse(cls, text: str) -> PrimitiveKey:
        parts = text.split(".")
        runtime = parts.pop(4).replace("-", ":") if len(parts) == 6 else NATIVE
        if len(parts) != 5 or not (parts[2].isdigit() and parts[4].isdigit()):
            raise UsageError(f"{shown(text)} names no run", "a run is called copy..4096.one.0001")
        test, variant, size, placement, repeat = parts
        return cls(PrimitiveCase(test, variant, int(size), placement, runtime), int(repeat))


def _variants(primitive: Primitive, wanted: str) -> tuple[str, ...]:
    return (wanted,) if wanted else primitive.variants or ("",)


def _has(runtime: str, test: str) -> bool:
    name, _, variant = test.partition(":")
    primitive = primitives_of(runtime).get(name)
    return primitive is not None and (not variant or variant in primitive.variants)


def _with_allocators(spec: PrimitivesSpec, primitive: Primitive, runtime: str) -> Iterator[str]:
    if not (runtime == NATIVE and primitive.allocators):
        yield runtime
        return
    for allocator in spec.allocators or (LIBC,):
        yield NATIVE if allocator == LIBC else f"{NATIVE}:{allocator}"


def _wanted(spec: PrimitivesSpec) -> Iterator[PrimitiveCase]:
    pairs = itertools.product(spec.runtimes, spec.tests)
    for runtime, test in (pair for pair in pairs if _has(*pair)):
        name, _, variant = test.partition(":")
        primitive = primitives_of(runtime)[name]
        for way in _variants(primitive, variant):
            for size in spec.sizes if primitive.sizes else (0,):
                for placement in (word for word in primitive.places if word in spec.placements):
                    for each in _with_allocators(spec, primitive, runtime):
                        yield PrimitiveCase(name, way, size, placement, each)


def _refusal(case: PrimitiveCase, spec: PrimitivesSpec) -> str:
    primitive = primitives_of(case.runtime)[case.test]
    cpus = spec.cpus or ()
    spins = case.variant in primitive.spins
    threads = placed(case, cpus) if len(cpus) > 1 or case.placement != "other" else ()
    if not threads:
        return "needs two CPUs"
    if spins and spec.policy == "fifo" and len(set(threads)) < len(threads):
        return "threads that spin under FIFO on one CPU wait for each other for ever"
    if case.placement == "all" and len(cpus) == 1:
        return "the same as one on one CPU"
    held = held_bytes(case, len(threads)) * (1 if is_native(case.runtime) else HEAP_TIMES)
    if held > MEMORY_LIMIT:
        return f"holds {held / 2**30:.1f} GiB at once, more than 4 GiB"
    return runtime_refusal(case, spec)


def held_bytes(case: PrimitiveCase, threads: int) -> int:
    """What lives at once."""
    return case.size * threads * max(primitives_of(case.runtime)[case.test].amount, 2)


def cases(spec: PrimitivesSpec) -> tuple[list[PrimitiveCase], dict[str, str]]:
    """What can be run, and why the rest cannot."""
    wanted = list(dict.fromkeys(_wanted(spec)))
    refused = {case.text: why for case in wanted if (why := _refusal(case, spec))}
    for test in spec.tests:
        if not any(_has(runtime, test) for runtime in spec.runtimes):
            refused[test] = f"not a primitive of {', '.join(spec.runtimes)}"
    return [case for case in wanted if case.text not in refused], refused


def placed(case: PrimitiveCase, cpus: Sequence[int]) -> tuple[int, ...]:
    """The CPU of each thread. Of a pair the handler is second."""
    last = cpus[-1]  # the first CPU has the most interrupts
    words = {"one": (last,), "all": tuple(cpus), "same": (last, last), "other": (cpus[0], last)}
    return words[case.placement]


def plan(spec: PrimitivesSpec) -> list[PrimitiveKey]:
    """Every case once in each repeat, in an order of its own: noise meets all of them alike."""
    keys = []
    for repeat in range(1, spec.repeats + 1):
        block = [PrimitiveKey(case, repeat) for case in cases(spec)[0]]
        random.Random(f"primitives {spec.seed} {repeat}").shuffle(block)
        keys += block
    return keys
