"""Utilisations with a fixed sum on each core, and periods that suit them.

Not there yet: asking for them is refused.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from deadbeat.model.errors import SynthesisError
from deadbeat.synthesis.parameters import SynthesisParameters


class Timing(NamedTuple):
    """C and T = D of a task."""

    wcet_ns: int
    period_ns: int


def nearest(value: Fraction) -> int:
    """The nearest whole number; halves go up."""
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)


def timings(parameters: SynthesisParameters, seed: int) -> dict[int, Timing]:
    """C and T of the critical tasks, by index."""
    raise SynthesisError(
        f"utilisation {parameters.utilisation} is asked for (seed {seed}), and this version draws "
        "none yet",
        "leave utilisation out: T follows by deadline_factor",
    )
