"""How often an injected cause is named rightly, and what tracing costs a run."""

from __future__ import annotations

from statistics import median
from time import monotonic, process_time

import numpy as np
from common import asked, report
from helpers.trials import TRIALS, Work, probe, trial_set, trial_settings, try_causes

from deadbeat.base.model import jobs as j
from deadbeat.base.model.jobs import JobTable
from deadbeat.machine.trace.jobs import extract
from deadbeat.tasksets.executors.base import RunRequest
from deadbeat.tasksets.executors.hardware import HardwareExecutor
from deadbeat.tasksets.model.results import Point, RunKey
from deadbeat.tasksets.store.jobfile import new_header, read_job_table

TURNS, RUNS = 4, 5
LINES = 100_000
SECONDS = 0.5
_KEY = RunKey(Point(2, 0, 0), 0)


def main() -> None:
    """``bench_causes.py [TRIALS]``."""
    quick, words = asked()
    trials = 1 if quick else int(words[0]) if words else TRIALS
    executor = HardwareExecutor(lock_wait=600)
    try:
        _reading()
        _overhead(executor)
        for outcome in try_causes(executor, trials=trials):
            share = 100 * outcome.named / outcome.trials if outcome.trials else None
            more = {
                "trials": outcome.trials,
                "without_effect": outcome.without_effect,
                "otherwise": outcome.otherwise,
            }
            report(f"{outcome.name} named rightly", ">= 95 %", share, "%", more)
    finally:
        executor.close()


def _reading() -> None:
    """CPU time for the trace of jobs that took a lock all the time: 50,000 times in 0.2 s."""
    slots = np.zeros(1, j.SLOT_DTYPE)
    tasks, jobs = np.zeros(2, j.TASK_DTYPE), np.zeros(2, j.JOB_DTYPE)
    tasks["cpu"] = jobs["task"] = (0, 1)
    tasks["deadline_ns"] = tasks["period_ns"] = 1_000_000
    jobs["flags"] = j.JOB_COUNTED | j.JOB_FINISHED
    jobs["finish_ns"] = LINES // 2 * 2000
    table = JobTable(
        header=new_header(set_id="0" * 64, flags=j.RUN_REALTIME),
        tasks=tasks,
        slots=slots,
        probes=np.zeros(0, j.PROBE_DTYPE),
        jobs=jobs,
    )
    text = _lock_heavy()
    began = process_time()
    trace = extract(table, text, {100: 0, 101: 1})
    spent = process_time() - began
    asleep = sum(job.totals.asleep_ns for job in trace.jobs if job.totals)
    assert asleep == LINES // 2 * 2000, asleep
    report("reading a trace: CPU time per line", "<= 15 us", 1e6 * spent / LINES, "us")


def _lock_heavy() -> str:
    """Two tasks on two cores that wake each other every 2 us."""
    lines = []
    for turn in range(LINES // 2):
        me, other, at_us = turn % 2, 1 - turn % 2, 2 * turn
        head = f"           db-t{me}-{100 + me}     [{me:03d}] d..3. {at_us // 10**6}."
        lines.append(
            f"{head}{at_us % 10**6:06d}: sched_waking: comm=db-t{other} pid={100 + other} prio=20"
            f" target_cpu={other:03d}"
        )
        lines.append(
            f"{head}{at_us % 10**6:06d}: sched_switch: prev_comm=db-t{me} prev_pid={100 + me}"
            f" prev_prio=20 prev_state=S ==> next_comm=swapper/{me} next_pid=0 next_prio=120"
        )
    return "\n".join(lines)


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
