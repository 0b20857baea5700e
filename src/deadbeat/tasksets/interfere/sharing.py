"""What a victim shares with other cores, by who slows it: a few rules, each with its evidence.

Works that load one resource each tell resources apart (P. Radojković et al., "On the Evaluation of
the Impact of Shared Resources in Multithreaded COTS Processors in Time-Critical Environments",
ACM Transactions on Architecture and Code Optimization 8(4), 2012). Which one a work loads follows
from how much memory it goes through, which the runtime tells, and what a byte of it takes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import frozen

from deadbeat.tasksets.interfere.results import InterfereSummary, Slowdown
from deadbeat.tasksets.interfere.spec import CACHE, CORE, MEMORY, SIBLING, SetWork, placed

#: A sweep is served by memory when a byte of it takes this share of one from memory, or more.
_FROM_MEMORY = 0.8


@frozen(kw_only=True)
class Shared:
    """A resource that a victim shares, and the cell that shows it best."""

    resource: str
    cell: Slowdown


@frozen(kw_only=True)
class Levels:
    """Where working sets live on this machine, as measured alone: the shared cache served a sweep
    up to ``held`` bytes, memory from ``lost`` on. Between them it is not known."""

    own: int
    held: int
    lost: int

    def of(self, footprint: int) -> str:
        """`CORE`, `CACHE` or `MEMORY`; "": not separable."""
        if footprint <= self.own:
            return CORE
        if footprint <= self.held:
            return CACHE
        return MEMORY if self.lost and footprint >= self.lost else ""


def levels(found: InterfereSummary) -> Levels:
    """By the copies: each goes through all of its memory, over and over."""
    machine, per_byte = found.machine, {}
    for cell in found.cells:
        primitive = cell.victim.primitive
        if primitive is not None and primitive.touches:
            footprint = found.footprints.get(cell.victim, 0)
            per_byte[footprint] = cell.alone_ns / footprint if footprint else 0.0
    beyond = [size for size in per_byte if machine.level(size) == MEMORY]
    within = sorted(size for size in per_byte if machine.level(size) == CACHE)
    if not beyond:
        return Levels(own=machine.own_bytes, held=0, lost=0)
    memory = per_byte[max(beyond)]
    fast = [size for size in within if per_byte[size] < _FROM_MEMORY * memory]
    held = max(fast, default=0)
    slow = [size for size in (*within, *beyond) if size > held]
    return Levels(own=machine.own_bytes, held=held, lost=min(slow))


@frozen(kw_only=True)
class VictimEvidence:
    """A victim, who slows it, and where the memory of both lives."""

    found: InterfereSummary
    levels: Levels
    victim: SetWork
    place: str

    @property
    def slowed(self) -> list[Slowdown]:
        return [cell for cell in self.found.by(self.victim, self.place) if cell.shows]

    def level(self, work: SetWork) -> str:
        return self.levels.of(self.found.footprints.get(work, 0)) if self.found.footprints else ""

    def beside(self, which: Callable[[SetWork], bool]) -> Slowdown | None:
        """The worst cell with such an aggressor."""
        return next((c for c in self.slowed if c.aggressor and which(c.aggressor)), None)

    def memory(self, work: SetWork, *wanted: str) -> bool:
        """Whether it computes or copies, and its memory lives there."""
        return work.resource == "memory" and self.level(work) in wanted

    def fit_together(self, aggressor: SetWork) -> bool:
        """Whether the shared cache holds the memory of the victim and of all aggressors."""
        beside = len(placed(self.found.spec, self.place, self.found.machine)) - 1
        sizes = self.found.footprints
        return sizes[self.victim] + beside * sizes[aggressor] <= self.levels.held

    def calls(self, work: SetWork) -> bool:
        """Whether it goes through the kernel, or an object of its own."""
        return work.resource != "memory" and not (
            (work == self.victim and work.shared) or work.locked
        )


def _bandwidth(by: VictimEvidence) -> Slowdown | None:
    return by.beside(lambda a: by.memory(a, MEMORY)) if by.memory(by.victim, MEMORY) else None


def _cache_room(by: VictimEvidence) -> Slowdown | None:
    if not by.memory(by.victim, CACHE) or _cache_bandwidth(by):
        return None
    return by.beside(lambda a: by.memory(a, CACHE, MEMORY) and not by.fit_together(a))


def _cache_bandwidth(by: VictimEvidence) -> Slowdown | None:
    if not by.memory(by.victim, CACHE):
        return None
    return by.beside(lambda a: by.memory(a, CACHE) and by.fit_together(a))


def _not_separable(by: VictimEvidence) -> Slowdown | None:
    """What one of the two goes through may lie in the shared cache, or may not."""
    if by.memory(by.victim, CORE):
        return None
    if _bandwidth(by) or _cache_room(by) or _cache_bandwidth(by):
        return None
    return by.beside(lambda a: by.memory(a, CACHE, MEMORY, ""))


def _core(by: VictimEvidence) -> Slowdown | None:
    return by.beside(lambda a: by.memory(a, CORE))


def _inclusion(by: VictimEvidence) -> Slowdown | None:
    if not by.memory(by.victim, CORE) or _core(by):
        return None
    return by.beside(lambda a: by.memory(a, CACHE, MEMORY, ""))


@frozen(kw_only=True)
class SharingRule:
    """When a resource is said to be shared; ``place``: where its aggressors must be: ``sibling``,
    or other cores (""). None: anywhere."""

    resource: str
    when: str
    shown: Callable[[VictimEvidence], Slowdown | None]
    place: str | None = None


#: In the order in which they are listed.
RULES = (
    SharingRule(
        resource="its own object",
        when="slowed beside itself, where both use one object (@shared)",
        shown=lambda by: by.beside(lambda a: a == by.victim and a.shared and not a.locked),
    ),
    SharingRule(
        resource="the one lock",
        when="slowed by one that takes the same lock for every use (@global)",
        shown=lambda by: by.beside(lambda a: a.locked and by.victim.locked),
    ),
    SharingRule(
        resource="memory bandwidth",
        when="its memory does not fit the shared cache, and it is slowed by one that does not fit"
        " either",
        shown=_bandwidth,
    ),
    SharingRule(
        resource="room in the shared cache",
        when="its memory fits the shared cache; it is slowed by one that does not fit beside it,"
        " and by none that does",
        shown=_cache_room,
    ),
    SharingRule(
        resource="bandwidth of the shared cache",
        when="its memory and that of one that slows it fit the shared cache together",
        shown=_cache_bandwidth,
    ),
    SharingRule(
        resource="shared cache or memory bandwidth, not separable here",
        when="slowed by one that goes through memory, where it was not found out whether the shared"
        " cache holds the memory of both",
        shown=_not_separable,
    ),
    SharingRule(
        resource="the core's own cache and units",
        when="slowed by one on the sibling that computes in the core's own cache, or goes through"
        " the kernel",
        shown=lambda by: by.beside(lambda a: by.memory(a, CORE) or by.calls(a)),
        place=SIBLING,
    ),
    SharingRule(
        resource="the core's own cache",
        when="its memory fits the core's own cache; it is slowed by one on the sibling with memory"
        " that does not, and by none with memory that does",
        shown=_inclusion,
        place=SIBLING,
    ),
    SharingRule(
        resource="clock or power of the chip",
        when="slowed by a computation on another core with memory that fits that core's own cache",
        shown=_core,
        place="",
    ),
    SharingRule(
        resource="its core's own cache, which the shared one empties",
        when="its memory fits its core's own cache; it is slowed by one on another core with"
        " memory that does not fit that core's, and by none with memory that does",
        shown=_inclusion,
        place="",
    ),
    SharingRule(
        resource="a lock of the kernel, or its data, of this class",
        when="slowed by one of its class on another core with another object",
        shown=lambda by: by.beside(lambda a: by.calls(a) and a.resource == by.victim.resource),
        place="",
    ),
    SharingRule(
        resource="the kernel",
        when="slowed by one of another class on another core that goes through the kernel",
        shown=lambda by: by.beside(lambda a: by.calls(a) and a.resource != by.victim.resource),
        place="",
    ),
)


NOTHING = "nothing that these aggressors use"


def nothing(found: InterfereSummary, victim: SetWork, place: str = "") -> str:
    left = sum(cell.undecided for cell in found.by(victim, place))
    return f"not known: {left} undecided" if left else NOTHING


def shared(found: InterfereSummary, victim: SetWork, place: str = "") -> Iterator[Shared]:
    """What ``victim`` shares with aggressors at a place (the first), each with its evidence."""
    place = place or next(iter(found.places), "")
    by = VictimEvidence(found=found, levels=levels(found), victim=victim, place=place)
    for rule in RULES:
        elsewhere = rule.place is not None and (rule.place == SIBLING) != (place == SIBLING)
        cell = None if elsewhere else rule.shown(by)
        if cell is not None:
            yield Shared(resource=rule.resource, cell=cell)


def shares(found: InterfereSummary, victim: SetWork, place: str = "") -> str:
    names = [each.resource for each in shared(found, victim, place)]
    return ", ".join(names) or nothing(found, victim, place)
