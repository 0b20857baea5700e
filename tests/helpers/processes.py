"""Processes beside the test, and what is in a folder."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

CHILD_LOCK = """
import sys
from pathlib import Path
from deadbeat.store.campaign import CampaignStore
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


def until(true: Callable[[], object], within_s: float = 60) -> None:
    """Waits for what comes true by itself; fails where it does not."""
    ends = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.02)


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
