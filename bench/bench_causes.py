"""How often an injected cause is named rightly, and what tracing costs a run."""

from __future__ import annotations

import sys
from statistics import median
from time import monotonic

from common import report

from deadbeat.analysis.trials import (
    TRIALS,
    Work,
    probe,
    trial_set,
    trial_settings,
    try_causes,
)
from deadbeat.executors.base import RunRequest
from deadbeat.executors.hardware import HardwareExecutor
from deadbeat.model.results import Point, RunKey
from deadbeat.store.jobfile import read_job_table

TURNS, RUNS = 4, 5
SECONDS = 0.5
_KEY = RunKey(Point(2, 0, 0), 0)


def main() -> None:
    """``bench_causes.py [TRIALS]``."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS
    executor = HardwareExecutor(lock_wait=600)
    try:
        _overhead(executor)
        for outcome in try_causes(executor, trials=trials):
            share = outcome.named / outcome.trials if outcome.trials else float("nan")
            what = f"{outcome.name} named rightly in {outcome.named} of {outcome.trials} trials"
            report(f"{what} ({outcome.without_effect} without effect)", ">= 95 %", 100 * share, "%")
            for words, count in outcome.otherwise.items():
                print(f"    {count} x {words}")
    finally:
        executor.close()


def _overhead(executor: HardwareExecutor) -> None:
    """The same task set with the split alone and with causes, in turns."""
    costs = probe(executor)
    request = RunRequest(_KEY, trial_set((Work(), Work()), costs))
    walls: dict[bool, list[float]] = {False: [], True: []}
    spans: dict[bool, list[float]] = {False: [], True: []}
    for turn in range(2 * TURNS):
        causes = bool(turn % 2)
        with executor.open([request], trial_settings(SECONDS, causes=causes)) as session:
            assert session.run(_KEY).error is None  # the first starts the program
            for _ in range(RUNS):
                began = monotonic()
                outcome = session.run(_KEY)
                walls[causes].append(monotonic() - began)
                assert outcome.file is not None, outcome.error
                jobs = read_job_table(outcome.file).jobs
                done = jobs[jobs["finish_ns"] > jobs["start_ns"]]
                spans[causes].append(float(median(done["finish_ns"] - done["start_ns"])))
    report(
        "tracing: wall time per run more",
        "<= 300 ms",
        1000 * (median(walls[True]) - median(walls[False])),
        "ms",
    )
    report(
        "tracing and use times: median span more",
        "<= 1 %",
        100 * (median(spans[True]) / median(spans[False]) - 1),
        "%",
    )


if __name__ == "__main__":
    main()
