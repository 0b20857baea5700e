"""Truth: examples/program/inverted.c worked by hand, and the simulator of locks where it means the
same: it has no ordinary threads, and no futex that who runs first may take."""

from itertools import chain
from random import Random
from typing import Any

import numpy as np
import pytest

from deadbeat.base.model.errors import UsageError
from deadbeat.sched import program
from deadbeat.sched.core import core

MS = 1_000_000
#: Of instants that no two tasks share.
UNIT = 100_003


def rows(values: Any, columns: int) -> Any:
    return np.array(values, np.int64).reshape(-1, columns)


def ends(cpus: int, threads: Any, jobs: Any, locks: Any = (), horizon: int = 1 << 40) -> Any:
    """``threads``: policy, priority, mask; ``jobs``: (release, operations) of each."""
    fields = [[*thread, *[0] * 6] for thread in threads]
    every = list(chain(*jobs))
    return program.run_program(
        cpus=cpus, threads=rows(fields, 9), locks=rows(locks, 2), horizon=horizon,
        job_ends=np.cumsum([len(mine) for mine in jobs]),
        releases=rows([release for release, _ in every], 1)[:, 0],
        op_ends=np.cumsum([len(ops) for _, ops in every]),
        ops=np.array([op for _, ops in every for op in ops], program.OP),
    )[:, 2]  # fmt: skip


def part(what: int, ns: int) -> list[tuple[int, int, int]]:
    """A section with a lock; -1: computes, -2: is suspended."""
    if what < 0:
        return [((program.SUSPEND, program.COMPUTE)[what], 0, ns)]
    return [(program.LOCK, what, 0), (program.COMPUTE, 0, ns), (program.UNLOCK, what, 0)]


@pytest.mark.parametrize(("protocol", "late", "worst"), [("none", 38, 13.5), ("inherit", 0, 1.5)])
def test_inversion_and_its_cure(protocol: str, late: int, worst: float) -> None:
    """20 times: without inheritance control waits for 12 ms of middle and 1 of logger."""
    threads = [(1, 80, 1), (1, 40, 1), (0, 1024, 1)]
    control = [(at * MS, part(-1, 400_000) + part(0, 100_000)) for at in range(0, 5000, 5)]
    middle = [(at * MS, part(-1, 12 * MS)) for at in range(0, 5000, 250)]
    logger = [(at * MS, part(0, 3 * MS)) for at in range(248, 5000, 250)]
    locks = [[program.PROTOCOLS.index(protocol), 0]]
    found = ends(1, threads, [control, middle, logger], locks, 5000 * MS)[:1000]
    responses = found - np.arange(0, 5000, 5) * MS
    assert ((responses > 5 * MS).sum(), responses.max() / MS) == (late, worst)


@pytest.mark.parametrize("policy", ["p-fp", "g-fp"])
def test_with_inheritance_jobs_end_as_in_the_simulator_of_locks(policy: str) -> None:
    """Jobs end computing: who unlocks for another one may be preempted before its job ends."""
    for seed in range(200):
        rng = Random(seed)
        cpus, ranks = 1 + seed % 3, rng.sample(range(1, 99), rng.randint(1, 6))
        tasks, homes = range(len(ranks)), [rng.randrange(cpus) for _ in ranks]
        jobs = sorted((rng.randrange(40 * UNIT), rng.choice(tasks)) for _ in range(20))
        kinds = [(*rng.choices((-2, 0, 1), k=rng.randrange(4)), -1) for _ in jobs]
        parts = [[(what, rng.randrange(1, 2 * UNIT)) for what in each] for each in kinds]
        pairs = list(zip(ranks, homes, strict=True))
        long = [(9, 1 << 40, 1 << 40, 0, rank, home, 9, 9, 9) for rank, home in pairs]
        sections = [(task, lock, 1, 1) for task in tasks for lock in (0, 1)]
        served = [(*each, -1) for each in sections]
        given = (cpus, rows(long, 9), rows(served, 5), rows((), 4))
        releases = rows([(task, at, at) for at, task in jobs], 3)
        listed = rows([(job, *each) for job, mine in enumerate(parts) for each in mine], 3)
        found = core().simulate_locks(*given, policy, "inherit", releases, listed, False)
        of = [[job for job, (_, task) in enumerate(jobs) if task == own] for own in tasks]
        ops = [list(chain(*(part(*each) for each in mine))) for mine in parts]
        runs = [[(jobs[job][0], ops[job]) for job in mine] for mine in of]
        bound = policy == "p-fp"
        threads = [(1, rank, 1 << home if bound else -1) for rank, home in pairs]
        mine = ends(cpus, threads, runs, [[1, 0], [1, 0]])
        assert mine.tolist() == (found + releases[:, 1])[list(chain(*of))].tolist()


def test_what_cannot_run_is_one_clear_line() -> None:
    with pytest.raises(UsageError, match=r"threads\[0\]: ops\[1\]: unlocks what it does not hold"):
        ends(1, [(1, 1, 1)], [[(0, [*part(-1, 1), (program.UNLOCK, 0, 0)])]], [[0, 0]])
