"""Truth: the layout comment of records.h, and the error contract of store.jobfile."""

import struct
import zlib
from pathlib import Path

import attrs
import numpy as np
import pytest
from helpers.runs import Job, RunTask, Slot, job_table, ran

from deadbeat.base.model import jobs as j
from deadbeat.base.model.errors import DataError
from deadbeat.tasksets.store.jobfile import (
    find_inconsistency,
    job_file_buffers,
    parse_job_table,
    read_job_table,
)

HEADER_BYTES, TASK_BYTES, SLOT_BYTES = 256, 64, 32


def valid_bytes() -> bytes:
    table = job_table(
        [RunTask(), RunTask(core=1)],
        [[ran(0, 10, 110), ran(1000, 1010, 1110)], [ran(5, 15, 115)]],
        slots=[Slot()],
        probes=[(0, 0, 0, 0, 1_000_000)],
    )
    details = np.zeros(3, j.DETAIL_DTYPE)
    details["worst_use"] = j.NO_USE
    counters = np.array([(0, 0, 1, 0, 5, 9, 9), (1, 0, 1, 1, 0, 0, 0)], j.COUNTER_DTYPE)
    return b"".join(job_file_buffers(attrs.evolve(table, details=details, counters=counters)))


def resealed(data: bytes) -> bytes:
    """With the checksum that fits."""
    return data[:-4] + struct.pack("<I", zlib.crc32(data[:-4]))


def patched(offset: int, form: str, value: int) -> bytes:
    data = bytearray(valid_bytes())
    struct.pack_into(form, data, offset, value)
    return resealed(bytes(data))


TASKS = HEADER_BYTES
SLOTS = TASKS + 2 * TASK_BYTES
PROBES = SLOTS + SLOT_BYTES
JOBS = PROBES + 24
DETAILS = JOBS + 3 * 64
COUNTERS = DETAILS + 3 * 32


def test_a_valid_file_is_read() -> None:
    table = parse_job_table(valid_bytes(), name="x.jobs")
    assert len(table.jobs) == len(table.details) == 3
    assert len(table.counters) == 2


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", "truncated: 0 bytes"),
        (b"DBJ", "truncated: 3 bytes"),
        (b"\x7fELF" + bytes(400), "is not a deadbeat job file"),
        (valid_bytes()[:10], "truncated: 10 bytes"),
        (valid_bytes()[:200], "truncated: 200 bytes"),
        (valid_bytes()[:-1], "truncated"),
        (valid_bytes() + b"\0", "longer than its header says"),
        (valid_bytes()[:-1] + b"\0", "the checksum does not match"),
        (patched(8, "<I", 4), "has version 4; deadbeat .* reads 3"),
        (patched(8, "<I", 0), "has version 0; deadbeat "),
        (patched(8, "<I", 2), "has version 2; deadbeat "),
        (patched(168, "<I", 31), "detail_bytes is 31, not 32"),
        (patched(172, "<I", 0), "counter_bytes is 0, not 32"),
        (patched(176, "<Q", 0), "longer than its header says"),
        (patched(184, "<I", 3), "truncated"),
        (patched(12, "<I", 255), "header_bytes is 255, not 256"),
        (patched(28, "<I", 65), "record_bytes is 65, not 64"),
        (patched(32, "<I", 1), "truncated|longer"),
        (patched(48, "<Q", 2**63), "truncated"),
        (patched(96, "<B", 200), "identifier is not text"),
        (patched(TASKS, "<H", 1), "tasks are not numbered"),
        (patched(TASKS + 16, "<Q", 0), "wcet_ns of a task is zero"),
        (patched(TASKS + 24, "<Q", 2**63), "period_ns of a task is out of range"),
        (patched(TASKS + 48, "<Q", 1), "do not follow"),
        (patched(TASKS + TASK_BYTES + 56, "<Q", 2**64 - 1), "add up to"),
        (patched(SLOTS, "<H", 1), "slots are not numbered"),
        (patched(SLOTS + 2, "<H", 2), "neither together nor solo"),
        (patched(SLOTS + 24, "<q", -1), "ends before it starts"),
        (patched(SLOTS + 8, "<q", 1), "starts before it begins"),
        (patched(SLOTS + 8, "<q", -(2**63)), "slot's time is out of range"),
        (patched(PROBES, "<H", 2), "slot that does not exist"),
        (patched(PROBES + 2, "<H", 99), "unknown kind"),
        (patched(PROBES + 16, "<Q", 2**62), "probe's value"),
        (patched(JOBS, "<q", 2**62), "release is out of range"),
        (patched(JOBS + 8, "<q", -1), "starts before its release"),
        (patched(JOBS + 16, "<q", 9), "finishes before it starts"),
        (patched(JOBS + 16, "<q", 2**63 - 1), "start or finish is out of range"),
        (patched(JOBS + 56, "<H", 1), "another task than the one it is filed under"),
        (patched(JOBS + 58, "<H", 1), "slot that does not exist"),
        (patched(JOBS + 60, "<I", 1 | 16), "finished without having started"),
        (patched(JOBS + 60, "<I", 1 | 4 | 8), "a skipped job started"),
        (patched(JOBS + 60, "<I", 1 | 2), "solo flag contradicts"),
        (patched(JOBS, "<q", 1_000_000), "starts before its release"),
        (patched(JOBS + 64, "<q", -1), "order of their releases"),
        (patched(DETAILS, "<q", -1), "worst use is negative"),
        (patched(DETAILS, "<q", 101), "a stall is longer than its job"),
        (patched(DETAILS + 8, "<q", 101), "a worst use is longer than its job"),
        (patched(DETAILS + 16, "<q", 2**62), "start of a worst use"),
        (patched(COUNTERS, "<H", 2), "counter names a task that does not exist"),
        (patched(COUNTERS + 2, "<H", 1), "counter names a slot that does not exist"),
        (patched(COUNTERS + 4, "<H", 12), "counter is of an unknown event"),
        (patched(COUNTERS + 6, "<H", 5), "counter has an unknown status"),
        (patched(COUNTERS + 32 + 6, "<H", 4), "counter failed without a reason"),
        (patched(COUNTERS + 8, "<q", -1), "value of a counter is out of range"),
        (patched(COUNTERS + 16, "<q", 2**62), "enabled_ns of a counter"),
        (patched(COUNTERS + 32, "<H", 0), "order of task, slot and event"),
    ],
)
def test_a_file_that_is_wrong_is_one_clear_line(data: bytes, part: str) -> None:
    with pytest.raises(DataError, match=part) as caught:
        parse_job_table(data, name="some/m.jobs")
    assert "some/m.jobs" in caught.value.message
    assert "\n" not in str(caught.value)
    assert caught.value.hint


def test_round_trips_are_read_back_the_last_after_the_last_slot() -> None:
    rows = [(0, j.PROBE_ROUND_TRIP, 0, 1, 95_000), (1, j.PROBE_ROUND_TRIP, 0, 1, 460_000)]
    tasks, jobs = [RunTask(), RunTask(core=1)], [[ran(0, 10, 110)], [ran(5, 15, 115)]]
    data = b"".join(job_file_buffers(job_table(tasks, jobs, probes=rows)))
    table = parse_job_table(data, name="x.jobs")
    assert len(table.slots) == 1
    fields = ("slot", "kind", "core_a", "core_b", "value_ps")
    assert table.probes[list(fields)].tolist() == rows


def test_details_of_some_jobs_only_are_refused() -> None:
    table = parse_job_table(valid_bytes(), name="x.jobs")
    some = attrs.evolve(table, details=table.details[:2])
    assert find_inconsistency(some) == "there are details of 2 jobs, not 3"


def test_counters_of_a_task_that_did_not_run_in_the_slot_are_refused() -> None:
    table = parse_job_table(valid_bytes(), name="x.jobs")
    slots, jobs = table.slots.copy(), table.jobs.copy()
    slots["kind"], slots["task"] = j.SLOT_SOLO, 1
    jobs["flags"] |= j.JOB_SOLO
    assert find_inconsistency(attrs.evolve(table, slots=slots, jobs=jobs)) == (
        "a counter names a task that did not run in its slot"
    )


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.jobs: No such file"):
        read_job_table(tmp_path / "gone.jobs")


def test_a_table_without_jobs_is_valid() -> None:
    empty = job_table([], [], slots=[])
    data = b"".join(job_file_buffers(empty))
    assert len(parse_job_table(data, name="x").jobs) == 0


def test_a_job_that_never_started_is_valid() -> None:
    table = job_table([RunTask()], [[Job(release=0, start=None, finish=None)]])
    data = b"".join(job_file_buffers(table))
    assert len(parse_job_table(data, name="x").jobs) == 1
