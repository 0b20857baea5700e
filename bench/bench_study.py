"""The thesis's 10,000 sets, from nothing to the report: one process, start of Python included."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import cpu_seconds, report

from deadbeat.kinds.study.preset import presets


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="thesis-grid", choices=sorted(presets()))
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    spec = presets()[options.preset].build()
    walls, cpus = [], []
    for _ in range(options.repeats):
        with tempfile.TemporaryDirectory() as folder:
            words = ["sched", "study", options.preset, "--runs", folder, "--json"]
            wall, cpu = time.perf_counter(), cpu_seconds()
            subprocess.run(
                [sys.executable, "-m", "deadbeat", *words],
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            walls.append(time.perf_counter() - wall)
            cpus.append(cpu_seconds() - cpu)
            figures = len(list(Path(folder).rglob("figures/*")))
    report(
        f"study {options.preset}",
        "<= 10 s on two cores",
        round(min(walls), 2),
        "s",
        {
            "cpu_s": round(min(cpus), 2),
            "sets": spec.total,
            "contenders": len(spec.contenders),
            "figure_files": figures,
            "cores": len(os.sched_getaffinity(0)),
            "repeats": options.repeats,
        },
    )


if __name__ == "__main__":
    main()
