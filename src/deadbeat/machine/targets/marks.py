"""The file in shared memory into which a program marks its jobs (runtime/include/deadbeat.h).

Head: magic, capacity, records asked for; 63 tasks of 64 bytes (period, deadline, name, known); then
records of 32 bytes: release, start, task and CPU, finish. An unfinished record has a finish of 0.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import struct
import threading
import time
from contextlib import ContextDecorator
from pathlib import Path
from typing import Any, Self

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.base.model.errors import DataError, DeadbeatError
from deadbeat.base.model.words import size

#: Where a program finds its file.
VARIABLE = "DEADBEAT_MARKS"
MAGIC = 0x31534B52414D4244
TASKS = 63
#: Two minutes of eight tasks of 1 kHz: 32 MiB.
CAPACITY = 1 << 20
HEAD_BYTES = 64 + TASKS * 64
_HEAD, _TASK, _RECORD = struct.Struct("=QQQ"), struct.Struct("=QQ47sB"), struct.Struct("=QQIIQ")
FIELDS = np.dtype(
    [("release", "u8"), ("start", "u8"), ("task", "u4"), ("cpu", "u4"), ("finish", "u8")]
)
#: No clock that began with the machine is beyond: 36 years.
_LATEST_NS = 1 << 60
_CPUS = 1 << 16
#: A release that comes this much later than a period after the last one skipped some.
_SKIPS = 1.5


@frozen(kw_only=True)
class MarkedTask:
    """What a program says of a task; 0: nothing."""

    number: int
    name: str
    period_ns: int
    deadline_ns: int


@frozen(kw_only=True)
class Marks:
    """What a program marked.

    Attributes:
        records: Finished jobs, in the order of their finishing (release, start, task, cpu, finish).
        dropped: Jobs for which the file had no room.
    """

    tasks: tuple[MarkedTask, ...]
    records: NDArray[np.void]
    dropped: int

    def jobs(self, task: MarkedTask) -> NDArray[np.void]:
        """Its records in order of release."""
        mine = self.records[self.records["task"] == task.number]
        return np.asarray(mine[np.argsort(mine["release"], kind="stable")])


def skipped(release: NDArray[np.int64], period_ns: int) -> NDArray[np.int64]:
    """Releases of which no job is marked, before each job; period 0: not known, and then none."""
    gap = np.diff(release, prepend=release[:1])
    many = np.round(gap / period_ns) - 1 if period_ns else np.zeros(len(release))
    return np.where(gap > _SKIPS * period_ns, many, 0).astype(np.int64)


def bytes_of(capacity: int = CAPACITY) -> int:
    """Size of a file with room for this number of jobs."""
    return HEAD_BYTES + capacity * _RECORD.size


def create(path: Path, capacity: int = CAPACITY) -> None:
    """Create an empty file with room for this number of jobs, for the user alone.

    All of it is allocated: a program that marks where there is no room is killed (SIGBUS).

    Raises:
        DeadbeatError: There is no room; no file is left.
    """
    made = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.posix_fallocate(made, 0, bytes_of(capacity))
        os.write(made, _HEAD.pack(MAGIC, capacity, 0))
    except OSError as error:
        path.unlink()
        raise DeadbeatError(
            f"no room for marks: {size(bytes_of(capacity))} in {path.parent}: {error.strerror}",
            "free space in /dev/shm, or set TMPDIR to a folder that has it",
        ) from error
    finally:
        os.close(made)


def read(data: bytes, name: str) -> Marks:
    """What the file ``name`` holds. Raises DataError: it is damaged, or no such file."""

    def damaged(why: str) -> DataError:
        return DataError(
            f"the marks in {name} are damaged: {why}",
            "does the program write beyond its own memory, or with another version of deadbeat.h?",
        )

    if len(data) < HEAD_BYTES:
        raise damaged(f"{len(data)} bytes are less than its head")
    magic, capacity, wanted = _HEAD.unpack_from(data)
    if magic != MAGIC:
        raise damaged("it begins with another word")
    if bytes_of(capacity) != len(data):
        raise damaged(f"{len(data)} bytes do not hold {capacity} jobs")
    if wanted > _LATEST_NS:
        raise damaged(f"{wanted} jobs cannot be")
    count = min(wanted, capacity)
    found = np.frombuffer(data, FIELDS, count, HEAD_BYTES)
    records = found[found["finish"] != 0]
    bad = (records["release"] == 0) | (records["start"] == 0) | (records["finish"] > _LATEST_NS)
    bad |= (records["start"] > records["finish"]) | (records["release"] > records["finish"])
    bad |= (records["task"] >= TASKS) | (records["cpu"] >= _CPUS)
    if bad.any():
        raise damaged(f"job {int(np.argmax(bad)) + 1} ends before it began, or belongs to no task")
    used = set(records["task"].tolist())
    tasks = []
    for number in range(TASKS):
        period, deadline, text, known = _TASK.unpack_from(data, 64 + number * _TASK.size)
        if not known and number not in used:
            continue
        if max(period, deadline) > _LATEST_NS:
            raise damaged(f"task {number} has a period or a deadline of more than 36 years")
        said = text.split(b"\0")[0].decode("utf-8", errors="replace")
        clean = "".join(each if each.isprintable() else "?" for each in said)
        tasks.append(
            MarkedTask(
                number=number,
                name=clean or f"task {number}",
                period_ns=period,
                deadline_ns=deadline,
            )
        )
    return Marks(tasks=tuple(tasks), records=records, dropped=wanted - count)


class Writer:
    """Marks jobs from Python. Threads share one; processes that both mark need C."""

    def __init__(self, path: str) -> None:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            self._map = mmap.mmap(file, 0)
        finally:
            os.close(file)
        self._lock = threading.Lock()
        magic, self._capacity, _ = _HEAD.unpack_from(self._map)
        if magic != MAGIC or bytes_of(self._capacity) > len(self._map):
            raise DataError(f"{path} is no file for marks", f"unset {VARIABLE}")

    @classmethod
    def found(cls) -> Self | None:
        """The one that deadbeat offers; None: this program was not started by it."""
        path = os.environ.get(VARIABLE)
        return cls(path) if path else None

    def declare(self, number: int, name: str, period_ns: int, deadline_ns: int) -> None:
        """What is known of a task."""
        text = name.encode()[:46]
        _TASK.pack_into(self._map, 64 + number * 64, period_ns, deadline_ns, text, 1)

    def add(self, number: int, release_ns: int, start_ns: int, finish_ns: int, cpu: int) -> None:
        """A finished job."""
        with self._lock:
            (place,) = struct.unpack_from("=Q", self._map, 16)
            struct.pack_into("=Q", self._map, 16, place + 1)
        if place < self._capacity:
            at = HEAD_BYTES + place * _RECORD.size
            _RECORD.pack_into(self._map, at, release_ns, start_ns, number, cpu, finish_ns)


@functools.cache
def _writer() -> Writer | None:
    return Writer.found()


@functools.cache
def _cpu() -> Any:
    return ctypes.CDLL(None).sched_getcpu


class mark(ContextDecorator):  # noqa: N801  read as a verb: with mark(0):
    """A job of task ``task``: a ``with`` block, or every call of a function it decorates.

    It does nothing in a program that deadbeat did not start.

    Args:
        task: 0 to 62; a task belongs to one thread.
        name, period_ns, deadline_ns: What is known of it.
        release_ns: When the job was released, on `time.monotonic_ns`; 0: when it begins.
    """

    def __init__(
        self,
        task: int = 0,
        name: str = "",
        *,
        period_ns: int = 0,
        deadline_ns: int = 0,
        release_ns: int = 0,
    ) -> None:
        if not 0 <= task < TASKS:
            raise ValueError(f"task {task}: tasks are numbered from 0 to {TASKS - 1}")
        self._task, self._release_ns, self._start_ns = task, release_ns, 0
        writer = _writer()
        if writer is not None and (name or period_ns or deadline_ns):
            writer.declare(task, name, period_ns, deadline_ns)

    def __enter__(self) -> Self:
        self._start_ns = time.monotonic_ns()
        return self

    def __exit__(self, *_: object) -> None:
        writer = _writer()
        if writer is not None:
            finish_ns, start_ns = time.monotonic_ns(), self._start_ns
            writer.add(self._task, self._release_ns or start_ns, start_ns, finish_ns, _cpu()())
