"""Whether a run of a load test counts, and what happened beside those that do."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve

from deadbeat.base.model.finding import ordered
from deadbeat.latencies.load.model import LoadRun, Rounds
from deadbeat.latencies.validity import disturbed, labelled


def rounds_inside(rounds: Rounds, window_ns: tuple[int, int]) -> int:
    """Rounds of a load test that were released in its window."""
    low, high = window_ns
    return int(((rounds.release_ns >= low) & (rounds.release_ns < high)).sum())


def judged_load(run: LoadRun) -> LoadRun:
    """``run`` by today's rule, whatever an older version called invalid."""
    if run.valid:
        return run
    kept = [
        each
        for each in labelled(run.problems)
        if each.id != "too-few-rounds" or not rounds_inside(run.rounds, run.window_ns)
    ]
    return evolve(run, problems=tuple(ordered(kept)))


def beside_load(runs: Iterable[LoadRun]) -> str:
    """What disturbed the runs of a load test; "" for nothing."""
    machines = [run.machine for run in runs if run.valid]
    return disturbed(
        [each.get("foreign_cpus") or 0.0 for each in machines],
        [each.get("steal_share") or 0.0 for each in machines],
    )
