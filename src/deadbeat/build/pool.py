"""The primitives there are, natively and in a JVM: the file of each describes itself."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from attrs import evolve, frozen

from deadbeat.build.jvm import jvm_sources
from deadbeat.build.native import primitive_sources

_FRONT = re.compile(r"/\*\+\+\+\n(.*?)\n\s*\+\+\+\*/", re.DOTALL)

#: Where threads run that work alone, and the two of a pair.
ALONE = {
    "one": "one CPU",
    "all": "all CPUs",
    "cache": "CPUs of one cache",
    "apart": "CPUs that share no cache",
    "both": "both of these at once",
}
PAIRS = {
    "same": "one CPU",
    "sibling": "one core",
    "cache": "one cache",
    "far": "no shared cache",
    "each": "every two CPUs",
}
PLACEMENTS = tuple(dict.fromkeys((*ALONE, *PAIRS)))
#: A run with threads that hold more memory than this is refused.
MEMORY_LIMIT = 2**32
#: The runtime that is always there.
NATIVE = "native"
#: The C library's own allocator.
LIBC = "libc"


@frozen(kw_only=True)
class Primitive:
    """An operation that is timed.

    Attributes:
        sizes: Whether it has a size, in bytes. ``shares``: it is a share of the last-level cache.
        variants: Ways of doing it; none: one way.
        group: Threads that only work together: 2 for a firer and its handler.
        spins: Variants that wait without giving up the CPU ("": the primitive, which has none).
        collected: Variants that leave objects for a collector ("": the primitive, which has none).
        placements: Where its threads may be; none: wherever such a group may.
        equal: Whether the second of a pair is no handler of events: both have one priority.
        waits: Whether every operation gives up the CPU for a while.
        contends: Whether all threads want one thing, so that one may get more of it than another.
        batches: Whether a sample may be many operations.
        amount: A second number of its own, as its file says; 0: it has none.
        named: Timed only where it is asked for by name.
        touches: How much memory it reads and writes, in multiples of its size; 0: hardly any.
    """

    name: str
    summary: str
    sizes: bool = False
    shares: bool = False
    variants: tuple[str, ...] = ()
    group: int = 1
    spins: tuple[str, ...] = ()
    collected: tuple[str, ...] = ()
    placements: tuple[str, ...] = ()
    equal: bool = False
    waits: bool = False
    contends: bool = False
    batches: bool = False
    amount: int = 0
    touches: int = 0
    allocators: bool = False
    named: bool = False

    @property
    def places(self) -> tuple[str, ...]:
        """Where its threads may be, of `PLACEMENTS`."""
        if self.group == 2:
            return self.placements or tuple(word for word in PAIRS if word != "each")
        return self.placements or tuple(word for word in ALONE if self.contends or word != "both")

    @property
    def handles(self) -> bool:
        """Whether the second of a pair handles events of the first."""
        return self.group == 2 and not self.equal


@cache
def primitives() -> Mapping[str, Primitive]:
    """All of them, by name."""
    return _described(primitive_sources())


@cache
def _jvm_primitives() -> Mapping[str, Primitive]:
    return _described(jvm_sources())


def is_native(runtime: str) -> bool:
    """``native``, or ``native:jemalloc``: with another allocator than the C library's."""
    return runtime.partition(":")[0] == NATIVE


def primitives_of(runtime: str) -> Mapping[str, Primitive]:
    """Primitives that ``native`` has, or ``jvm:25:G1``; ``external:NAME`` may have any."""
    if runtime.startswith("external:"):
        return _any_primitives()
    return primitives() if is_native(runtime) else _jvm_primitives()


@cache
def _any_primitives() -> Mapping[str, Primitive]:
    """With the variants of all."""
    found = dict(primitives())
    for name, each in _jvm_primitives().items():
        other = found.get(name, each)
        found[name] = evolve(
            each,
            variants=tuple(dict.fromkeys([*each.variants, *other.variants])),
            spins=tuple(dict.fromkeys([*each.spins, *other.spins])),
        )
    return found


@cache
def variants_of() -> Mapping[str, tuple[str, ...]]:
    """The ways of doing each primitive that any runtime has."""
    found: dict[str, tuple[str, ...]] = {}
    for pool in (primitives(), _jvm_primitives()):
        for name, each in pool.items():
            found[name] = (*found.get(name, ()), *each.variants)
    return found


def _described(paths: Iterable[Path]) -> Mapping[str, Primitive]:
    found = {}
    for path in paths:
        front = _FRONT.match(path.read_text(encoding="utf-8"))
        assert front, f"{path.name} does not describe itself"
        table = tomllib.loads(re.sub(r"(?m)^ \* ?", "", front[1]))
        listed = {key: tuple(v) for key, v in table.items() if isinstance(v, list)}
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", path.stem).lower()
        found[name] = Primitive(name=name, **(table | listed))
    return found
