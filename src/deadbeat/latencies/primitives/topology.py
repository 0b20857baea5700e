"""Which CPUs share what, as the machine describes itself, and where threads are put by that."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Container, Iterable, Mapping, Sequence

from attrs import field, frozen

from deadbeat.base.model.platform import Platform, places_of
from deadbeat.base.model.words import Json, inside

Cpus = tuple[int, ...]


@frozen(kw_only=True)
class Topology:
    """What cases depend on: CPUs that may be used, those of each core, and those that share each
    last-level cache (empty: unknown). ``cache_bytes``: size of the smallest such cache; 0: unknown.
    ``free_bytes``: memory that programs may take; None: unknown. ``details``: what the platform
    says of other CPUs."""

    cpus: Cpus
    cores: tuple[Cpus, ...] = ()
    caches: tuple[Cpus, ...] = ()
    cache_bytes: int = 0
    free_bytes: int | None = None
    details: Mapping[str, Json] = field(factory=dict, eq=False)

    def same_core(self, one: int, two: int) -> bool:
        return two in _group(self.cores, one)

    def same_cache(self, one: int, two: int) -> bool:
        return two in _group(self.caches, one)

    def relation(self, one: int, two: int) -> str:
        """Relation of two CPUs, as a placement of pairs; "": not known."""
        if self.same_core(one, two):
            return "sibling"
        if not self.caches:
            return ""
        return "cache" if self.same_cache(one, two) else "far"


def topology_of(platform: Platform) -> Topology:
    places = places_of(platform.details.get("topology")).values()
    held = [[c for c in place.caches if c.holds_data and c.level is not None] for place in places]
    last = [max(each, key=lambda cache: cache.level or 0) for each in held if each]
    free_kb = inside(platform.details, "memory").get("available_kb")
    sizes = [cache.size_bytes for cache in last if cache.size_bytes is not None]
    return Topology(
        cpus=platform.cpus,
        cores=_groups(place.siblings for place in places),
        caches=_groups(cache.cpus for cache in last),
        cache_bytes=min(sizes, default=0),
        free_bytes=free_kb * 1024 if isinstance(free_kb, int) else None,
        details=platform.details,
    )


def _groups(listed: Iterable[Cpus]) -> tuple[Cpus, ...]:
    return tuple(dict.fromkeys(tuple(sorted(cpus)) for cpus in listed if cpus))


def _group(groups: Sequence[Cpus], cpu: int) -> Cpus:
    return next((group for group in groups if cpu in group), (cpu,))


#: Pairs of a matrix: all of 64 CPUs (DB_MAX_PAIRS, runtime/src/host/runtime.h).
PAIRS_MOST = 64 * 63 // 2
#: For these a machine must say what its CPUs share.
_BY_CACHE = ("cache", "apart", "both", "far")


@frozen(kw_only=True)
class Layout:
    """CPUs to use on a machine; the last is the chosen one: the first has the most interrupts.
    ``groups``: pairs of CPUs of ``cache`` and of ``apart``, where the caller knows better; or none.
    ``beside_all``: whether threads run on all CPUs as well: where ``cache`` is the same, it is not
    run twice."""

    cpus: Cpus
    topology: Topology
    groups: tuple[tuple[Cpus, ...], ...] = ()
    beside_all: bool = True

    def lacking(self, word: str, *, pairs: bool, pair: int = 0) -> str:
        """Why there is no such place; "": there is. ``pair``: of several pairs of groups."""
        given = self.groups and not pairs
        if word in _BY_CACHE and not (self.topology.caches or given):
            return "the machine does not say which CPUs share a cache"
        if word == "sibling" and not self.topology.cores:
            return "the machine does not say which CPUs share a core"
        named = ",".join(map(str, self.cpus))
        if pairs:
            why = {
                "sibling": f"no two of CPUs {named} are of one core",
                "cache": f"no two cores of CPUs {named} share a last-level cache",
                "far": f"no two of CPUs {named} are without a shared cache",
                "each": "needs two CPUs",
            }
            return "" if self.pairs(word) else why[word]
        if pair >= len(self._choices) and not given:
            return f"CPUs {named} have no more than {len(self._choices)} pairs of groups"
        return "" if given else self._lacking_alone(word, named)

    def _lacking_alone(self, word: str, named: str) -> str:
        cache, apart = self._choices[0]
        if word == "all" and len(self.cpus) == 1:
            return "the same as one on one CPU"
        if word == "cache" and len(cache) < 2:
            return f"no other of CPUs {named} shares the last-level cache of CPU {self.cpus[-1]}"
        if word == "cache" and self.beside_all and {*cache} == {*self.cpus}:
            return f"the same as all: CPUs {named} share one last-level cache"
        if word in ("apart", "both") and len(apart) < 2:
            return f"no two of CPUs {named} are without a shared cache"
        if word == "both" and len({*cache} - {*apart}) < 2:
            return f"CPUs {named} are too few for two groups"
        return ""

    def alone(self, word: str, threads: int = 0, pair: int = 0) -> Cpus:
        """The CPU of each of ``threads``, round robin; 0: one a CPU, and of ``cache`` as many as of
        ``apart``, where there are both. Of ``both`` the first half is ``cache``'s."""
        cache, apart = (self.groups or self._choices)[pair]
        if word == "both":
            cache = tuple(cpu for cpu in cache if cpu not in apart)
            half = threads // 2 or min(len(cache), len(apart))
            return (*_round_robin(cache, half), *_round_robin(apart, half))
        cpus = {"one": self.cpus[-1:], "all": self.cpus, "cache": cache, "apart": apart}[word]
        compared = word in ("cache", "apart") and cache and apart
        each = min(len(cache), len(apart)) if compared else len(cpus)
        return _round_robin(cpus, threads or each)

    def pairs(self, word: str) -> tuple[tuple[int, int], ...]:
        """CPUs of a firer and its handler; first come those with no CPU in common."""
        if word == "same":
            return tuple((cpu, cpu) for cpu in reversed(self.cpus))
        if word != "each":
            return _matched(self, word)
        every = [*itertools.combinations(self.cpus, 2)]
        if len(every) > PAIRS_MOST:  # some, the same ones every time
            every = sorted(random.Random("pairs").sample(every, PAIRS_MOST))
        return tuple(every)

    @property
    def _choices(self) -> tuple[tuple[Cpus, ...], ...]:
        """CPUs that share the last-level cache of the chosen one, one of each core first; and one
        CPU of each other such cache. Where there is but one other, also the chosen cache's last.
        Others with the last CPU of each other cache, and with the other caches as chosen."""
        caches, cores, found = self.topology.caches, self.topology.cores, []
        homes = dict.fromkeys(_group(caches, cpu) for cpu in reversed(self.cpus))
        for home, way in itertools.product(homes, (1, -1)):
            mine = [cpu for cpu in reversed(self.cpus) if cpu in home]
            first = _one_of_each(mine, cores)
            cache = (*first, *(cpu for cpu in mine if cpu not in first))
            apart = _one_of_each([cpu for cpu in self.cpus[::way] if cpu not in home], caches)
            found.append((cache, (*apart, cache[-1]) if len(apart) == 1 else apart))
        fit = (each for each in found[1:] if len(each[1]) > 1 and len({*each[0]} - {*each[1]}) > 1)
        return tuple(dict.fromkeys((found[0], *fit)))


def _one_of_each(cpus: Sequence[int], groups: Sequence[Cpus]) -> Cpus:
    found: dict[Cpus, int] = {}
    for cpu in cpus:
        found.setdefault(_group(groups, cpu), cpu)
    return tuple(found.values())


def _round_robin(cpus: Cpus, threads: int) -> Cpus:
    return tuple(cpus[i % len(cpus)] for i in range(threads))


@functools.cache
def _matched(layout: Layout, word: str) -> tuple[tuple[int, int], ...]:
    """A partner for each CPU that has one: the nearest of those before it, then of the last."""
    cpus, found = layout.cpus, {}
    # the number of each CPU's group; below 0: not a CPU
    core, cache = (
        {cpu: -1 - number for number, group in enumerate(groups) for cpu in group}
        for groups in (layout.topology.cores, layout.topology.caches)
    )

    def fits(one: int, two: int) -> bool:
        same_core = core.get(one, one) == core.get(two, two)
        same_cache = cache.get(one, one) == cache.get(two, two)
        return same_core if word == "sibling" else not same_core and same_cache == (word == "cache")

    def partner(at: int, used: Container[int]) -> int | None:
        others = itertools.chain(reversed(cpus[:at]), reversed(cpus[at + 1 :]))
        return next((o for o in others if o not in used and fits(cpus[at], o)), None)

    used: set[int] = set()
    for free in (used, ()):
        for at, cpu in enumerate(cpus):
            if cpu in found or cpu in free or (other := partner(at, free)) is None:
                continue
            found[cpu] = other
            used |= {cpu, other}
    return tuple(found.items())
