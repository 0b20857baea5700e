"""Starts a program many times, as cheaply as can be; git's answers."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from deadbeat.base.model.errors import DataError, RunError, UsageError
from deadbeat.base.model.words import shortened
from deadbeat.base.store.files import output_file
from deadbeat.machine.targets.guarded import GRACE_S, ended_words
from deadbeat.machine.targets.local import HostKeeper, environment

#: In the environment of what we start, and so of all that it starts.
_OWN = "DEADBEAT_BISECT"
#: Ends all of it; again, as what is being started is not seen.
_SWEEP = f"""for again in 1 2 3; do
for own in $(grep -als "{_OWN}=$0" /proc/[0-9]*/environ); do
    own=${{own#/proc/}}; kill -KILL "${{own%/environ}}"
done; done"""
#: Nothing that a repository may have git run.
_QUIET = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0")


@frozen
class Ran:
    """How a program ended (as `subprocess` has it), and what it took. ``ended``: by itself."""

    status: int
    ended: bool
    wall_s: float
    cpu_s: float


class Programs:
    """Starts programs, one at a time; all that they started ends with them, or with us.

    Args:
        scratch: File for what they print.
    """

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch.absolute()
        self._own = os.urandom(8).hex()

    def __enter__(self) -> Programs:
        self._keeper = HostKeeper(f'{_SWEEP}; rm -f -- "$1"', self._own, str(self.scratch))
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(("sh", "-c", _SWEEP, self._own), check=False, stdin=subprocess.DEVNULL)
        self.scratch.unlink(missing_ok=True)
        self._keeper.call_off()

    def run(self, command: Sequence[str], folder: Path, output: Path, most_s: float | None) -> Ran:
        """Runs it in ``folder``, for ``most_s`` at most. Raises RunError: it does not start."""
        with output_file(output) as file:
            began = time.perf_counter()
            try:
                process = subprocess.Popen(
                    command,
                    cwd=folder,
                    env={**environment(), _OWN: self._own},
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                name = shortened(str(command[0]))
                raise RunError(f"{name} does not start: {error.strerror}") from None
        ended = False
        try:
            ended = _wait(process.pid, most_s)
            if not ended:
                os.killpg(process.pid, signal.SIGTERM)
                _wait(process.pid, GRACE_S)
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            _, status, used = os.wait4(process.pid, 0)
            wall_s = time.perf_counter() - began
            process.returncode = os.waitstatus_to_exitcode(status)
        return Ran(process.returncode, ended, wall_s, used.ru_utime + used.ru_stime)


def _wait(pid: int, seconds: float | None) -> bool:
    """Whether it ended within that."""
    file = os.pidfd_open(pid)
    try:
        return bool(select.select([file], [], [], seconds)[0])
    finally:
        os.close(file)


def git(folder: Path, *words: str) -> str:
    """What git answers in ``folder``. Raises DataError: it refuses."""
    own = {name: value for name, value in environment().items() if not name.startswith("GIT_")}
    more = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        said = subprocess.run(
            ("git", *_QUIET, *words),
            cwd=folder,
            env=own | more,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError:
        raise UsageError("there is no git here", "install git") from None
    if said.returncode:
        lines = said.stderr.split("\n")
        why = lines[0].removeprefix("fatal: ") or ended_words(said.returncode)
        cures = (line.strip() for line in lines if line.startswith("\tgit "))
        raise DataError(f"git {words[0]}: {why}", next(cures, "see git there"))
    return said.stdout
