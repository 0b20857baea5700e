"""What runs primitives: the native runtime, a JVM with a collector, or a foreign command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from attrs import frozen

from deadbeat.kinds.primitives.pool import NATIVE, is_native
from deadbeat.model import rules
from deadbeat.model.rules import refuse
from deadbeat.model.words import nearest, shown

if TYPE_CHECKING:
    from deadbeat.kinds.primitives.cases import PrimitiveCase
    from deadbeat.kinds.primitives.spec import PrimitivesSpec

#: Collectors of a JVM, and the word behind -XX:+ that asks for each.
COLLECTORS = {
    "Serial": "UseSerialGC",
    "Parallel": "UseParallelGC",
    "G1": "UseG1GC",
    "Z": "UseZGC",
    "Shenandoah": "UseShenandoahGC",
    "Epsilon": "UseEpsilonGC",
}
_JVM = re.compile(r"jvm(?::(?P<version>[0-9]{2,3})(?::(?P<collector>\w{1,40}))?)?")
#: So much of what lives: collectors need room to move it, and for what is dead.
HEAP_TIMES = 4
#: What arenas need, and more than an array can hold.
_ARENAS, _ARRAY_LIMIT = 22, 2**31 - 8


def jvm_words(runtime: str) -> tuple[int, str]:
    """Version and collector of ``jvm:25:G1``; 0 and "" where they are not said, or native."""
    match = _JVM.fullmatch(runtime)
    return (int(match["version"] or 0), match["collector"] or "") if match else (0, "")


@frozen
class Runtimes:
    """What runs the primitives: ``native``, ``jvm``, ``jvm:25``, ``jvm:25:G1``."""

    def parse(self, value: Any) -> tuple[str, ...]:
        listed = rules.items(value, "a list of runtimes", "native,jvm:25:G1")
        return tuple(dict.fromkeys(rules.each(listed, self._one)))

    def _one(self, value: Any) -> str:
        if value != NATIVE and not _JVM.fullmatch(str(value)):
            raise refuse(f"there is no runtime {shown(value)}", "native, jvm, jvm:25 or jvm:25:G1")
        collector = jvm_words(str(value))[1]
        if collector and collector not in COLLECTORS:
            raise refuse(
                f"no JVM has a collector {shown(collector)}", nearest(collector, COLLECTORS)
            )
        return str(value)

    @staticmethod
    def plain(runtimes: tuple[str, ...]) -> list[str]:
        return list(runtimes)


def runtime_refusal(case: PrimitiveCase, spec: PrimitivesSpec) -> str:
    """Why its runtime cannot run it; "": it can."""
    return "" if is_native(case.runtime) else _jvm_refusal(case, spec)


def _jvm_refusal(case: PrimitiveCase, spec: PrimitivesSpec) -> str:
    version, collector = jvm_words(case.runtime)
    if spec.period:
        return "events of a JVM are not paced yet: leave --period out"
    if case.variant == "arena" and 0 < version < _ARENAS:
        return f"arenas need Java {_ARENAS}"
    if case.variant == "heap" and collector == "Epsilon":
        return "a heap that nobody collects is full before a run ends"
    if case.size > _ARRAY_LIMIT:
        return "an array of Java holds less than 2 GiB"
    return ""
