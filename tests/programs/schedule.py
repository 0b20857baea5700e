"""A loop that sleeps until the next instant of a schedule; prints its truth as the others do."""

import json
import os
import signal
import sys
import time
from pathlib import Path

PERIOD_NS = 20_000_000
seconds = min(max(float(sys.argv[1]) if len(sys.argv) > 1 else 2.0, 0.05), 3600)
signal.alarm(int(4 * seconds) + 20)
Path("/proc/thread-self/comm").write_text("schedule")


def cpu_of(rounds: int) -> int:
    began = time.thread_time_ns()
    for _ in range(rounds):
        pass
    return time.thread_time_ns() - began


rounds = 2_000_000_000 // sorted(cpu_of(1000) for _ in range(800))[400]
costs: list[int] = []
start = time.monotonic_ns() + 50_000_000
for release in range(int(seconds * 1e9) // PERIOD_NS):
    time.sleep(max(0, start + release * PERIOD_NS - time.monotonic_ns()) / 1e9)
    costs.append(cpu_of(rounds))
time.sleep(PERIOD_NS / 1e9)  # ends the last job
task = {
    "name": "schedule", "tid": os.getpid(), "kind": "periodic", "period_ns": PERIOD_NS,
    "jobs": len(costs), "c_mean_ns": sum(costs) // len(costs), "c_max_ns": max(costs),
    "suspension_mean_ns": 0, "policy": {0: "other", 1: "fifo"}.get(os.sched_getscheduler(0)),
    "priority": os.sched_getparam(0).sched_priority, "cpus": sorted(os.sched_getaffinity(0)),
    "sections": None,  # the interpreter has its own
}  # fmt: skip
print(json.dumps({"measured": True, "tasks": [task], "chains": []}))
