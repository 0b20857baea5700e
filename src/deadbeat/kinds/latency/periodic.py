"""Whether late wake-ups keep a beat: a host's quota, a tick, a watchdog.

The phases of the moments when late wake-ups begin are tested for direction (Lord Rayleigh,
Philosophical Magazine 10, 1880): with n phases of mean resultant R, n R**2 exceeds x with
probability about exp(-x) if there is no beat. Stalls come in groups, too, which have one cause and
one phase: so every cycle of the period has one, that of its latest wake-up. Cycles are counted from
the phase opposite to most, where a group is least cut in two. Runs begin at any moment, so each has
a phase of its own, and what is summed over runs is n R**2.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deadbeat.kinds.latency.tail import Part, complete_above, episodes_above
from deadbeat.stats import special

#: Beats that machines have, ms, the slowest first: it counts, because its harmonics show too.
BEATS_MS = (1000, 500, 250, 200, 100, 50, 40, 25, 20, 10, 5, 4)
#: Chance of finding a beat where there is none, over all of BEATS_MS.
_ALPHA = 0.001
#: Phases of a run, and of all, without which none is looked for.
_PHASES_MIN, _PHASES_ALL_MIN = 4, 8


def beat_ms(parts: Sequence[Part]) -> int | None:
    """Period of the late wake-ups, ms; None: none is seen."""
    known = [found for part in parts if (found := _late(part)) is not None]
    for period in BEATS_MS:
        if _surprise(known, period * 1_000_000) < _ALPHA / len(BEATS_MS):
            return period
    return None


def _late(part: Part) -> tuple[NDArray[np.float64], NDArray[np.float64], int] | None:
    """When late wake-ups began and how late they were, ns, and the interval; None: not known.

    Wake-ups that follow each other are one, on however many CPUs.
    """
    level = complete_above(part)
    if not level:
        return None
    latest = {
        late.due_ns: late.latency_ns
        for cpu in part.cpus
        for late in sorted(cpu.worst, key=lambda late: late.latency_ns)
    }
    starts = [each.start_ns for each in episodes_above(part, level - 1, gap=1)]
    return (
        np.array(starts, np.float64),
        np.array([latest[start] for start in starts], np.float64),
        part.run.interval_ns,
    )


def _surprise(
    runs: Sequence[tuple[NDArray[np.float64], NDArray[np.float64], int]], period_ns: int
) -> float:
    """Probability of phases as concentrated as these without a beat."""
    total, counted, every = 0.0, 0, 0
    for starts, latencies, interval in runs:
        if len(starts) < _PHASES_MIN or period_ns < 2 * interval:
            continue
        phases = _phases(starts, latencies, period_ns)
        if len(phases) < _PHASES_MIN:
            continue
        total += abs(complex(np.exp(1j * phases).sum())) ** 2 / len(phases)
        counted += 1
        every += len(phases)
    # A sum of exponential values of mean 1.
    return float(special.gammaincc(counted, total)) if every >= _PHASES_ALL_MIN else 1.0


def _phases(
    starts: NDArray[np.float64], latencies: NDArray[np.float64], period_ns: int
) -> NDArray[np.float64]:
    """One of each cycle in which something was late."""
    angles = 2 * math.pi * starts / period_ns
    opposite = cmath.phase(complex(np.exp(1j * angles).sum())) + math.pi
    cycles = np.floor((angles - opposite) / (2 * math.pi))
    order = np.lexsort((-latencies, cycles))
    first = np.concatenate([[True], np.diff(cycles[order]) > 0])
    return np.asarray(angles[order[first]], dtype=np.float64)
