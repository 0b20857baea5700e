"""Comparing latency matrices: false alarms where nothing differs, power where something does.

Everything is drawn run by run from pools of repeats of one command. Record one on a quiet machine:

    deadbeat latency --loads idle,50,100 --repeats 6 --name aa-1      (and aa-2, aa-3, ... as often)
    bench/bench_latency_compare.py --record tests/pools/aa/latency-NAME.json runs/aa-*

``--made-up`` writes a pool of the simulated engine: every run has a scale of its own (2 %), and so
has every session (3 %). With ``--stalls`` a fifth of the runs has a stall of 30 to 300 ms besides,
as virtual machines have: missed periods and all.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import attrs
import numpy as np
from pools import POOLS, compact, measure

from deadbeat.compare.aa import LATENCY_POOL, Pool, pool_to_plain
from deadbeat.compare.latency import Matrix, latency_options, read_matrix, side_of
from deadbeat.kinds.latency.engine import Request
from deadbeat.kinds.latency.engines.simulated import SimulatedEngine
from deadbeat.model.comparison import LATENCY_METRICS
from deadbeat.model.histogram import Histogram
from deadbeat.model.latency import IDLE, LatencyKey, LatencyRun, LoadPoint
from deadbeat.store.files import FORMAT, atomic_write, tool_version
from deadbeat.targets.fake import FakeTarget

#: Of what is made up: sessions, repeats, length of a run in seconds, deviation of a session.
_SESSIONS, _REPEATS, _SECONDS, _SESSION = 10, 6, 3.0, 0.03
#: Share of the runs that have a stall, where stalls are asked for.
_STALLED = 0.2
_LOADS = (IDLE, LoadPoint("cpu", 50), LoadPoint("cpu", 100))


def record(file: Path, paths: Sequence[Path], note: str) -> None:
    """Writes the pool of the matrices in ``paths``."""
    matrices = [read_matrix(path) for path in paths]
    first = matrices[0]
    known = ("soc", "kernel", "preemption", "governor")
    circumstances = {key: first.platform.get(key) for key in known} | {
        "cpus": list(first.cpus),
        "settings": dict(first.settings),
        "created_at": [min(run.started for run in matrix.runs) for matrix in matrices],
        "invalid": [sum(not run.valid for run in matrix.runs) for matrix in matrices],
        "note": note,
    }
    write(file, matrices, circumstances)


def write(file: Path, matrices: Sequence[Matrix], circumstances: dict[str, object]) -> None:
    corrected = all(
        cpu.corrected is not None
        for matrix in matrices
        for run in matrix.runs
        if run.valid
        for cpu in run.cpus
    )
    pool = Pool(
        sides=tuple(side_of(matrix, corrected=corrected) for matrix in matrices),
        circumstances=circumstances,
        metrics=LATENCY_METRICS,
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(file, compact({**pool_to_plain(pool), "format": FORMAT, "tool": tool_version()}))


def make_up(file: Path, *, stalls: bool) -> None:
    """Sessions of a made-up machine that drifts from one to the next."""
    random = np.random.default_rng(20261122)
    matrices = []
    for session in range(_SESSIONS):
        engine = SimulatedEngine(scale=float(random.lognormal(0, _SESSION)), drift=0.02)
        runs = [
            _made_up_run(engine, load, repeat, seed=session * 1000 + repeat * 10 + place)
            for repeat in range(_REPEATS)
            for place, load in enumerate(_LOADS)
        ]
        if stalls:
            runs = [_stalled(run, random) if random.random() < _STALLED else run for run in runs]
        matrices.append(
            Matrix(
                name=f"made-up-{session + 1:02d}",
                path="",
                runs=tuple(runs),
                settings={},
                platform={},
                planned=tuple(run.key for run in runs),
            )
        )
    write(
        file,
        matrices,
        {
            "soc": "made up",
            "kernel": "none",
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "note": f"simulated engine: a run's scale varies by 2 %, a session's by {_SESSION:.0%}"
            + (f"; a stall in {_STALLED:.0%} of the runs" if stalls else ""),
        },
    )


def _made_up_run(engine: SimulatedEngine, load: LoadPoint, repeat: int, *, seed: int) -> LatencyRun:
    request = Request(cpus=(0, 1), seconds=_SECONDS, load=load, seed=seed)
    return LatencyRun(
        key=LatencyKey(load, engine.name, repeat),
        started=f"2026-01-01T00:{repeat:02d}:00Z",
        seconds=_SECONDS,
        interval_ns=request.interval_ns,
        priority=request.priority,
        policy=request.policy,
        cpus=engine.measure(FakeTarget(), request).cpus,
        kind=engine.kind,
    )


def _stalled(run: LatencyRun, random: np.random.Generator) -> LatencyRun:
    """With a stall of all CPUs at once, and the periods missed meanwhile."""
    length = int(1e8 * random.lognormal(0, 0.5))
    missed = length // run.interval_ns
    waited = Histogram.of(length - step * run.interval_ns for step in range(missed + 1))
    return attrs.evolve(
        run,
        cpus=tuple(
            attrs.evolve(
                cpu,
                cycles=cpu.cycles - missed,
                missed=missed,
                raw=cpu.raw + Histogram.of([length]),
                corrected=cpu.raw + waited,
            )
            for cpu in run.cpus
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=400)
    parser.add_argument("--record", type=Path, metavar="FILE", help="write a pool and stop")
    parser.add_argument("--made-up", type=Path, metavar="FILE", help="write a made-up pool, stop")
    parser.add_argument("--stalls", action="store_true", help="of --made-up: with stalls")
    parser.add_argument("--note", default="", help="what else was going on while it was recorded")
    parser.add_argument("runs", type=Path, nargs="*", help="matrices of a pool (--record)")
    options = parser.parse_args()
    if options.record:
        record(options.record, options.runs, options.note)
    elif options.made_up:
        make_up(options.made_up, stalls=options.stalls)
    else:
        for path in sorted(POOLS.glob(f"{LATENCY_POOL}*.json")):
            measure(path, options.comparisons, options_of=latency_options, what="latency")


if __name__ == "__main__":
    main()
