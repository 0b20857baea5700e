"""Truth: the layout comment of records.h, and the error contract of store.jobfile."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest
from helpers.runs import Job, RunTask, Window, job_table, ran

from deadbeat.model.errors import DataError
from deadbeat.store.jobfile import job_file_buffers, parse_job_table, read_job_table

HEADER_BYTES, TASK_BYTES, WINDOW_BYTES = 256, 64, 24


def valid_bytes() -> bytes:
    table = job_table(
        [RunTask(), RunTask(core=1)],
        [[ran(0, 10, 110), ran(1000, 1010, 1110)], [ran(5, 15, 115)]],
        windows=[Window()],
        probes=[(0, 0, 0, 0, 1_000_000)],
    )
    return b"".join(job_file_buffers(table))


def resealed(data: bytes) -> bytes:
    """With the checksum that fits."""
    return data[:-4] + struct.pack("<I", zlib.crc32(data[:-4]))


def patched(offset: int, form: str, value: int) -> bytes:
    data = bytearray(valid_bytes())
    struct.pack_into(form, data, offset, value)
    return resealed(bytes(data))


TASKS = HEADER_BYTES
WINDOWS = TASKS + 2 * TASK_BYTES
PROBES = WINDOWS + WINDOW_BYTES
JOBS = PROBES + 24


def test_a_valid_file_is_read() -> None:
    table = parse_job_table(valid_bytes(), name="x.jobs")
    assert len(table.jobs) == 3


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
        (patched(8, "<I", 2), "has version 2; deadbeat "),
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
        (patched(WINDOWS, "<H", 1), "windows are not numbered"),
        (patched(WINDOWS + 2, "<H", 2), "neither together nor solo"),
        (patched(WINDOWS + 16, "<q", -1), "ends before it starts"),
        (patched(WINDOWS + 8, "<q", -(2**63)), "window's time is out of range"),
        (patched(PROBES, "<H", 2), "boundary that does not exist"),
        (patched(PROBES + 2, "<H", 3), "unknown kind"),
        (patched(PROBES + 16, "<Q", 2**62), "probe's value"),
        (patched(JOBS, "<q", 2**62), "release is out of range"),
        (patched(JOBS + 8, "<q", -1), "starts before its release"),
        (patched(JOBS + 16, "<q", 9), "finishes before it starts"),
        (patched(JOBS + 16, "<q", 2**63 - 1), "start or finish is out of range"),
        (patched(JOBS + 56, "<H", 1), "another task than the one it is filed under"),
        (patched(JOBS + 58, "<H", 1), "window that does not exist"),
        (patched(JOBS + 60, "<I", 1 | 16), "finished without having started"),
        (patched(JOBS + 60, "<I", 1 | 4 | 8), "a skipped job started"),
        (patched(JOBS + 60, "<I", 1 | 2), "solo flag contradicts"),
        (patched(JOBS, "<q", 1_000_000), "starts before its release"),
        (patched(JOBS + 64, "<q", -1), "order of their releases"),
    ],
)
def test_a_file_that_is_wrong_is_one_clear_line(data: bytes, part: str) -> None:
    with pytest.raises(DataError, match=part) as caught:
        parse_job_table(data, name="some/m.jobs")
    assert "some/m.jobs" in caught.value.message
    assert "\n" not in str(caught.value)
    assert caught.value.hint


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.jobs: No such file"):
        read_job_table(tmp_path / "gone.jobs")


def test_a_folder_is_no_job_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot read job file"):
        read_job_table(tmp_path)


def test_a_table_without_jobs_is_valid() -> None:
    empty = job_table([], [], windows=[])
    data = b"".join(job_file_buffers(empty))
    assert len(parse_job_table(data, name="x").jobs) == 0


def test_a_job_that_never_started_is_valid() -> None:
    table = job_table([RunTask()], [[Job(release=0, start=None, finish=None)]])
    data = b"".join(job_file_buffers(table))
    assert len(parse_job_table(data, name="x").jobs) == 1
