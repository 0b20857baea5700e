"""Marks the jobs of a periodic Python program, for ``deadbeat run -- python3 PROGRAM``."""

from __future__ import annotations

import ctypes
import functools
import time
from contextlib import ContextDecorator
from typing import Any, Self

from deadbeat.targets.marks import TASKS, Writer


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
        release_ns: When the job was released, on `time.monotonic_ns`; 0: as it begins.
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
