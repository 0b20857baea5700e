"""What is run of all that is asked for: the cases, where their threads are, and in which order."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from attrs import evolve, frozen

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.rules import size_word
from deadbeat.base.model.specification import built, plain_of
from deadbeat.base.model.words import count_of, shown
from deadbeat.build.pool import (
    ALONE,
    LIBC,
    MEMORY_LIMIT,
    NATIVE,
    PAIRS,
    PLACEMENTS,
    Primitive,
    is_native,
    primitives_of,
)
from deadbeat.latencies.primitives.runtimes import (
    HEAP_TIMES,
    WHOLE,
    does,
    external_name,
    further_collector,
    jvm_words,
    usual,
)
from deadbeat.latencies.primitives.spec import PrimitivesSpec, presets
from deadbeat.latencies.primitives.topology import Cpus, Layout, Topology
from deadbeat.machine.host.environment import require_usable

#: Memory of a thread: two histograms, a stack and what else it has (runtime/src/host/primitive.c).
THREAD_BYTES = 5 * 2**18
#: Samples of a run that are kept one by one: a hundred megabytes of text on their way.
KEPT_LIMIT = 2**24
#: Ways of a line with round trips as samples.
ROUND_TRIPS = ("cas", "readwrite")
#: What arenas need, and more than an array or a buffer can hold.
_ARENAS, _ARRAY_LIMIT = 22, 2**31 - 8
#: Bytes that a run may take and never give back.
_IMMORTAL_LIMIT = 2**32
#: Why a second collector has fewer tests.
_ONE_COLLECTOR = "the first collector of a JDK is enough, unless --tests names it"
#: Priority of an event's handler beside its firer's, unless it is asked for another.
ABOVE = "above"


def resolved(spec: PrimitivesSpec, topology: Topology) -> PrimitivesSpec:
    """With the machine's CPUs and allocators.
    Raises UsageError: it asks for a CPU that is not there, or for nothing that can be run."""
    cpus = spec.cpus or topology.cpus
    grouped = (cpu for pair in spec.groups for side in pair for cpu in side)
    for option, asked in (("--cpus", cpus), ("--groups", grouped)):
        require_usable(asked, topology.cpus, topology.details, option)
    spec = evolve(spec, cpus=cpus, allocators=spec.allocators or (LIBC,))
    runs, refused = cases(spec, topology)
    if not runs and not spec.preset:  # a preset says itself what is not testable here
        why = "; ".join(f"{name}: {reason}" for name, reason in refused.items())
        raise UsageError(f"nothing of this can be run: {why}", "see deadbeat primitives --help")
    return spec


@frozen(order=True)
class PrimitiveCase:
    """What is compared with other such: an operation, and where its threads run. ``size``: bytes;
    0: it has none. ``threads``: or pairs; 0: one a CPU, or one pair. ``handler``: ``above`` or
    ``equal``, its priority beside its firer's. ``pair``: which of several pairs of groups."""

    test: str
    variant: str
    size: int
    placement: str
    runtime: str = NATIVE
    threads: int = 0
    handler: str = ABOVE
    pair: int = 0

    @property
    def place(self) -> str:
        """Its placement as a name: ``both2`` is the third pair of groups."""
        return f"{self.placement}{self.pair or ''}"

    @property
    def primitive(self) -> Primitive:
        return primitives_of(self.runtime)[self.test]

    @property
    def text(self) -> str:
        words = [
            *(self.test, self.variant),
            size_word(self.size) if self.size else "",
            self.place,
            f"x{self.threads}" if self.threads else "",
            self.handler if self.handler != ABOVE else "",
            self.runtime if self.runtime != NATIVE else "",
        ]
        return "-".join(filter(None, words))

    @property
    def copies(self) -> bool:
        """Whether its size is what it copies."""
        return self.test.startswith("copy")

    @property
    def operation(self) -> str:
        """Without where: ``event futex``."""
        return " ".join(filter(None, [self.test, self.variant]))


def where(case: PrimitiveCase, part: str = "") -> str:
    """In words, with the number of its threads where that was asked for; ``part``: which of its
    groups of threads, or of pairs."""
    pairs = case.primitive.group == 2
    place = (PAIRS if pairs else ALONE)[part or case.placement]
    if part and not pairs:
        place += ", both kinds at once"
    many = count_of(case.threads, "pair" if pairs else "thread") if case.threads else ""
    equal = "handler no higher" if case.handler != ABOVE else ""
    back = "there and back" if case.test == "line" and case.variant in ROUND_TRIPS else ""
    pair = f"pair {case.pair + 1}" if case.pair else ""
    return ", ".join(filter(None, [many, place, pair, equal, back]))


@frozen(order=True)
class PrimitiveKey:
    case: PrimitiveCase
    repeat: int

    @property
    def text(self) -> str:
        case = self.case
        words = (case.test, case.variant, case.size, case.place, case.threads, case.handler)
        runtime = case.runtime.replace(":", "-")
        return ".".join(map(str, (*words, runtime, f"{self.repeat:04d}")))

    @classmethod
    def parse(cls, text: str) -> PrimitiveKey:
        parts = text.split(".")
        if len(parts) != 8 or not all(parts[i].isdigit() for i in (2, 4, 7)):
            example = "copy..4096.one.0.above.native.0001"
            raise UsageError(f"{shown(text)} names no run", f"a run is called {example}")
        test, variant, size, placement, threads, handler, runtime, repeat = parts
        word = placement.rstrip("0123456789")
        pair = int(placement.removeprefix(word) or 0)
        where = (word, runtime.replace("-", ":"), int(threads), handler, pair)
        return cls(PrimitiveCase(test, variant, int(size), *where), int(repeat))


def _ways(runtime: str, test: str, spec: PrimitivesSpec) -> tuple[str, ...]:
    name, _, wanted = test.partition(":")
    primitive = primitives_of(runtime).get(name)
    known = (primitive.variants or ("",)) if primitive else ()
    return tuple(w for w in known if wanted in ("", w) and does(runtime, name, w, spec.external))


def _tests(spec: PrimitivesSpec, runtime: str) -> tuple[str, ...]:
    """Tests that are asked for, or all by default; those that allocate for a further collector."""
    if spec.tests or spec.preset:
        return spec.tests
    again = further_collector(runtime, spec.runtimes)
    pool = [each for each in primitives_of(runtime).values() if not each.named]
    found = ([f"{p.name}:{way}" for way in p.collected] if again else [p.name] for p in pool)
    return tuple(sorted(word.removesuffix(":") for word in itertools.chain(*found)))


def allocator_name(word: str) -> str:
    """``jemalloc`` of ``/usr/lib/x86_64-linux-gnu/libjemalloc.a``: a part of a run's name."""
    return word if word == LIBC else re.sub(r"\W", "_", Path(word).stem.removeprefix("lib"))


def _wanted(spec: PrimitivesSpec, topology: Topology) -> Iterator[PrimitiveCase]:
    for runtime, test in ((r, t) for r in spec.runtimes for t in _tests(spec, r)):
        name = test.partition(":")[0]
        if not (ways := _ways(runtime, test, spec)):
            continue
        primitive = primitives_of(runtime)[name]
        names = spec.allocators if runtime == NATIVE and primitive.allocators else ()
        wanted = spec.placements or usual(runtime).placements
        if not wanted:
            wanted = tuple(PAIRS) if primitive.group == 2 else ("one",)
            wanted = ("all",) if primitive.contends else wanted
        if primitive.shares:
            shares = spec.shares or usual(runtime).shares
            sizes = tuple(topology.cache_bytes // share for share in shares)
        else:
            sizes = (spec.sizes or usual(runtime).sizes) if primitive.sizes else (0,)
        for way, size, place, each, threads, handler in itertools.product(
            ways,
            sizes,
            [word for word in primitive.places if word in wanted],
            [f"{NATIVE}:{allocator_name(each)}".removesuffix(f":{LIBC}") for each in names]
            or (runtime,),
            spec.threads if spec.threads and not primitive.placements else (0,),
            spec.handlers if primitive.handles else (ABOVE,),
        ):
            several = (len(spec.groups) or spec.group_pairs) if place == "both" else 1
            for pair in range(several):
                yield PrimitiveCase(name, way, size, place, each, threads, handler, pair)


def layout(spec: PrimitivesSpec, topology: Topology) -> Layout:
    return Layout(
        cpus=spec.cpus or topology.cpus,
        topology=topology,
        groups=spec.groups,
        beside_all="all" in (spec.placements or PLACEMENTS),
    )


def placed(case: PrimitiveCase, spec: PrimitivesSpec, topology: Topology) -> Cpus:
    """The CPU of each thread. Of a pair the handler is second."""
    where, threads = layout(spec, topology), case.threads
    if case.primitive.group == 1:
        return where.alone(case.placement, threads, case.pair)
    pairs = where.pairs(case.placement)
    if case.placement == "each":
        return tuple(itertools.chain(*pairs))
    return tuple(cpu for i in range(threads or 1) for cpu in pairs[i % len(pairs)])


def _waits(case: PrimitiveCase, spec: PrimitivesSpec) -> bool:
    """Whether a thread gives up its CPU to its equals, now and then. A handler above its firer is
    done before the firer could wait for it."""
    if case.primitive.group == 1:
        return case.primitive.waits
    return case.placement != "same" or case.handler != ABOVE or spec.period is not None


def _refusals(case: PrimitiveCase, spec: PrimitivesSpec, topology: Topology) -> Iterator[str]:
    threads, primitive = placed(case, spec, topology), case.primitive
    group = primitive.group
    shared = case.placement != "each" and len(set(threads)) < len(threads)
    crowded = shared and len(set(threads[::group])) < len(threads[::group])
    if primitive.shares and not case.size:
        yield "the machine does not say how large its last-level cache is"
    if case.variant in primitive.spins and spec.policy != "other" and shared:
        fixed = spec.policy.upper()
        yield f"threads that spin under {fixed} on one CPU wait for each other for ever"
    if case.placement == "both" and case.threads % 2:
        yield "half of the threads are of each group: give an even number"
    if spec.policy == "fifo" and crowded and not (spec.samples or _waits(case, spec)):
        first = "thread" if group == 1 else "pair"
        yield f"the first {first} of a CPU has it to the end: give --samples, or --policy rr"
    held = held_bytes(case, len(threads)) * (1 if is_native(case.runtime) else HEAP_TIMES)
    if held > MEMORY_LIMIT:
        yield f"holds {held / 2**30:.1f} GiB at once, more than 4 GiB"
    held += len(threads) * THREAD_BYTES
    if topology.free_bytes is not None and held > topology.free_bytes // 2:
        free = f"{topology.free_bytes / 2**30:.2f} GiB"
        yield f"holds {held / 2**30:.2f} GiB of memory, more than half of the {free} that are free"
    if spec.keep and (spec.samples or 0) * len(threads) > KEPT_LIMIT:
        yield f"more than {KEPT_LIMIT:,} samples would be kept: give fewer --samples"
    if is_native(case.runtime) or external_name(case.runtime):
        why = ""
    else:
        jvm = jvm_words(case.runtime)
        whole, old = jvm.scheduling == WHOLE, 0 < jvm.version < _ARENAS
        heap_fills = case.variant == "heap" and jvm.collector == "Epsilon"
        # the seed's check: iterations x size must fit the memory
        each = (spec.samples or 0) * spec.batch * case.size * (case.variant == "immortal")
        rows = (
            (case.variant == "vt" and old, f"an arena needs Java {_ARENAS}"),
            (heap_fills, "a heap never collected fills before a run ends"),
            (whole and spec.policy == "other", "a whole JVM is real-time under fifo and rr only"),
            (
                whole and spec.priority < 2,
                "its JVM has one priority less: give --priority 2 or more",
            ),
            (case.placement == "both", "all threads of a JVM want one lock"),
            (case.size > _ARRAY_LIMIT, "an array of Java holds less than 2 GiB"),
            (
                each > (_ARRAY_LIMIT if old else _IMMORTAL_LIMIT),
                f"samples x batch x size is {each / 2**30:.1f} GiB a thread that is never freed",
            ),
        )
        why = next((why for holds, why in rows if holds), "")
    if why:
        yield why


def held_bytes(case: PrimitiveCase, threads: int) -> int:
    """What lives at once."""
    if case.primitive.shares:
        return case.size * (threads + 1)
    return case.size * threads * max(case.primitive.amount, 2)


def parts(spec: PrimitivesSpec) -> tuple[PrimitivesSpec, ...]:
    """What a preset is made of; without one the specification is its own part."""
    if not spec.preset:
        return (spec,)
    whole = {**plain_of(spec), "preset": ""}
    return tuple(built(PrimitivesSpec, {**whole, **part}) for part in presets()[spec.preset].parts)


@lru_cache(maxsize=8)
def _judged(
    spec: PrimitivesSpec, topology: Topology
) -> tuple[dict[PrimitiveCase, PrimitivesSpec], dict[str, str]]:
    found: dict[PrimitiveCase, PrimitivesSpec] = {}
    refused: dict[str, str] = {}
    for part in parts(spec):
        where = layout(part, topology)
        for case in dict.fromkeys(_wanted(part, topology)):
            pairs = case.primitive.group == 2
            if why := where.lacking(case.placement, pairs=pairs, pair=case.pair):
                refused[f"{'pairs' if pairs else 'threads'} {case.place}"] = why
            elif why := next(_refusals(case, part, topology), ""):
                refused[case.text] = why
            else:
                found.setdefault(case, part)
    return found, refused


def part_of(spec: PrimitivesSpec, case: PrimitiveCase, topology: Topology) -> PrimitivesSpec:
    """What a case is run with: its part of a preset."""
    return _judged(spec, topology)[0][case]


def cases(spec: PrimitivesSpec, topology: Topology) -> tuple[list[PrimitiveCase], dict[str, str]]:
    found, refused = [*_judged(spec, topology)[0]], {**_judged(spec, topology)[1]}
    for test in spec.tests:
        if not any(_ways(runtime, test, spec) for runtime in spec.runtimes):
            refused[test] = f"not a primitive of {', '.join(spec.runtimes)}"
    for runtime in () if spec.tests or spec.preset else spec.runtimes:
        if further_collector(runtime, spec.runtimes):
            refused[f"what never allocates in {runtime}"] = _ONE_COLLECTOR
    return found, refused


def plan(spec: PrimitivesSpec, topology: Topology) -> list[PrimitiveKey]:
    """Every case once in each repeat, in an order of its own: noise meets all of them alike."""
    keys, wanted = [], cases(spec, topology)[0]
    for repeat in range(1, spec.repeats + 1):
        block = [PrimitiveKey(case, repeat) for case in wanted]
        random.Random(f"primitives {spec.seed} {repeat}").shuffle(block)
        keys += block
    return keys
