"""The thesis's 10,000 sets, from nothing to the report, and a million sets under three tests: one
process, start of Python included."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from common import asked, report

MANY = "--processors 4 --tasks 10 --utilisation 0.5..0.95:0.05 --test gfb,p-fp,p-edf --sets"
#: By name: goal, words, and how often it is run.
STUDIES = {
    "study thesis-grid": ("<= 10 s on two cores", "thesis-grid", 3),
    "study of 1,000,000 sets, 3 tests": ("<= 60 s on two cores", f"{MANY} 100000", 1),
}
QUICK = {"study of 1,000 sets, 3 tests": ("none", f"{MANY} 100", 1)}


def main() -> None:
    quick, _ = asked()
    for name, (goal, words, repeats) in (QUICK if quick else STUDIES).items():
        walls, cpus, peaks = [], [], []
        for _ in range(repeats):
            with tempfile.TemporaryDirectory() as folder:
                began = time.perf_counter()
                argv = [sys.executable, "-m", "deadbeat", "sched", "study", *words.split()]
                process = subprocess.Popen(
                    [*argv, "--runs", folder, "--json"],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                if process.returncode:
                    raise SystemExit(f"{name}: status {process.returncode}")
                walls.append(time.perf_counter() - began)
                cpus.append(used.ru_utime + used.ru_stime)
                peaks.append(used.ru_maxrss / 1024)
        report(
            name,
            goal,
            round(min(walls), 2),
            "s",
            {
                "cpu_s": round(min(cpus), 2),
                "peak_mb": round(max(peaks)),
                "cores": len(os.sched_getaffinity(0)),
                "repeats": repeats,
            },
        )


if __name__ == "__main__":
    main()
