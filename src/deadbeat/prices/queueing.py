"""How the slowdown beside some rivals grows with more of them: locks and bandwidth.

Locks: the machine-repairman model, solved by mean value analysis (M. Reiser, S. Lavenberg: Mean-
Value Analysis of Closed Multichain Queuing Networks. Journal of the ACM 27(2), 1980): each core
thinks, queues first come first served, holds. Bandwidth: demand against capacity (S. Williams, A.
Waterman, D. Patterson: Roofline. Communications of the ACM 52(4), 2009): where all ask for more
than there is, each gets its part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

_HALVINGS = 50


@lru_cache(maxsize=100_000)
def repairman(customers: int, share: float) -> float:
    """Time of a cycle beside ``customers`` - 1 others over its time alone.

    Args:
        customers: At least 1.
        share: Of a cycle alone, the part that holds the lock, 0 to 1.
    """
    cycle, queue = 1.0, 0.0
    for number in range(1, customers + 1):
        held = share * (1 + queue)
        cycle = held + (1 - share)
        queue = number * held / cycle
    return cycle


@lru_cache(maxsize=100_000)
def lock_of(slowdown: float, rivals: int = 1) -> tuple[float, float]:
    """What a slowdown beside ``rivals`` says of a lock: the share of a cycle that it is held, and
    by how much longer a cycle is merely because cores share it.

    Waiting alone makes a cycle at most ``rivals`` + 1 times as long; what is beyond is the price of
    sharing (cache lines that move, threads that sleep). Below, the two cannot be told apart, and
    all counts as waiting.
    """
    most = rivals + 1
    if slowdown >= most:
        return 1.0, slowdown / most
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if repairman(most, middle) < slowdown else (low, middle)
    return (low + high) / 2, 1.0


def queued(slowdown: float, rivals: int, *, measured: int = 1) -> float:
    """Slowdown beside ``rivals`` who use an object, when it is ``slowdown`` beside ``measured``."""
    if rivals == 0 or slowdown <= 1.0:
        return 1.0
    share, price = lock_of(slowdown, measured)
    return price * repairman(rivals + 1, share)


def growth(demands: Sequence[float], measured: float) -> float:
    """Factor of a slowdown by bandwidth when all of ``demands`` meet, over that at ``measured``.

    Args:
        demands: Of everybody, the victim included, as parts of the capacity; ``measured``: the sum
            of those that were beside each other when the slowdown was.
    """
    return max(1.0, math.fsum(demands)) / max(1.0, measured)
