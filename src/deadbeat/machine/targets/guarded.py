"""A program of the user's in a process group of its own, which ends with deadbeat in any case."""

from __future__ import annotations

import math
import os
import pwd
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from deadbeat.base.model.errors import TargetError, UsageError
from deadbeat.base.model.words import shortened
from deadbeat.machine.targets.base import Target, is_here
from deadbeat.machine.targets.local import HostKeeper, environment

#: An error in what a program prints: no option, no name of a file. Signs of it that are shown.
_ERROR = re.compile(r"(?<![\w./-])error\b(?![./=])", re.IGNORECASE)
_ERROR_SHOWN = 160
#: Starts only once its keeper watches: whoever dies before leaves nothing behind. Python ignores
#: SIGPIPE and SIGXFSZ, and so would the program. The program's variables are not for the gate.
_GATE = """import os, signal, sys
gate, user, count, *command = sys.argv[1:]
os.environ.update(pair.split("=", 1) for pair in command[:int(count)])
del command[:int(count)]
go = os.read(int(gate), 1)
os.close(int(gate))
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
if user:
    import pwd, warnings  # what execvp needs, while we may read it
    who = pwd.getpwnam(user)
    os.initgroups(user, who.pw_gid)
    os.setgid(who.pw_gid)
    os.setuid(who.pw_uid)
    os.environ.update(HOME=who.pw_dir, USER=user, LOGNAME=user, SHELL=who.pw_shell)
go and os.execvp(command[0], command)"""
#: The same of a shell, which says its number first.
_SHELL_GATE = 'echo $$; read -r go && exec "$@" </dev/null'
#: In the environment of the program, and so of all that it starts, in whatever session.
_OWN = "DEADBEAT_PROGRAM"
#: Run where deadbeat was killed: the group, what left it, and the file.
_AFTER = f"""kill -KILL "-$0" 2>/dev/null; [ -z "$1" ] || rm -f -- "$1"
for own in $(grep -als "{_OWN}=$2" /proc/[0-9]*/environ); do
    own=${{own#/proc/}}; kill -KILL "${{own%/environ}}"
done"""
#: What a program has to end by itself.
GRACE_S = 1.0
#: Between looks at what it left.
_SWEEP_S = 0.01
#: Between looks at whether it stood still, and how long it must have.
_LOOK_S, _STOOD_S = 0.25, 0.5
#: What lives so much longer sleeps in the kernel.
_SWEEP_MOST_S = 5.0


def shared_path(stem: str, size: int = 0) -> Path:
    """A path for a file of ``size`` bytes that does not exist yet, in memory where it has room."""
    shared = Path("/dev/shm")
    fits = os.access(shared, os.W_OK) and shutil.disk_usage(shared).free >= size
    folder = shared if fits else Path(tempfile.gettempdir())
    return folder / f"{stem}-{os.getpid()}-{os.urandom(6).hex()}"


def of_shell(status: int) -> int:
    """A status as `subprocess` has it, of a shell's: 128 and the number of a signal."""
    return 128 - status if status - 128 in signal.valid_signals() else status


def ended_words(status: int) -> str:
    """How a program ended: ``with status 3``, ``by signal SIGSEGV``."""
    if status >= 0:
        return f"with status {status}"
    with suppress(ValueError):
        return f"by signal {signal.Signals(-status).name}"
    return f"by signal {-status}"


def said(path: Path) -> str:
    """The first line with an error that a program printed, else the last, to end a sentence."""
    lines = [line.strip() for line in path.read_text(errors="replace").splitlines()]
    known = [*filter(_ERROR.search, lines), *filter(None, reversed(lines))]
    return f": {shortened(known[0], _ERROR_SHOWN)}" if known else ""


def _now_s() -> float:
    """Goes on while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _waited_s() -> float:
    """How long this thread has waited for a CPU in its life."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, LookupError):
        return math.inf  # the kernel does not count that: then nothing is known of a gap


def found(program: str, target: Target | None = None) -> bool:
    """Whether it is on ``target`` (None: here), else it is a file of ours to send there.
    Raises UsageError where there is no such program."""
    here = shutil.which(program) is not None
    if target is None or is_here(target):
        there, where = here, "here"
    else:
        words = ("sh", "-c", 'command -v -- "$1"', "sh", program)
        there, where = target.run(words).returncode == 0, f"on {target.name}"
    if not there and (where == "here" or not here or "/" not in program):
        if "/" in program:
            why = f"no such file {where}".removesuffix(" here")
            if where == "here" and Path(program).exists():
                why = "not an executable file"
            raise UsageError(f"{shlex.quote(program)}: {why}")
        raise UsageError(f"no program {shlex.quote(program)} {where}", "check the path: ./PROGRAM")
    return there


def check_user(name: str, target: Target) -> None:
    """Raises UsageError where nothing can be run as this user."""
    known = name in (each.pw_name for each in pwd.getpwall())
    if not known or os.geteuid() != 0 or not is_here(target):
        hint = "root can, of a user that there is, on this machine"
        raise UsageError(f"--user {name}: nothing can be run as this user", hint)


def _await_gate(pid: int) -> None:
    """Until it sleeps at its gate: CPU time is exact of a thread that does not run."""
    until = time.monotonic() + GRACE_S
    while time.monotonic() < until:
        with suppress(OSError):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S":
                return
        time.sleep(_SWEEP_S / 10)


def _foreground(owner: int, group: int) -> bool:
    """Gives the terminal of our input from the group ``owner`` to ``group``; whether it was its."""
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        if os.isatty(0) and os.tcgetpgrp(0) == owner:
            os.tcsetpgrp(0, group)
            return True
    except OSError:  # another session's
        pass
    finally:
        signal.signal(signal.SIGTTOU, before)
    return False


class GuardedProgram:
    """Starts ``command``; `close` ends it and all that it started. ``stood``: how it stood still
    while it was waited for; "": it did not.

    Args:
        more: Added to its environment.
        file: Removed if deadbeat is killed.
        user: Whom it runs as; "": as we do.
        quiet: It has no input; else ours, and the terminal's foreground.
        output, errors: Files that its standard output and errors go to; None: ours.
        ready: Called with its process id before it begins, while it sleeps.
        look: Called now and then while it is waited for.

    Raises:
        UsageError: There is no such program.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        more: Mapping[str, str] | None = None,
        file: str = "",
        quiet: bool = True,
        output: int | None = 2,
        errors: int | None = None,
        user: str = "",
        ready: Callable[[int], None] | None = None,
        look: Callable[[], None] = lambda: None,
    ) -> None:
        found(command[0])
        self._look = look
        self._own = os.urandom(8).hex()
        gate, go = os.pipe()
        given = [f"{name}={value}" for name, value in (more or {}).items()]
        words = (str(gate), user, str(len(given)), *given, *command)
        try:
            self._process = subprocess.Popen(
                (sys.executable, "-I", "-S", "-c", _GATE, *words),
                stdin=subprocess.DEVNULL if quiet else None,
                stdout=output,
                stderr=errors,
                env={**environment(), _OWN: self._own},
                process_group=0,
                pass_fds=(gate,),
            )
        except BaseException:
            os.close(go)
            raise
        finally:
            os.close(gate)
        self._terminal = not quiet and _foreground(os.getpgrp(), self._process.pid)
        self.status: int | None = None
        self.stood = ""
        self._keeper: HostKeeper | None = None
        self._before: Any = None
        try:
            if threading.current_thread() is threading.main_thread():  # only that has handlers
                self._before = signal.signal(signal.SIGCHLD, self._on_child)
            self._keeper = HostKeeper(_AFTER, str(self._process.pid), file, self._own)
            if ready is not None:
                _await_gate(self._process.pid)
                ready(self._process.pid)
            os.write(go, b"g")
        except BaseException:
            self.close()
            raise
        finally:
            os.close(go)

    def _on_child(self, *_: object) -> None:
        with suppress(ChildProcessError):
            found = os.waitid(os.P_PID, self._process.pid, os.WCONTINUED | os.WNOHANG)
            if found is not None:
                self.stood = "was stopped, and went on (SIGCONT)"

    def running(self) -> bool:
        """Whether it has not ended; it stays unreaped, so that its group keeps its number."""
        return not self.wait(0)

    def wait(self, seconds: float | None) -> bool:
        """Whether it ended within this number of seconds; None: however long it takes. Wakes only
        itself, to see whether it stood still."""
        until = math.inf if seconds is None else _now_s() + seconds
        if self.status is not None:
            return True
        try:
            file = os.pidfd_open(self._process.pid)
        except ProcessLookupError:
            return True
        try:
            poll = select.poll()
            poll.register(file, select.POLLIN)
            while True:
                due, waited = min(_now_s() + _LOOK_S, until), _waited_s()
                if poll.poll(max(0, due - _now_s()) * 1000):
                    self._take_terminal()
                    return True
                self._look()
                late = _now_s() - due - (_waited_s() - waited)
                if late > _STOOD_S:
                    self.stood = f"did not run for {late:.1f} s (frozen, or its machine paused)"
                if due >= until:
                    return False
        finally:
            os.close(file)

    def cpu_seconds(self) -> float:
        """Processor time that it took, without its children; 0 where it has ended."""
        try:
            stat = Path(f"/proc/{self._process.pid}/stat").read_text()
        except OSError:
            return 0.0
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def close(self) -> int:
        """Ends its group: SIGTERM, a second later SIGKILL; then what left the group, at once.
        Returns its exit status."""
        if self.status is None:
            group = self._process.pid
            if not self.wait(0):
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, signal.SIGTERM)
                self.wait(GRACE_S)
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
            self.status = self._process.wait()
            until = time.monotonic() + _SWEEP_MOST_S
            while (left := self._left()) and time.monotonic() < until:
                for pid in left:
                    with suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, signal.SIGKILL)
                time.sleep(_SWEEP_S)
            if self._before is not None:
                signal.signal(signal.SIGCHLD, self._before)
            self._take_terminal()
        if self._keeper is not None:
            self._keeper.call_off()
        return self.status

    def _take_terminal(self) -> None:
        if self._terminal:
            _foreground(self._process.pid, os.getpgrp())

    def _left(self) -> list[int]:
        """Processes that it started and that live, in whatever group and session."""
        mark = f"{_OWN}={self._own}".encode()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # gone, or another user's
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
        return found


def end_rest(known: Mapping[int, int]) -> list[int]:
    """Ends those of ``known`` that live; of each process when it began at the latest, on
    `time.monotonic_ns`: a later one has its number by chance. Returns which."""
    ended, slept_ns = [], time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns()
    for pid, at_ns in known.items():
        with suppress(OSError), os.fdopen(os.pidfd_open(pid)) as file:
            ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            began_ns = int(ticks[19]) * 10**9 // os.sysconf("SC_CLK_TCK") - slept_ns
            if ticks[0] != "Z" and began_ns <= at_ns:
                signal.pidfd_send_signal(file.fileno(), signal.SIGKILL)
                ended.append(pid)
    return ended


class TargetProgram:
    """Starts ``command`` on another machine, where it has no input; what it writes comes line by
    line, its errors at its end. It ends with the connection; see `GuardedProgram`.

    Args:
        output: File that its standard output goes to here; None: ours.

    Raises:
        UsageError: There is no such program.
    """

    stood = ""

    def __init__(
        self,
        target: Target,
        command: Sequence[str],
        *,
        more: Mapping[str, str],
        output: int | None,
        ready: Callable[[int], None],
    ) -> None:
        if not found(command[0], target):
            sent = f"{target.folder}/{Path(command[0]).name}"
            target.put(Path(command[0]), sent)
            command = (sent, *command[1:])
        words = ("env", *(f"{name}={value}" for name, value in more.items()), *command)
        self._target, self._output = target, 1 if output is None else output
        self.status: int | None = None
        self._process = target.start(("sh", "-c", _SHELL_GATE, "sh", *words))
        self._pid = int(self._process.read_line(_SWEEP_MOST_S) or 0)
        ready(self._pid)
        self._process.write_line("go")

    def wait(self, seconds: float | None) -> bool:
        """Whether it ended within this number of seconds; None: however long it takes."""
        until = None if seconds is None else _now_s() + seconds
        while True:
            try:
                line = self._process.read_line(until and max(0.0, until - _now_s()))
            except TargetError:
                if until is None or _now_s() < until:
                    raise
                return False
            if line is None:
                return True
            os.write(self._output, f"{line}\n".encode())

    def close(self) -> int:
        """Ends it: SIGTERM, a second later SIGKILL. Returns its exit status."""
        if self.status is None:
            status = -signal.SIGKILL
            if not self.wait(0):
                self._target.run(("kill", "-TERM", str(self._pid)))
            if self.wait(GRACE_S):
                status = self._process.close().returncode
            self._process.kill()
            os.write(2, self._process.stderr().encode())
            self.status = of_shell(status)
        return self.status
