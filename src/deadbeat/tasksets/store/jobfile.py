"""The result file of one run: ``runtime/include/deadbeat/records.h`` read and written by numpy.

Reading trusts nothing: length, versions, sizes, counts and the checksum come first, then what the
analysis relies on (indices in range, jobs of a task together and in order, times that cannot
overflow). Whatever passes is a valid table; whatever does not is a DataError.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deadbeat.base.model import jobs as j
from deadbeat.base.model.errors import DataError
from deadbeat.base.model.jobs import JobTable
from deadbeat.base.model.refused import refusal
from deadbeat.base.model.traces import COUNTER_EVENTS
from deadbeat.base.store.files import read_bytes, reading, tool_version, write_buffers

MAGIC = b"DBJOBS\r\n"
VERSION = 3
#: No time, cost or period in a file may exceed this: 73 years; differences then fit in int64.
LIMIT_NS = 1 << 61
#: No error number of a kernel exceeds this (MAX_ERRNO of Linux).
ERRNO_MAX = 4095

_HINT = "delete or move the file and repeat the campaign's command: only this run is measured again"
_SECTIONS = (
    ("task", j.TASK_DTYPE),
    ("slot", j.SLOT_DTYPE),
    ("probe", j.PROBE_DTYPE),
    ("job", j.JOB_DTYPE),
    ("detail", j.DETAIL_DTYPE),
    ("counter", j.COUNTER_DTYPE),
)


def new_header(*, set_id: str, flags: int = 0, **values: int) -> Any:
    """Header of a table about to be written; counts and sizes are filled in by `job_file_buffers`.

    Args:
        set_id: 64 hexadecimal digits.
        flags: RUN_ flags.
        values: Any other field of HEADER_DTYPE.
    """
    header = np.zeros((), dtype=j.HEADER_DTYPE)
    header["set_id"] = set_id.encode("ascii")
    header["flags"] = flags
    for name, value in values.items():
        header[name] = value
    return header[()]


def job_file_buffers(table: JobTable) -> list[bytes]:
    """The bytes of a job file of the newest version, in order; sizes, counts and the checksum
    follow from the arrays."""
    header = np.array(table.header, dtype=j.HEADER_DTYPE)
    header["magic"] = MAGIC
    header["version"] = VERSION
    header["header_bytes"] = j.HEADER_DTYPE.itemsize
    sections = [(name, dtype, getattr(table, f"{name}s")) for name, dtype in _SECTIONS]
    for name, dtype, section in sections:
        header[_size_field(name)] = dtype.itemsize
        header[f"{name}_count"] = len(section)
    buffers = [header.tobytes()]
    for _, dtype, section in sections:
        buffers.append(np.ascontiguousarray(section, dtype=dtype).tobytes())
    checksum = 0
    for buffer in buffers:
        checksum = zlib.crc32(buffer, checksum)
    return [*buffers, checksum.to_bytes(4, "little")]


def _size_field(section: str) -> str:
    return "record_bytes" if section == "job" else f"{section}_bytes"


def write_job_table(path: Path, table: JobTable) -> None:
    """Write ``table`` as ``path``, atomically.
    Raises DeadbeatError: the file cannot be written; nothing is left behind."""
    write_buffers(path, job_file_buffers(table))


def read_job_table(path: Path) -> JobTable:
    """Jobs of ``path``, as read-only arrays.
    Raises DataError: not a job file, of another version, truncated, damaged or inconsistent."""
    return parse_job_table(read_bytes(path, what="job file", hint=_HINT), name=str(path))


def find_cut(path: Path) -> DataError | None:
    """Why ``path`` cannot be a whole job file, from its header and its length alone; None: it can.

    What `read_job_table` would find beyond that needs all of the file.
    """
    try:
        with reading(path) as file:
            data = file.read(j.HEADER_DTYPE.itemsize + 4)
            length = os.fstat(file.fileno()).st_size
        _expect_length(length, _parse_header(data, str(path)), str(path))
    except OSError as error:
        return DataError(*refusal(f"cannot read job file {path}", error, _HINT))
    except DataError as error:
        return error
    return None


def _expect_length(length: int, header: Any, name: str) -> None:
    sizes = [int(header[f"{section}_count"]) * dtype.itemsize for section, dtype in _SECTIONS]
    expected = j.HEADER_DTYPE.itemsize + sum(sizes) + 4
    if length != expected:
        how = "truncated" if length < expected else "longer than its header says"
        raise DataError(f"job file {name} is {how}: {length} bytes, not {expected}", _HINT)


def parse_job_table(data: bytes, *, name: str) -> JobTable:
    """Jobs in ``data``; ``name`` is the file to name in an error.
    Raises DataError: see `read_job_table`."""
    header = _parse_header(data, name)
    _expect_length(len(data), header, name)
    if zlib.crc32(memoryview(data)[:-4]) != int.from_bytes(data[-4:], "little"):
        raise DataError(f"job file {name} is damaged: the checksum does not match", _HINT)
    offset = j.HEADER_DTYPE.itemsize
    sections: dict[str, NDArray[Any]] = {}
    for section, dtype in _SECTIONS:
        count = int(header[f"{section}_count"])
        sections[f"{section}s"] = np.frombuffer(data, dtype=dtype, count=count, offset=offset)
        offset += count * dtype.itemsize
    table = JobTable(header=header, **sections)
    problem = find_inconsistency(table)
    if problem:
        raise DataError(f"job file {name} is inconsistent: {problem}", _HINT)
    return table


def _parse_header(data: bytes, name: str) -> Any:
    if not data.startswith(MAGIC):
        if MAGIC.startswith(data):
            raise DataError(f"job file {name} is truncated: {len(data)} bytes", _HINT)
        raise DataError(f"{name} is not a deadbeat job file", "name a file NAME.jobs of a campaign")
    if len(data) < 12:
        raise DataError(f"job file {name} is truncated: {len(data)} bytes", _HINT)
    version = int.from_bytes(data[8:12], "little")
    if version != VERSION:
        raise DataError(
            f"job file {name} has version {version}; deadbeat {tool_version()} reads {VERSION}",
            "use the deadbeat that wrote it (campaign.json names it), or a newer one",
        )
    if len(data) < j.HEADER_DTYPE.itemsize + 4:
        raise DataError(f"job file {name} is truncated: {len(data)} bytes", _HINT)
    header = np.frombuffer(data, dtype=j.HEADER_DTYPE, count=1)[0]
    wanted = {"header_bytes": j.HEADER_DTYPE.itemsize}
    wanted |= {_size_field(section): dtype.itemsize for section, dtype in _SECTIONS}
    for field, size in wanted.items():
        if int(header[field]) != size:
            found = int(header[field])
            raise DataError(f"job file {name} is damaged: {field} is {found}, not {size}", _HINT)
    return header


def find_inconsistency(table: JobTable) -> str:
    """What in ``table`` the analysis could not rely on, in words; "" if nothing."""
    return next((text for wrong, text in _checks(table) if np.any(wrong)), "")


#: What is wrong, if anything of it is true, in words.
_Checks = Iterator[tuple[Any, str]]


def _checks(table: JobTable) -> _Checks:
    """In the order of the file: a check may rely on those before it."""
    set_id = bytes(table.header["set_id"])
    printable = set_id.isascii() and set_id.decode("ascii").isprintable()
    yield not printable, "the set's identifier is not text"
    tasks = table.tasks
    jobs = len(table.jobs)
    yield tasks["task"] != np.arange(len(tasks)), "tasks are not numbered 0, 1, 2, ..."
    for field in ("wcet_ns", "period_ns", "deadline_ns", "offset_ns"):
        yield tasks[field] >= LIMIT_NS, f"{field} of a task is out of range"
        yield field != "offset_ns" and tasks[field] == 0, f"{field} of a task is zero"
    first = 0
    for index, row in enumerate(tasks):
        follows = int(row["first_job"]) == first
        yield not follows, f"jobs of task {index} do not follow those of the task before"
        first += int(row["job_count"])
    yield first != jobs, f"the tasks' job counts add up to {first}, not {jobs}"
    slots = table.slots
    begin, start, end = (slots[name] for name in ("begin_ns", "start_ns", "end_ns"))
    named = slots["task"][slots["kind"] == j.SLOT_SOLO]
    yield slots["slot"] != np.arange(len(slots)), "slots are not numbered 0, 1, 2, ..."
    yield slots["kind"] > j.SLOT_SOLO, "a slot is neither together nor solo"
    yield named >= len(tasks), "a solo slot names a task that does not exist"
    yield _beyond(begin) | _beyond(start) | _beyond(end), "a slot's time is out of range"
    yield end < start, "a slot ends before it starts"
    yield start < begin, "a slot starts before it begins"
    yield np.diff(slots["round"].astype(np.int64)) < 0, "rounds are not in order"
    probes = table.probes
    yield probes["slot"] > len(table.slots), "a probe names a slot that does not exist"
    yield probes["kind"] > j.PROBE_HIGH, "a probe is of an unknown kind"
    yield probes["value_ps"] >= LIMIT_NS, "a probe's value is out of range"
    yield from _job_checks(table)
    yield from _time_checks(table.jobs)
    if len(table.details):
        yield from _detail_checks(table)
    counters = table.counters
    task, slot = counters["task"], counters["slot"]
    yield task >= len(table.tasks), "a counter names a task that does not exist"
    yield slot >= len(table.slots), "a counter names a slot that does not exist"
    ran_in = table.slots[slot]
    absent = (ran_in["kind"] == j.SLOT_SOLO) & (ran_in["task"] != task)
    yield absent, "a counter names a task that did not run in its slot"
    yield counters["event"] >= len(COUNTER_EVENTS), "a counter is of an unknown event"
    yield counters["status"] > j.COUNTER_FAILED, "a counter has an unknown status"
    errors = counters["value"][counters["status"] == j.COUNTER_FAILED]
    yield (errors < 1) | (errors > ERRNO_MAX), "a counter failed without a reason"
    for name in ("value", "enabled_ns", "running_ns"):
        strange = (counters[name] < 0) | _beyond(counters[name])
        yield strange, f"{name} of a counter is out of range"
    place = task.astype(np.int64) << 32 | slot.astype(np.int64) << 16 | counters["event"]
    yield np.diff(place) <= 0, "counters are not in the order of task, slot and event"


def _job_checks(table: JobTable) -> _Checks:
    jobs, slots, flags = table.jobs, table.slots, table.jobs["flags"]
    owners = np.repeat(table.tasks["task"], table.tasks["job_count"].astype(np.int64))
    started = flags & j.JOB_STARTED != 0
    yield jobs["task"] != owners, "a job names another task than the one it is filed under"
    yield jobs["slot"] >= len(slots), "a job names a slot that does not exist"
    yield (flags & j.JOB_FINISHED != 0) & ~started, "a job finished without having started"
    yield (flags & j.JOB_SKIPPED != 0) & started, "a skipped job started"
    alone = slots["kind"][jobs["slot"]] == j.SLOT_SOLO
    yield (flags & j.JOB_SOLO != 0) != alone, "a job's solo flag contradicts its slot"


def _time_checks(jobs: NDArray[Any]) -> _Checks:
    release, start, finish = jobs["release_ns"], jobs["start_ns"], jobs["finish_ns"]
    started = jobs["flags"] & j.JOB_STARTED != 0
    finished = jobs["flags"] & j.JOB_FINISHED != 0
    strange = (_beyond(start) & started) | (_beyond(finish) & finished)
    yield _beyond(release), "a release is out of range"
    yield strange, "a start or finish is out of range"
    yield (start < release) & started, "a job starts before its release"
    yield (finish < start) & finished, "a job finishes before it starts"
    same_task = jobs["task"][1:] == jobs["task"][:-1]
    back = (release[1:] < release[:-1]) & same_task
    yield back, "jobs of a task are not in the order of their releases"


def _detail_checks(table: JobTable) -> _Checks:
    jobs, details = table.jobs, table.details
    many = f"there are details of {len(details)} jobs, not {len(jobs)}"
    yield len(details) != len(jobs), many
    stall, worst = details["stall_ns"], details["worst_use_ns"]
    finished = jobs["flags"] & j.JOB_FINISHED != 0
    span = np.where(finished, jobs["finish_ns"] - jobs["start_ns"], 0)
    yield (stall < 0) | (worst < 0), "a stall or a worst use is negative"
    yield stall > span, "a stall is longer than its job"
    yield worst > span, "a worst use is longer than its job"
    yield _beyond(details["worst_use_start_ns"]), "the start of a worst use is out of range"


def _beyond(times_ns: NDArray[Any]) -> Any:
    """Which times are near overflow (or are NEVER)."""
    return (times_ns <= -LIMIT_NS) | (times_ns >= LIMIT_NS)
