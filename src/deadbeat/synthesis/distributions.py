"""Worst-case execution times and periods: exact draws of whole nanoseconds from [low, high].

Each distribution is a rule on the whole numbers of the interval, with rational probabilities of
acceptance, so no floating-point function decides anything. All cost a few draws on average.
"""

from __future__ import annotations

from collections.abc import Callable

from deadbeat.synthesis.stream import Stream

#: Truncated normal: the interval is this many standard deviations wide.
NORMAL_WIDTH_SIGMAS = 6
#: Truncated exponential: the interval is this many means of the untruncated distribution wide.
EXPONENTIAL_WIDTH_MEANS = 4


def uniform(stream: Stream, low: int, high: int) -> int:
    """P(x) is the same for every x."""
    return stream.between(low, high)


def log_uniform(stream: Stream, low: int, high: int) -> int:
    """P(x) proportional to 1/x: as many between 100 and 200 us as between 200 and 400 us.

    An octave [b, 2b) is drawn uniformly, x uniformly inside it, and accepted with probability b/x.
    An interval inside one octave is drawn from directly: few draws would fall into a narrow one.
    """
    if high < 2 * low:
        return _log_uniform_narrow(stream, low, high)
    octaves = 1
    while low << octaves <= high:
        octaves += 1
    while True:
        base = low << stream.below(octaves)
        draw = base + stream.below(base)
        if draw <= high and stream.chance(base, draw):
            return draw


def _log_uniform_narrow(stream: Stream, low: int, high: int) -> int:
    while True:
        draw = stream.between(low, high)
        if stream.chance(low, draw):
            return draw


def normal(stream: Stream, low: int, high: int) -> int:
    """P(x) proportional to exp(-(x-m)^2 / 2s^2), m the middle of the interval, s a sixth of it."""
    width = high - low
    if width == 0:
        return low
    while True:
        draw = stream.between(low, high)
        twice_off = 2 * draw - low - high
        # (x-m)^2 / 2s^2 with x-m = twice_off/2 and s = width/6.
        numerator = NORMAL_WIDTH_SIGMAS**2 * twice_off * twice_off
        if exp_minus(stream, numerator, 8 * width * width):
            return draw


def exponential(stream: Stream, low: int, high: int) -> int:
    """P(x) proportional to exp(-(x-low) / m), m a quarter of the interval."""
    width = high - low
    if width == 0:
        return low
    while True:
        draw = stream.between(low, high)
        if exp_minus(stream, EXPONENTIAL_WIDTH_MEANS * (draw - low), width):
            return draw


def exp_minus(stream: Stream, numerator: int, denominator: int) -> bool:
    """True with probability exp(-numerator/denominator), exactly; the exponent is >= 0.

    Canonne, Kamath and Steinke 2020, "The discrete Gaussian for differential privacy", algorithm 1
    (after von Neumann 1951).
    """
    while numerator > denominator:
        if not _exp_minus_fraction(stream, 1, 1):
            return False
        numerator -= denominator
    return _exp_minus_fraction(stream, numerator, denominator)


def _exp_minus_fraction(stream: Stream, numerator: int, denominator: int) -> bool:
    """The same for an exponent in [0, 1]: 1 - g + g^2/2! - ... as a chain of coins."""
    coins = 1
    while stream.chance(numerator, denominator * coins):
        coins += 1
    return coins % 2 == 1


DISTRIBUTIONS: dict[str, Callable[[Stream, int, int], int]] = {
    "uniform": uniform,
    "log-uniform": log_uniform,
    "normal": normal,
    "exponential": exponential,
}


# -- periods: how one is drawn among those at which a task's C is within its bounds

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
