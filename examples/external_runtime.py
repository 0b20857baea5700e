#!/usr/bin/env python3
"""An external runtime, as small as can be: two primitives in CPython.

    deadbeat primitives --external python=examples/external_runtime.py --tests clock,copy

What it is told and what it writes: docs/reference/primitives-format.md.
"""

import json
import os
import sys
from collections import Counter
from pathlib import Path
from threading import Barrier, Thread
from time import monotonic_ns

POLICIES = {"fifo": os.SCHED_FIFO, "rr": os.SCHED_RR, "other": os.SCHED_OTHER}
SUB_BITS = 10


def bucket_of(value_ns):
    shift = max(value_ns.bit_length() - SUB_BITS - 1, 0)
    return (shift << SUB_BITS) + (value_ns >> shift)


def histogram(values):
    counts = sorted(Counter(map(bucket_of, values)).items())
    return {"min_ns": min(values), "max_ns": max(values), "sum_ns": sum(values), "counts": counts}


def operation_of(asked):
    if asked["primitive"] == "clock":
        return lambda: None
    source = bytes(int(asked["size"]))
    return lambda: bytearray(source)


def sample(operation, seconds_ns, most):
    times, gaps, moments = [], [], []
    start = last = monotonic_ns()
    while last < start + seconds_ns and len(times) < most:
        begin = monotonic_ns()
        operation()
        end = monotonic_ns()
        times.append(end - begin)
        gaps.append(begin - last)
        moments.append(begin - start)
        last = end
    return times, gaps, moments


def run_thread(number, cpu, asked, together, results):
    """Where the kernel refuses, the thread has no result, and the run is refused."""
    policy, priority = asked["policy"], int(asked["priority"])
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, POLICIES[policy], os.sched_param(priority))
    together.wait()
    most = int(asked.get("count", 10**9))
    times, gaps, moments = sample(operation_of(asked), int(asked["seconds-ns"]), most)
    # the longest samples, with their moments; it knows nothing of what happened to them
    longest = sorted(zip(times, moments, strict=True), reverse=True)[:20]
    found = {name: code for name, code in POLICIES.items() if code == os.sched_getscheduler(0)}
    results[number] = {
        "thread": number,
        "cpu": min(os.sched_getaffinity(0)),
        "policy": next(iter(found)),
        "priority": os.sched_getparam(0).sched_priority,
        **{"looked": 0, "preempted": 0, "migrated": 0, "waited": 0},
        "watch_ns": longest[-1][0],
        "times": histogram(times),
        "gaps": histogram(gaps),
        "late_times": [[moment, value, 0] for value, moment in longest],
        "late_gaps": [],
    }


def clock_cost_ps():
    begin = monotonic_ns()
    for _ in range(1000):
        monotonic_ns()
    return monotonic_ns() - begin


def main(words):
    if words == ["--list"]:
        print(json.dumps({"version": 1, "primitives": {"clock": [], "copy": []}}))
        return
    asked = {words[i].removeprefix("--"): words[i + 1] for i in range(0, len(words), 2)}
    cpus, results = [int(word) for word in asked["cpus"].split(",")], {}
    together = Barrier(len(cpus))
    threads = [
        Thread(target=run_thread, args=(number, cpu, asked, together, results))
        for number, cpu in enumerate(cpus)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    version = sys.version.split()[0]
    result = {
        "version": 1,
        "batch": 1,
        "clock_cost_ps": clock_cost_ps(),
        "sample_cost_ps": 0,
        "resolution_ns": 1,
        "measured_ns": int(asked["seconds-ns"]),
        "runtime": {"name": "CPython", "version": version, "gc": "reference counts", "flags": ""},
        "threads": [results[number] for number in sorted(results)],
    }
    Path(asked["out"]).write_text(json.dumps(result), encoding="utf-8")
    print(f"done 0 {asked['seconds-ns']}")


if __name__ == "__main__":
    main(sys.argv[1:])
