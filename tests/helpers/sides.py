"""Sides of a comparison made up by a formula: programs, chance, the host, and a known effect."""

import math
from collections.abc import Callable
from itertools import product

import numpy as np

from deadbeat.base.model.observations import Cell
from helpers.aa import RunFigure, Side

SHARES = (0.0, 0.5, 1.0)


def made_up(
    seed: int,
    *,
    effect: Callable[[Cell], float] = lambda cell: 0.0,
    replicas: int = 6,
    scatter: float = 0.02,
    session: float = 0.0,
    misses: float = 0.0,
    name: str = "",
) -> Side:
    """A campaign of 2 x 3 x 3 cells.

    Args:
        seed: Of chance; the programs are the same whatever it is.
        effect: Relative effect by cell.
        scatter, session: Standard deviations of a run's and of the whole session's logarithm.
        misses: Mean miss ratio of a set.
    """
    random = np.random.default_rng(seed)
    host = session * random.standard_normal()
    runs = {}
    for cores, share, replica, ratio in product((1, 2), SHARES, range(replicas), SHARES):
        cell = Cell("", cores, share, ratio, 10.0)
        program = np.random.default_rng([cores, int(10 * share), replica])
        level = program.normal(0.1, 0.05) + host + scatter * random.standard_normal()
        slowdown = math.exp(level) * (1 + effect(cell))
        missed = misses * random.uniform(0, 2)
        runs[f"m{cores:03d}-s{share:.1f}-c{ratio:.1f}-r{replica:03d}"] = RunFigure(
            cell=cell,
            block=f"{cores}/{share}/{replica}",
            values={
                "slowdown": slowdown,
                "delay_ratio": slowdown * 1.01,
                "deadline_miss_ratio": missed,
            },
            at_ns=len(runs) * 10**9,
            witness_ps=1000.0,
        )
    return Side(name=name or f"side-{seed}", runs=runs)
