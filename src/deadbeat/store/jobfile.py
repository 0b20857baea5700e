"""The result file of one run: ``runtime/include/deadbeat/records.h`` read and written by numpy.

Reading trusts nothing: length, versions, sizes, counts and the checksum come first, then what the
analysis relies on (indices in range, jobs of a task together and in order, times that cannot
overflow). Whatever passes is a valid table; whatever does not is a DataError.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deadbeat.model import jobs as j
from deadbeat.model.errors import DataError
from deadbeat.model.jobs import JobTable
from deadbeat.store.files import read_bytes, tool_version, write_buffers

MAGIC = b"DBJOBS\r\n"
VERSION = 1
#: No time, cost or period in a file may exceed this: 73 years; differences then fit in int64.
LIMIT_NS = 1 << 61

_HINT = "delete or move the file and repeat the command: only this run is measured again"
_SECTIONS = (
    ("task", j.TASK_DTYPE),
    ("window", j.WINDOW_DTYPE),
    ("probe", j.PROBE_DTYPE),
    ("job", j.JOB_DTYPE),
)


def new_header(*, set_id: str, flags: int = 0, **values: int) -> Any:
    """Header of a table about to be written; counts and sizes are filled in by `job_file_buffers`.

    Args:
        set_id: 64 hexadecimal digits.
        flags: RUN_ flags.
        values: Any of epoch_ns, epoch_realtime_ns, clock_cost_ps, measured_ns, setup_ns.
    """
    header = np.zeros((), dtype=j.HEADER_DTYPE)
    header["set_id"] = set_id.encode("ascii")
    header["flags"] = flags
    for name, value in values.items():
        header[name] = value
    return header[()]


def job_file_buffers(table: JobTable) -> list[bytes]:
    """The bytes of a job file, in order; sizes, counts and the checksum follow from the arrays."""
    sections = (table.tasks, table.windows, table.probes, table.jobs)
    header = np.array(table.header, dtype=j.HEADER_DTYPE)
    header["magic"] = MAGIC
    header["version"] = VERSION
    header["header_bytes"] = j.HEADER_DTYPE.itemsize
    for (name, dtype), section in zip(_SECTIONS, sections, strict=True):
        header["record_bytes" if name == "job" else f"{name}_bytes"] = dtype.itemsize
        header[f"{name}_count"] = len(section)
    buffers = [header.tobytes()]
    for (_, dtype), section in zip(_SECTIONS, sections, strict=True):
        buffers.append(np.ascontiguousarray(section, dtype=dtype).tobytes())
    checksum = 0
    for buffer in buffers:
        checksum = zlib.crc32(buffer, checksum)
    return [*buffers, checksum.to_bytes(4, "little")]


def write_job_table(path: Path, table: JobTable) -> None:
    """Write ``table`` as ``path``, atomically.

    Raises:
        DeadbeatError: The file cannot be written; nothing is left behind.
    """
    write_buffers(path, job_file_buffers(table))


def read_job_table(path: Path) -> JobTable:
    """Jobs of ``path``, as read-only arrays.

    Raises:
        DataError: Not a job file, of another version, truncated, damaged or inconsistent.
    """
    return parse_job_table(read_bytes(path, what="job file", hint=_HINT), name=str(path))


def read_window_count(path: Path) -> int:
    """Number of windows of ``path``, from its header alone.

    Raises:
        DataError: Not a job file, of another version, or truncated in its header.
    """
    try:
        with path.open("rb") as file:
            data = file.read(j.HEADER_DTYPE.itemsize + 4)  # no file is shorter
    except OSError as error:
        raise DataError(f"cannot read job file {path}: {error.strerror or error}", _HINT) from error
    return int(_parse_header(data, str(path))["window_count"])


def parse_job_table(data: bytes, *, name: str) -> JobTable:
    """Jobs in ``data``; ``name`` is the file to name in an error.

    Raises:
        DataError: As `read_job_table`.
    """
    header = _parse_header(data, name)
    sizes = [int(header[f"{section}_count"]) * dtype.itemsize for section, dtype in _SECTIONS]
    expected = j.HEADER_DTYPE.itemsize + sum(sizes) + 4
    if len(data) != expected:
        how = "truncated" if len(data) < expected else "longer than its header says"
        raise DataError(f"job file {name} is {how}: {len(data)} bytes, not {expected}", _HINT)
    if zlib.crc32(memoryview(data)[:-4]) != int.from_bytes(data[-4:], "little"):
        raise DataError(f"job file {name} is damaged: the checksum does not match", _HINT)
    offset = j.HEADER_DTYPE.itemsize
    sections: list[NDArray[Any]] = []
    for (section, dtype), size in zip(_SECTIONS, sizes, strict=True):
        count = int(header[f"{section}_count"])
        sections.append(np.frombuffer(data, dtype=dtype, count=count, offset=offset))
        offset += size
    table = JobTable(
        header=header, tasks=sections[0], windows=sections[1], probes=sections[2], jobs=sections[3]
    )
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
    wanted = {"header_bytes": j.HEADER_DTYPE.itemsize, "record_bytes": j.JOB_DTYPE.itemsize}
    wanted |= {f"{section}_bytes": dtype.itemsize for section, dtype in _SECTIONS[:3]}
    for field, size in wanted.items():
        if int(header[field]) != size:
            found = int(header[field])
            raise DataError(f"job file {name} is damaged: {field} is {found}, not {size}", _HINT)
    return header


def find_inconsistency(table: JobTable) -> str:
    """What in ``table`` the analysis could not rely on, in words; "" if nothing."""
    return next(_problems(table), "")


def _problems(table: JobTable) -> Iterator[str]:
    """Problems in the order of the file: a check may rely on those before it."""
    set_id = bytes(table.header["set_id"])
    if not (set_id.isascii() and set_id.decode("ascii").isprintable()):
        yield "the set's identifier is not text"
    yield from _task_problems(table.tasks, len(table.jobs))
    yield from _window_problems(table.windows, len(table.tasks))
    yield from _probe_problems(table.probes, len(table.windows))
    if len(table.jobs):
        yield from _job_problems(table)
        yield from _time_problems(table.jobs)


def _task_problems(tasks: NDArray[Any], job_count: int) -> Iterator[str]:
    if not np.array_equal(tasks["task"], np.arange(len(tasks))):
        yield "tasks are not numbered 0, 1, 2, ..."
    for field in ("wcet_ns", "period_ns", "deadline_ns", "offset_ns"):
        if len(tasks) and tasks[field].max() >= LIMIT_NS:
            yield f"{field} of a task is out of range"
    for field in ("wcet_ns", "period_ns", "deadline_ns"):
        if len(tasks) and tasks[field].min() == 0:
            yield f"{field} of a task is zero"
    first = 0
    for index, row in enumerate(tasks):
        if int(row["first_job"]) != first:
            yield f"jobs of task {index} do not follow those of the task before"
        first += int(row["job_count"])
    if first != job_count:
        yield f"the tasks' job counts add up to {first}, not {job_count}"


def _window_problems(windows: NDArray[Any], task_count: int) -> Iterator[str]:
    if not np.array_equal(windows["window"], np.arange(len(windows))):
        yield "windows are not numbered 0, 1, 2, ..."
    if (windows["kind"] > j.WINDOW_SOLO).any():
        yield "a window is neither together nor solo"
    if (windows["task"][windows["kind"] == j.WINDOW_SOLO] >= task_count).any():
        yield "a solo window names a task that does not exist"
    if not (_within_limit(windows["start_ns"]) and _within_limit(windows["end_ns"])):
        yield "a window's time is out of range"
    if (windows["end_ns"] < windows["start_ns"]).any():
        yield "a window ends before it starts"


def _probe_problems(probes: NDArray[Any], window_count: int) -> Iterator[str]:
    if (probes["boundary"] > window_count).any():
        yield "a probe names a boundary that does not exist"
    if (probes["kind"] > j.PROBE_WITNESS).any():
        yield "a probe is of an unknown kind"
    if (probes["value_ps"] >= LIMIT_NS).any():
        yield "a probe's value is out of range"


def _job_problems(table: JobTable) -> Iterator[str]:
    jobs, windows = table.jobs, table.windows
    owners = np.repeat(table.tasks["task"], table.tasks["job_count"].astype(np.int64))
    if not np.array_equal(jobs["task"], owners):
        yield "a job names another task than the one it is filed under"
    if jobs["window"].max() >= len(windows):
        yield "a job names a window that does not exist"
    flags = jobs["flags"]
    started = flags & j.JOB_STARTED != 0
    if ((flags & j.JOB_FINISHED != 0) & ~started).any():
        yield "a job finished without having started"
    if ((flags & j.JOB_SKIPPED != 0) & started).any():
        yield "a skipped job started"
    in_solo_window = windows["kind"][jobs["window"]] == j.WINDOW_SOLO
    if not np.array_equal(flags & j.JOB_SOLO != 0, in_solo_window):
        yield "a job's solo flag contradicts its window"


def _time_problems(jobs: NDArray[Any]) -> Iterator[str]:
    release, start, finish = jobs["release_ns"], jobs["start_ns"], jobs["finish_ns"]
    started = jobs["flags"] & j.JOB_STARTED != 0
    finished = jobs["flags"] & j.JOB_FINISHED != 0
    if not _within_limit(release):
        yield "a release is out of range"
    if not (_within_limit(start[started]) and _within_limit(finish[finished])):
        yield "a start or finish is out of range"
    if (start < release)[started].any():
        yield "a job starts before its release"
    if (finish < start)[finished].any():
        yield "a job finishes before it starts"
    same_task = jobs["task"][1:] == jobs["task"][:-1]
    if ((release[1:] < release[:-1]) & same_task).any():
        yield "jobs of a task are not in the order of their releases"


def _within_limit(times_ns: NDArray[Any]) -> bool:
    """Whether all times are far from overflow (and none is NEVER)."""
    return not ((times_ns <= -LIMIT_NS) | (times_ns >= LIMIT_NS)).any()
