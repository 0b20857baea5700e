"""Periods: how one is drawn among those at which a task's C is within its bounds."""

from __future__ import annotations

from collections.abc import Callable

from deadbeat.synthesis.distributions import log_uniform
from deadbeat.synthesis.stream import Stream

#: Draws a period in [low, high], ns; None if the law has none there.
Chooser = Callable[[Stream, int, int], int | None]


def log_uniform_periods(stream: Stream, low: int, high: int) -> Chooser:
    """P(T) proportional to 1/T, task by task (Emberson, Stafford and Davis 2010)."""
    return log_uniform


def harmonic_periods(stream: Stream, low: int, high: int) -> Chooser:
    """A chain for the whole task set; each task takes one of it, all equally likely.

    The chain starts uniformly in the first octave of [low, high], and each next is 2 or 3 times
    the last (equally likely; 2 where 3 does not fit) while within: of two periods, the smaller
    divides the larger.
    """
    chain = [stream.between(low, min(2 * low - 1, high))]
    while 2 * chain[-1] <= high:
        factor = stream.between(2, 3)
        chain.append(chain[-1] * (factor if factor * chain[-1] <= high else 2))

    def choose(own: Stream, least: int, most: int) -> int | None:
        fitting = [period for period in chain if least <= period <= most]
        return fitting[own.below(len(fitting))] if fitting else None

    return choose


PERIODS: dict[str, Callable[[Stream, int, int], Chooser]] = {
    "log-uniform": log_uniform_periods,
    "harmonic": harmonic_periods,
}
