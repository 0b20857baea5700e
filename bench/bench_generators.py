"""Random task systems per CPU second, ConvolutionalFixedSum beside the published package's."""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable

import numpy as np
from common import report

from deadbeat.sched import Recipe, generate, sample_cfs

#: 20 tasks with bounds of their own: what the method is for. No range is a multiple of another.
UPPER = [round(0.12 + 0.037 * i, 3) for i in range(20)]
TOTAL = 4.0


def cpu_time(work: Callable[[], object]) -> float:
    """CPU seconds of this thread for ``work``."""
    began = time.thread_time()
    work()
    return time.thread_time() - began


def published(vectors: int, upper: list[float]) -> float:
    """Vectors per CPU second of the package, its numeric method (its default's accuracy)."""
    import convolutionalfixedsum  # noqa: PLC0415  a package of `make bench` alone

    random.seed(1)
    lower = [0.0] * len(upper)

    def draw() -> None:
        for _ in range(vectors):
            convolutionalfixedsum.cfsn(
                len(upper), TOTAL, lower_constraints=lower, upper_constraints=upper
            )

    return vectors / cpu_time(draw)


def bench_cfs(*, ours: int, theirs: int) -> None:
    common = [0.5] * 20
    for name, upper in (("bounds of their own", UPPER), ("common bounds", common)):
        known = published(theirs, upper)
        seconds = cpu_time(
            lambda upper=upper: sample_cfs([0.0] * 20, upper, TOTAL, seed=1, count=ours)
        )
        # A vector of a recipe drawn from once pays for the tables alone.
        once = cpu_time(lambda upper=upper: sample_cfs([0.0] * 20, upper, TOTAL, seed=1, count=1))
        report(
            f"ConvolutionalFixedSum, n = 20, {name}: published package's time over ours",
            ">= 100",
            round(ours / seconds / known, 1),
            "x",
            {
                "vectors_per_cpu_second": round(ours / seconds),
                "published_vectors_per_cpu_second": round(known, 2),
                "first_vector_s": round(once, 6),
                "vectors": ours,
            },
        )


def thesis_recipes() -> list[Recipe]:
    """Some 330 scenarios over the thesis's grid: n from m+2 to 10m, U from 0.6m to 0.99m."""
    return [
        Recipe(processors=m, tasks=int(n), utilisation=float(share) * m)
        for m in (2, 4, 6, 8)
        for n in np.linspace(m + 2, 10 * m, 9).round()
        for share in np.linspace(0.6, 0.99, 9)
    ]


def bench_study() -> None:
    recipes = thesis_recipes()

    def draw() -> None:
        for recipe in recipes:
            generate(recipe, seed=1, count=30)

    report(
        "the thesis's 10,000 sets: generation",
        "<= 1 s",
        round(cpu_time(draw), 3),
        "s",
        {"sets": 30 * len(recipes), "scenarios": len(recipes)},
    )


def bench_sets(count: int) -> None:
    for processors, tasks, goal in ((4, 10, ">= 200000"), (8, 80, "none")):
        recipe = Recipe(processors=processors, tasks=tasks,
                        utilisation=0.8 * processors)  # fmt: skip
        seconds = cpu_time(lambda recipe=recipe: generate(recipe, seed=1, count=count))
        report(
            f"randfixedsum, LCM below 100,000, n = {tasks}", goal, round(count / seconds), "sets/s"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", type=int, default=20_000, help="of ours")
    parser.add_argument("--published", type=int, default=60, help="vectors of the package")
    parser.add_argument("--sets", type=int, default=20_000)
    options = parser.parse_args()
    bench_cfs(ours=options.vectors, theirs=options.published)
    bench_study()
    bench_sets(options.sets)


if __name__ == "__main__":
    main()
