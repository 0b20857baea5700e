"""What the kernel did around the worst jobs of a run.

A response splits exactly: wake-up + waiting for its core + waiting for a resource + own execution
+ suspected host stall = finish - release (measurement.md, "Where the time went").
"""

from __future__ import annotations

from attrs import field, frozen

#: Perf events by the number that a counter row carries.
COUNTER_EVENTS = (
    *("context_switches", "cpu_migrations", "page_faults", "minor_faults", "major_faults"),
    *("task_clock", "cycles", "instructions", "cache_references", "cache_misses"),
    *("branches", "branch_misses"),
)

#: Parts of a response, in the order in which they are drawn.
PARTS = ("wake_up", "core_wait", "resource_wait", "execution", "stall")

#: Name of the event that stands for those that were left out of a job with too many.
GAP = "gap"


@frozen(kw_only=True)
class TraceEvent:
    """A scheduling event.

    Attributes:
        at_ns: In the times of the job file (after its epoch).
        name: The tracepoint (``sched_switch``, ``sched_waking``, ``irq_handler_entry``, ...).
        thread: Name (comm) of the thread that ran; ``pid``: its number on the machine.
        fields: What the tracepoint says, as text and whole numbers.
        interrupt: Whether it was an interrupt handler on top of that thread.
    """

    at_ns: int
    cpu: int
    name: str
    thread: str
    pid: int
    fields: dict[str, int | str] = field(factory=dict)
    interrupt: bool = False


@frozen(kw_only=True)
class ThreadShare:
    """What one other thread had to do with the waiting of a job.

    Attributes:
        pid, name: From the trace; no name: no thread was seen.
        before_ns: It had the task's CPU between the release and the wake-up.
        ready_ns: It had the CPU for which the job's thread was ready.
        instead_ns: Part of these, as a fair or the idle thread that a real-time thread goes before.
        sleeps, slept_ns: Sleeps after the start of the job that it ended.
        longest_ns, longest_to_ns: The longest of them, and its end.
    """

    pid: int
    name: str
    before_ns: int = 0
    ready_ns: int = 0
    instead_ns: int = 0
    sleeps: int = 0
    slept_ns: int = 0
    longest_ns: int = 0
    longest_to_ns: int = 0


@frozen(kw_only=True)
class CpuMove:
    """A thread was sent to another CPU."""

    at_ns: int
    from_cpu: int
    to_cpu: int


@frozen(kw_only=True)
class JobTotals:
    """A job between release and finish, summed over all of its events.

    Attributes:
        seen: Whether its thread was seen to get a CPU at all.
        woken_ns: The first wake-up at or after the release; None: not seen.
        ran_ns, ready_ns, asleep_ns: What its thread did.
        unknown_ns: Events of this time are missing; the four sum to the response.
        roused_ns: Part of ``ready_ns`` after sleeps within the job and while its CPU was idle;
            the kernel's accounts count it as ready only if that CPU itself ended the sleep.
        moves: How often its thread was sent to another CPU; ``move`` is the first time.
        interrupts_ns: Time in interrupt and softirq handlers while the thread ran, by kind; of
            one within another it counts as that of the inner one alone.
    """

    seen: bool
    woken_ns: int | None
    ran_ns: int
    ready_ns: int
    asleep_ns: int
    unknown_ns: int
    roused_ns: int = 0
    moves: int = 0
    move: CpuMove | None = None
    interrupts_ns: dict[str, int] = field(factory=dict)
    threads: tuple[ThreadShare, ...] = ()


@frozen(kw_only=True)
class JobTrace:
    """Events around one job, from a little before its release to its finish.

    Attributes:
        job: Index of its record in the job file.
        events: For a reader; a GAP stands where some were left out.
        lost: Events of its run that the kernel's buffers could not hold.
        left_out: Events of the job that are in ``totals`` and not in ``events``.
        totals: None in a file of an earlier version.
    """

    job: int
    events: tuple[TraceEvent, ...]
    lost: int = 0
    left_out: int = 0
    totals: JobTotals | None = None


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
class Activity:
    """Something went on.

    Attributes:
        row: Index of the row it is on.
        kind: What it was: stretches of a kind look the same.
        begin_ns, end_ns: Since the release; equal: an instant.
    """

    row: int
    kind: str
    begin_ns: int
    end_ns: int
    text: str = ""


@frozen(kw_only=True)
class WorstMoment:
    """The worst one, from its release; or a schedule.

    Attributes:
        what: Which one it is, and how bad.
        rows: CPUs, threads or causes, from the top.
        marks: Name -> ns since the release; a mark far beyond the finish is a note, not drawn.
        unit: What all times count in, where it is not ns.
        since: What they count from; "": 0.
        thin: Kinds that are lines, below others.
        looks: Kind -> its look, where that is not by order.
    """

    what: str
    rows: tuple[str, ...]
    stretches: tuple[Activity, ...]
    marks: dict[str, int]
    source: str
    unit: str = ""
    since: str = "the release"
    thin: tuple[str, ...] = ()
    looks: dict[str, int] = field(factory=dict)
