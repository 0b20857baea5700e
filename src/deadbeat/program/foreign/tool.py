"""Other programs that read formats of their own."""

from __future__ import annotations

import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from typing import IO

from deadbeat.base.model.errors import DataError
from deadbeat.program.foreign.gathered import Gathered

#: What one may take, as files are strangers': bytes of memory, s of CPU time.
_MEMORY, _SECONDS = 4 << 30, 3600
#: Nothing of the caller's settings, and no servers of symbols.
_ENVIRONMENT = {
    "LC_ALL": "C", "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin", "HOME": "/nonexistent",
    "DEBUGINFOD_URLS": "", "PERF_CONFIG": "/dev/null", "PERF_PAGER": "cat", "PAGER": "cat",
}  # fmt: skip


def read_by(words: Sequence[str], package: str, read: Callable[[IO[bytes]], Gathered]) -> Gathered:
    """What ``read`` finds in what a program of Debian's ``package`` prints.
    Raises DataError: it is not installed, or can read nothing."""
    if shutil.which(words[0], path=_ENVIRONMENT["PATH"]) is None:
        raise DataError(f"{words[0]} is not installed, which reads it", f"apt install {package}")
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, env=_ENVIRONMENT
        ) as process,
    ):
        try:
            resource.prlimit(process.pid, resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
            assert process.stdout is not None
            found = read(process.stdout)
            status = process.wait()
        finally:
            process.kill()
        errors.seek(0)
        said = errors.read(1 << 16).decode(errors="replace").split("\n")
    why = next((line.strip() for line in reversed(said) if line.strip()), f"status {status}")
    if not found.seen:
        raise DataError(f"{words[0]} finds no event in it: {why[:200]}")
    if status:
        found.notes.append(f"what comes after it was damaged: {words[0]} says {why[:200]}")
    return found
