"""Cache and branch misses without a PMU: a program's task set under valgrind's cachegrind.

Counts are of a simulated processor (N. Nethercote, Dynamic Binary Analysis and Instrumentation,
2004), not of this one; the interleaving of cores is that of the simulation, too.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from operator import itemgetter
from pathlib import Path

from deadbeat.model.errors import RunError, UsageError

_SUMMARY = re.compile(r"^events: (.*?)$.*?^summary: (.*?)$", re.M | re.S)
_RAN = re.compile(r", ([0-9]+) jobs ran$", re.M)
#: Event of a job -> what cachegrind counts of it. References are those beyond the first level.
_EVENTS = {
    "instructions": ("Ir",),
    "cache_references": ("I1mr", "D1mr", "D1mw"),
    "cache_misses": ("ILmr", "DLmr", "DLmw"),
    "branches": ("Bc", "Bi"),
    "branch_misses": ("Bcm", "Bim"),
}
#: The difference of two lengths is of jobs alone: setting up costs both the same.
_SHORT_NS, _LONG_NS = 200_000_000, 600_000_000
_LIMIT_S = 120


def require_cachegrind() -> None:
    """Raises UsageError where there is no valgrind."""
    try:
        subprocess.run(["valgrind", "--version"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        text = "run.counters_simulated needs valgrind, which is not here"
        raise UsageError(text, "apt install valgrind") from None


def simulated_events(program: Path, index: int, cores: int) -> dict[str, float]:
    """Mean count of each event per job that ran, of task set ``index`` of a program, on
    ``cores`` cores.

    Raises:
        RunError: It does not run there, or no job ran.
    """
    first, few = _counts(program, index, cores, _SHORT_NS)
    second, many = _counts(program, index, cores, _LONG_NS)
    if many <= few:
        raise RunError(f"task set {index}: no more jobs in a longer run under cachegrind")
    return {
        event: sum(second[name] - first[name] for name in names) / (many - few)
        for event, names in _EVENTS.items()
    }


def _counts(program: Path, index: int, cores: int, time_ns: int) -> tuple[Counter[str], int]:
    """Events of the processes of the cores, which run most, and the number of jobs that ran."""
    with tempfile.TemporaryDirectory(prefix="deadbeat-cachegrind-") as folder:
        words = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--branch-sim=yes"]
        words += ["--trace-children=yes", f"--cachegrind-out-file={folder}/%p", str(program)]
        words += ["once", "--set", str(index), "--seconds-ns", str(time_ns), "--policy", "other"]
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, timeout=_LIMIT_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise RunError(f"task set {index}: no end under cachegrind in {_LIMIT_S} s") from None
        ran = _RAN.search(done.stdout)
        if done.returncode or ran is None:
            last = (done.stdout + done.stderr).strip().rpartition("\n")[2]
            raise RunError(f"task set {index} failed under cachegrind: {last}")
        each = []
        for file in Path(folder).iterdir():
            if match := _SUMMARY.search(file.read_text()):
                each.append(dict(zip(match[1].split(), map(int, match[2].split()), strict=True)))
        found: Counter[str] = Counter()
        for process in sorted(each, key=itemgetter("Ir"))[-cores:]:
            found.update(process)
        return found, int(ran[1])
