"""A made-up tree of the kernel's files, and what is killed while it changes them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from deadbeat.model.tuning import Setting

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
