"""A machine over SSH: a POSIX shell and a writable folder there, nothing else."""

from __future__ import annotations

import secrets
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import IO
from weakref import WeakSet

from attrs import evolve

from deadbeat.base.model.errors import TargetError
from deadbeat.base.model.refused import hint_in
from deadbeat.machine.targets.base import ClosedAfterwards, Completed, Process
from deadbeat.machine.targets.local import LocalProcess
from deadbeat.machine.targets.readings import Readings, ask
from deadbeat.machine.targets.ssh_connection import ANSWER_S, Address, Connection, after, plain
from deadbeat.machine.targets.ssh_shell import Given, SshShell, refusal, status_of

#: More than this a command must not write unread, a text must not hold, a file must not have.
TEXT_BYTES, FILE_BYTES = 64 << 20, 4 << 30
#: What a command has to begin, and a copy to go on, s.
_START_S, _STALL_S = 30.0, 120.0
#: The mark behind the end of what a command wrote, and its status, are shorter.
_TAIL_BYTES = 64
_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
#: Slower copies are given up, bytes/s.
_SLOWEST = 20_000
#: Whether $1 is a file of $2 bytes with the sum $3, which only targets with cksum can tell.
_CHECK = """
same() {
    [ -f "$1" ] && [ "$(($(wc -c <"$1")))" = "$2" ] || return 1
    ! command -v cksum >/dev/null || [ "$(cksum <"$1")" = "$3 $2" ]
}
"""
_PUT = (
    _CHECK
    + """
part=$1.part
[ ! -d "$1" ] || { echo 'there is a folder of this name' >&2; exit 1; }
umask 077
trap 'rm -f -- "$part"' EXIT
trap 'exit 1' HUP INT TERM
cat >"$part" || exit 1
same "$part" "$2" "$3" || { echo 'it did not arrive whole' >&2; exit 1; }
chmod "$4" "$part" && mv -f -- "$part" "$1"
"""
)
_IS_THERE = 'same "$@" && { [ "$4" = 600 ] || [ -x "$1" ]; }'
_GET = """
[ -f "$1" ] || { echo 'there is no such file' >&2; exit 1; }
size=$(wc -c <"$1") || exit 1
sum=
! command -v cksum >/dev/null || { sum=$(cksum <"$1") || exit 1; }
echo $size ${sum%% *}
cat <"$1"
"""
_READ = '[ ! -d "$1" ] && [ -r "$1" ] && cat <"$1"'


class SshProcess(Process):
    """A command on a target; see :class:`deadbeat.machine.targets.base.Process`.

    Args:
        stdin: A file that it reads, and no line of ours; None: lines.
    """

    def __init__(
        self, connection: Connection, argv: Sequence[str], *, stdin: IO[bytes] | None = None
    ) -> None:
        self._connection = connection
        self._argv = tuple(argv)
        self._mark = f"deadbeat{secrets.token_hex(8)}"
        self._status: int | None = None
        self._number = 0
        self._killed = False
        words = connection.session((self._mark, *self._argv))
        self._local = LocalProcess(
            words, shown=self._argv, stdin=stdin, apart=True, limit=TEXT_BYTES
        )
        try:
            # Until it runs, past what a login wrote.
            try:
                answer = after(self._mark, self._local, _START_S)
            except TargetError as error:
                if self._connection.ask("ping"):
                    raise
                raise self._cut() from error
            if answer is None:
                raise self._cut()
            number, _, word = answer.partition(" ")
            if word != "started" or not number.isdecimal():
                self._status = 127
                raise refusal(self._connection.address.host, self._argv[0], word)
            self._number = int(number)
        except BaseException:
            self.kill()
            raise

    def _cut(self) -> TargetError:
        """Why its end is not known."""
        return self._connection.lost(f"{plain(self._argv[0])} has not ended", self.stderr())

    def write_line(self, line: str) -> None:
        try:
            self._local.write_line(line)
        except TargetError as error:
            raise error if self._connection.alive else self._cut() from error

    def read_line(self, timeout: float | None = None) -> str | None:
        while True:
            try:
                line = self._local.read_line(timeout)
            except TargetError as error:
                if not self._connection.alive or (
                    timeout is not None and timeout >= ANSWER_S and not self._connection.ask("ping")
                ):
                    raise self._cut() from error
                raise
            if line is None:
                if self._status is None and not self._killed:
                    raise self._cut()
                return None
            before, mark, status = line.rpartition(f"{self._mark} ")
            if not mark:
                return line
            self._status = status_of(status)
            if before:
                return before

    def contents(self, limit: int) -> Iterator[bytes]:
        """All that it writes, as it is.
        Raises TargetError: it is more than ``limit`` bytes, or nothing came for two minutes."""
        mark, held, size = f"{self._mark} ".encode(), b"", 0
        while data := self._local.read_bytes(_STALL_S):
            held += data
            given, held = held[:-_TAIL_BYTES], held[-_TAIL_BYTES:]
            size += len(given)
            if size > limit:
                raise TargetError(
                    f"{self._connection.address.host} gives more than the {limit} bytes that"
                    f" {plain(self._argv[-1])} may have",
                    "does it have no end, or does it grow while it is read?",
                )
            yield given
        rest, found, status = held.rpartition(mark)
        if not found:
            raise self._cut()
        self._status = status_of(status.decode("utf-8", errors="replace"))
        yield rest

    def close(self, timeout: float | None = 5.0) -> Completed:
        try:
            done = self._local.close(timeout)
        except TargetError:
            self.kill()
            raise
        before, mark, rest = done.stdout.rpartition(f"{self._mark} ")
        if mark:
            status, _, after = rest.partition("\n")
            self._status = status_of(status)
            done = evolve(done, stdout=before + after)
        if self._status is None and not self._killed:
            raise self._cut()
        return evolve(done, returncode=-9 if self._status is None else self._status)

    def kill(self) -> None:
        if self._status is None and not self._killed and self._number:
            self._connection.ask(f"kill {self._number}")
            self._killed = True
        self._local.kill()

    def stderr(self) -> str:
        """What it has written to standard error so far."""
        return self._local.stderr()


class SshTarget(ClosedAfterwards):
    """``ssh://user@host:port``; see :class:`deadbeat.machine.targets.base.Target`.

    A cut connection is made again by whatever needs it next, with a new folder.

    Raises:
        UsageError: ``word`` is no such address.
        TargetError: It cannot be connected to.
    """

    kind = "hardware"

    def __init__(self, word: str) -> None:
        self._address = Address.of(word)
        self.name = self._address.host
        self.address = word
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._closed = False
        self._sent: dict[str, tuple[str, bool]] = {}
        self._running: WeakSet[SshProcess] = WeakSet()
        self._shells: list[SshShell] = []
        self._connected()

    def _connected(self) -> Connection:
        """The connection, made again where it was cut."""
        with self._lock:
            if self._closed:
                raise TargetError(f"the connection to {self.name} is closed")
            old = self._connection
            if old is not None and old.alive:
                return old
            self._forget()
            if old is not None:
                old.close()
            self._connection = Connection(self._address, replacing=old.folder if old else "")
            return self._connection

    def _forget(self) -> None:
        """What a connection that is gone had."""
        for shell in self._shells:
            shell.close()
        self._shells.clear()
        self._sent.clear()

    @property
    def folder(self) -> str:
        """The private folder of the connection."""
        return self._connected().folder

    def run(self, argv: Sequence[str], *, timeout: float | None = None) -> Completed:
        given = self._given(argv, timeout=timeout)
        return Completed(
            argv=tuple(argv),
            returncode=given.status,
            stdout=given.stdout.decode("utf-8", errors="replace"),
            stderr=given.stderr.decode("utf-8", errors="replace"),
        )

    def _given(self, argv: Sequence[str], *, timeout: float | None = None) -> Given:
        """Runs ``argv`` in a shell that is free, or a new one."""
        connection = self._connected()
        with self._lock:
            shell = self._shells.pop() if self._shells else SshShell(connection)
        given = None
        try:
            given = shell.run(argv, timeout=timeout, limit=TEXT_BYTES)
        finally:
            with self._lock:
                free = given and self._connection is connection and not self._closed
                self._shells += [shell] if free else []
            if not free:
                shell.close()
        if given.refused:
            raise refusal(self.name, argv[0], given.refused)
        return given

    def start(self, argv: Sequence[str], *, stdin: IO[bytes] | None = None) -> SshProcess:
        process = SshProcess(self._connected(), argv, stdin=stdin)
        self._running.add(process)
        return process

    def put(self, source: Path, destination: str) -> None:
        """Copy a file to the target; see the protocol. Only this user may read it there."""
        try:
            with source.open("rb") as file:
                summed, digest, size = _sums(file)
                file.seek(0)
                runs = bool(source.stat().st_mode & 0o111)
                mode = "700" if runs else "600"
                words = (destination, str(size), str(summed), mode)
                known = (digest, runs)
                if self._sent.get(destination) == known and self._is_there(words):
                    return
                self._sent.pop(destination, None)
                with self.start(("sh", "-c", _PUT, "sh", *words), stdin=file) as process:
                    done = process.close(_STALL_S + size / _SLOWEST)
        except OSError as error:
            raise _not_copied(str(source), destination, error.strerror or str(error)) from error
        if done.returncode != 0:
            raise _not_copied(str(source), destination, plain(done.stderr))
        self._sent[destination] = known

    def _is_there(self, words: tuple[str, ...]) -> bool:
        return self.run(("sh", "-c", _CHECK + _IS_THERE, "sh", *words)).returncode == 0

    def get(self, source: str, destination: Path) -> None:
        """Copy a file of the target; see the protocol. It is as private as new files are here."""
        part = destination.with_name(destination.name + ".part")
        try:
            with self.start(("sh", "-c", _GET, "sh", source)) as process:
                announced = (process.read_line(_STALL_S) or "").split()
                if not announced or not all(word.isdecimal() for word in announced):
                    done = process.close(_STALL_S)
                    raise _not_copied(source, str(destination), plain(done.stderr))
                size = int(announced[0])
                if size > FILE_BYTES:
                    raise _not_copied(source, str(destination), f"it has {size} bytes")
                with part.open("wb") as file:
                    for data in process.contents(size):
                        file.write(data)
            with part.open("rb") as file:
                summed, _, got = _sums(file)
            if got != size or announced[1:] not in ([], [str(summed)]):
                raise _not_copied(source, str(destination), "it changed while it was copied")
            part.replace(destination)
        except OSError as error:
            raise _not_copied(source, str(destination), error.strerror or str(error)) from error
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)

    def read_text(self, path: str) -> str | None:
        """A file as text, or None; see the protocol. TargetError: It is too large."""
        given = self._given(("sh", "-c", _READ, "sh", path))
        if given.status != 0:
            return None
        data = given.stdout
        if path.endswith(".gz"):
            try:
                unpacked = zlib.decompressobj(31)
                data = unpacked.decompress(data, TEXT_BYTES)
            except zlib.error:
                return None
            if not unpacked.eof:
                return None
        return data.decode("utf-8", errors="replace")

    def read_many(
        self, paths: Sequence[str], commands: Mapping[str, str] | None = None
    ) -> Readings:
        return ask(self.run, paths, commands or {})

    def close(self) -> None:
        """Kill what still runs, remove the folder and end the connection."""
        with self._lock:
            self._closed = True
            for process in list(self._running):
                process.kill()
            self._forget()
            if self._connection is not None:
                self._connection.close()


def _sums(file: IO[bytes]) -> tuple[int, str, int]:
    """What POSIX's cksum says of a file, its SHA-256, and its size in bytes."""
    register, digest, size = 0xFFFFFFFF, sha256(), 0
    while data := file.read(1 << 20):
        # cksum takes bits in the other direction than zlib, and begins with 0.
        register = zlib.crc32(data.translate(_REVERSED), register)
        digest.update(data)
        size += len(data)
    length = size.to_bytes((size.bit_length() + 7) // 8, "little")
    register = zlib.crc32(length.translate(_REVERSED), register)
    return int(f"{register:032b}"[::-1], 2), digest.hexdigest(), size


def _not_copied(source: str, destination: str, why: str) -> TargetError:
    return TargetError(
        f"{plain(source)} cannot be copied to {plain(destination)}: {plain(why) or 'no reason'}",
        hint_in(why, "does the source exist, and is there permission at the destination?"),
    )
