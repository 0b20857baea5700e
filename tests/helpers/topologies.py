"""Made-up machines for primitives."""

from __future__ import annotations

from deadbeat.kinds.primitives.topology import Topology

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
