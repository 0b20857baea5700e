"""``deadbeat latency``: how late a real-time task wakes up, beside every load."""

from __future__ import annotations

from deadbeat.cli._measuring import RETRY_FAILED, RETRY_INVALID, measuring
from deadbeat.cli._options import opt
from deadbeat.kinds.latency.spec import LatencySpec
from deadbeat.model.specification import options_of

command = measuring(
    "latency",
    "latency",
    options_of(LatencySpec),
    """Measure wake-up latency: how late a periodic real-time task gets its CPU.

    A thread on every CPU sleeps until a moment and looks how much later it is awake; that is
    repeated beside every background load. Two engines take turns: deadbeat's own prober, and
    cyclictest where it is installed (Debian: rt-tests). Loads are stress-ng's.

    Results live in RUNS/NAME. The same command continues what was interrupted, and begins anew
    (NAME-2, ...) once all is finished. A run beside which something else ran, or from which
    the host took time, counts, and says so. One that did not measure what it claims (another
    priority, a load that never ran) is kept, called invalid with the reason, and counted nowhere;
    --retry-invalid measures such runs again.""",
    quick="Under one minute: preset quick.",
    own=(
        opt(
            "--import [LOAD=]FILE",
            "Measure nothing: read results of cyclictest (JSON, text), jitterdebugger or OSADL.",
            to="imports",
            multiple=True,
        ),
        RETRY_FAILED,
        RETRY_INVALID,
    ),
    fail_on={"invalid": "a run is invalid"},
)
