"""Made-up machines for primitives, and what a run of one writes."""

import json
from collections.abc import Mapping

from deadbeat.latencies.primitives.topology import Topology

MIB = 2**20


def flat(*cpus: int) -> Topology:
    """One last-level cache of 32 MiB, no threads of a core."""
    return Topology(
        cpus=cpus, cores=tuple((cpu,) for cpu in cpus), caches=(cpus,), cache_bytes=32 * MIB
    )


#: Two Xeon E5405, the machine of the seed: two and two cores share 6 MiB of L2.
XEON = Topology(
    cpus=tuple(range(8)),
    cores=tuple((cpu,) for cpu in range(8)),
    caches=((0, 2), (4, 6), (1, 3), (5, 7)),
    cache_bytes=6 * MIB,
)
#: Two sockets of two cores of two threads; CPU n + 4 is the second thread of CPU n.
THREADS = Topology(
    cpus=tuple(range(8)),
    cores=((0, 4), (1, 5), (2, 6), (3, 7)),
    caches=((0, 1, 4, 5), (2, 3, 6, 7)),
    cache_bytes=16 * MIB,
)


def written_run(own: Mapping[str, object] | None = None, **more: object) -> str:
    """What the program writes of one thread; ``own``: what else is so of that."""
    thread = {
        **{"thread": 0, "cpu": 1, "policy": "fifo", "priority": 30, "looked": 1, "preempted": 1},
        **{"migrated": 0, "waited": 1, "watch_ns": 1000},
        "times": {"min_ns": 100, "max_ns": 5000, "sum_ns": 5200, "counts": [[100, 2], [3298, 1]]},
        "gaps": {
            **{"min_ns": 40, "max_ns": 900_000, "sum_ns": 900_040},
            "counts": [[40, 2], [10973, 1]],
        },
        **{"late_times": [[123, 5000, 5]], "late_gaps": [[456, 900_000, 0]]},
        **(own or {}),
    }
    numbers = {
        **{"version": 1, "batch": 1, "clock_cost_ps": 25_000, "sample_cost_ps": 9_000},
        **{"resolution_ns": 30, "measured_ns": 10**8},
    }
    return json.dumps({**numbers, "threads": [thread], **more})
