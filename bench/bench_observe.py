"""CPU time that observing a program adds to a lock and its unlock (the preloaded library), to a job
of one sleep, and to a system call of another program (event tracing; root). Takes a minute."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from common import asked, report

from deadbeat.machine.targets.guarded import GuardedProgram
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.program.derive.recorder import Recorder
from deadbeat.program.derive.shim import Shim

REPEATS = 1 if asked()[0] else 7
#: Prints CPU time of one ``WHAT``.
PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct timespec used, until;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    clock_gettime(CLOCK_MONOTONIC, &until);
    for (int at = 0; at < TIMES; at++) {
        WHAT;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    printf("%.1f\\n", (double)(used.tv_sec * 1000000000 + used.tv_nsec) / TIMES);
}
"""
PAIR = "pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock)"
JOB = """until.tv_sec += (until.tv_nsec += 1000000) / 1000000000; until.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL)"""
CALL = "getppid()"


def built(folder: str, what: str, times: int) -> str:
    source, program = Path(folder, "program.c"), Path(folder, f"program{times}")
    source.write_text(PROGRAM.replace("WHAT", what).replace("TIMES", str(times)))
    subprocess.run(["cc", "-O2", "-pthread", source, "-o", program], check=True)
    return str(program)


def alone(program: str, more: dict[str, str] | None = None) -> float:
    environment = os.environ | (more or {})
    return float(subprocess.check_output([program], env=environment, text=True))


def recorded(here: LocalTarget, program: str) -> float:
    with tempfile.TemporaryFile() as out, Recorder(here) as recorder:
        watched = GuardedProgram((program,), output=out.fileno(), ready=recorder.begin)
        watched.wait(60)
        assert not recorder.blind and recorder.finish().events.size
        watched.close()
        out.seek(0)
        return float(out.read())


def beside(here: LocalTarget, program: str) -> float:
    with Recorder(here) as recorder, ExitStack() as held:
        other = GuardedProgram(("sleep", "60"), ready=recorder.begin)
        held.callback(other.close)
        assert not recorder.blind
        return alone(program)


def added(title: str, goal: str, sides: dict[str, Callable[[], float]]) -> None:
    """Turn about, so that what the machine does meanwhile meets both."""
    found: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(REPEATS):
        for side, cost in sides.items():
            found[side].append(cost())
    middle = {side: statistics.median(costs) for side, costs in found.items()}
    first, *rest = middle
    more = {"all": found, **{side: middle[side] - middle[first] for side in rest}}
    report(title, goal, middle[rest[0]] - middle[first], "ns", more)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, LocalTarget() as here:
        program = built(folder, PAIR, 300_000)

        def shimmed(*, sleeps: bool) -> float:
            with Shim(here, (program,), sleeps=sleeps) as shim:
                return alone(program, shim.environment)

        added(
            "recording of a lock and its unlock",
            "<= 150 ns",
            {
                "without": lambda: alone(program),
                "with": lambda: shimmed(sleeps=False),
                "with_charges": lambda: shimmed(sleeps=True),
            },
        )
        job = built(folder, JOB, 2000)
        sides = {"without": lambda: alone(job), "with": lambda: recorded(here, job)}
        added("recording of a job of one sleep", "<= 5000 ns", sides)
        call = built(folder, CALL, 1_000_000)
        sides = {"without": lambda: alone(call), "with": lambda: beside(here, call)}
        added("a system call of another program, meanwhile", "<= 50 ns", sides)


if __name__ == "__main__":
    main()
