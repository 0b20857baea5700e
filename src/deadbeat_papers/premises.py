"""What a statement needs of results before they are held against it.

A premise is a row of `PREMISES`: what is said to be needed, and how the results tell why they do
not have it. Sides are known by their own facts (`ORDERS`), in whatever order they are named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any, TypeVar

from deadbeat import UNDECIDED, LackingError

_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")
#: Preemption models, the weakest first; what the version of a kernel says of its own.
MODELS = ("none", "voluntary", "lazy", "full", "rt")
OTHER = {"policy other", "POLICY OTHER"}
#: Loads that are none.
IDLE = {"idle", "unknown"}
_SAID = ((re.compile(r"\bPREEMPT_RT\b"), "rt"), (re.compile(r"\bPREEMPT\b"), "full"))
#: Share by which tasks alone may differ from their C, which delay ratios rest on; of a cold
#: calibration tasks may be as much faster as the source saw.
OFF, OFF_COLD = 0.05, 0.10


class OnAMachine:
    """A stored result, by what it says of its machine: it has a name, a platform (plain values) and
    labels."""

    name: str
    platform: Any
    labels: Any

    @property
    def kernel(self) -> str:
        return str(self.platform.get("kernel") or "unknown")

    @property
    def version(self) -> tuple[int, ...] | None:
        """Release of the kernel as numbers; None where it tells none."""
        match = _VERSION.search(self.kernel)
        return tuple(int(part or 0) for part in match.groups()) if match else None

    @property
    def release(self) -> tuple[int, ...] | None:
        """Its first two numbers: 6.12 with and without real-time preemption are one."""
        return self.version and self.version[:2]

    @property
    def preemption(self) -> str:
        found = str(self.platform.get("preemption") or "unknown")
        said = (model for word, model in _SAID if word.search(self.kernel))
        return found if found in MODELS else next(said, found)

    @property
    def strength(self) -> str | None:
        """Sorts by model, then by release; None: the model is not known."""
        rank = MODELS.index(self.preemption) if self.preemption in MODELS else None
        release = ".".join(f"{part:03}" for part in self.release or ())
        return None if rank is None else f"{rank}: {self.preemption}, {release}"

    @property
    def realtime(self) -> bool:
        """Whether the kernel is fully preemptible (PREEMPT_RT)."""
        return self.preemption == "rt"

    @property
    def machine(self) -> tuple[str, ...]:
        """What has to be alike where only kernels or settings are compared."""
        return tuple(str(self.platform.get(key)) for key in ("machine", "soc"))

    @property
    def details(self) -> Any:
        found = self.platform.get("details")
        return found if isinstance(found, Mapping) else {}

    @property
    def hardening(self) -> int | None:
        """Number of hardening options that are on; None: not recorded."""
        found = self.details.get("hardening")
        if not isinstance(found, Mapping):
            return None
        return sum(str(state).startswith("on") for state in found.values())

    def cores_of(self, cpus: Sequence[int]) -> int | None:
        """Physical cores of ``cpus``: siblings are one; None: not recorded."""
        places = self.details.get("topology") or {}
        listed = [places.get(str(cpu), {}).get("siblings") for cpu in cpus]
        known = all(isinstance(each, list | tuple) and each for each in listed)
        return len({tuple(each) for each in listed}) if known and listed else None

    @property
    def ran(self) -> str:
        return f"{self.name} ran on {self.kernel}, preemption {self.preemption}"


M = TypeVar("M", bound=OnAMachine)


def off(result: Any) -> str:
    """How far tasks alone are off their C, where that is too far to read delay ratios."""
    every = [each.solo_cost_ratio_p50 for each in result.summary.sets]
    known = [each for each in every if each is not None]
    by = median(known) - 1 if known else 0.0
    if -(OFF_COLD if "cold costs" in result.labels else OFF) <= by <= OFF:
        return ""
    return f"tasks alone took {100 * abs(by):.0f} % {'more' if by > 0 else 'less'} than their C"


def _calibrated(result: Any, _: str) -> str:
    return (why := off(result)) and f"{result.name}: {why}; calibrate again (--fresh)"


def _remedied(result: Any, _: str) -> str:
    return (lacking := result.lacking_remedies) and f"{result.name} ran without {lacking}"


def _grouped(result: Any, asked: str) -> str:
    return "" if result.groups(asked) else f"{result.name} has no group with M = {asked} C"


#: Of each result: what is needed, with what a row asks behind a colon, and why one lacks it; "": it
#: has it.
PREMISES: Mapping[str, tuple[str, Callable[[Any, str], str]]] = {
    "policy": (
        "needs a real-time policy",
        lambda r, _: f"{r.name} ran under --policy other" * bool(OTHER & {*r.labels}),
    ),
    "loaded": (
        "needs a load",
        lambda r, _: f"{r.name} was measured on the idle machine alone" * ({*r.loads} <= IDLE),
    ),
    "physical": (
        "needs a recorded topology",
        lambda r, _: f"{r.name} does not say which CPUs share a core" * (not r.physical),
    ),
    "remedies": ("needs all remedies", _remedied),
    "groups": ("needs a group with M = {} C", _grouped),
    "counted": (
        "needs a count of {} under contention", lambda r, event: str(r.why_not_counted(event))
    ),
    "calibrated": (UNDECIDED, _calibrated),
}  # fmt: skip
#: Of all together, in their order.
TOGETHER: Mapping[str, tuple[str, Callable[[Sequence[Any], str], bool]]] = {
    "models": (
        "needs results with preemption {}",
        lambda every, asked: ", ".join(each.preemption for each in every) == asked,
    ),
    "alike": (
        "needs results of one {}",
        lambda every, asked: len({getattr(each, asked) for each in every}) == 1,
    ),
}
#: What tells sides apart, ascending; None: not recorded.
ORDERS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "preemption": ("preemption", lambda each: each.strength),
    "hardening": ("hardening options that are on", lambda each: each.hardening),
    "services": ("services", lambda each: None if each.services is None else -each.services),
}


def in_order(order: str, results: Sequence[M]) -> Sequence[M]:
    """``results`` by ``order``; "": as they are. Raises LackingError: they do not differ by it."""
    if not order:
        return results
    what, key = ORDERS[order]
    keys = [key(each) for each in results]
    if None in keys or len({*keys}) < len(keys):
        text = (
            f"{each.name}: {'not recorded' if k is None else k if isinstance(k, str) else abs(k)}"
            for each, k in zip(results, keys, strict=True)
        )
        raise LackingError(f"needs results that differ in {what}", "; ".join(text))
    return sorted(results, key=key)


def require(premises: Sequence[str], results: Sequence[OnAMachine]) -> None:
    """Raises LackingError: the first premise that ``results`` do not meet, and why."""
    for name, _, asked in (premise.partition(":") for premise in premises):
        if name in TOGETHER:
            needs, held = TOGETHER[name]
            if not held(results, asked):
                because = "; ".join(f"{e.ran}, {' '.join(e.machine)}" for e in results)
                raise LackingError(needs.format(asked), because)
            continue
        needs, lacks = PREMISES[name]
        if because := next(filter(None, (lacks(each, asked) for each in results)), ""):
            raise LackingError(needs.format(asked), because)
