"""Time of ``--help``, beside that of a Python that does nothing.

Wall time on a busy machine says little: CPU time is what counts, the best of many what can be had.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from common import asked, report

RUNS, QUICK = 21, 3
#: As it is installed.
TOOL = Path(sys.executable).with_name("deadbeat")
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "deadbeat --help": [str(TOOL), "--help"],
    "deadbeat contention --help": [str(TOOL), "contention", "--help"],
}


def timed(words: list[str]) -> tuple[float, float]:
    """Wall and CPU time of a process, ms."""
    before, began = os.times(), time.perf_counter()
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - began, os.times()
    cpu = after.children_user + after.children_system
    return 1e3 * wall, 1e3 * (cpu - before.children_user - before.children_system)


def main() -> None:
    runs = QUICK if asked()[0] else RUNS
    for name, words in COMMANDS.items():
        walls, cpus = zip(*(timed(words) for _ in range(runs)), strict=True)
        more = {"cpu_ms": median(cpus), "least_wall_ms": min(walls), "least_cpu_ms": min(cpus)}
        report(name, "<= 150 ms", median(walls), "ms", more)


if __name__ == "__main__":
    main()
