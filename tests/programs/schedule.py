"""A loop that sleeps until the next instant of a schedule; prints its truth as the others do."""

import json
import os
import signal
import sys
import time
from pathlib import Path

PERIOD = 0.02
seconds = min(max(float(sys.argv[1]) if len(sys.argv) > 1 else 2.0, 0.05), 3600)
signal.alarm(int(4 * seconds) + 20)
tid = os.getpid()
Path(f"/proc/self/task/{tid}/comm").write_text("schedule")


def spin(rounds: int) -> None:
    for _ in range(rounds):
        pass


def cpu_of(rounds: int) -> int:
    began = time.thread_time_ns()
    spin(rounds)
    return time.thread_time_ns() - began


spin(1_000_000)
rounds = int(2e6 * 1000 / sorted(cpu_of(1000) for _ in range(800))[400])
costs: list[int] = []
start = time.monotonic() + 0.05
for release in range(round(seconds / PERIOD) + 1):
    time.sleep(max(0.0, start + release * PERIOD - time.monotonic()))
    costs.append(cpu_of(rounds))
costs.pop()  # the last wait ends the last job; what follows is not one
policies = {os.SCHED_OTHER: "other", os.SCHED_FIFO: "fifo", os.SCHED_RR: "rr"}
task = {
    "name": "schedule", "tid": tid, "kind": "periodic", "period_ns": round(PERIOD * 1e9),
    "jobs": len(costs), "c_mean_ns": sum(costs) // len(costs), "c_max_ns": max(costs),
    "suspension_mean_ns": 0, "policy": policies.get(os.sched_getscheduler(0), "other"),
    "priority": os.sched_getparam(0).sched_priority, "cpus": sorted(os.sched_getaffinity(0)),
    "sections": [],
}  # fmt: skip
print(json.dumps({"measured": True, "tasks": [task], "chains": []}))
