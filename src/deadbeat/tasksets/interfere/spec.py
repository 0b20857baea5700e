"""Which work is set beside which, on which CPUs, how long and how often."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from attrs import evolve, frozen

from deadbeat.base.experiment import fields
from deadbeat.base.model import rules
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.platform import CpuPlace, Platform, places_of
from deadbeat.base.model.rules import bytes_of, refuse, size_word
from deadbeat.base.model.specification import keyed
from deadbeat.base.model.words import Json, nearest, shown
from deadbeat.build.pool import MEMORY_LIMIT, Primitive, primitives
from deadbeat.machine.host.environment import require_usable
from deadbeat.tasksets.catalog import load_catalog
from deadbeat.tasksets.model.tasks import Fragment, Kind

#: Levels of a working set: it fits the core's own caches, the one that cores share, or neither.
CORE, CACHE, MEMORY = "core", "cache", "memory"


@frozen(kw_only=True)
class VictimCaches:
    """What its victims may share. ``siblings``: CPUs of the victim's core, itself included; empty:
    unknown. ``own_bytes``: size of the largest cache that the victim's core has for itself;
    ``shared_bytes``: size of the largest that other cores use too; 0: none, or unknown.
    ``virtual``: other guests may use the same caches and memory."""

    siblings: tuple[int, ...] = ()
    own_bytes: int = 0
    shared_bytes: int = 0
    virtual: bool = False

    def level(self, footprint: int) -> str:
        """Where a working set of that many bytes lives; "": the machine does not say."""
        if not (self.own_bytes and self.shared_bytes):
            return ""
        if footprint <= self.own_bytes:
            return CORE
        return CACHE if footprint <= self.shared_bytes else MEMORY


def machine_of(platform: Platform, victim: int) -> VictimCaches:
    place = places_of(platform.details.get("topology")).get(victim, CpuPlace())
    sizes: dict[bool, list[int]] = {True: [0], False: [0]}
    for each in place.caches:
        if each.holds_data and each.cpus and each.size_bytes is not None:
            sizes[{*each.cpus} <= {victim, *place.siblings}].append(each.size_bytes)
    return VictimCaches(
        siblings=place.siblings,
        own_bytes=max(sizes[True]),
        shared_bytes=max(sizes[False]),
        virtual=platform.kind == "hardware" and platform.details.get("virtual") is True,
    )


_WORK = re.compile(
    r"(?P<name>[a-z0-9_]+)(?P<words>(?::\w+)*)(?P<shared>@shared)?(?P<locked>@global)?"
)
#: Most entries that the runtime takes (ENTRIES_MAX in runtime/src/host/interfere.c).
MOST = 64
#: Default size of a primitive that has one: the largest of the seed's.
_SIZE = 10 * 1024
#: Primitives that make no sense in processes of their own, and why.
_REFUSED = {"copy_shared": "every CPU has a process of its own, which share no source: take copy"}


@cache
def _fragments() -> Mapping[str, Fragment]:
    return load_catalog().fragments


@frozen(order=True)
class SetWork:
    """A fragment or primitive (then ``fragment`` is its name, and it may have a ``variant``) of one
    size: a fragment's in its own unit, a primitive's in bytes; 0: it has none. ``shared``: the
    object of a fragment is one for all cores. ``locked``: a use takes the one lock that all such
    works have, first come, first served."""

    fragment: str
    size: int
    shared: bool = False
    variant: str = ""
    locked: bool = False

    @property
    def primitive(self) -> Primitive | None:
        """None: it is a fragment."""
        return primitives().get(self.fragment)

    @property
    def text(self) -> str:
        if self.primitive is None:
            return (
                f"{self.fragment}:{self.size}" + "@shared" * self.shared + "@global" * self.locked
            )
        size = size_word(self.size) if self.size else ""
        return ":".join(filter(None, [self.fragment, self.variant, size]))

    @property
    def line(self) -> str:
        """For the runtime."""
        if (made := self.primitive) is None:
            access = f"{'shared' if self.shared else 'local'}{' global' * self.locked}"
            return f"fragment {self.fragment} {self.size} {access}"
        numbers = f"{self.size} {made.amount} {made.batches:d} {made.equal:d}"
        return f"primitive {self.fragment} {self.variant or '-'} {numbers}"

    @property
    def resource(self) -> str:
        """What it uses beside the CPU: the class of its object; "memory" of computations."""
        if self.primitive is not None:
            return "memory" if self.primitive.touches else self.fragment
        fragment = _fragments()[self.fragment]
        return "memory" if fragment.kind is Kind.NS else fragment.resource_class

    @property
    def priced(self) -> Fragment | None:
        """The fragment of an object that cores share, or of memory; None: it has no price."""
        found = _fragments().get(self.fragment)
        return (
            found
            if found and not self.locked and (self.shared or found.resource_class == "memory")
            else None
        )


def _work(value: Any) -> SetWork:
    """A fragment without a size has the middle one, a primitive without a variant the first."""
    match = _WORK.fullmatch(str(value))
    name = match["name"] if match else str(value).partition(":")[0].partition("@")[0]
    words = match["words"].split(":")[1:] if match else []
    shared, locked = (bool(match and match[word]) for word in ("shared", "locked"))
    if match and name in _fragments():
        fragment_shared = shared or locked
        fragment = _fragments()[name]
        sizes = fragment.sizes
        word = words[0] if words else str(sizes[len(sizes) // 2])
        if len(words) > 1 or not word.isdigit() or int(word) not in sizes:
            listed = ", ".join(map(str, sizes))
            raise refuse(f"{name} has no size {':'.join(words)}", f"one of {listed}")
        if fragment_shared and fragment.kind is Kind.NS:
            raise refuse(f"{name} has no object that cores could share", "drop @shared and @global")
        return evolve(SetWork(name, int(word), fragment_shared), shared=shared, locked=locked)
    if match and name in primitives():
        return _primitive(primitives()[name], words, shared=shared or locked)
    known = [*_fragments(), *primitives()]
    raise refuse(f"no fragment or primitive is called {shown(name)}", nearest(name, known))


def _primitive(primitive: Primitive, words: list[str], *, shared: bool) -> SetWork:
    name, variant, size = primitive.name, "", 0
    for word in () if name in _REFUSED else words:
        if word in primitive.variants and not variant:
            variant = word
        elif primitive.sizes and not size:
            size = bytes_of(word)
        else:
            listed = ", ".join([*primitive.variants, *(["64K"] if primitive.sizes else [])])
            raise refuse(f"{name} has no variant or size {shown(word)}", listed or f"{name}")
    variant = variant or next(iter(primitive.variants), "")
    if shared:
        why = "its objects belong to one process; fragments have objects that cores share"
    elif primitive.group == 2 and "same" not in primitive.places:
        why = "its two threads need two CPUs, and a victim has one"
    elif primitive.group == 2 and variant in primitive.spins:
        why = "its two threads would spin for one another on one CPU"
    else:
        why = _REFUSED.get(primitive.name, "")
    if why:
        raise refuse(f"{name} cannot be a victim or an aggressor: {why}", "leave it out")
    return SetWork(name, size or _SIZE * primitive.sizes, variant=variant)


def _at_once(found: list[SetWork]) -> tuple[SetWork, ...]:
    works = rules.unique(found)
    if len(works) > MOST:
        raise refuse(f"{len(works)} fragments and primitives", f"at most {MOST} at a time")
    return works


#: ``matmul:20,pipe:4@shared,copy:64K,event:futex``.
WORKS = rules.ListOf(
    _work,
    "a list of fragments and primitives",
    "matmul:20,copy:64K",
    _at_once,
    plain_one=lambda work: work.text,
)


def defaults(machine: VictimCaches) -> tuple[SetWork, ...]:
    """Twelve: computation; copies within the core's own cache, within an eighth and half of the
    shared one, and of twice what it holds; chases through memory; what goes through the kernel for
    a core alone; and objects that cores share."""
    own, shared = machine.own_bytes or 512 * 1024, machine.shared_bytes or 32 * 1024**2
    probes = ",".join(
        f"copy:{size_word(size // 1024 * 1024)}"
        for size in (own // 4, shared // 16, shared // 4, shared)
    )
    found: tuple[SetWork, ...] = WORKS.parse(
        f"matmul:20,{probes},pointer_chase:1024,pointer_chase:65536,"
        "pipe:4,semaphore_sysv:4,event:futex,futex:64@shared,pipe:4@shared"
    )
    return found


#: Where aggressors run. others: on every CPU but the victim's core. sibling: on that core. 3: on
#: that many of the others.
OTHERS, SIBLING = "others", "sibling"


def _place(value: Any) -> str:
    if not re.fullmatch(rf"{OTHERS}|{SIBLING}|[1-9][0-9]{{0,3}}", str(value)):
        raise refuse(f"{shown(value)} is no place of aggressors", "others, sibling or a number")
    return str(value)


@frozen(kw_only=True)
class InterfereSpec:
    """What is set beside what."""

    name: str = fields.name("Name of the results.", "interfere")
    works: tuple[SetWork, ...] = keyed(
        WORKS,
        "--works LIST",
        "Fragments and primitives, each a victim and an aggressor:"
        " matmul:20,pipe:4@shared,copy:64K,event:futex.  [12 of all kinds]",
        default=(),
    )
    aggressors: tuple[str, ...] = keyed(
        rules.ListOf(_place, "a list of places", "others,sibling,1", rules.unique),
        "--aggressors LIST",
        "Where aggressors run: others (all CPUs but those of the victim's core), sibling (the"
        " victim's core), or on that many of the others.  [others, and sibling where there is one]",
        default=(),
    )
    cpus: tuple[int, ...] | None = fields.cpus(
        "CPUs to use: the victim's first, then the aggressors'."
    )
    policy: str = fields.policy("fifo", "other")
    duration: float = fields.duration("1", "3600", "Measuring time of a run.", 30.0)
    repeats: int = fields.repeats("Times each combination is measured.", 6, least=2)
    seed: int = keyed(
        rules.Whole(0, 2**62), "--seed N", "Seed of everything that is random.", default=1
    )


#: What --quick changes: a minute.
QUICK: dict[str, Json] = {"name": "interfere-quick", "duration": 10.0, "repeats": 5}


def resolved(
    spec: InterfereSpec,
    allowed: Sequence[int],
    machine: VictimCaches | None = None,
    details: Mapping[str, Json] | None = None,
) -> InterfereSpec:
    """With the machine's CPUs, works that tell its resources apart, and where aggressors may be.

    Raises:
        UsageError: There are not two CPUs, or it asks for one, or for a place, that is not there.
    """
    machine = machine or VictimCaches()
    cpus = spec.cpus or tuple(allowed)
    require_usable(cpus, allowed, details)
    if len(cpus) < 2:
        raise UsageError(
            "interference needs a CPU for the victim and one for the aggressor",
            "give two with --cpus",
        )
    spec = evolve(spec, cpus=cpus, works=spec.works or defaults(machine))
    there = tuple(place for place in (OTHERS, SIBLING) if placed(spec, place, machine))
    spec = evolve(spec, aggressors=spec.aggressors or there)
    for place in spec.aggressors:
        if not placed(spec, place, machine):
            named = ",".join(map(str, cpus))
            words = {SIBLING: "no CPU of its core", OTHERS: "no other core"}
            missing = words.get(place, f"not {place} other cores")
            why = f"--aggressors: {missing} beside CPU {cpus[0]} among CPUs {named}"
            raise UsageError(why, f"use {' or '.join(there)}")
    held = sum(work.size * max(work.primitive.amount, 2) for work in spec.works if work.primitive)
    if held * len(cpus) > MEMORY_LIMIT:
        text = f"--works: primitives would hold {held * len(cpus) / 2**30:.1f} GiB at once"
        raise UsageError(text, "ask for smaller sizes: at most 4 GiB on all CPUs together")
    return spec


def placed(spec: InterfereSpec, place: str, machine: VictimCaches) -> tuple[int, ...]:
    """CPUs of the victim, then of the aggressors; empty: there are none, or too few."""
    victim, *rest = spec.cpus or ()
    beside = [cpu for cpu in rest if (cpu in machine.siblings) == (place == SIBLING)]
    if place not in (OTHERS, SIBLING):
        beside = beside[: int(place)] if int(place) <= len(beside) else []
    return (victim, *beside) if beside else ()


@frozen(order=True)
class InterfereKey:
    """A run: which repeat, and where its aggressors are."""

    repeat: int
    place: str = OTHERS

    @property
    def text(self) -> str:
        return f"{self.repeat:04d}" if self.place == OTHERS else f"{self.place}.{self.repeat:04d}"

    @classmethod
    def parse(cls, text: str) -> InterfereKey:
        place, _, repeat = text.rpartition(".")
        if not (repeat.isascii() and repeat.isdigit()):
            raise UsageError(f"{shown(text)} names no run", "a run is called 0001")
        return cls(int(repeat), place or OTHERS)


def plan(spec: InterfereSpec) -> list[InterfereKey]:
    """Every run; places take turns in random order: a busy hour meets all of them alike."""
    keys = []
    for repeat in range(1, spec.repeats + 1):
        block = [InterfereKey(repeat, place) for place in spec.aggressors or (OTHERS,)]
        random.Random(f"interfere {spec.seed} {repeat}").shuffle(block)
        keys += block
    return keys
