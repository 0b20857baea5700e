"""``deadbeat load``: how many deadlines a real-time thread misses among ordinary ones, and why."""

from __future__ import annotations

from deadbeat.cli._measuring import RETRY_INVALID, measuring
from deadbeat.kinds.interference.spec import LoadSpec
from deadbeat.model.specification import options_of

command = measuring(
    "load",
    "load",
    options_of(LoadSpec),
    """Count missed deadlines of a real-time thread among k ordinary, computing threads.

    The real-time thread computes in rounds, SCHED_FIFO 99 by default; a round that takes longer
    than its deadline is a failure. Shown are failures per second, response times, context switches,
    moves between CPUs, the work that the ordinary threads lose, and what took the real-time
    thread's time.

    Remedies are then tried one at a time and all together: each is applied, verified, measured in
    turn with runs without it, and put back (deadbeat tune status shows what a kill left behind).

    Results live in RUNS/NAME. The same command continues what was interrupted, and begins anew
    (NAME-2, ...) once all is finished. A run beside which something else ran, or from which
    the host took time, counts, and says so. One that did not measure what it claims (another
    priority, a remedy that no longer held) is called invalid with the reason, and counted nowhere;
    --retry-invalid measures such runs again. Exit status 1 where no run without a remedy counts.
    """,
    quick="Fewer counts and repeats: under two minutes.",
    presets="quick, or paper: the paper's own round (900 million additions) and limit (2 s).",
    own=(RETRY_INVALID,),
    budget="",
    fail_on={
        "misses": "a deadline was missed without a remedy",
        "invalid": "a run is invalid or has no result",
    },
)
