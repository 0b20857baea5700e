"""Comparing load tests: false alarms where nothing differs, power where something does.

Everything is drawn run by run from pools of repeats of one command. Record one on a quiet machine:

    deadbeat load --normal few --remedies none --repeats 6 --name aa-1      (and aa-2, ... as often)
    bench/bench_load_compare.py --record tests/pools/aa/load-NAME.json runs/aa-*

``--made-up`` writes a pool of the simulated engine: every run has a speed of its own (2 %), so has
every session (3 %), and stalls of 20 to 60 ms, that hit one to six rounds in a row, come as a
Poisson process, ``--stalls`` of them in a mean run, more in some sessions than in others (30 %).
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import attrs
import numpy as np
from pools import POOLS, compact, measure, share

from deadbeat.compare.aa import LOAD_POOL, Pool, draw, pool_to_plain, read_pool
from deadbeat.compare.decide import compare_sides
from deadbeat.compare.load import blocks_of, load_options, read_load, side_of, side_of_runs
from deadbeat.compare.sides import Side
from deadbeat.kinds.interference.plan import ask_for, plan
from deadbeat.kinds.interference.simulated import UNIT_PS, SimulatedLoad
from deadbeat.kinds.interference.spec import LoadSpec, resolve
from deadbeat.model.comparison import LOAD_METRICS
from deadbeat.model.load import LoadKey, LoadRun, Rounds
from deadbeat.store.files import FORMAT, atomic_write, tool_version

#: Further occasions of failure per second, where power is asked for.
MORE = (0.5, 1.0, 2.0)
#: Of what is made up: sessions, and deviations of a session, a run, and a session's rate of stalls.
_SESSIONS, _SESSION, _RUN, _RATE = 10, 0.03, 0.02, 0.3
_SPEC = LoadSpec(normal=(0, 2, 4, 8), repeats=6, remedy_repeats=6, remedies=(), trace=False)


def record(file: Path, paths: Sequence[Path], note: str) -> None:
    """Writes the pool of the load tests in ``paths``."""
    tests = [read_load(path) for path in paths]
    first = tests[0]
    known = ("soc", "kernel", "preemption", "governor")
    circumstances = {key: first.platform.get(key) for key in known} | {
        "settings": dict(first.settings),
        "created_at": [min(run.started for run in test.every) for test in tests],
        "invalid": [sum(not run.valid for run in test.every) for test in tests],
        "note": note,
    }
    write(file, [side_of(test) for test in tests], circumstances)


def write(file: Path, sides: Sequence[Side], circumstances: dict[str, object]) -> None:
    pool = Pool(sides=tuple(sides), circumstances=circumstances, metrics=LOAD_METRICS)
    file.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(file, compact({**pool_to_plain(pool), "format": FORMAT, "tool": tool_version()}))


def make_up(file: Path, *, stalls: float) -> None:
    """Sessions of a made-up machine that drifts from one to the next."""
    random = np.random.default_rng(20261122)
    engine = SimulatedLoad()
    spec = resolve(_SPEC, engine.cpus())
    assert spec.deadline is not None
    sides = []
    for session in range(_SESSIONS):
        speed, rate = random.lognormal(0, _SESSION), stalls * random.lognormal(0, _RATE)
        planned = plan(spec, {})
        runs = [
            _run(engine, attrs.evolve(spec, seed=session), key, random, (speed, rate))
            for key in planned
        ]
        name = f"made-up-{session + 1:02d}"
        sides.append(
            side_of_runs(
                name,
                runs,
                blocks=blocks_of(spec, planned),
                deadline_ns=spec.deadline,
                period_ns=None,
            )
        )
    note = (
        f"simulated engine: a run's speed varies by {_RUN:.0%}, a session's by {_SESSION:.0%};"
        f" {stalls:g} stalls in a run, by {_RATE:.0%} more or fewer in a session"
    )
    created = datetime.now(UTC).isoformat(timespec="seconds")
    about = {"soc": "made up", "kernel": "none", "created_at": created, "note": note}
    write(file, sides, about)


def _run(
    engine: SimulatedLoad,
    spec: LoadSpec,
    key: LoadKey,
    random: np.random.Generator,
    session: tuple[float, float],
) -> LoadRun:
    """Args: ``session``: its speed and its rate of stalls."""
    speed, rate = session
    ask = ask_for(spec, key, None, UNIT_PS)
    units = round(ask.units * speed * random.lognormal(0, _RUN))
    seen = engine.run(attrs.evolve(ask, units=units))
    return LoadRun(
        key=key,
        started=f"2026-01-01T00:{key.repeat:02d}:00+00:00",
        window_ns=seen.window_ns,
        sampled_ns=seen.sampled_ns,
        rounds=_stalled(seen.rounds, random, int(random.poisson(rate))),
        normal_units=seen.normal_units,
        policy=seen.policy,
        kind=engine.kind,
    )


def _stalled(rounds: Rounds, random: np.random.Generator, stalls: int) -> Rounds:
    finish = rounds.finish_ns.copy()
    for _ in range(stalls if len(finish) else 0):
        first = int(random.integers(len(finish)))
        finish[first : first + int(random.integers(1, 7))] += int(random.uniform(2e7, 6e7))
    return attrs.evolve(rounds, finish_ns=finish)


def measure_misses(path: Path, comparisons: int) -> None:
    """Power where the other side misses more deadlines, in occasions of one to six rounds."""
    pool, random = read_pool(path), np.random.default_rng(7)
    for more in MORE:
        for metrics in (("deadline_miss_ratio",), LOAD_METRICS):
            options = load_options(metrics=metrics, ungated=True)
            worse = 0
            for _ in range(comparisons):
                baseline, other, *again = draw(pool, random, sides=4)
                missing = _missing(other, more, random)
                found = compare_sides(baseline, missing, again, options=options)
                worse += found.verdict == "worse"
            share(
                f"{path.stem}: power, {more:g} more occasions of failure a second, 2 --aa,"
                f" {'all metrics' if metrics == LOAD_METRICS else 'misses alone'}",
                "reported",
                worse,
                comparisons,
            )


def _missing(side: Side, more: float, random: np.random.Generator) -> Side:
    rounds = _SPEC.seconds * 1e9 / _SPEC.round_ns

    def failing(values: Mapping[str, float | None]) -> dict[str, float | None]:
        occasions = int(random.poisson(more * _SPEC.seconds))
        added = float(random.integers(1, 7, occasions).sum()) / rounds
        before = values["deadline_miss_ratio"] or 0.0
        return {**values, "deadline_miss_ratio": min(before + added, 1.0)}

    runs = {key: attrs.evolve(run, values=failing(run.values)) for key, run in side.runs.items()}
    return attrs.evolve(side, runs=runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=400)
    parser.add_argument("--record", type=Path, metavar="FILE", help="write a pool and stop")
    parser.add_argument("--made-up", type=Path, metavar="FILE", help="write a made-up pool, stop")
    parser.add_argument("--stalls", type=float, default=1.0, help="of --made-up: in a mean run")
    parser.add_argument("--note", default="", help="what else was going on while it was recorded")
    parser.add_argument("runs", type=Path, nargs="*", help="load tests of a pool (--record)")
    options = parser.parse_args()
    if options.record:
        record(options.record, options.runs, options.note)
    elif options.made_up:
        make_up(options.made_up, stalls=options.stalls)
    else:
        for path in sorted(POOLS.glob(f"{LOAD_POOL}*.json")):
            measure(path, options.comparisons, options_of=load_options, what="response")
            measure_misses(path, options.comparisons // 4)


if __name__ == "__main__":
    main()
