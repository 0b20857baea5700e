"""Settings applied, killed with SIGKILL at a random moment, put back: how often exactly.

`bench_tune.py [COUNT]`: kills of `deadbeat tune apply` and everything it started, a third of them
followed by a killed `deadbeat tune revert`. The machine is a tree of files with odd values (--root)
and nothing of this one is touched; the integration test does it to the real one. One of its files
rounds: what is written there is not what is read back, as with a kernel that adjusts a value.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from common import report

KILLS, SEED = 200, 20_250_817
#: About how long either the journal or the settings take.
WORK_S = 0.1
#: Stands in for a kernel that rounds, and takes its time so that kills meet it: the 600 s of
#: hung_task_timeout_secs become 597.
ROUNDING = """#!/bin/sh
PATH={path}
[ $# = 0 ] || exec cat "$@"
text=$(cat; printf x)
[ "$text" = "600
x" ] || {{ printf %s "${{text%x}}"; exit; }}
echo 597
exec sleep 0.05
"""
_CPU = "/sys/devices/system/cpu"
_THP = "/sys/kernel/mm/transparent_hugepage"
#: A machine on which most knobs of the profile have something to turn, from odd values.
TREE = {
    "/proc/sys/kernel/random/boot_id": "3d7e9f6a-0000-4000-8000-000000000001\n",
    "/proc/cmdline": "quiet\n",
    f"{_CPU}/online": "0-3\n",
    "/proc/sys/vm/swappiness": "61\n",
    "/proc/sys/vm/stat_interval": "3\n",
    "/proc/sys/vm/compaction_proactiveness": "21\n",
    "/proc/sys/vm/compact_unevictable_allowed": "1\n",
    "/proc/sys/vm/zone_reclaim_mode": "4\n",
    "/proc/sys/kernel/printk": "7\t4\t1\t6\n",
    "/proc/sys/kernel/timer_migration": "1\n",
    "/proc/sys/kernel/numa_balancing": "2\n",
    "/proc/sys/kernel/soft_watchdog": "1\n",
    "/proc/sys/kernel/nmi_watchdog": "1\n",
    "/proc/sys/kernel/hung_task_timeout_secs": "77\n",
    "/proc/irq/default_smp_affinity": "0000,0000000f\n",
    "/sys/devices/virtual/workqueue/cpumask": "f\n",
    "/sys/devices/virtual/workqueue/writeback/cpumask": "0f\n",
    "/sys/kernel/rcu_normal": "0\n",
    "/sys/kernel/mm/ksm/run": "1\n",
    f"{_THP}/enabled": "[always] madvise never\n",
    f"{_THP}/defrag": "always [defer] defer+madvise madvise never\n",
    f"{_THP}/khugepaged/defrag": "1\n",
    "/sys/module/pcie_aspm/parameters/policy": "default performance [powersave] \n",
    **{f"{_CPU}/cpu{c}/cpufreq/scaling_governor": "schedutil\n" for c in range(4)},
    **{
        f"{_CPU}/cpu{c}/cpuidle/state{s}/latency": f"{s * 33}\n" for c in range(4) for s in range(3)
    },
    **{f"{_CPU}/cpu{c}/cpuidle/state{s}/disable": "0\n" for c in range(4) for s in range(3)},
}


def grow(root: Path) -> dict[Path, bytes]:
    """Writes the tree; path -> what it holds."""
    held = {}
    for path, text in TREE.items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        held[file] = text.encode()
    return held


def rounding(folder: Path) -> None:
    """Puts a ``cat`` that rounds before all other programs, for this process and its children."""
    folder.mkdir()
    program = folder / "cat"
    program.write_text(ROUNDING.format(path=os.environ["PATH"]))
    program.chmod(0o755)
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"


def deadbeat(root: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "deadbeat", "tune", *words, "--root", str(root)]


def kill_after(argv: Sequence[str], seconds: float, begun: Callable[[], bool]) -> bool:
    """Runs ``argv`` and kills it with all it started; whether it was still running.

    Args:
        seconds: From when ``begun`` is true (or it has ended) to the kill.
    """
    quiet = subprocess.DEVNULL
    child = subprocess.Popen(argv, stdout=quiet, stderr=quiet, start_new_session=True)
    while not begun() and child.poll() is None:
        time.sleep(0.001)
    time.sleep(seconds)
    running = child.poll() is None
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    return running


def timed(argv: Sequence[str]) -> float:
    began = time.monotonic()
    subprocess.run(argv, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - began


def main() -> None:
    """Moments from the start, from the first record of the journal, and from the first change."""
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else KILLS
    draw = random.Random(SEED)
    os.environ.pop("DEADBEAT_STATE", None)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "tree"
        held = grow(root)
        rounding(Path(folder) / "bin")
        state = root / "var/lib/deadbeat/tune"
        apply, revert = deadbeat(root, "apply", "realtime"), deadbeat(root, "revert")
        apply_s, revert_s = timed(apply), timed(revert)
        starts: list[tuple[Callable[[], bool], float]] = [
            (lambda: True, 1.2 * apply_s),
            (lambda: any(state.glob("0*")), WORK_S),
            (lambda: any(state.glob("0*.new")), WORK_S),
        ]
        exact = hit = changed = 0
        for number in range(kills):
            begun, longest = starts[number % 3]
            hit += kill_after(apply, draw.uniform(0.0, longest), begun)
            changed += any(file.read_bytes() != content for file, content in held.items())
            if number % 4 == 0:
                kill_after(revert, draw.uniform(0.3 * revert_s, 1.2 * revert_s), lambda: True)
            subprocess.run(
                revert, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            exact += all(file.read_bytes() == content for file, content in held.items())
    report(
        "apply, kill -9 at random moments, revert: restored exactly",
        f"{kills} of {kills}",
        exact,
        "kills",
        {
            "killed_while_running": hit,
            "with_something_changed": changed,
            "apply_s": round(apply_s, 3),
            "revert_s": round(revert_s, 3),
        },
    )


if __name__ == "__main__":
    main()
