"""Jobs as columns: the numpy twin of ``runtime/include/deadbeat/records.h``, versions 1 to 3."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

NEVER = np.iinfo(np.int64).min

HEADER_DTYPE = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("header_bytes", "<u4"),
        ("task_bytes", "<u4"),
        ("slot_bytes", "<u4"),
        ("probe_bytes", "<u4"),
        ("record_bytes", "<u4"),
        ("task_count", "<u4"),
        ("slot_count", "<u4"),
        ("probe_count", "<u4"),
        ("flags", "<u4"),
        ("job_count", "<u8"),
        ("epoch_ns", "<i8"),
        ("epoch_realtime_ns", "<i8"),
        ("clock_cost_ps", "<i8"),
        ("measured_ns", "<u8"),
        ("setup_ns", "<u8"),
        ("set_id", "S64"),
        # the whole run, from the start of its processes; before version 3 the time it waited
        ("wall_ns", "<i8"),
        # of version 2; zero in version 1
        ("detail_bytes", "<u4"),
        ("counter_bytes", "<u4"),
        ("detail_count", "<u8"),
        ("counter_count", "<u4"),
        # of version 3; zero before
        ("period_ppm", "<u4"),
        ("seed", "<u8"),
        ("reserved", "V56"),
    ]
)
TASK_DTYPE = np.dtype(
    [
        ("task", "<u2"),
        ("core", "<u2"),
        ("cpu", "<i4"),
        ("policy", "<i4"),
        ("priority", "<i4"),
        ("wcet_ns", "<u8"),
        ("period_ns", "<u8"),
        ("deadline_ns", "<u8"),
        ("offset_ns", "<u8"),
        ("first_job", "<u8"),
        ("job_count", "<u8"),
    ]
)
SLOT_DTYPE = np.dtype(
    [
        ("slot", "<u2"),
        ("kind", "<u2"),
        ("task", "<u2"),
        ("round", "<u2"),
        ("begin_ns", "<i8"),
        ("start_ns", "<i8"),
        ("end_ns", "<i8"),
    ]
)
#: Before version 3 a run was cut into windows, and some that met a slow host were repeated.
WINDOW_DTYPE = np.dtype(
    [
        ("window", "<u2"),
        ("kind", "<u2"),
        ("task", "<u2"),
        ("flags", "<u2"),
        ("start_ns", "<i8"),
        ("end_ns", "<i8"),
    ]
)
PROBE_DTYPE = np.dtype(
    [
        ("slot", "<u2"),  # before version 3: the window that follows
        ("kind", "<u2"),
        ("core_a", "<u2"),
        ("core_b", "<u2"),
        ("at_ns", "<i8"),
        ("value_ps", "<u8"),
    ]
)
JOB_DTYPE = np.dtype(
    [
        ("release_ns", "<i8"),
        ("start_ns", "<i8"),
        ("finish_ns", "<i8"),
        ("cpu_ns", "<i8"),
        ("run_delay_before_ns", "<i8"),
        ("run_delay_within_ns", "<i8"),
        ("voluntary_switches", "<u4"),
        ("involuntary_switches", "<u4"),
        ("task", "<u2"),
        ("slot", "<u2"),
        ("flags", "<u4"),
    ]
)
#: Beside each job of a run with ``causes``; a stall is suspected, never seen (how-it-measures.md).
DETAIL_DTYPE = np.dtype(
    [
        ("stall_ns", "<i8"),
        ("worst_use_ns", "<i8"),
        ("worst_use_start_ns", "<i8"),
        ("worst_use", "<u2"),
        ("start_cpu", "<u2"),
        ("finish_cpu", "<u2"),
        ("flags", "<u2"),
    ]
)
#: One event of one task in one slot of a run with ``counters``.
COUNTER_DTYPE = np.dtype(
    [
        ("task", "<u2"),
        ("slot", "<u2"),
        ("event", "<u2"),
        ("status", "<u2"),
        ("value", "<i8"),
        ("enabled_ns", "<i8"),
        ("running_ns", "<i8"),
    ]
)

SLOT_TOGETHER, SLOT_SOLO = 0, 1
#: Version 3 has witnesses alone.
PROBE_YARDSTICK, PROBE_CACHE_LINE, PROBE_WITNESS = 0, 1, 2
#: Before version 3: the host was slow beside the window, which may have been repeated.
WINDOW_OFF = 1

JOB_COUNTED = 1
JOB_SOLO = 2
JOB_SKIPPED = 4
JOB_STARTED = 8
JOB_FINISHED = 16
JOB_SPLIT = 32

#: ``worst_use`` of a job none of whose uses took longer than usual.
NO_USE = 0xFFFF
#: The worst use is of a synchronisation fragment.
DETAIL_SY = 1

#: Perf events by the number that a counter row carries.
COUNTER_EVENTS = (
    "context_switches",
    "cpu_migrations",
    "page_faults",
    "minor_faults",
    "major_faults",
    "task_clock",
    "cycles",
    "instructions",
    "cache_references",
    "cache_misses",
    "branches",
    "branch_misses",
)
#: Columns of sets.csv: mean count per job.
COUNTER_COLUMNS: tuple[str, ...] = tuple(f"counter_{event}_per_job" for event in COUNTER_EVENTS)
#: Of the events, the first so many are counted by the kernel, the rest by the processor.
SOFTWARE_EVENTS = 6
#: Counted; there is no such event here; permission refused; counted part of the time and scaled.
COUNTER_COUNTED, COUNTER_UNSUPPORTED, COUNTER_REFUSED, COUNTER_SCALED = 0, 1, 2, 3
#: It could not be opened though it may exist; the row's value is the errno.
COUNTER_FAILED = 4

RUN_REALTIME = 1
RUN_SPLIT = 2
RUN_LATE = 4
RUN_PRIVATE_IPC = 8
RUN_LOCKED = 16
RUN_ONE_PROCESS = 32


@frozen(kw_only=True, eq=False)
class JobTable:
    """All jobs of one run of one task set, with its tasks, slots and host probes.

    A slot runs from ``begin_ns`` (warm-up) over ``start_ns`` to ``end_ns``; slots of one round
    have the same ``round``.

    Attributes:
        header: Scalar record of HEADER_DTYPE.
        tasks, slots, probes, jobs: Record arrays of TASK_, SLOT_, PROBE_ and JOB_DTYPE.
        details: One record of DETAIL_DTYPE a job, or none at all: not recorded.
        counters: Records of COUNTER_DTYPE; none: not counted.
    """

    header: Any
    tasks: NDArray[Any]
    slots: NDArray[Any]
    probes: NDArray[Any]
    jobs: NDArray[Any]
    details: NDArray[Any] = field(factory=lambda: np.zeros(0, DETAIL_DTYPE))
    counters: NDArray[Any] = field(factory=lambda: np.zeros(0, COUNTER_DTYPE))

    @property
    def set_id(self) -> str:
        return bytes(self.header["set_id"]).decode("ascii")
