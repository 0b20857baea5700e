"""Jobs as columns: the numpy twin of ``runtime/include/deadbeat/records.h``."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

NEVER = np.iinfo(np.int64).min


def of(kind: str, names: str) -> list[tuple[str, str]]:
    """Fields of a record that are of one kind."""
    return [(name, kind) for name in names.split()]


def record(*fields: tuple[str, str]) -> np.dtype[Any]:
    return np.dtype([*fields])


HEADER_DTYPE = record(
    *of("S8", "magic"),
    *of("<u4", "version header_bytes task_bytes slot_bytes probe_bytes record_bytes"),
    *of("<u4", "task_count slot_count probe_count flags"),
    *of("<u8", "job_count"),
    *of("<i8", "epoch_ns epoch_realtime_ns clock_cost_ps"),
    *of("<u8", "measured_ns setup_ns"),
    *of("S64", "set_id"),
    # the whole run, from the start of its processes
    *of("<i8", "wall_ns"),
    *of("<u4", "detail_bytes counter_bytes"),
    *of("<u8", "detail_count"),
    *of("<u4", "counter_count"),
    *of("<u4", "period_ppm"),
    *of("<u8", "seed"),
    *of("V56", "reserved"),
)
TASK_DTYPE = record(
    *of("<u2", "task core"),
    *of("<i4", "cpu policy priority"),
    *of("<u8", "wcet_ns period_ns deadline_ns offset_ns first_job job_count"),
)
SLOT_DTYPE = record(*of("<u2", "slot kind task round"), *of("<i8", "begin_ns start_ns end_ns"))
PROBE_DTYPE = record(
    *of("<u2", "slot kind core_a core_b"), *of("<i8", "at_ns"), *of("<u8", "value_ps")
)
JOB_DTYPE = record(
    *of("<i8", "release_ns start_ns finish_ns cpu_ns run_delay_before_ns run_delay_within_ns"),
    *of("<u4", "voluntary_switches involuntary_switches"),
    *of("<u2", "task slot"),
    *of("<u4", "flags"),
)
#: Beside each job of a run with ``causes``; a stall is suspected, never seen (how-it-measures.md).
DETAIL_DTYPE = record(
    *of("<i8", "stall_ns worst_use_ns worst_use_start_ns"),
    *of("<u2", "worst_use start_cpu finish_cpu flags"),
)
#: One event of one task in one slot of a run with ``counters``.
COUNTER_DTYPE = record(
    *of("<u2", "task slot event status"), *of("<i8", "value enabled_ns running_ns")
)

SLOT_TOGETHER, SLOT_SOLO = 0, 1
#: A round trip is from core a to core b and back at the beginning of the slot; that of the slot
#: after the last one was taken at the end. No file has kinds 0 and 1.
PROBE_WITNESS, PROBE_ROUND_TRIP = 2, 3
#: Of a replay: mean span of a task's jobs in a slot at the low and high end of the prices' range.
PROBE_LOW, PROBE_HIGH = 4, 5
#: Most cores with probed round trips to core 0.
ROUND_TRIPS_MAX = 7
JOB_COUNTED = 1
JOB_SOLO = 2
JOB_SKIPPED = 4
JOB_STARTED = 8
JOB_FINISHED = 16
JOB_SPLIT = 32

#: ``worst_use`` of a job without a use that took longer than usual.
NO_USE = 0xFFFF
#: The worst use is of a synchronisation fragment.
DETAIL_SY = 1

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
