"""The machine that deadbeat itself runs on."""

from __future__ import annotations

import errno
import fcntl
import gzip
import io
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO
from weakref import WeakSet

from deadbeat.base.model.errors import TargetError
from deadbeat.base.model.refused import OTHER_TMPDIR, refusal
from deadbeat.machine.targets.base import LOCAL, ClosedAfterwards, Completed, Process
from deadbeat.machine.targets.keeper import DONE, REMOVE, keeper
from deadbeat.machine.targets.readings import Readings, ask

_READ_BYTES = 65536
#: Spelled as only `deadbeat.__main__` writes it.
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "01")
#: Temporary folders. The owner, who may be in another PID namespace, keeps such a folder locked.
_WORK_PREFIX = "deadbeat-work-"
_REAP_SECONDS = 1.0
#: How often the size of what a process said is looked at where it is limited.
_LOOK_S = 1.0


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")


def environment() -> dict[str, str]:
    """That of programs that are started: without what `deadbeat.__main__` set for itself."""
    return {name: value for name, value in os.environ.items() if (name, value) != _ONE_THREAD}


def spawn(
    argv: Sequence[str],
    *,
    stdin: int | IO[bytes],
    stdout: int,
    stderr: int | IO[bytes],
    apart: bool = False,
) -> subprocess.Popen[bytes]:
    """Start ``argv`` in this process group, so that Ctrl-C on the terminal reaches it too.

    Args:
        apart: In a session of its own instead.

    Raises:
        TargetError: It cannot be started.
    """
    try:
        return subprocess.Popen(
            list(argv),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            bufsize=0,
            close_fds=True,
            start_new_session=apart,
            env=environment(),
        )
    except FileNotFoundError as error:
        raise TargetError(f"no program {argv[0]} here", "check the path, or install it") from error
    except PermissionError as error:
        raise TargetError(
            f"{argv[0]} may not be executed",
            f"is it executable, and its folder not mounted noexec? If so, {OTHER_TMPDIR}",
        ) from error
    except OSError as error:
        raise TargetError(*refusal(f"{argv[0]} cannot be started", error)) from error


class HostKeeper:
    """Runs ``script`` on this host if this process dies before `call_off`; see `keeper`."""

    def __init__(self, script: str, *words: str) -> None:
        null = subprocess.DEVNULL
        self._process: subprocess.Popen[bytes] | None = spawn(
            keeper(script, *words), stdin=subprocess.PIPE, stdout=null, stderr=null
        )

    def call_off(self) -> None:
        """Ends it; nothing is run. Safe to call again."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGCONT)  # it may have been stopped
            with suppress(BrokenPipeError):
                process.communicate(f"{DONE}\n".encode())


def become(argv: Sequence[str], held: Sequence[int]) -> None:
    """Goes on as another program, which has the files ``held``, too."""
    for each in held:
        os.set_inheritable(each, True)
    sys.stdout.flush()
    os.execv(argv[0], [*argv])


class LocalProcess(Process):
    """A child of this process; see :class:`deadbeat.machine.targets.base.Process`.

    Args:
        shown: What it is called where it is not to be called ``argv``.
        stdin: A file that it reads, and no line of ours; None: a pipe.
        apart: In a session of its own, which ends with it: no Ctrl-C on the terminal reaches it.
        limit: It is killed for more unread bytes than this; None: there is none.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        shown: Sequence[str] | None = None,
        stdin: IO[bytes] | None = None,
        apart: bool = False,
        limit: int | None = None,
    ) -> None:
        self._argv = tuple(argv if shown is None else shown)
        self._limit, self._apart = limit, apart
        # A file never fills up, so a talkative child cannot block on a pipe without a reader.
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        try:
            self._popen = spawn(
                argv,
                stdin=stdin or subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                apart=apart,
            )
        except TargetError:
            self._stderr.close()
            raise
        assert self._popen.stdout is not None
        self._stdin = self._popen.stdin or io.BytesIO()
        self._stdout = self._popen.stdout
        self._pending = bytearray()
        self._ended = False
        self._errors = ""

    @property
    def pid(self) -> int:
        """Its process number."""
        return self._popen.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._popen.poll() is None

    def write_line(self, line: str) -> None:
        data = memoryview(line.encode() + b"\n")
        try:
            while data:
                data = data[self._stdin.write(data) or 0 :]
        except (BrokenPipeError, ValueError) as error:
            raise TargetError(
                f"{self._argv[0]} no longer listens",
                self._last_words() or "it ended without a word",
            ) from error

    def read_line(self, timeout: float | None = None) -> str | None:
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            newline = self._pending.find(b"\n")
            if newline >= 0:
                line = bytes(self._pending[:newline])
                del self._pending[: newline + 1]
                return _text(line)
            if self._ended:
                rest = bytes(self._pending)
                self._pending.clear()
                return _text(rest) if rest else None
            if not self._fill(deadline):
                raise TargetError(
                    f"{self._argv[0]} did not answer within {timeout:g} s",
                    self._last_words() or "is the machine overloaded, or the command stuck?",
                )

    def read_bytes(self, timeout: float | None = None) -> bytes:
        """What it wrote next, ends of line and all; b"" at the end of its output.
        Raises TargetError: nothing arrived in ``timeout`` seconds."""
        if not self._pending and not self._ended:
            deadline = None if timeout is None else time.monotonic() + timeout
            if not self._fill(deadline):
                raise TargetError(f"{self._argv[0]} gave nothing for {timeout:g} s")
        data = bytes(self._pending)
        self._pending.clear()
        return data

    def _fill(self, deadline: float | None) -> bool:
        """Keep what arrives until ``deadline`` (monotonic seconds); False when nothing did."""
        poll = select.poll()
        poll.register(self._stdout.fileno(), select.POLLIN)
        while True:
            wait = None if deadline is None else max(0.0, deadline - time.monotonic())
            look = self._limit is not None and (wait is None or wait > _LOOK_S)
            ready = poll.poll(_LOOK_S * 1000 if look else wait if wait is None else wait * 1000)
            self._check_size()
            if ready:
                break
            if not look:
                return False
        data = os.read(self._stdout.fileno(), _READ_BYTES)
        self._pending += data
        self._ended = not data
        return True

    def _check_size(self) -> None:
        said = os.fstat(self._stderr.fileno()).st_size
        if self._limit is not None and max(len(self._pending), said) > self._limit:
            self.kill()
            raise TargetError(
                f"{self._argv[0]} wrote more than {self._limit >> 20} MiB and was ended",
                "what a target gives is bounded; does it write without end?",
            )

    def close(self, timeout: float | None = 5.0) -> Completed:
        """Close its input and wait for its end; see the protocol.

        Args:
            timeout: None: however long it takes.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        if not self._stdin.closed:
            self._stdin.close()
        late = False
        # Read to the end first: a child that still writes must not block on a full pipe.
        while not self._stdout.closed and not self._ended and not late:
            late = not self._fill(deadline)
        if not late:
            try:
                self._popen.wait(
                    None if deadline is None else max(0.0, deadline - time.monotonic())
                )
            except subprocess.TimeoutExpired:
                late = True
        words = self._last_words()
        self.kill()
        if late:
            raise TargetError(
                f"{self._argv[0]} did not end within {timeout:g} s of being asked and was killed",
                words,
            )
        return Completed(
            argv=self._argv,
            returncode=self._popen.returncode,
            stdout=_text(bytes(self._pending)),
            stderr=self._errors,
        )

    def kill(self) -> None:
        if self._popen.poll() is None:
            if self._apart:
                os.killpg(self._popen.pid, signal.SIGKILL)
            self._popen.kill()
            self._popen.wait()
        self._errors = self.stderr()
        for stream in (self._stdin, self._stdout, self._stderr):
            stream.close()

    def stderr(self) -> str:
        """What it has written to standard error so far."""
        if self._stderr.closed:
            return self._errors
        size = os.fstat(self._stderr.fileno()).st_size
        first = 0 if self._limit is None else max(0, size - self._limit)
        return _text(os.pread(self._stderr.fileno(), size - first, first))

    def _last_words(self) -> str:
        lines = self.stderr().strip().splitlines()
        return f"it said: {lines[-1]}" if lines else ""


class LocalTarget(ClosedAfterwards):
    """This machine; see :class:`deadbeat.machine.targets.base.Target`.

    Args:
        folder: Existing folder to work in; None makes a temporary one when it is first asked for,
            removed by :meth:`close`: whoever only reads needs none.
    """

    kind = "hardware"
    address = LOCAL

    def __init__(self, *, folder: Path | None = None) -> None:
        self.name = socket.gethostname()
        self._owner = -1  # keeps the folder locked
        self._keeper: HostKeeper | None = None
        self._folder, self._closed = folder, False
        self._running: WeakSet[LocalProcess] = WeakSet()

    @property
    def folder(self) -> str:
        """Where it works; TargetError where it cannot be made."""
        if self._folder is None:
            if self._closed:
                raise TargetError(f"{self.name} was given back")
            self._folder, self._owner = _work_folder()
            self._keeper = HostKeeper(REMOVE, str(self._folder))
        return str(self._folder)

    def run(self, argv: Sequence[str], *, timeout: float | None = None) -> Completed:
        popen = spawn(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            stdout, stderr = popen.communicate(timeout=timeout)
        except subprocess.TimeoutExpired as error:
            _end(popen)
            raise TargetError(
                f"{argv[0]} did not end within {timeout:g} s and was killed"
            ) from error
        except BaseException:
            _end(popen)
            raise
        return Completed(
            argv=tuple(argv),
            returncode=popen.returncode,
            stdout=_text(stdout),
            stderr=_text(stderr),
        )

    def start(self, argv: Sequence[str]) -> LocalProcess:
        process = LocalProcess(argv)
        self._running.add(process)
        return process

    def put(self, source: Path, destination: str) -> None:
        _copy(source, Path(destination))

    def get(self, source: str, destination: Path) -> None:
        _copy(Path(source), destination)

    def read_text(self, path: str) -> str | None:
        try:
            data = Path(path).read_bytes()
            return _text(gzip.decompress(data) if path.endswith(".gz") else data)
        except (OSError, EOFError, zlib.error) as error:
            if getattr(error, "errno", None) in (errno.EMFILE, errno.ENFILE):
                raise TargetError(*refusal(f"cannot read {path}", error)) from error
            return None

    def read_many(
        self, paths: Sequence[str], commands: Mapping[str, str] | None = None
    ) -> Readings:
        return ask(self.run, paths, commands or {})

    def close(self) -> None:
        """Kill what still runs and remove the temporary folder."""
        self._closed = True
        for process in list(self._running):
            process.kill()
        if self._keeper is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self._keeper.call_off()
        if self._owner >= 0:
            os.close(self._owner)
            self._owner = -1


def _work_folder() -> tuple[Path, int]:
    """A new temporary folder, and the descriptor that keeps it locked."""
    while True:
        folder = None
        try:
            # Removes folders of processes that were killed before they could.
            for orphan in Path(tempfile.gettempdir()).glob(f"{_WORK_PREFIX}*"):
                try:
                    lock = _open_folder(orphan)
                except OSError:
                    continue  # another user's, or no folder
                if _locked(lock, orphan, wait=False):
                    shutil.rmtree(orphan, ignore_errors=True)
                os.close(lock)
            folder = Path(tempfile.mkdtemp(prefix=_WORK_PREFIX))
            owner = _open_folder(folder)
        except OSError as error:
            if folder is not None and not folder.exists():
                continue  # before it was locked, another process took it for an orphan
            what = f"no temporary folder {error.filename or ''}".rstrip()
            raise TargetError(*refusal(what, error, OTHER_TMPDIR, OTHER_TMPDIR)) from error
        if _locked(owner, folder, wait=True):
            return folder, owner
        os.close(owner)


def _open_folder(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def _locked(owner: int, folder: Path, *, wait: bool) -> bool:
    """Whether ``folder``, opened as ``owner``, is locked until it is closed, and still there;
    ``wait`` for one of one's own, until whoever takes it for an orphan has removed it."""
    try:
        fcntl.flock(owner, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return wait  # a file system without locks: no process gets one, and removes it
    try:
        return os.path.samestat(os.fstat(owner), folder.lstat())
    except OSError:
        return False


def _end(popen: subprocess.Popen[bytes]) -> None:
    """Kill a child; a grandchild that keeps its pipes open is not waited for."""
    popen.kill()
    try:
        popen.communicate(timeout=_REAP_SECONDS)
    except subprocess.TimeoutExpired:
        for stream in (popen.stdout, popen.stderr):
            if stream is not None:
                stream.close()
        popen.wait()


def _copy(source: Path, destination: Path) -> None:
    """Copy beside ``destination`` and rename into place, so that no half file is ever seen."""
    part = destination.with_name(destination.name + ".part")
    try:
        shutil.copy(source, part)
        part.replace(destination)
    except OSError as error:
        part.unlink(missing_ok=True)
        what = f"{source} cannot be copied to {destination}"
        raise TargetError(*refusal(what, error, "does the source exist?")) from error
