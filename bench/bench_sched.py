"""Simulated jobs per second of CPU time, beside SimSo on the same task sets.

The sets are those of the thesis: periods in [10, 250] with a hyper-period below 100,000, total
utilisation 0.6 m to 0.99 m. A job counts when it is released before the simulation stops. SimSo
runs sets with a hyper-period below 6,000, whole hyper-periods: its cost per job hardly depends on
that. The ratio compares with it on these very sets, in this run. Its verdicts must be ours.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from common import report
from simso.configuration import Configuration
from simso.core import Model

from deadbeat.sched import Recipe, TaskBatch, _core, generate
from deadbeat.sched.simulator import Scheduler, core_options

SCHEDULER = "simso.schedulers.EDF2"


def draw_sets(*, processors: int, least: int, most: int, count: int, lcm_limit: int) -> TaskBatch:
    random = np.random.default_rng(processors)
    recipes = [
        Recipe(
            processors=processors,
            tasks=int(random.integers(least, most + 1)),
            utilisation=float(random.uniform(0.6, 0.99)) * processors,
            lcm_limit=lcm_limit,
        )
        for _ in range(count)
    ]
    return TaskBatch.concatenate(
        generate(recipe, seed=seed, count=1) for seed, recipe in enumerate(recipes)
    )


def decide(batch: TaskBatch, *, metrics: bool, run_on: bool, lanes: str = "") -> dict[str, Any]:
    options = core_options(Scheduler(policy="g-edf"))
    options.metrics = metrics
    options.stop_at_miss = not run_on
    columns: dict[str, Any] = _core.decide_batch(
        batch.tasks, batch.starts, batch.processors, options, 0, 1, lanes
    )
    return columns


def seconds_of(work: Callable[[], object], *, repetitions: int = 7) -> float:
    """Median CPU time of one call, each timed over at least 50 ms."""
    work()
    times = []
    for _ in range(repetitions):
        calls, began = 0, time.process_time()
        while time.process_time() - began < 0.05:
            work()
            calls += 1
        times.append((time.process_time() - began) / calls)
    return median(times)


def yardstick() -> float:
    """Seconds of a loop that is the same everywhere: tells how fast this machine is now."""
    return seconds_of(lambda: sum(range(1_000_000)))


def run_simso(batch: TaskBatch, index: int) -> tuple[int, int | None, float]:
    """Jobs released in one hyper-period, the first deadline missed, and the CPU time."""
    system = batch.system(index)
    configuration = Configuration()
    configuration.cycles_per_ms = 1
    configuration.duration = int(np.lcm.reduce([task.period for task in system.tasks]))
    configuration.scheduler_info.clas = SCHEDULER
    for number, task in enumerate(system.tasks):
        configuration.add_task(
            name=f"t{number}", identifier=number, period=task.period, activation_date=0,
            wcet=task.wcet, deadline=task.deadline, abort_on_miss=False,
        )  # fmt: skip
    for number in range(system.processors):
        configuration.add_processor(name=f"p{number}", identifier=number)
    configuration.check_all()
    end = configuration.duration
    began = time.process_time()
    model = Model(configuration)
    model.run_model()
    used = time.process_time() - began
    jobs = [j for task in model.task_list for j in task.jobs if j.activation_date < end]
    late = [
        int(j.absolute_deadline)
        for j in jobs
        if j.absolute_deadline <= end and (j.end_date is None or j.end_date > j.absolute_deadline)
    ]
    return len(jobs), min(late, default=None), used


def simso_speed(batch: TaskBatch) -> float:
    """Jobs per second; its verdicts must be ours."""
    ours = decide(batch, metrics=False, run_on=False)["first_miss"]
    jobs, seconds = 0, 0.0
    for index in range(len(batch)):
        released, miss, used = run_simso(batch, index)
        jobs, seconds = jobs + released, seconds + used
        if (-1 if miss is None else miss) != ours[index]:
            raise SystemExit(f"SimSo misses first at {miss}, not {ours[index]}: set {index}")
    return jobs / seconds


def measure(
    name: str, goal: str, batch: TaskBatch, *, metrics: bool = False, simso: float = 0.0
) -> None:
    """One figure: with ``metrics`` over the whole hyper-period, else to the first miss.

    Args:
        simso: SimSo's jobs per second on ``batch``; the figure is then how many times that.
    """
    before = yardstick()
    kinds, speeds = _core.lane_kinds(), {}
    jobs = int(decide(batch, metrics=metrics, run_on=metrics)["jobs"].sum())
    for lanes in ("", *kinds):
        seconds = seconds_of(lambda: decide(batch, metrics=metrics, run_on=metrics, lanes=lanes))  # noqa: B023
        speeds[lanes] = round(jobs / seconds / 1e6, 1)
    named = {f"{lanes}_mjobs_s": speeds[lanes] for lanes in kinds}
    yards = {"yardstick_ms": [round(1000 * before, 2), round(1000 * yardstick(), 2)]}
    facts = {"sets": len(batch), "jobs": jobs, **named, **yards}
    if simso:
        ratio = round(1e6 * speeds[""] / simso)
        facts = {**facts, "mjobs_s": speeds[""], "simso_jobs_s": round(simso)}
        report(name, goal, ratio, "times SimSo", facts)
    else:
        report(name, goal, speeds[""], "million jobs/s", facts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=300)
    parser.add_argument("--simso", type=int, default=64, help="sets that SimSo runs too")
    options = parser.parse_args()
    kind = {"processors": 4, "least": 6, "most": 20}
    seed_like = draw_sets(**kind, count=options.sets, lcm_limit=100_000)
    short = draw_sets(**kind, count=options.simso, lcm_limit=6_000)
    wide = draw_sets(processors=64, least=100, most=100, count=options.sets, lcm_limit=100_000)
    measure("global EDF, m=4, to the first miss", ">= 40 million jobs/s", seed_like)
    figures = "global EDF, m=4, hyper-period with preemptions, migrations, slack"
    measure(figures, ">= 18 million jobs/s", seed_like, metrics=True)
    measure("global EDF, m=64, n=100, to the first miss", ">= 15 million jobs/s", wide)
    simso = simso_speed(short)
    same = "the same sets in one run with SimSo"
    measure(f"global EDF, m=4, to the first miss, {same}", ">= 5,000", short, simso=simso)
    measure(f"{figures}, {same}", "none", short, metrics=True, simso=simso)


if __name__ == "__main__":
    main()
