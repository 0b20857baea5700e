"""Whether late wake-ups keep a beat: a host's quota, a tick, a watchdog.

The phases of the moments when late wake-ups begin, one of each stall however many it made late, are
tested for direction (Lord Rayleigh, Philosophical Magazine 10, 1880): with n phases of mean
resultant R, n R**2 exceeds x with probability about exp(-x) if there is no beat. Runs begin at any
moment, so each has a phase of its own, and what is summed over runs is n R**2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from deadbeat.analysis.tail import Part, complete_above, episodes_above

#: Beats that machines have, ms, the slowest first: it counts, because its harmonics show too.
BEATS_MS = (1000, 500, 250, 200, 100, 50, 40, 25, 20, 10, 5, 4)
#: Chance of finding a beat where there is none, over all of BEATS_MS.
_ALPHA = 0.001
_LATE_MIN = 8
#: A beat is looked for where a run has at least so many of it.
_BEATS_A_RUN = 4


def beat_ms(parts: Sequence[Part]) -> int | None:
    """Period of the late wake-ups, ms; None: none is seen."""
    for period in BEATS_MS:
        if _surprise(parts, period * 1_000_000) < _ALPHA / len(BEATS_MS):
            return period
    return None


def _surprise(parts: Sequence[Part], period_ns: int) -> float:
    """Probability of phases as concentrated as these without a beat."""
    total, runs = 0.0, 0
    for part in parts:
        level = complete_above(part)
        interval = part.run.interval_ns
        if not level or part.run.seconds * 1e9 < _BEATS_A_RUN * period_ns:
            continue
        # A stall has one phase, however many wake-ups and CPUs it made late.
        starts = [each.start_ns for each in episodes_above(part, level - 1, gap=1)]
        if len(starts) < _LATE_MIN or period_ns < 2 * interval:
            continue
        angles = 2 * math.pi * np.array(starts, np.float64) / period_ns
        total += abs(complex(np.exp(1j * angles).sum())) ** 2 / len(angles)
        runs += 1
    return _erlang_tail(total, runs)


def _erlang_tail(value: float, shape: int) -> float:
    """Probability that a sum of ``shape`` exponential values of mean 1 exceeds ``value``."""
    term, total = 1.0, 0.0
    for number in range(shape):
        total += term
        term *= value / (number + 1)
    return math.exp(-value) * total if shape else 1.0
