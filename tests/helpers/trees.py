"""A made-up tree of the kernel's files, and what is killed while it changes them."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from deadbeat.base.model.tuning import Setting

BOOT_ID = "/proc/sys/kernel/random/boot_id"
#: Odd values, none of them a default: what comes back must be these.
ODD: dict[str, bytes] = {
    BOOT_ID: b"3d7e9f6a-0000-4000-8000-000000000001\n",
    "/proc/sys/vm/swappiness": b"61\n",
    "/proc/sys/vm/stat_interval": b"7\n",
    "/proc/sys/kernel/printk": b"5\t4\t1\t6\n",
    "/sys/kernel/mm/transparent_hugepage/enabled": b"[always] madvise never\n",
    "/sys/kernel/debug/sched/preempt": b"none voluntary (full) lazy\n",
    "/sys/devices/virtual/workqueue/cpumask": b"00000000,0000000f\n",
    "/sys/devices/system/cpu/cpu1/power/pm_qos_resume_latency_us": b"n/a\n",
    "/sys/odd/without-newline": b"abc",
    "/sys/odd/many words": b"  a  b\n",
}
#: One of each form.
WANTED: tuple[Setting, ...] = (
    Setting("/proc/sys/vm/swappiness", "10"),
    Setting("/proc/sys/vm/stat_interval", "120"),
    Setting("/proc/sys/kernel/printk", "3 4 1 7"),
    Setting("/sys/kernel/mm/transparent_hugepage/enabled", "never", "selected"),
    Setting("/sys/kernel/debug/sched/preempt", "lazy", "selected"),
    Setting("/sys/devices/virtual/workqueue/cpumask", "1", "mask"),
    Setting("/sys/devices/system/cpu/cpu1/power/pm_qos_resume_latency_us", "0"),
    Setting("/sys/odd/without-newline", "x y"),
    Setting("/sys/odd/many words", "c"),
)


def grow(root: Path, content: Mapping[str, bytes | str] = ODD) -> Path:
    for path, held in content.items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(held if isinstance(held, bytes) else held.encode())
    return root


def held(root: Path) -> dict[str, bytes]:
    """Path -> content of every file below ``root``."""
    return {
        f"/{file.relative_to(root)}": file.read_bytes()
        for file in sorted(root.rglob("*"))
        if file.is_file()
    }


def killed_after(argv: Sequence[str], seconds: float, environment: Mapping[str, str]) -> bool:
    """Runs ``argv``; kills it and all it started; whether it was still running then."""
    child = subprocess.Popen(
        list(argv),
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    time.sleep(seconds)  # the moment of the kill is what is drawn, nothing is waited for
    running = child.poll() is None
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    return running


#: Stands in for a kernel that rounds: wherever something is written through it.
_ADJUSTING = """#!/bin/sh
PATH={real}
[ $# = 0 ] || exec cat "$@"
text=$(cat; printf x)
[ "$text" != "{asked}
x" ] || text="{kept}
x"
printf %s "${{text%x}}"
"""


def adjusting(folder: Path, asked: str, kept: str) -> Path:
    """A folder for PATH with a ``cat`` that writes ``kept`` where it should write ``asked``."""
    folder.mkdir()
    _program(folder / "cat", _ADJUSTING.format(real=os.environ["PATH"], asked=asked, kept=kept))
    return folder


def _program(file: Path, text: str) -> None:
    file.write_text(text)
    file.chmod(0o755)


#: Stands in for every program of the script: the process group ends before the one of number LIMIT.
_STUB = """#!/bin/sh
echo >> "$COUNT"
n=0
while read -r _; do n=$((n + 1)); done < "$COUNT"
[ "$n" -lt "$LIMIT" ] || kill -9 0
PATH=$REAL exec "${0##*/}" "$@"
"""


class KillBefore:
    """Kills a script of the shell before one of the programs that it starts.

    Args:
        folder: For the programs that stand in for them.
        tools: PATH of the real ones.
    """

    def __init__(self, folder: Path, tools: str) -> None:
        folder.mkdir()
        self._folder, self._tools = folder, tools
        _program(folder / "stub", _STUB)
        for tool in ("cat", "mkdir", "mv", "rm", "ls", "sync", "date", "flock"):
            (folder / tool).symlink_to("stub")

    def __call__(self, argv: Sequence[str], number: int) -> bool:
        """Whether there were ``number`` programs, so that it was killed."""
        count = self._folder / "count"
        count.write_text("")
        environment = {
            "PATH": f"{self._folder}:{os.environ['PATH']}",
            "REAL": self._tools,
            "COUNT": str(count),
            "LIMIT": str(number),
        }
        return ended_by_a_kill(argv, environment)


def ended_by_a_kill(argv: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Runs ``argv`` in a group of its own to the end; whether SIGKILL ended it."""
    done = subprocess.run(
        list(argv),
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        check=False,
    )
    return done.returncode == -signal.SIGKILL


def moments(count: int, longest: float, seed: int) -> list[float]:
    draw = random.Random(seed)
    return [draw.uniform(0.0, longest) for _ in range(count)]
