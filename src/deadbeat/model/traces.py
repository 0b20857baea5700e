"""What the kernel did around the worst jobs of a run, and why jobs were late.

A response splits exactly: wake-up + waiting for its core + waiting for a resource + own execution
+ suspected host stall = finish - release (measurement.md, "Where the time went").
"""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

#: Parts of a response, in the order in which they are drawn.
PARTS = ("wake_up", "core_wait", "resource_wait", "execution", "stall")

#: What a late job can be put down to: a closed list, the most specific first.
CAUSES = (
    "throttled",  #: ready, and the kernel ran something of lower priority, or nothing, instead
    "migrated",  #: moved to another CPU while it was ready or ran
    "core held",  #: ready, and a thread of the same or higher priority, or an interrupt, ran
    "resource held",  #: asleep until another thread released what it waited for
    "wake-up",  #: its timer or its wake-up came late, and nothing else held the core
    "execution",  #: its own code took longer: spinning, cache lines, memory
    "host stall",  #: suspected: pure computation stood still, and no other thread ran
    "unknown",
)


#: Name of the event that stands for those that were left out of a job with too many.
GAP = "gap"


@frozen(kw_only=True)
class TraceEvent:
    """A scheduling event.

    Attributes:
        at_ns: In the times of the job file (after its epoch).
        cpu: Where.
        name: The tracepoint (``sched_switch``, ``sched_waking``, ``irq_handler_entry``, ...).
        thread: Whose context it happened in (comm), ``pid`` its number on the machine.
        fields: What the tracepoint says, as text and whole numbers.
    """

    at_ns: int
    cpu: int
    name: str
    thread: str
    pid: int
    fields: dict[str, int | str] = field(factory=dict)


@frozen(kw_only=True)
class JobTrace:
    """Events around one job, from a little before its release to its finish.

    Attributes:
        job: Index of its record in the job file.
        lost: Events the ring buffer had lost by then.
    """

    job: int
    events: tuple[TraceEvent, ...]
    lost: int = 0


@frozen(kw_only=True)
class RunTrace:
    """The worst jobs of one run.

    Attributes:
        unavailable: Why nothing was traced; "" where it was.
        threads: Thread number on the machine -> task index.
        jobs: The worst first.
    """

    unavailable: str = ""
    threads: dict[int, int] = field(factory=dict)
    jobs: tuple[JobTrace, ...] = ()


@frozen(kw_only=True)
class LateJob:
    """One of the worst jobs of a campaign, and what it is put down to.

    Attributes:
        run: Run text. job: index of its record. task: index.
        response_ns, deadline_ns: Its response time and its relative deadline.
        parts_ns: Part -> ns; sums to ``response_ns``.
        cause: One of CAUSES.
        holder: Who held the core or the resource, as far as it is known; "".
        evidence: One line: what the cause rests on.
        traced: Whether scheduling events were there to look at.
    """

    run: str
    job: int
    task: int
    response_ns: int
    deadline_ns: int
    parts_ns: dict[str, int]
    cause: str
    holder: str = ""
    evidence: str = ""
    traced: bool = False
    details: dict[str, Any] = field(factory=dict)
