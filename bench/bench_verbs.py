"""CPU time of verbs, beside that of a Python that does nothing, on made-up results; memory of the
one that reads most.

Wall time on a busy machine says little: CPU time is what counts, the best of many what can be had.
Before a kind was imported with its first folder (issue 48): --version 0.40, list 1.1, show 1.0 to
1.2, page 2.0 to 14 s; to compare 100 latency matrices took 11.7 s and 555 MB.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from common import asked, deadbeat, report

RUNS, QUICK = 7, 2
#: As it is installed.
TOOL = str(Path(sys.executable).with_name("deadbeat"))
#: Results, and what makes them.
MADE = {
    "latency": ("latency", "--quick"),
    "load": ("load", "--quick", "--repeats", "2"),
    "contention": ("contention", "--quick"),
    "control": ("run", "control", "--repeats", "5"),
}
#: Verb -> CPU time that it may take, s.
VERBS = {
    "--help": 0.15,
    "--version": 0.15,
    "contention --help": 0.15,
    "list": 0.35,
    **{f"show {name}": 0.8 for name in MADE},
    **{f"page {name}": 2.0 for name in MADE},
    "sched analyze three.json": 0.5,
}
MANY, SOME = 3000, 100


def measured(words: list[str], folder: Path) -> tuple[float, float, int]:
    """CPU time and wall time of a process, s; the most memory it had, MB."""
    before = os.times().elapsed
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(words)}: status {process.returncode}")
    return used.ru_utime + used.ru_stime, os.times().elapsed - before, used.ru_maxrss // 1024


def timed(name: str, goal: float, words: list[str], folder: Path, runs: int) -> None:
    cpus, walls, sizes = zip(*(measured(words, folder) for _ in range(runs)), strict=True)
    more = {"median_cpu_s": round(median(cpus), 3), "least_wall_s": round(min(walls), 3)}
    more["most_mb"] = max(sizes)
    report(f"CPU time of {name}", f"<= {goal:g} s", round(min(cpus), 3), "s", more)


def copies(seed: Path, folder: Path, count: int) -> list[str]:
    """Names of ``count`` results in a new folder."""
    names = [f"{seed.name}-x{number}" for number in range(count)]
    for name in names:  # as they are: a kept state is of files this old
        shutil.copytree(seed, folder / name, copy_function=os.link)
    return names


def main() -> None:
    quick, _ = asked()
    runs = QUICK if quick else RUNS
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name, words in MADE.items():
            deadbeat(*words, "--simulated", "--name", name, cwd=folder)
        system = deadbeat("sched", "generate", "--tasks", "3", "--processors", "1",
                          "--utilisation", "0.6").stdout  # fmt: skip
        (folder / "three.json").write_text(system)
        timed("python -c pass", 0.05, [sys.executable, "-c", "pass"], folder, runs)
        for verb, goal in VERBS.items():
            timed(f"deadbeat {verb}", goal, [TOOL, *verb.split()], folder, runs)
        seed = folder / "runs/latency"
        many, some = (20, 5) if quick else (MANY, SOME)
        copies(seed, folder / "many", many)
        words = [TOOL, "list", "--runs", "many"]
        timed(f"deadbeat list of {many:,} results", 3, words, folder, QUICK)
        words = [TOOL, "compare", *copies(seed, folder / "some", some), "--runs", "some"]
        timed(f"deadbeat compare of {some} results", 3, words, folder, 1)


if __name__ == "__main__":
    main()
