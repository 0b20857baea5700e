"""Threads of rt-app (Debian: rt-app) as derived, against its file and its own log."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from common import asked, not_measured, report

from deadbeat.build.toolchain import Toolchain
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.program.derive.tasks import derive
from deadbeat.program.run.spec import ProgramSpec
from deadbeat.program.run.watching import watched

#: Name -> run, us; period, us; CPU, its own: the log has the time on the clock.
TASKS = {"fast": (3000, 10_000, 1), "slow": (9000, 30_000, 0)}
SECONDS, QUICK = 8, 2


def file(folder: str, seconds: int) -> dict[str, object]:
    """What rt-app reads."""
    tasks = {
        name: {
            "priority": 60 - place,
            "cpus": [cpu],
            "loop": -1,
            "run": run,
            "timer": {"ref": name, "period": period, "mode": "absolute"},
        }
        for place, (name, (run, period, cpu)) in enumerate(TASKS.items())
    }
    options = {"duration": seconds, "calibration": "CPU1", "default_policy": "SCHED_FIFO"}
    return {"global": {**options, "logdir": folder, "log_basename": "log"}, "tasks": tasks}


def main() -> None:
    if shutil.which("rt-app") is None:
        not_measured("rt-app: periods, C and jobs", "no rt-app here (Debian: rt-app)")
        return
    periods, shares, jobs = [], [], []
    with TemporaryDirectory() as folder, LocalTarget() as target:
        path = Path(folder, "tasks.json")
        path.write_text(json.dumps(file(folder, QUICK if asked()[0] else SECONDS)))
        spec = ProgramSpec(name="rt-app", command=("rt-app", str(path)))
        found = derive(watched(spec, 2, target, Toolchain.find()).recording)
        for place, (name, (_, period, _)) in enumerate(TASKS.items()):
            task = next(each for each in found.tasks if each.name == name)
            rows = np.loadtxt(Path(folder, f"log-{name}-{place}.log"), comments="#")
            periods.append(100 * abs((task.period_ns or 0) / (1000 * period) - 1))
            shares.append(100 * abs((task.c_mean_ns or 0) / (1000 * rows[:, 2].mean()) - 1))
            jobs.append(100 * abs(task.jobs / len(rows) - 1))
    extra = {"threads": len(TASKS)}
    report("rt-app: periods apart, at most", "<= 0.1 %", max(periods), "%", extra)
    report("rt-app: mean C apart, at most", "<= 5 %", max(shares), "%", extra)
    report("rt-app: jobs apart, at most", "<= 1 %", max(jobs), "%", extra)


if __name__ == "__main__":
    main()
