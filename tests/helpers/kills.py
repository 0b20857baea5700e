"""Ends a command at a random moment and looks at what is left a second later."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from attrs import field, frozen

from helpers.processes import is_alive, running, until

TOKEN = "DEADBEAT_KILL_TEST"
EARLIEST_S = 0.4
#: Within this everything must be gone and back as it was, s.
GRACE_S = 1.0
_SETTINGS = (
    "/proc/sys/kernel/sched_rt_runtime_us",
    "/proc/sys/kernel/sched_rt_period_us",
    "/proc/sysvipc/msg",
    "/proc/sysvipc/sem",
    "/proc/mounts",
)
#: Where the finished runs of a result lie, whatever its kind.
_FINISHED = ("jobs", "runs", "chunks")
_FOLDERS = ("/dev/shm", "/dev/mqueue")
#: Instances of event tracing, which need not be mounted where we are.
_INSTANCES = """cd /sys/kernel/tracing/instances 2>/dev/null || {
    mount -t tracefs tracefs /sys/kernel/tracing && cd /sys/kernel/tracing/instances; } && ls"""


@frozen(kw_only=True)
class Ending:
    """What one kill left.

    Attributes:
        status: As `subprocess.Popen.returncode`.
        gone_s: Seconds until no process of the command was left; None: some were after GRACE_S.
        left: Processes, files and settings that are still there, each in a few words.
        lost: Files of runs that were there before and are not, or have changed.
        errors: What it wrote to stderr.
        finished: It ended by itself before the signal came.
    """

    status: int
    gone_s: float | None
    left: tuple[str, ...] = field(default=())
    lost: tuple[str, ...] = field(default=())
    errors: str = ""
    finished: bool = False


def started_with(token: str) -> list[int]:
    """Processes whose environment holds ``token``."""
    wanted = f"{TOKEN}={token}".encode()
    return running(
        lambda entry: (
            wanted in (entry / "environ").read_bytes().split(b"\0") and is_alive(entry.name)
        )
    )


def machine() -> dict[str, str]:
    """Settings and shared objects that a measurement may change."""
    seen = {path: Path(path).read_text() for path in _SETTINGS if Path(path).exists()}
    for folder in _FOLDERS:
        if Path(folder).is_dir():
            names = (entry.name for entry in Path(folder).iterdir())
            seen |= {f"{folder}/{name}": "" for name in names if not in_use(name)}
    look = subprocess.run(
        ["unshare", "-m", "sh", "-c", _INSTANCES], capture_output=True, text=True, check=False
    )
    return seen | {f"instance {name}": "" for name in look.stdout.split() if not in_use(name)}


def part_of(token: str, who: str) -> int | None:
    """A process of a command: its recorder, or the program that it watches; None: not there."""
    marks = {"recorder": b"/proc/kallsyms\0", "program": b"watched.py\0"}

    def wanted(entry: Path) -> bool:
        words = (entry / "cmdline").read_bytes()
        return marks[who] in words and b"deadbeat\0run" not in words and b"os.execvp" not in words

    return next(iter({*started_with(token)} & {*running(wanted)}), None)


def in_use(name: str) -> bool:
    """Whether a shared object named after its process, as ours are, has an owner that runs: with
    all that we started gone, it belongs to the test beside this one."""
    return any(Path("/proc", number).exists() for number in re.findall(r"-(\d+)\b", name))


def run_files(folder: Path) -> dict[str, tuple[int, int]]:
    """Finished runs below ``folder``: name -> time of change and size."""
    results = (each for each in folder.glob("runs/*") if not each.is_symlink())
    files = [f for each in results for name in _FINISHED for f in each.glob(f"{name}/**/*")]
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in files
        if path.is_file() and not path.name.endswith(".part")
    }


def end_at(
    arguments: Sequence[str],
    number: signal.Signals,
    after_s: float,
    *,
    folder: Path,
    who: str = "deadbeat",
) -> Ending:
    """Runs deadbeat in ``folder`` and sends ``number`` after ``after_s`` to it, or to its part
    ``who``."""
    token = f"{os.getpid()}-{random.getrandbits(48)}"
    work = folder / "work"
    work.mkdir(exist_ok=True)
    before, stored = machine(), run_files(folder)
    environment = {**os.environ, TOKEN: token, "TMPDIR": str(work)}
    process = subprocess.Popen(
        # a signal that whoever started the tests ignores, as nohup does, is obeyed here
        ["env", "--default-signal", sys.executable, "-m", "deadbeat", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    pid = process.pid
    if who != "deadbeat":  # its moments begin with it
        pid = until(lambda: part_of(token, who) or (process.poll() is not None and pid))
        after_s = (after_s - EARLIEST_S) / 2
    try:
        process.wait(after_s)
        finished = True
    except subprocess.TimeoutExpired:
        finished = False
        with suppress(ProcessLookupError):
            os.kill(pid, number)
    sent = time.monotonic()
    _, errors = process.communicate(timeout=60)
    if who != "deadbeat":
        sent = time.monotonic()
    gone = None
    while gone is None and time.monotonic() - sent < max(GRACE_S, 2.0):
        if not started_with(token):
            gone = time.monotonic() - sent
        else:
            time.sleep(0.02)
    time.sleep(max(0.0, GRACE_S - (time.monotonic() - sent)))
    left = [f"process {pid}" for pid in started_with(token)]
    for pid in started_with(token):  # ours, by the token: the next test must not find them
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    left += [f"file {entry.name}" for entry in work.iterdir()]
    now = machine()
    left += [f"{path}: {text!r}" for path, text in now.items() if before.get(path) != text]
    there = run_files(folder)
    return Ending(
        status=process.returncode,
        gone_s=gone,
        left=tuple(left),
        lost=tuple(name for name, facts in stored.items() if there.get(name) != facts),
        errors=errors,
        finished=finished,
    )


def moments(seed: int, count: int, longest_s: float) -> Iterator[float]:
    """Random moments to end a command at, s; before them the interpreter may still be starting."""
    draw = random.Random(seed)
    return (draw.uniform(EARLIEST_S, longest_s) for _ in range(count))
