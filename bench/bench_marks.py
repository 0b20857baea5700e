"""What a marked job costs, and whether a marked 1 ms loop wakes up as late as deadbeat's own prober
says (decision 0052). Takes half a minute, needs SCHED_FIFO, and disturbs other measurements."""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
from pathlib import Path

from common import asked, deadbeat, report

from deadbeat.build.native import native_root

CPU, SECONDS = 0, 2
COST = """
#include <deadbeat.h>
#include <stdio.h>
int main(void)
{
    enum { JOBS = 1000000 };
    uint64_t before = deadbeat_now_();
    for (int job = 0; job < JOBS; job++) {
        DEADBEAT_RELEASE(0, 0);
        DEADBEAT_FINISH(0);
    }
    fprintf(stderr, "cost %.1f\\n", (double)(deadbeat_now_() - before) / JOBS);
}
"""
LOOP = """
#include <deadbeat.h>
int main(void)
{
    const uint64_t period_ns = 1000000;
    const int32_t none_us = 0; /* as the prober does: memory locked, no deep idle state */
    int idle = open("/dev/cpu_dma_latency", O_RDWR | O_CLOEXEC);
    if (idle >= 0 && write(idle, &none_us, sizeof none_us) < 0)
        return 1;
    mlockall(MCL_CURRENT | MCL_FUTURE);
    uint64_t release_ns = deadbeat_now_();
    DEADBEAT_TASK(0, "loop", period_ns, period_ns);
    for (int job = 0; job < 2000; job++) {
        release_ns += period_ns;
        struct timespec until = {(time_t)(release_ns / 1000000000),
                                 (long)(release_ns % 1000000000)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        DEADBEAT_RELEASE(0, release_ns);
        DEADBEAT_FINISH(0);
    }
}
"""


def compiled(folder: Path, name: str, text: str) -> Path:
    source = folder / f"{name}.c"
    source.write_text(text)
    include = native_root() / "runtime/include"
    subprocess.run(["cc", "-O2", f"-I{include}", source, "-o", folder / name], check=True)
    return folder / name


def main() -> None:
    pairs = 1 if asked()[0] else 3
    how = ("--fresh", "--no-figures", "--json")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cost, loop = compiled(folder, "cost", COST), compiled(folder, "loop", LOOP)
        costs = []
        for _ in range(pairs):
            told = deadbeat("run", *how, "--", str(cost), cwd=folder).stderr
            costs += [float(line[5:]) for line in told.splitlines() if line.startswith("cost ")]
        off = subprocess.run([cost], check=True, capture_output=True, text=True).stderr
        marked: list[tuple[float, float]] = []
        own: list[tuple[float, float]] = []
        for _ in range(pairs):
            pinned = ("chrt", "-f", "80", "taskset", "-c", str(CPU), str(loop))
            done = deadbeat("run", "--name", "loop", *how, "--", *pinned, cwd=folder)
            (row,) = json.loads(done.stdout)["results"]["rows"]
            marked.append((row["p50_ns"], row["p99_ns"]))
            given = ("--loads", "idle", "--repeats", "1", "--duration", f"{SECONDS}s")
            more = ("--engine", "prober", "--cpus", str(CPU), "--priority", "80")
            found = deadbeat("latency", *given, *more, *how, "--runs=runs", cwd=folder).stdout
            (cell,) = json.loads(found)["results"]["rows"][:1]
            own.append((cell["raw_p50_ns"], cell["raw_p99_ns"]))
        report(
            "cost of the marks of a job",
            "<= 200 ns",
            statistics.median(costs),
            "ns",
            {"most": max(costs), "without_deadbeat": float(off.split()[1])},
        )
        medians = [statistics.median(p50 for p50, _ in side) for side in (marked, own)]
        report(
            "median wake-up, marked over prober",
            "about 1: within what the repeats differ by",
            medians[0] / medians[1],
            "",
            {"marked_p50_p99_ns": marked, "prober_p50_p99_ns": own},
        )


if __name__ == "__main__":
    main()
