"""Processes beside the test, and what is in a folder."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

CHILD_LOCK = """
import sys
from pathlib import Path
from typing import Any
from deadbeat.tasksets.store.campaign import CampaignStore
with CampaignStore.open(Path(sys.argv[1])).lock():
    print("held", flush=True)
    sys.stdin.readline()
"""


def script(path: Path, body: str) -> str:
    """A program of the shell there."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


#: A busy machine takes so long, s.
PATIENCE_S = 300


def until(true: Callable[[], Any]) -> Any:
    """Waits for what comes true by itself, and returns that; fails where it does not."""
    ends, pause_s = time.monotonic() + PATIENCE_S, 0.002
    while not (found := true()):
        assert time.monotonic() < ends
        time.sleep(pause_s)
        pause_s = min(1.3 * pause_s, 0.05)
    return found


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def state_of(number: int | str) -> str:
    """State of a process (R, S, D, T, Z ...); "" once it is gone, even between two looks."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:  # before the file opens, or before it is read
        return ""


def is_alive(number: int | str) -> bool:
    """Whether it runs; a zombie waits for whoever adopted it."""
    return state_of(number) not in ("Z", "")


def running(wanted: Callable[[Path], bool]) -> list[int]:
    """Processes of which ``wanted`` is true, given their folder below /proc."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            if wanted(entry):
                found.append(int(entry.name))
    return found


def words_of(entry: Path) -> list[bytes]:
    """The command line of a process."""
    return (entry / "cmdline").read_bytes().split(b"\0")


def children(parent: int) -> list[int]:
    return running(
        lambda entry: int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == parent
    )


def python(code: str, *arguments: str) -> subprocess.Popen[str]:
    tests = str(Path(__file__).parents[1])
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": tests},
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
    )


@contextmanager
def other_process_holding(path: Path) -> Iterator[subprocess.Popen[str]]:
    child = python(CHILD_LOCK, str(path))
    assert child.stdout.readline() == "held\n"
    try:
        yield child
    finally:
        child.kill()
        child.communicate()
