"""Time of ``--help``: medians of processes, beside that of a Python that does nothing.

    python bench/bench_help.py

Wall time on a busy machine says little: CPU time is what counts, the best of many what can be had.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

RUNS = 21
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
    for name, words in COMMANDS.items():
        found = [timed(words) for _ in range(RUNS)]
        wall, cpu = ([each[n] for each in found] for n in (0, 1))
        print(
            f"{name:<27} wall {median(wall):4.0f} ms (least {min(wall):.0f}),"
            f" CPU {median(cpu):4.0f} ms"
        )


if __name__ == "__main__":
    main()
