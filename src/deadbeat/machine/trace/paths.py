"""Where the time of a traced wake-up went, and who took that of a thread."""

from __future__ import annotations

from typing import TypedDict

from attrs import field, frozen

from deadbeat.base.model.histogram import Histogram

PATH_PARTS = ("interrupt", "wake_up", "switch", "exit")


@frozen(kw_only=True)
class WorstTraced:
    """The latest traced wake-up of a CPU; its parts are None where its events are incomplete.

    Attributes:
        due_ns: See `LateWakeUp`.
        cause: What held it up, in words.
    """

    due_ns: int | None = None
    latency_ns: int | None = None
    interrupt: int | None = None
    wake_up: int | None = None
    switch: int | None = None
    exit: int | None = None
    cause: str = ""

    @property
    def parts(self) -> dict[str, int]:
        """The parts that are known."""
        found = {part: getattr(self, part) for part in PATH_PARTS}
        return {part: value for part, value in found.items() if value is not None}

    @property
    def total_ns(self) -> int:
        """Recorded total, else the sum of the parts; 0: no parts."""
        return sum(self.parts.values()) if self.latency_ns is None else self.latency_ns


@frozen(kw_only=True)
class PathSplit:
    """Where the latency of traced wake-ups went on one CPU, from the kernel's events.

    A wake-up's parts sum to its latency: ``interrupt`` (timer's moment to the handler's start),
    ``wake_up`` (to the waking of the thread), ``switch`` (to its first moment on the CPU) and
    ``exit`` (to its own reading of the clock).

    Attributes:
        parts: Name of a part -> its times.
        worst: The latest traced wake-up.
        latency: All traced wake-ups, as their thread saw it: beside the latency of the run itself,
            which is not traced, it shows what tracing costs. None: not recorded.
        left_out: Traced wake-ups with incomplete events, which are in no part.
        lost: Events that the kernel's buffers could not hold, of all CPUs together.
        unavailable: Why there is none; "" where there is.
    """

    cpu: int
    parts: dict[str, Histogram] = field(factory=dict)
    worst: WorstTraced = WorstTraced()
    latency: Histogram | None = None
    left_out: int = 0
    lost: int = 0
    unavailable: str = ""


class Takers(TypedDict, total=False):
    """What ran instead of the real-time thread of a TRACED run.

    Attributes:
        waited_ns: Time it was switched out although ready, by who ran on its CPU meanwhile:
            ``ordinary threads``, or a name with its priority.
        interrupted_ns: Time of interrupts on its CPU while it ran, by name; of one within another
            it counts as that of the inner one alone.
        switches: Times it was switched out although ready.
        lost_events: Events that the buffers could not hold.
        unavailable: Why nothing of this is known.
    """

    waited_ns: dict[str, int]
    interrupted_ns: dict[str, int]
    switches: int
    lost_events: int
    unavailable: str
