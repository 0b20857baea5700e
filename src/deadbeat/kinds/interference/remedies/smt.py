"""The sibling of the real-time thread's core left idle."""

from __future__ import annotations

from collections.abc import Sequence

from deadbeat.host.values import parse_cpu_list
from deadbeat.kinds.interference.remedy import Impossible, Remedy, RemedyChange, Situation

_SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def _reads(cpus: Sequence[int]) -> tuple[str, ...]:
    return tuple(_SIBLINGS.format(cpu) for cpu in cpus)


def _plan(situation: Situation) -> RemedyChange | Impossible:
    path = _SIBLINGS.format(situation.home)
    text = situation.text(path)
    if not text:
        return Impossible(f"which CPUs share a core is unknown: {path}: {situation.why(path)}")
    siblings = [cpu for cpu in parse_cpu_list(text) if cpu != situation.home]
    if not siblings:
        return Impossible(f"CPU {situation.home} shares its core with no other: there is no SMT")
    kept = tuple(cpu for cpu in situation.cpus if cpu not in siblings)
    if len(kept) < 2:
        return Impossible("without the sibling no CPU is left to the ordinary threads")
    names = ", ".join(map(str, siblings))
    return RemedyChange(
        pin=situation.home,
        normal_cpus=kept,
        words=f"the real-time thread is bound to CPU {situation.home}, and the ordinary threads"
        f" keep off its sibling, CPU {names}",
    )


REMEDY = Remedy(
    name="smt",
    title="sibling of its core left idle (with pin)",
    claim="the core's units are not shared; idle does what offline does, and can be undone exactly",
    source="Raju and Govindarajulu 2016, section 5.3 (sibling offline)",
    order=2,
    reads=_reads,
    plan=_plan,
)
