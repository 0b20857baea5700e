"""Gaps between looks at a clock, as other tools found them. No wake-up latency: nothing slept, and
no timer was late.
"""

from __future__ import annotations

from attrs import field, frozen

#: What interfered, in the order of tables.
CAUSES = ("hardware", "NMI", "interrupt", "softirq", "thread")


@frozen(kw_only=True)
class CpuGaps:
    """What one CPU showed in a run; None: the tool does not say.

    Attributes:
        cpu: Which; None: all of them, looked at one after the other.
        looked_ns: How long the clock was looked at.
        longest_ns: The longest gap; of none above the threshold also None.
        at_least: Whether the longest may be longer: it lies beyond a histogram.
        gaps: How many were above the threshold.
        noise_ns: Sum of all of them.
        causes: Cause -> how often it interfered: those of CAUSES that are known.
    """

    cpu: int | None
    looked_ns: int | None = None
    longest_ns: int | None = None
    at_least: bool = False
    gaps: int | None = None
    noise_ns: int | None = None
    causes: dict[str, int] = field(factory=dict)


@frozen(kw_only=True)
class FoundGaps:
    """What a run of such a tool found.

    Attributes:
        hardware: Whether interrupts were off, so that the hardware alone made gaps.
        threshold_ns: Gaps from here up count; None: not known.
    """

    cpus: tuple[CpuGaps, ...]
    hardware: bool = False
    threshold_ns: int | None = None


@frozen(kw_only=True)
class GapRun:
    """Such a run in a file: ``load`` and ``repeat`` as in the name of a stored run, ``notes`` on
    what was assumed and what is left out."""

    file: str
    load: str
    tool: str
    repeat: int
    started: str
    version: str
    gaps: FoundGaps
    notes: tuple[str, ...] = ()
