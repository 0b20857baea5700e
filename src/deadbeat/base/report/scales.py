"""Ticks of logarithmic scales: where they stand and what is written beside them."""

from __future__ import annotations

import math

#: Multiples of a power of ten that have a tick, the finest first.
_MULTIPLES = ((1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))
#: A range below this factor has this number of even steps, about.
_EVEN, _STEPS = 4.0, 7


def nice_step(at_least: float) -> float:
    """The smallest of 1, 2, 5 x 10^n that is not below ``at_least`` > 0."""
    power: float = 10.0 ** math.floor(math.log10(at_least))
    for factor in (1.0, 2.0, 5.0):
        if factor * power >= at_least * (1 - 1e-9):
            return factor * power
    return 10 * power


def log_ticks(low: float, high: float, room: float = 10.0) -> tuple[tuple[float, str], ...]:
    """Values from ``low`` > 0 to ``high``, each with its text: even steps over a short range, else
    as many of each power of ten as have room. ``room``: how many texts fit side by side."""
    if high / low < _EVEN:
        step = nice_step((high - low) / min(_STEPS, room))
        found = [
            index * step for index in range(math.ceil(low / step), math.floor(high / step) + 1)
        ]
    else:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        fitting = (each for each in _MULTIPLES if _gap(each) > math.log10(high / low) / room)
        multiples = next(fitting, (1,))
        found = [m * 10.0**power for power in powers for m in multiples]
    return tuple((value, f"{value:.12g}") for value in found if low <= value <= high)


def _gap(multiples: tuple[int, ...]) -> float:
    """Decades between neighbours, at least."""
    ends = (*multiples[1:], 10)
    return min(math.log10(b / a) for a, b in zip(multiples, ends, strict=True))
