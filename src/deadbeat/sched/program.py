"""When jobs of a program start and end under other policies, priorities, CPUs and locks; what is
simulated: core/include/deadbeat/sched/program.hpp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deadbeat.base.model.errors import UsageError

if TYPE_CHECKING:
    from deadbeat.sched import _core
else:
    from deadbeat.sched.core import lazy as _core

_Array = NDArray[np.int64]
#: Kinds of operations, and one of them; ``target``: number of a lock, or of a thread to wake.
COMPUTE, LOCK, UNLOCK, SUSPEND, WAKE = range(5)
OP = np.dtype([("kind", "<i8"), ("target", "<i8"), ("ns", "<i8")])
#: The policies and protocols, by their values.
POLICIES = ("ordinary", "fifo", "rr", "deadline")
PROTOCOLS = ("none", "inherit", "protect", "spin")


def run_program(
    *,
    cpus: int,
    threads: _Array,
    job_ends: _Array,
    releases: _Array,
    op_ends: _Array,
    ops: _Array | NDArray[np.void],
    locks: _Array,
    horizon: int,
    limits: Sequence[int] = (),
) -> _Array:
    """Release, start and end of each job, (jobs, 3), ns; -1: not before the horizon.

    Args:
        cpus: 1 to 64.
        threads: (n, 9): policy, priority (an ordinary thread: its weight, 1024 for nice 0), mask of
            CPUs, how (0: ``releases`` are instants, 1: sleeps after the end of the job before),
            runtime, deadline and period of SCHED_DEADLINE, wake (from release to ready), the CPU
            where it is before it runs + 1 (0: the lowest that it may use).
        job_ends: (n): jobs of the threads up to each.
        releases: (jobs): see ``how``; the first of a thread is an instant; -1: the next ``wake``
            of the thread, which may come early.
        op_ends: (jobs): operations of the jobs up to each.
        ops: (m), of OP, or (m, 3); ``ns``: of COMPUTE and SUSPEND.
        locks: (l, 2): protocol, ceiling (protect).
        limits: What fixed priorities may have of which period on each CPU before they are
            throttled, what its fair server gives to ordinary threads of which period (a period of
            0: neither), and when the first period begins (-1: when one of them runs), ns.

    Raises:
        UsageError: What is wrong, and in which row.
    """
    try:
        rows = ops.view(np.int64).reshape(-1, 3)
        most = np.array(limits, np.int64).reshape(-1, 5)
        return _core.run_program(
            cpus, threads, job_ends, releases, op_ends, rows, locks, most, horizon
        )
    except (TypeError, ValueError) as error:
        why = str(error) if isinstance(error, ValueError) else "int64 arrays of the shapes named"
        raise UsageError(f"no simulation of the program: {why}", "change what it names") from None
