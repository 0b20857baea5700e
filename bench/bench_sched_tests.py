"""Microseconds of CPU per schedulability test, on sets as the thesis drew them and on lighter ones.

A test's own time: a batch is tested by N copies of it, and by one; the difference leaves out what a
batch costs by itself (checking the sets, the binding). The least of several rounds.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from common import report

from deadbeat import sched
from deadbeat.sched import Recipe, TaskBatch

#: Goals of the issue, in microseconds; the other tests have none.
GOALS = {"gfb": 0.03, "bcl-iter": 2.0, "rta-edf": 20.0}
#: CPU seconds a measurement of one test may take, about.
ROUND_SECONDS = 0.05
ROUNDS = 5


def seed_like(processors: int, *, count: int, seed: int) -> TaskBatch:
    """U of 0.6 m to 0.99 m, n of m + 2 to 20, periods in [10, 250] with an LCM below 100,000."""
    return mixed(processors, count=count, seed=seed, low=0.6, high=0.99, most=20)


def low_utilisation(*, count: int, seed: int) -> TaskBatch:
    """U of 0.2 m to 0.75 m, n of m + 2 to 6 m, m = 4: most tests accept some."""
    return mixed(4, count=count, seed=seed, low=0.2, high=0.75, most=24)


def mixed(
    processors: int, *, count: int, seed: int, low: float, high: float, most: int
) -> TaskBatch:
    rng = np.random.default_rng(seed)
    batches = []
    for index in range(count):
        recipe = Recipe(
            processors=processors,
            tasks=int(rng.integers(processors + 2, most + 1)),
            utilisation=float(rng.uniform(low, high)) * processors,
        )
        batches.append(sched.generate(recipe, seed=seed, count=1, first=index))
    return TaskBatch.concatenate(batches)


def seconds_of(batch: TaskBatch, names: list[str]) -> float:
    began = time.thread_time()
    sched.test_batch(batch, names)
    return time.thread_time() - began


def microseconds(batch: TaskBatch, name: str) -> float:
    """Of one test of one set, on average."""
    once = seconds_of(batch, [name])
    copies = max(2, min(200, int(ROUND_SECONDS / max(once, 1e-6))))
    found = []
    for _ in range(ROUNDS):
        alone = min(seconds_of(batch, [name]) for _ in range(3))
        found.append((seconds_of(batch, [name] * copies) - alone) / (copies - 1))
    return min(found) / len(batch) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=300, help="per column")
    parser.add_argument("--tests", nargs="*", default=list(sched.tests()))
    arguments = parser.parse_args()
    columns = {
        "m4": seed_like(4, count=arguments.sets, seed=1),
        "m8": seed_like(8, count=arguments.sets, seed=2),
        "low_utilisation": low_utilisation(count=arguments.sets, seed=3),
    }
    # Tests of one processor see the first eight tasks, at periods that leave it room.
    one = sched.generate(
        Recipe(processors=1, tasks=8, utilisation=0.85), seed=4, count=arguments.sets
    )
    for name in arguments.tests:
        batches = {"m1": one} if name in ("qpa", "uni-rta") else columns
        figures = {column: microseconds(batch, name) for column, batch in batches.items()}
        accepted = {
            column: float((sched.test_batch(batch, [name]) == 1).mean())
            for column, batch in batches.items()
        }
        goal = GOALS.get(name)
        report(
            f"schedulability test {name}",
            f"<= {goal} us" if goal else "none",
            round(max(figures.values()), 4),
            "us CPU, the slowest column",
            {
                **{f"{column}_us": round(value, 4) for column, value in figures.items()},
                **{f"{column}_accepted": round(value, 3) for column, value in accepted.items()},
                "mean_tasks": {
                    column: round(float(np.diff(batch.starts).mean()), 1)
                    for column, batch in batches.items()
                },
                "sets": arguments.sets,
            },
        )


if __name__ == "__main__":
    main()
