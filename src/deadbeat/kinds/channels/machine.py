"""Which CPUs of a machine share a core, and how much memory its caches hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from deadbeat.model.platform import Platform

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
    topology = platform.details.get("topology")
    own = topology.get(str(victim)) if isinstance(topology, Mapping) else None
    own = own if isinstance(own, Mapping) else {}
    siblings = tuple(own["siblings"]) if _is_list(own.get("siblings")) else ()
    private, shared = 0, 0
    for cache in own["caches"] if _is_list(own.get("caches")) else ():
        size, cpus = cache.get("size_bytes"), cache.get("shared_cpus")
        if cache.get("type") == "Instruction" or not isinstance(size, int) or not _is_list(cpus):
            continue
        if {*cpus} <= {victim, *siblings}:
            private = max(private, size)
        else:
            shared = max(shared, size)
    return VictimCaches(
        siblings=siblings,
        own_bytes=private,
        shared_bytes=shared,
        virtual=platform.details.get("virtual") is True,
    )


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))
