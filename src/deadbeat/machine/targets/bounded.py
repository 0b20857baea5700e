"""What a program of this machine prints of a stranger's file, within bounds of time and memory."""

from __future__ import annotations

import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, TypeVar

T = TypeVar("T")

#: Bytes of memory, s of CPU time.
_MEMORY, _SECONDS = 4 << 30, 3600
_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin"
#: None of the caller's settings, and no servers of symbols.
_ENVIRONMENT = {
    "LC_ALL": "C", "PATH": _PATH, "HOME": "/nonexistent", "DEBUGINFOD_URLS": "",
    "PERF_CONFIG": "/dev/null", "PERF_PAGER": "cat", "PAGER": "cat",
}  # fmt: skip


def installed(program: str) -> bool:
    """Whether there is such a program."""
    return shutil.which(program, path=_PATH) is not None


def read_bounded(words: Sequence[str], read: Callable[[IO[bytes]], T]) -> tuple[T, int, list[str]]:
    """What ``read`` makes of what a program prints, the program's status, and the lines of its
    errors."""
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, env=_ENVIRONMENT
        ) as process:
            try:
                with suppress(ProcessLookupError):  # it has ended
                    resource.prlimit(process.pid, resource.RLIMIT_AS, (_MEMORY, _MEMORY))
                    resource.prlimit(process.pid, resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
                assert process.stdout is not None
                found = read(process.stdout)
                status = process.wait()
            finally:
                process.kill()
        errors.seek(0)
        return found, status, errors.read(1 << 16).decode(errors="replace").split("\n")
