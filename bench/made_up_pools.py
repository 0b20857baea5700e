"""Pools of the simulated engines, whose runs and sessions differ by known amounts.

bench/made_up_pools.py latency FILE [--stalls 1]   runs vary by 2 %, sessions by 3 %; with stalls
                                                 of 30 to 300 ms in a fifth of the runs
bench/made_up_pools.py load FILE [--stalls N]      speeds vary as much; N stalls of 20 to 60 ms
                                                 in a mean run hit one to six rounds in a row
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from attrs import evolve
from bench_compare import side_of, write

from deadbeat.kinds.latency import observe as latency
from deadbeat.kinds.latency.engines import Request, SimulatedEngine
from deadbeat.kinds.load import observe as interference
from deadbeat.kinds.load.engine import UNIT_PS, LoadRequest, SimulatedLoad
from deadbeat.kinds.load.lost import SceneMachine
from deadbeat.kinds.load.spec import LoadSpec, plan, resolve
from deadbeat.kinds.load.summarise import summarise_load
from deadbeat.model.histogram import Histogram
from deadbeat.model.latency import IDLE, LatencyKey, LatencyRun, LoadPoint
from deadbeat.model.load import LoadKey, LoadRun, LoadSummary, Rounds
from deadbeat.model.observations import Observations
from deadbeat.model.specification import plain_of
from deadbeat.targets.fake import FakeTarget

#: Sessions and repeats; deviations of a session, a run, and a session's rate of stalls.
_SESSIONS, _REPEATS, _SESSION, _RUN, _RATE = 10, 6, 0.03, 0.02, 0.3
#: Of matrices: length of a run in seconds, share of the runs that have a stall.
_SECONDS, _STALLED = 3.0, 0.2
_LOADS = (IDLE, LoadPoint("cpu", 50), LoadPoint("cpu", 100))
_SPEC = LoadSpec(normal=(0, 2, 4, 8), repeats=6, remedy_repeats=6, remedies=(), trace=False)
_SEED = 20261122

Generator = np.random.Generator


def matrix(session: int, random: Generator, *, stalls: bool) -> Observations:
    """A session of a made-up machine."""
    engine = SimulatedEngine(scale=float(random.lognormal(0, _SESSION)), drift=_RUN)
    runs = []
    for repeat in range(_REPEATS):
        for place, load in enumerate(_LOADS):
            seed = session * 1000 + repeat * 10 + place
            request = Request(cpus=(0, 1), seconds=_SECONDS, load=load, seed=seed)
            run = LatencyRun(
                key=LatencyKey(load, engine.name, repeat),
                started=f"2026-01-01T00:{repeat:02d}:00Z",
                seconds=_SECONDS,
                interval_ns=request.interval_ns,
                priority=request.priority,
                policy=request.policy,
                cpus=engine.measure(FakeTarget(), request).cpus,
                kind=engine.kind,
            )
            runs.append(run)
    if stalls:
        runs = [_stalled(run, random) if random.random() < _STALLED else run for run in runs]
    name = f"made-up-{session + 1:02d}"
    return latency.observe(latency.matrix_of(runs, name=name, path=""))


def _stalled(run: LatencyRun, random: Generator) -> LatencyRun:
    """With a stall of all CPUs at once, and the periods missed meanwhile."""
    length = int(1e8 * random.lognormal(0, 0.5))
    missed = length // run.interval_ns
    waited = Histogram.of(length - step * run.interval_ns for step in range(missed + 1))
    return evolve(
        run,
        cpus=tuple(
            evolve(
                cpu,
                cycles=cpu.cycles - missed,
                missed=missed,
                raw=cpu.raw + Histogram.of([length]),
                corrected=cpu.raw + waited,
            )
            for cpu in run.cpus
        ),
    )


def load_test(session: int, random: Generator, *, stalls: float) -> Observations:
    """A session of a made-up machine."""
    engine = SimulatedLoad()
    spec = resolve(evolve(_SPEC, seed=session), engine.cpus())
    assert spec.deadline is not None and spec.round is not None
    speed, rate = random.lognormal(0, _SESSION), stalls * random.lognormal(0, _RATE)
    planned = plan(spec, {})
    runs = [_load_run(engine, spec, key, random, (speed, rate)) for key in planned]
    name = f"made-up-{session + 1:02d}"
    asked = LoadSummary(
        name=name, spec=plain_of(spec), platform={}, deadline_ns=spec.deadline,
        period_ns=spec.period, round_ns=spec.round, planned=len(planned),
    )  # fmt: skip
    summary = summarise_load(runs, asked, SceneMachine())
    return interference.observe(
        interference.load_test_of(
            spec, runs, planned=planned, summary=summary, unit_ps=UNIT_PS, name=name, path="",
            platform={},
        )
    )  # fmt: skip


def _load_run(
    engine: SimulatedLoad,
    spec: LoadSpec,
    key: LoadKey,
    random: Generator,
    session: tuple[float, float],
) -> LoadRun:
    """Args: ``session``: its speed and its rate of stalls."""
    speed, rate = session
    ask = LoadRequest(spec=spec, key=key, unit_ps=UNIT_PS)
    units = round(ask.units * speed * random.lognormal(0, _RUN))
    seen = engine.run(evolve(ask, spec=evolve(spec, additions=units * 1000)))
    return LoadRun(
        key=key,
        started=f"2026-01-01T00:{key.repeat:02d}:00+00:00",
        window_ns=seen.window_ns,
        sampled_ns=seen.sampled_ns,
        rounds=_late(seen.rounds, random, int(random.poisson(rate))),
        normal_units=seen.normal_units,
        policy=seen.policy,
        kind=engine.kind,
    )


def _late(rounds: Rounds, random: Generator, stalls: int) -> Rounds:
    finish = rounds.finish_ns.copy()
    for _ in range(stalls if len(finish) else 0):
        first = int(random.integers(len(finish)))
        finish[first : first + int(random.integers(1, 7))] += int(random.uniform(2e7, 6e7))
    return evolve(rounds, finish_ns=finish)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("latency", "load"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--stalls", type=float, default=0.0, help="of a mean run; latency: any")
    options = parser.parse_args()
    random = np.random.default_rng(_SEED)
    tables = [
        matrix(session, random, stalls=options.stalls > 0)
        if options.kind == "latency"
        else load_test(session, random, stalls=options.stalls)
        for session in range(_SESSIONS)
    ]
    about = {
        "soc": "made up",
        "kernel": "none",
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "note": f"simulated engine: runs vary by {_RUN:.0%}, sessions by {_SESSION:.0%};"
        f" stalls: {options.stalls:g}",
    }
    write(options.file, [side_of(table) for table in tables], about, tables[0])


if __name__ == "__main__":
    main()
