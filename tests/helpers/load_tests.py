"""Load tests made up, as a comparison reads them."""

import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from attrs import evolve

from deadbeat.base.model.specification import plain_of
from deadbeat.latencies.load.engine import UNIT_PS, LoadRequest, SimulatedLoad
from deadbeat.latencies.load.model import LoadKey, LoadRun, Rounds
from deadbeat.latencies.load.observe import LoadTest, load_test_of
from deadbeat.latencies.load.runner import look
from deadbeat.latencies.load.spec import LoadSpec, plan, resolve
from deadbeat.latencies.load.store import LoadStore
from helpers.loads import summary_of_runs

PLATFORM = {"kernel": "6.12", "fingerprint": "f", "preemption": "full", "name": "here"}
LATE_NS = 30_000_000


def asked(*, normal: Sequence[int] = (0, 4, 8), repeats: int = 6, **changes: object) -> LoadSpec:
    """What a made-up load test asks, resolved."""
    given = {"normal": tuple(normal), "repeats": repeats, "seconds": 1.0, **changes}
    given = {"remedies": (), "trace": False, "remedy_repeats": repeats, **given}
    spec = LoadSpec(**given)  # type: ignore[arg-type]
    return resolve(spec, SimulatedLoad().cpus())


@cache
def _run(spec: LoadSpec, key: LoadKey, scale: float, misses: float) -> LoadRun:
    ask = LoadRequest(spec=spec, key=key, unit_ps=UNIT_PS)
    longer = evolve(spec, additions=round(ask.units * scale) * 1000)
    seen = SimulatedLoad().run(evolve(ask, spec=longer))
    return LoadRun(
        key=key,
        started=f"2026-01-01T00:{key.repeat:02d}:00+00:00",
        window_ns=seen.window_ns,
        sampled_ns=seen.sampled_ns,
        rounds=_later(seen.rounds, misses, random.Random(f"{spec.seed} {key.text}")),
        normal_units=seen.normal_units,
        policy=seen.policy,
        kind="simulated",
    )


def _later(rounds: Rounds, misses: float, draw: random.Random) -> Rounds:
    """A share of the rounds far too late."""
    late = [draw.random() < misses for _ in range(len(rounds))]
    return evolve(rounds, finish_ns=rounds.finish_ns + LATE_NS * np.array(late, np.int64))


def load_test(
    name: str,
    seed: int,
    *,
    measured: bool = False,
    scale: float = 1.0,
    misses: float = 0.0,
    **spec: object,
) -> LoadTest:
    """A finished load test.

    Args:
        measured: Whether it claims to be of a machine.
        scale: How much longer its rounds are than those of others.
        misses: Share of rounds that are late beside those that the engine makes late.
        spec: Of `asked`.
    """
    question = asked(seed=seed, **spec)  # type: ignore[arg-type]
    runs = [_run(question, key, scale, misses) for key in plan(question, {})]
    kind = "hardware" if measured else "simulated"
    return of_runs(name, [evolve(run, kind=kind) for run in runs], question)


def of_runs(name: str, runs: Sequence[LoadRun], spec: LoadSpec) -> LoadTest:
    """A load test of these runs, finished if they are all."""
    assert spec.deadline is not None
    assert spec.round is not None
    planned = plan(spec, {})
    left = len(set(planned) - {run.key for run in runs})
    return load_test_of(
        spec,
        runs,
        planned=planned,
        unit_ps=UNIT_PS,
        name=name,
        path=f"made-up/{name}",
        platform=PLATFORM,
        left=f"{left} of {len(planned)} runs are missing" if left else "",
        summary=summary_of_runs(
            runs,
            name=name,
            spec=plain_of(spec),
            platform={},
            deadline_ns=spec.deadline,
            period_ns=spec.period,
            round_ns=spec.round,
            planned=len(planned),
        ),
    )


def begun(path: Path, spec: LoadSpec, engine: SimulatedLoad) -> LoadStore:
    """The store of a load test before its first run."""
    possible, impossible = look(spec, engine)
    return LoadStore.create(
        path,
        plain_of(spec),
        engine.describe(),
        unit_ps=engine.unit_ps(engine.cpus(), policy="fifo", priority=99),
        changes={name: change.words for name, change in possible.items()},
        impossible=impossible,
    )
