"""What is timed: which primitives, of which size, by how many threads, and where they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from attrs import frozen

from deadbeat.base.experiment import fields
from deadbeat.base.model import rules
from deadbeat.base.model.published import published
from deadbeat.base.model.rules import BYTE_SIZES, Problem, refuse
from deadbeat.base.model.specification import keyed
from deadbeat.base.model.words import Json, nearest, shown
from deadbeat.build.pool import NATIVE, PLACEMENTS, variants_of
from deadbeat.latencies.primitives.runtimes import External, externals, runtime

if TYPE_CHECKING:
    from deadbeat.base.model.conclusion import Conclusion
    from deadbeat.base.report.charts import Chart

S = TypeVar("S")


@frozen(kw_only=True)
class PrimitivesPreset(Generic[S]):
    """Figures that are repeated of a summary ``S``. ``about``: what is varied, and what was chosen
    where the source is silent. ``layer``: keys that options may change. ``parts``: for
    each part of the measurement the keys that make it, as they are written."""

    name: str
    title: str
    about: str
    layer: Mapping[str, Any]
    parts: tuple[Mapping[str, object], ...]
    charts: tuple[Callable[[S], Iterator[Chart]], ...]
    conclusions: tuple[Conclusion[S], ...]


def presets() -> Mapping[str, PrimitivesPreset[Any]]:
    return published("primitives", PrimitivesPreset)


def _test(value: Any) -> str:
    """A primitive with or without one of its variants: ``alloc``, ``event:futex``."""
    name, _, variant = str(value).partition(":")
    known = variants_of()
    if name not in known:
        raise refuse(f"there is no primitive {shown(name)}", nearest(name, sorted(known)))
    if variant and variant not in known[name]:
        hint = nearest(variant, known[name])
        raise refuse(f"{name} has no variant {shown(variant)}", hint)
    return str(value)


def _some(
    one: Callable[[Any], Any], what: str, example: str, *, optional: bool = True
) -> rules.ListOf:
    return rules.ListOf(one, f"a list of {what}", example, rules.unique, optional=optional)


def _numbers(low: int, high: int) -> rules.ListOf:
    return _some(rules.Whole(low, high).parse, "numbers", f"{low},{4 * low}")


def _groups(value: Any) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Pairs of groups; one as a list of two, too."""
    parts = value.split(";") if isinstance(value, str) and value else value or ()
    if isinstance(parts, list | tuple) and len(parts) == 2 and not any(map(_is_pair, parts)):
        parts = [parts]
    if not isinstance(parts, list | tuple):
        raise refuse(f"{shown(value)} is not two groups of CPUs", "like 0,2/1,5")
    return tuple(map(_pair, parts))


def _is_pair(value: Any) -> bool:
    return (
        "/" in value if isinstance(value, str) else isinstance(next(iter(value), 0), list | tuple)
    )


def _pair(value: Any) -> tuple[tuple[int, ...], ...]:
    parts = value.split("/") if isinstance(value, str) else value
    found = tuple(rules.Cpus().parse(part) or () for part in parts)
    if len(found) != 2 or {*found[0]} & {*found[1]} or not all(found):
        raise refuse(f"{shown(value)} is not two groups of CPUs", "like 0,2/1,5")
    return found


def _preset(value: Any) -> str:
    return str(value) if value == "" else rules.Choice(tuple(presets())).parse(value)


#: What ``--quick`` changes: a minute.
QUICK: dict[str, Json] = {"name": "primitives-quick", "duration": 0.1, "repeats": 3}
#: What a preset says.
PRESET_KEYS = (
    *("tests", "sizes", "placements", "threads", "handlers", "shares", "period", "work"),
    *("samples", "batch"),
)


@frozen(kw_only=True)
class PrimitivesSpec:
    """What is timed, where, how long and how often."""

    name: str = fields.name("Name of the results.", "primitives")
    preset: str = keyed(
        rules.ReadBy(_preset),
        "",
        "Figures to repeat; it says what is timed, and where.",
        default="",
    )
    tests: tuple[str, ...] = keyed(
        _some(_test, "primitives", "alloc,event:futex"),
        "--tests LIST",
        "Primitives, or one way of doing them: alloc,event:futex.  [most]",
        default=(),
    )
    sizes: tuple[int, ...] = keyed(
        BYTE_SIZES,
        "--sizes LIST",
        "Sizes of what is allocated or copied.  [64,10K,1M; in a JVM 10K]",
        default=(),
    )
    runtimes: tuple[str, ...] = keyed(
        _some(runtime, "runtimes", "native,jvm:25:G1", optional=False),
        "--runtimes LIST",
        "What runs them: native; jvm, or jvm:VERSION:COLLECTOR, and :whole for all its threads.",
        default=(NATIVE,),
    )
    external: tuple[External, ...] = keyed(
        rules.ReadBy(externals),
        "--external NAME=COMMAND",
        "A command that speaks the format of primitives: the runtime external:NAME.",
        default=(),
    )
    allocators: tuple[str, ...] = keyed(
        _some(str, "allocators", "libc,/usr/lib/libjemalloc.a", optional=False),
        "--allocators LIST",
        "Allocators of native programs: libc, and static archives by their paths.  [libc]",
        default=(),
    )
    placements: tuple[str, ...] = keyed(
        _some(rules.Choice(PLACEMENTS).parse, "placements", "one,all,same,far"),
        "--placements LIST",
        "Where threads run: one, all, apart; pairs: same, sibling, cache, far.  [each]",
        default=(),
    )
    groups: tuple[tuple[tuple[int, ...], ...], ...] = keyed(
        rules.ReadBy(_groups),
        "--groups LIST/LIST",
        "CPUs of cache and of apart, 0,2/1,5 or several with ;.  [by the topology]",
        default=(),
    )
    group_pairs: int = keyed(
        rules.Whole(1, 8), "", "Pairs of groups by the topology, for both at once.", default=1
    )
    threads: tuple[int, ...] = keyed(
        _numbers(1, 128),
        "--threads LIST",
        "Threads, or pairs: 8,16,32.  [one a CPU; one pair]",
        default=(),
    )
    handlers: tuple[str, ...] = keyed(
        _some(rules.Choice(("above", "equal")).parse, "priorities", "above,equal", optional=False),
        "--handlers above|equal",
        "Priority of an event's handler beside its firer's; or both: above,equal.",
        default=("above",),
    )
    shares: tuple[int, ...] = keyed(
        _numbers(1, 65536),
        "--shares LIST",
        "Source of copy_shared: 1/N of the last-level cache.  [1,4,64; in a JVM 4]",
        default=(),
    )
    cpus: tuple[int, ...] | None = fields.cpus("CPUs to use: 0-3.")
    policy: str = fields.policy("fifo", "rr", "other")
    priority: int = fields.priority(
        "Priority of the threads; a handler above its firer has one more.", 30, most=79
    )
    period: int | None = keyed(
        rules.DurationNs(20_000, 10**9),
        "--period TIME",
        "Time between releases of an event.  [back to back]",
        default=None,
    )
    work: int = keyed(
        rules.Whole(0, 10**9), "--work N", "Rounds of an empty loop between two samples.", default=0
    )
    clock: str = fields.choice(
        "--clock system|tsc",
        "Clock of native programs: the system's, or the processor's invariant counter.",
    )
    samples: int | None = keyed(
        rules.Whole(1, 10**12),
        "--samples N",
        "Samples of each thread; a run ends with them or its time.",
        default=None,
    )
    keep: bool = fields.flag("--keep", "Keep every sample in its order, too; needs --samples.")
    batch: int = keyed(
        rules.Whole(1, 1_000_000),
        "--batch N",
        "Operations between two readings of the clock, for what it cannot resolve.",
        default=1,
    )
    duration: float = fields.duration("0.01", "60", "Measuring time of a run, at most.", 0.2)
    repeats: int = fields.repeats("Times each is run, as a new process.", 3)
    seed: int = fields.SEED

    def problems(self) -> Iterator[Problem]:
        if self.keep and self.samples is None and not self.preset:
            yield Problem("keep", "the number of samples of a thread is missing", "give --samples")
