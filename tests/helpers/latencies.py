"""Runs of a latency matrix, made up."""

from collections.abc import Mapping, Sequence
from typing import Any

from deadbeat.latencies.latency.engines import Request, SimulatedEngine
from deadbeat.latencies.latency.model import (
    Circumstances,
    LatencyKey,
    LatencyRun,
    LoadPoint,
    LoadReport,
)
from deadbeat.latencies.latency.store import LatencyStore
from deadbeat.machine.targets.fake import FakeTarget

LOADS = tuple(LoadPoint("cpu", percent) for percent in (0, 25, 50, 75, 100))


def seen_of(plain: Mapping[str, Any]) -> Circumstances:
    """As files have them."""
    return LatencyStore.CONVERTER.structure(plain, Circumstances)


def load_of(plain: Mapping[str, Any]) -> LoadReport:
    """As files have it."""
    return LatencyStore.CONVERTER.structure(plain, LoadReport)


def made_up_runs(
    *,
    loads: Sequence[LoadPoint] = LOADS,
    repeats: int = 6,
    cpus: Sequence[int] = (0, 1),
    seconds: float = 2.0,
    seed: int = 1,
    scale: float = 1.0,
    drift: float = 0.02,
) -> list[LatencyRun]:
    """Every run of a matrix on a made-up machine, ``scale`` times as slow as the ordinary one."""
    engine = SimulatedEngine(scale=scale, drift=drift)
    runs = []
    for repeat in range(repeats):
        for place, load in enumerate(loads):
            request = Request(
                cpus=tuple(cpus),
                seconds=seconds,
                load=load,
                seed=seed * 10_000 + repeat * 100 + place,
            )
            measured = engine.measure(FakeTarget(), request)
            runs.append(
                LatencyRun(
                    key=LatencyKey(load, engine.name, repeat),
                    started="2026-01-01T00:00:00Z",
                    seconds=seconds,
                    interval_ns=request.interval_ns,
                    priority=request.priority,
                    policy=request.policy,
                    cpus=measured.cpus,
                    load=LoadReport(asked=load.percent),
                    kind="simulated",
                    engine_version="made up",
                )
            )
    return runs
