"""Jobs as columns: the numpy twin of ``runtime/include/deadbeat/records.h``, version 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

NEVER = np.iinfo(np.int64).min

HEADER_DTYPE = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("header_bytes", "<u4"),
        ("task_bytes", "<u4"),
        ("window_bytes", "<u4"),
        ("probe_bytes", "<u4"),
        ("record_bytes", "<u4"),
        ("task_count", "<u4"),
        ("window_count", "<u4"),
        ("probe_count", "<u4"),
        ("flags", "<u4"),
        ("job_count", "<u8"),
        ("epoch_ns", "<i8"),
        ("epoch_realtime_ns", "<i8"),
        ("clock_cost_ps", "<i8"),
        ("measured_ns", "<u8"),
        ("setup_ns", "<u8"),
        ("set_id", "S64"),
        ("waited_ns", "<i8"),
        ("reserved", "V88"),
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
        ("boundary", "<u2"),
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
        ("window", "<u2"),
        ("flags", "<u4"),
    ]
)

WINDOW_TOGETHER, WINDOW_SOLO = 0, 1
PROBE_YARDSTICK, PROBE_CACHE_LINE, PROBE_WITNESS = 0, 1, 2
#: A witness is a yardstick divided by this, and a clock read.
WITNESS_PART = 16

WINDOW_OFF = 1

JOB_COUNTED = 1
JOB_SOLO = 2
JOB_SKIPPED = 4
JOB_STARTED = 8
JOB_FINISHED = 16
JOB_SPLIT = 32

RUN_REALTIME = 1
RUN_SPLIT = 2
RUN_LATE = 4
RUN_PRIVATE_IPC = 8
RUN_LOCKED = 16
RUN_ONE_PROCESS = 32


@frozen(kw_only=True, eq=False)
class JobTable:
    """All jobs of one run of one task set, with the tasks, windows and host probes beside them.

    Attributes:
        header: Scalar record of HEADER_DTYPE.
        tasks, windows, probes, jobs: Record arrays of TASK_, WINDOW_, PROBE_ and JOB_DTYPE.
    """

    header: Any
    tasks: NDArray[Any]
    windows: NDArray[Any]
    probes: NDArray[Any]
    jobs: NDArray[Any]

    @property
    def set_id(self) -> str:
        return bytes(self.header["set_id"]).decode("ascii")
