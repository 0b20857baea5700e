"""Cost of the bounds with locks, and of responses on one processor beside pyRTA and the crate
response-time-analysis on the same sets, which must agree.

20 tasks, 4 CPUs, 3 locks; one processor: 20 tasks. A figure is the median over sets of the least of
several calls of the core (its binding included). SchedCAT is on no registry: it is not compared.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random

from common import asked, not_measured, report

from deadbeat.base.model.systems import CriticalSection, Lock, TaskSystem, TimedTask
from deadbeat.sched.analysis import test_options
from deadbeat.sched.arrays import detail_rows, extra_rows, section_rows, task_rows
from deadbeat.sched.core import core

PERIODS = (1000, 2000, 4000, 5000, 10000, 20000)
ROUNDS = 20
LOCKS = (
    *("pinned-fifo-pi", "mpcp", "mpcp-virtual-spin", "fmlp-plus", "msrp", "msrp-holistic"),
    *("dpcp", "global-fifo-pi", "omlp-global", "omlp-clustered"),
)
CRATE = Path(__file__).parent / "rta-crate"


def with_locks(rng: Random) -> TaskSystem:
    tasks = []
    for place in range(20):
        period = rng.choice(PERIODS)
        sections = tuple(
            CriticalSection(lock=name, count=rng.randint(1, 2), length=rng.randint(1, 3))
            for name in "abc"
            if rng.random() < 0.4
        )
        wcet = max(18, int(period * rng.uniform(0.01, 0.05)))
        tasks.append(
            TimedTask(wcet=wcet, period=period, deadline=period, home=place % 4, sections=sections)
        )
    return TaskSystem(
        processors=4, tasks=tuple(tasks), locks=tuple(Lock(name=name) for name in "abc")
    )


def on_one(rng: Random) -> TaskSystem:
    """The most urgent first; no two alike: pyRTA takes equal tasks for one."""
    tasks: dict[tuple[int, int], TimedTask] = {}
    while len(tasks) < 20:
        period = rng.choice(PERIODS) + rng.randint(0, 99)
        wcet = max(1, int(period * rng.uniform(0.02, 0.06)))
        tasks[wcet, period] = TimedTask(wcet=wcet, period=period, deadline=period)
    return TaskSystem(
        processors=1, tasks=tuple(sorted(tasks.values(), key=lambda t: (t.period, t.wcet)))
    )


def least(call: Callable[[], list[int]], rounds: int = ROUNDS) -> tuple[float, list[int]]:
    """Microseconds of CPU, and what it found."""
    spent, found = [], []
    for _ in range(rounds):
        began = time.thread_time()
        found = call()
        spent.append(time.thread_time() - began)
    return min(spent) * 1e6, found


def by_core(system: TaskSystem, name: str) -> tuple[float, list[int]]:
    more = section_rows(system), extra_rows(system), detail_rows(system)
    options, tasks = test_options({"priorities": "rm"}), task_rows(system.tasks)
    run = partial(core().run_test, name, system.processors, tasks, options, *more)
    return least(lambda: [int(bound) for bound in run()[2]])


def by_pyrta(system: TaskSystem, policy: str) -> tuple[float, list[int]]:
    rta = import_module("response_time_analysis")
    model, module = rta.model, getattr(rta, policy)
    tasks = [
        model.Task(
            model.Sporadic(t.period),
            model.FullyPreemptive(model.WCET(t.wcet)),
            model.Deadline(t.deadline),
            model.Priority(len(system.tasks) - place),
        )
        for place, t in enumerate(system.tasks)
    ]
    supply, known = model.IdealProcessor(), model.taskset(*tasks)
    return least(
        lambda: [module.rta(known, t, supply).response_time_bound or 0 for t in tasks], rounds=1
    )


def by_crate(systems: list[TaskSystem]) -> list[dict[str, tuple[float, list[int]]]]:
    """Microseconds and responses of each set, by policy."""
    lines = [" ".join(f"{t.wcet} {t.period} {t.deadline}" for t in s.tasks) for s in systems]
    with tempfile.TemporaryDirectory() as folder:
        build = ["cargo", "run", "--quiet", "--release", "--locked", "--target-dir", folder]
        found = subprocess.run(
            [*build, "--manifest-path", str(CRATE / "Cargo.toml"), "--", str(ROUNDS)],
            input="\n".join(lines),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    answers = []
    for line in found.splitlines():
        numbers, fixed, dynamic = line.replace("]", "").split("[")
        costs = [float(x) for x in numbers.split()]
        both = [[int(x) for x in part.split(",")] for part in (fixed, dynamic)]
        answers.append(dict(zip(("fp", "edf"), zip(costs, both, strict=True), strict=True)))
    return answers


def main() -> None:
    sets, sets_pyrta = (2, 1) if asked()[0] else (200, 10)  # pyRTA is slow
    rng = Random(1)
    systems = [with_locks(rng) for _ in range(sets)]
    for name in LOCKS:
        costs = sorted(by_core(system, name)[0] for system in systems)
        report(
            f"bound {name}, 20 tasks, 4 CPUs, 3 locks",
            "<= 100 us",
            round(statistics.median(costs), 1),
            "us CPU, median",
            {"p90": round(costs[len(costs) * 9 // 10], 1), "sets": sets},
        )
    if shutil.which("cargo") is None or find_spec("response_time_analysis") is None:
        not_measured("responses on one processor", "no cargo or no pyRTA (make setup-bench)")
        return
    one = [on_one(rng) for _ in range(sets)]
    crate = by_crate(one)
    for policy, name, goal in (("fp", "uni-rta", "<= 100 us"), ("edf", "edf-response", "<= 1 ms")):
        ours = [by_core(system, name) for system in one]
        pyrta = [by_pyrta(system, policy) for system in one[:sets_pyrta]]
        report(
            f"responses of 20 tasks on one processor, {policy}",
            goal,
            round(statistics.median(cost for cost, _ in ours), 1),
            "us CPU, median",
            {
                "crate_us": round(statistics.median(each[policy][0] for each in crate), 1),
                "pyrta_us": round(statistics.median(cost for cost, _ in pyrta), 1),
                "equal_to_crate": sum(
                    a[1] == b[policy][1] for a, b in zip(ours, crate, strict=True)
                ),
                "equal_to_pyrta": sum(a[1] == b[1] for a, b in zip(ours, pyrta, strict=False)),
                "sets": len(one),
                "sets_pyrta": len(pyrta),
            },
        )


if __name__ == "__main__":
    main()
