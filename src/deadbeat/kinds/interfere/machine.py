"""Which CPUs of a machine share a core, and how much memory its caches hold."""

from __future__ import annotations

from attrs import frozen

from deadbeat.model.platform import CpuPlace, Platform, places_of

#: Levels of a working set: it fits the core's own caches, the one that cores share, or neither.
CORE, CACHE, MEMORY = "core", "cache", "memory"


@frozen(kw_only=True)
class VictimCaches:
    """What its victims may share.

    Attributes:
        siblings: CPUs of the victim's core, itself included; empty: unknown.
        own_bytes: Of the largest cache that the victim's core has for itself. ``shared_bytes``: of
            the largest that other cores use too. 0: there is none, or it is unknown.
        virtual: Other guests may use the same caches and memory.
    """

    siblings: tuple[int, ...] = ()
    own_bytes: int = 0
    shared_bytes: int = 0
    virtual: bool = False

    def level(self, footprint: int) -> str:
        """Where a working set of so many bytes lives; "": the machine does not say."""
        if not (self.own_bytes and self.shared_bytes):
            return ""
        if footprint <= self.own_bytes:
            return CORE
        return CACHE if footprint <= self.shared_bytes else MEMORY


def machine_of(platform: Platform, victim: int) -> VictimCaches:
    """As `host.environment` recorded it."""
    place = places_of(platform.details.get("topology")).get(victim, CpuPlace())
    sizes: dict[bool, list[int]] = {True: [0], False: [0]}
    for cache in place.caches:
        if cache.holds_data and cache.cpus and cache.size_bytes is not None:
            sizes[{*cache.cpus} <= {victim, *place.siblings}].append(cache.size_bytes)
    return VictimCaches(
        siblings=place.siblings,
        own_bytes=max(sizes[True]),
        shared_bytes=max(sizes[False]),
        virtual=platform.details.get("virtual") is True,
    )
