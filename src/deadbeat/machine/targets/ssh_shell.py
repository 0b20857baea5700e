"""A shell on a target in which commands run one after the other, each in a round trip."""

from __future__ import annotations

import os
import secrets
import select
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress

from attrs import frozen

from deadbeat.base.model.errors import TargetError
from deadbeat.machine.targets.local import spawn
from deadbeat.machine.targets.ssh_connection import Connection, plain, quoted

_READ_BYTES = 65536
_REFUSALS = {
    "missing": ("no program {} on {}", "check the path, or install it there"),
    "denied": (
        "{} may not be executed on {}",
        "is it executable, and its folder not mounted noexec?",
    ),
}


def status_of(text: str) -> int:
    """Exit status as `Completed` has it, of what a shell says of it; 255 where it says nothing."""
    first = text.split("\n", 1)[0]
    value = int(first) if first.isdecimal() and len(first) <= 3 else 255
    return 128 - value if 128 < value <= 192 else value


def refusal(host: str, program: str, word: str) -> TargetError:
    """Why ``ssh_run.sh`` did not start ``program``, as it said in ``word``."""
    if word in _REFUSALS:
        what, hint = _REFUSALS[word]
        return TargetError(what.format(plain(program), host), hint)
    return TargetError(
        f"{host} did not start {plain(program)}: {plain(word) or 'it said nothing'}",
        "was deadbeat's folder there removed?",
    )


@frozen(kw_only=True)
class Given:
    """What a command gave: its exit status, as `Completed` has it, and what it wrote.

    Attributes:
        refused: The word for `refusal` where it was not started.
    """

    refused: str = ""
    status: int
    stdout: bytes
    stderr: bytes


class SshShell:
    """A session of ``connection`` for commands that are not talked to."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        pipe = subprocess.PIPE
        words = connection.session(())
        self._popen = spawn(words, stdin=pipe, stdout=pipe, stderr=pipe, apart=True)
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        assert self._popen.stderr is not None
        self._streams = (self._popen.stdin, self._popen.stdout, self._popen.stderr)

    def run(self, argv: Sequence[str], *, timeout: float | None, limit: int) -> Given:
        """Runs ``argv`` to its end. After an error this shell is of no use any more.

        Args:
            timeout: Seconds until it is killed, with its process group; None: none.
            limit: Bytes that it may write, to standard output and error each.

        Raises:
            TargetError: It does not end in time or writes too much, or the connection is cut.
        """
        stdin, stdout, stderr = (stream.fileno() for stream in self._streams)
        mark = f"deadbeat{secrets.token_hex(8)}".encode()
        words = quoted(argv)
        request = memoryview(mark + os.fsencode(f" {words.count(chr(10)) + 1}\n{words}\n"))
        deadline = None if timeout is None else time.monotonic() + timeout
        out, err = bytearray(), bytearray()
        poll = select.poll()
        for file in (stdout, stderr):
            poll.register(file, select.POLLIN)
        with suppress(BrokenPipeError):
            while request:
                request = request[os.write(stdin, request) :]
        said = _Said(out, err, mark)
        while not said.whole():
            wait = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
            ready = poll.poll(wait)
            if not ready:
                self._end(said.number)
                raise TargetError(
                    f"{plain(argv[0])} did not end within {timeout:g} s and was killed",
                    "" if self._connection.alive else "the connection does not answer any more",
                )
            # what it said of its end is read before the end of its output
            for file, _ in sorted(ready, key=lambda each: each[0] == stdout):
                data = os.read(file, _READ_BYTES)
                (out if file == stdout else err).extend(data)
                if not data:
                    raise self._connection.lost(
                        f"{plain(argv[0])} has not ended", err.decode("utf-8", errors="replace")
                    )
            if max(len(out), len(err)) > limit + _READ_BYTES:
                self._end(said.number)
                raise TargetError(
                    f"{plain(argv[0])} gives more than {limit >> 20} MiB and was killed",
                    "what a target gives is bounded; does it write without end?",
                )
        return said.given()

    def _end(self, number: int) -> None:
        if number:
            self._connection.ask(f"kill {number}")
        self.close()

    def close(self) -> None:
        """Ends it here, and so at its next line there. Safe to call again."""
        if self._popen.poll() is None:
            self._popen.kill()
            self._popen.wait()
        for stream in self._streams:
            stream.close()


class _Said:
    """What a shell has written of one command.

    Attributes:
        number: Number of its process group; 0 while it is not known.
        word: ``started``, or why not; "" while it is not known.
    """

    def __init__(self, out: bytearray, err: bytearray, mark: bytes) -> None:
        self.number, self.word = 0, ""
        self._out, self._err, self._mark = out, err, mark
        self._begin = 0
        self._end = -1
        self._looked = 0

    def whole(self) -> bool:
        """Whether that is all of it."""
        if not self.word:
            head = self._out.find(self._mark + b" ")
            stop = self._out.find(b"\n", head)
            if head < 0 or stop < 0:
                return False
            words = self._out[head:stop].decode("ascii", errors="replace").split(" ", 2)
            self.number = int(words[1]) if words[1].isdecimal() else 0
            self.word = words[2] if len(words) > 2 else "?"
            self._begin = self._looked = stop + 1
        if self.word == "started" and self._end < 0:
            found = self._out.find(self._mark + b" ", self._looked)
            self._looked = max(self._begin, len(self._out) - len(self._mark))
            if found < 0 or self._out.find(b"\n", found) < 0:
                self._looked = self._looked if found < 0 else found
                return False
            self._end = found
        return self._err.count(self._mark + b"\n") >= 2

    def given(self) -> Given:
        """All of it, where it is whole."""
        if self.word != "started":
            return Given(refused=self.word, status=127, stdout=b"", stderr=b"")
        _, _, err = self._err.partition(self._mark + b"\n")
        status = self._out[self._end + len(self._mark) + 1 :].decode("ascii", errors="replace")
        return Given(
            status=status_of(status),
            stdout=bytes(self._out[self._begin : self._end]),
            stderr=bytes(err.partition(self._mark + b"\n")[0]),
        )
