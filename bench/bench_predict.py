"""How far to believe `deadbeat predict`: on this machine's own task sets, and beyond its cores.

DEADBEAT_PREDICT=here, pooled or simulated does one part alone. Pooled: the sets of nine objects in
four runs, the last beside two busy processes; DEADBEAT_RUNS keeps them, and what it holds is not
run again; DEADBEAT_ROUNDS: number of runs.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from common import asked, report
from helpers.known_contention import KnownWork, draw_set, matrix_of, replayed, true_slowdown

import deadbeat
from deadbeat.base.kinds.registry import find
from deadbeat.tasksets.contention.predicted import CLOSE, CLOSE_LEAST, PredictionCheck, check
from deadbeat.tasksets.prediction.engine import slowdown_of
from deadbeat.tasksets.prices.rates import GROWTH, Rates

QUICK, _ = asked()
PART = "simulated" if QUICK else os.environ.get("DEADBEAT_PREDICT", "")
#: Synchronisation of every sort (spinning, sleeping, kernel queues), and memory of every level.
OBJECTS = ("futex:64", "spin:64", "pipe:4", "flock:4", "mq_posix:4", "semaphore_posix_scarce:512")
COMPUTING = (
    *(f"memory_stream:{size}" for size in (64, 256, 1024, 4096, 16384)),
    *(f"pointer_chase:{size}" for size in (256, 1024, 8192, 65536)),
    *("matmul:32", "matmul:112", "sha256:4096"),
)
#: T = D = 1.5 C and 3 C, at most two classes a set, most of them contended: they meet.
SETS: dict[str, Any] = {
    "cores": "2",
    "sets": 60,
    "deadline_factor": "1.5,3",
    "pool": "full",
    "wcet_min": "300us",
    "wcet_max": "2ms",
    "classes_max": 2,
    "sync_share": "random:0.2..1",
    "contended_ratio": "0.5,1",
    "calibration_seconds": 40,
    "duration": "3s",
}


def here(runs: Path) -> None:
    """Task sets of this machine: half calibrate the intervals, half judge."""
    began = perf_counter()
    names = sorted({each.partition(":")[0] for each in (*COMPUTING, *OBJECTS)})
    deadbeat.ask(
        "contention", random=True, name="sets", runs=runs, fragments=",".join(names), **SETS
    )
    seconds = perf_counter() - began
    found = deadbeat.ask("predict", "sets", runs=runs)["results"]
    predictors = {each["name"]: each for each in found["predictors"]}
    model = predictors["the model"]
    report(
        "held-out task sets predicted within 10 %",
        ">= 90 %",
        100 * model["within_10_percent"] / model["sets"],
        "%",
        {"seconds": round(seconds), "predictors": list(predictors.values())},
    )
    report(
        "held-out task sets inside their stated 90 % interval",
        "85 to 95 %",
        100 * found["held"] / model["sets"],
        "%",
        {"interval": found["coverage"], "sets": model["sets"]},
    )
    for name, each in predictors.items():
        if each["gain"] is not None:
            goal = "> 0 with 95 %"
            gain = {"gain": each["gain"], "error": each["mean_error"]}
            report(f"mean error beyond the model's: {name}", goal, each["gain"][0], "", gain)


# ---------- pooled over sets ----------

POOLED = (
    *("semaphore_posix", "semaphore_posix_scarce", "condvar_queue", "eventfd", "pipe", "futex"),
    *("mutex_normal", "atomic_line", "mq_posix"),
)
ROUNDS = int(os.environ.get("DEADBEAT_ROUNDS", "4"))


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Ordinary processes that compute."""
    argv = [sys.executable, "-c", "while True: pass"]
    started = [subprocess.Popen(argv) for _ in range(processes)]
    try:
        yield
    finally:
        for each in started:
            each.kill()
            each.wait()


def pooled(runs: Path) -> None:
    for number in range(ROUNDS):
        if (runs / f"pooled-{number}").exists():
            continue
        with busy(2 * (number == ROUNDS - 1)):
            deadbeat.ask(
                "contention",
                name=f"pooled-{number}",
                runs=runs,
                seed=number + 1,
                cores="2",
                sync_share="0.5,1",
                contended_ratio="0,1",
                duration="1s",
                time_budget="270s",
                set=f"grid.classes={','.join(POOLED)}",
            )
    stored = (find(runs, f"pooled-{number}") for number in range(ROUNDS))
    summaries = [kind.open(path).summary for kind, path in stored]
    sets = tuple(own for summary in summaries for own in check(summary).sets)
    pools = PredictionCheck(sets=sets).objects
    close = 0
    for pool in pools:
        measured, predicted = float(pool.measured.mean()), float(pool.predicted.mean())
        within = abs(pool.off) <= max(CLOSE * measured, CLOSE_LEAST)
        close += within
        far = [own.far_share for own in pool.sets if own.far_share is not None]
        report(
            f"pooled prediction of {pool.object}: mean predicted slowdown - 1",
            f"{measured:.3f}, within 15 % or 0.02",
            round(predicted, 3),
            "",
            {
                "off": round(pool.off, 3),
                "half_width": round(pool.half_width or 0.0, 3),
                "within": within,
                "sets": len(pool.sets),
                "far": round(float(np.mean(far)), 2) if far else None,
            },
        )
    report("objects predicted within 15 % or 0.02, pooled", "all", close, f"of {len(pools)}")


# ---------- beyond this machine ----------

#: Of a machine that begins idle; jobs that have not ended in it count on neither side.
WINDOW_NS = 30e6
_COMPUTE = KnownWork(name="matmul", think_ns=100e3)


def lock(share: float, draws: str = "exponential", growth: float = 1.0) -> KnownWork:
    """Twenty operations of 5 us, of which the lock is held for a share."""
    return KnownWork(
        name="futex",
        operations=20,
        think_ns=5000 * (1 - share),
        hold_ns=5000 * share,
        lock="one",
        draws=draws,
        growth=growth,
    )


def stream(demand: float) -> KnownWork:
    return KnownWork(name="memory_stream", stream_ns=100e3, demand=demand)


WORLDS = {
    "a lock held 40 % of the time": (lock(0.4), _COMPUTE),
    "streams of 70 % of the bandwidth": (stream(0.7), _COMPUTE),
    "lock and streams": (lock(0.4), stream(0.7), _COMPUTE),
    "a lock held 10 %: two hardly show it": (lock(0.1), _COMPUTE),
    "a lock held 40 % in step: two never wait": (lock(0.4, "fixed"), _COMPUTE),
    "a lock held 40 %, its price growing 1.5 times a doubling": (lock(0.4, growth=1.5), _COMPUTE),
    "streams of 30 %: two do not saturate": (stream(0.3), _COMPUTE),
}


def simulated(world: str, works: Sequence[KnownWork]) -> None:
    """Sets on 2 to 64 cores, predicted from the matrix of two."""
    matrix = matrix_of(works)
    rates = [Rates(matrix), Rates(matrix, -1), Rates(matrix, 1, GROWTH[1])]
    for cores, sets in ((2, 1),) if QUICK else ((2, 20), (4, 10), (16, 6), (64, 3)):
        rows = []
        for seed in range(sets):
            programs = draw_set(works, cores, seed, busy=_busy)
            tasks = replayed(programs, works)
            truth = true_slowdown(programs, WINDOW_NS, seed)
            found = (slowdown_of(tasks, each, horizon_ns=WINDOW_NS) for each in rates)
            rows.append([truth, *found])
        truth, mean, low, high = np.array(rows, np.float64).T
        held = (low <= 1.01 * truth) & (truth <= 1.01 * high)
        report(
            f"simulated, {cores} cores: {world}",
            "stated",
            100 * float(np.abs(mean / truth - 1).mean()),
            "% mean error",
            {
                "true": round(float(truth.mean()), 3),
                "predicted": round(float(mean.mean()), 3),
                "range": [round(float(low.mean()), 3), round(float(high.mean()), 3)],
                "range_holds": f"{int(held.sum())} of {sets}",
            },
        )


def _busy(draw: random.Random) -> float:
    return draw.uniform(0.2, 0.6)


def main() -> None:
    kept = os.environ.get("DEADBEAT_RUNS")
    with tempfile.TemporaryDirectory(prefix="deadbeat-bench-predict") as folder:
        if PART in ("", "here"):
            here(Path(folder))
        if PART in ("", "pooled"):
            pooled(Path(kept or folder))
    if PART in ("", "simulated"):
        for world, works in WORLDS.items():
            simulated(world, works)


if __name__ == "__main__":
    main()
