"""Latency matrices made up, as a comparison reads them."""

from collections.abc import Sequence
from typing import Any

from attrs import evolve

from deadbeat.latencies.latency.model import IDLE, LatencyRun, LoadPoint
from deadbeat.latencies.latency.observe import Matrix, matrix_of
from helpers.latencies import made_up_runs

LOADS = (IDLE, LoadPoint("cpu", 50), LoadPoint("cpu", 100))
SETTINGS = {"interval": 1_000_000, "priority": 90, "policy": "fifo", "seconds": 1.0}
PLATFORM = {"kernel": "6.1", "fingerprint": "f", "preemption": "full", "name": "here"}


def matrix(
    name: str, seed: int, *, measured: bool = False, repeats: int = 6, **changes: Any
) -> Matrix:
    """A matrix of three loads; ``changes`` are those of `made_up_runs`.

    Args:
        measured: Whether it claims to be of a machine.
    """
    runs = made_up_runs(**{"loads": LOADS, "seconds": 1.0, **changes}, repeats=repeats, seed=seed)
    kind = "hardware" if measured else "simulated"
    return of_runs(name, [evolve(run, kind=kind) for run in runs])


def of_runs(name: str, runs: Sequence[LatencyRun]) -> Matrix:
    """A finished matrix of these runs."""
    return matrix_of(runs, name=name, path=f"made-up/{name}", settings=SETTINGS, platform=PLATFORM)
