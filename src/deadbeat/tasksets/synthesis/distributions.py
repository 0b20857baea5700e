"""Worst-case execution times and periods: exact draws of whole nanoseconds from [low, high].

Each distribution is a rule on the whole numbers of the interval, with rational probabilities of
acceptance, so no floating-point function decides anything. All cost a few draws on average.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Any

from attrs import frozen

from deadbeat.base.model.errors import SynthesisError
from deadbeat.base.model.rules import Choice, Ratio, duration_ns, refuse
from deadbeat.base.model.words import Json, nearest, shown
from deadbeat.tasksets.synthesis.stream import Stream

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
    while high < 2 * low:
        draw = stream.between(low, high)
        if stream.chance(low, draw):
            return draw
    octaves = 1
    while low << octaves <= high:
        octaves += 1
    while True:
        base = low << stream.below(octaves)
        draw = base + stream.below(base)
        if draw <= high and stream.chance(base, draw):
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

_LINE = re.compile(r"(\S+?)[\s,;]+([0-9]+(?:\.[0-9]+)?(?:/[0-9]+)?)")
_WEIGHT = Ratio("0.000001", "1000000000")
_VALUES_MAX = 65_536


@frozen
class Weighted:
    """P(x) proportional to the weight of x, of the user's own values.

    Attributes:
        values_ns, weights: The values, and their weights as written.
        sha256: Of the file they are from.
    """

    values_ns: tuple[int, ...]
    weights: tuple[Fraction, ...]
    sha256: str

    def __call__(self, stream: Stream, low: int, high: int) -> int:
        """A value by its weight; all are in [low, high] (`outside`)."""
        whole = math.lcm(*(weight.denominator for weight in self.weights))
        ends = list(accumulate(int(weight * whole) for weight in self.weights))
        return self.values_ns[bisect_right(ends, stream.below(ends[-1]))]


class WcetRule(Choice):
    """A distribution by its name, or the file of one: a value and its weight a line, ``100us 3``.

    Canonical: the name, or the lines with the hash of the file: a result needs no file.
    """

    def parse(self, value: Any) -> Any:
        if isinstance(value, Weighted) or value in self.words:
            return value
        if isinstance(value, dict) and isinstance(value.get("lines"), list):
            return _weighted([*map(str, value["lines"])], str(value.get("sha256")))
        with suppress(OSError, ValueError):
            if Path(str(value)).is_file():
                content = Path(str(value)).read_bytes()
                return _weighted(content.decode().splitlines(), sha256(content).hexdigest())
        near = nearest(str(value), self.words)
        hint = near if near.startswith("did") else f"{near}, or a file of lines like 100us 3"
        raise refuse(f"{shown(value)} is not a choice", hint)

    @staticmethod
    def plain(value: Any) -> Json:
        if isinstance(value, str):
            return value
        pairs = zip(value.values_ns, value.weights, strict=True)
        return {"lines": [f"{ns}ns {weight}" for ns, weight in pairs], "sha256": value.sha256}


def _weighted(lines: Sequence[str], digest: str) -> Weighted:
    said = [
        (n, text) for n, line in enumerate(lines, 1) if (text := line.partition("#")[0].strip())
    ]
    if not 0 < len(said) <= _VALUES_MAX:
        raise refuse(f"{len(said)} values found", f"1 to {_VALUES_MAX}, a line like 100us 3 each")

    found = []
    for number, text in said:
        if (match := _LINE.fullmatch(text)) is None:
            raise refuse(f"line {number} is {shown(text)}", "write it like 100us 3")
        found.append((duration_ns(match[1]), _WEIGHT.parse(match[2])))
    values, weights = zip(*found, strict=True)
    return Weighted(values, weights, digest)


WCETS = WcetRule(tuple(DISTRIBUTIONS))

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


#: Steps of the lattice of uunifast-discard, as a power of two.
LATTICE_BITS = 40
#: Vectors that are discarded before a core is given up.
DISCARDS = 10_000

#: Least and greatest utilisation of each task of a core.
Bounds = Sequence[tuple[Fraction, Fraction]]


def uunifast_discard(stream: Stream, total: Fraction, bounds: Bounds) -> list[Fraction]:
    """UUniFast (Bini and Buttazzo 2005), discarding while a task is outside its bounds (Davis and
    Burns 2009).

    UUniFast draws the partial sums, largest first, from the law of a sum; that is the law of the
    gaps between sorted uniform points, which is how it is drawn here, without a root. The lower
    bounds are set aside first, so that only a task above its upper bound is discarded: what is
    kept of a uniform law is uniform over what is kept, by either way.

    Args:
        total: At least the sum of the lower bounds and at most that of the upper.

    Raises:
        SynthesisError: ``DISCARDS`` vectors were outside.
    """
    room = total - sum(low for low, _ in bounds)
    if room == sum(high - low for low, high in bounds):
        return [high for _, high in bounds]
    units = 1 << LATTICE_BITS
    most = [(high - low) * units // room if room else units for low, high in bounds]
    for _ in range(DISCARDS):
        gaps = composition(stream, len(bounds), units)
        if all(gap <= limit for gap, limit in zip(gaps, most, strict=True)):
            return [low + room * gap / units for gap, (low, _) in zip(gaps, bounds, strict=True)]
    lowest, highest = min(low for low, _ in bounds), max(high for _, high in bounds)
    raise SynthesisError(
        f"uunifast-discard drew {DISCARDS} times in vain: {len(bounds)} tasks of {lowest} to"
        f" {highest} that sum to {total}",
        "use utilisation_method fixed-sum, which discards nothing, or other bounds",
    )


def composition(stream: Stream, parts: int, whole: int) -> list[int]:
    """``parts`` numbers >= 0 that sum to ``whole``, every such list equally likely.

    They are the gaps between distinct bars in a row of ``whole`` stars.
    """
    places = whole + parts - 1
    bars = sorted(stream.below(places) for _ in range(parts - 1))
    while len(set(bars)) < parts - 1:
        bars = sorted(stream.below(places) for _ in range(parts - 1))
    ends = [*bars, places]
    return [end - begin - 1 for begin, end in zip([-1, *bars], ends, strict=True)]


def fixed_sum(stream: Stream, total: Fraction, bounds: Bounds) -> list[Fraction]:
    """The law of RandFixedSum (Emberson, Stafford and Davis 2010), with bounds for each task as in
    ConvolutionalFixedSum (Griffin and Davis 2025): the core's sampler of the schedulability lab.

    Its doubles are taken as fractions; what rounding left of the sum goes where there is room.

    Args:
        total: See :func:`uunifast_discard`.
    """
    from deadbeat.sched.generators import sample_cfs  # noqa: PLC0415 - numpy, which no --help needs

    room = total - sum(low for low, _ in bounds)
    if not room:
        return [low for low, _ in bounds]
    # In parts of the room: exact bounds of 0, and a sum of 1.
    most = [min((high - low) / room, Fraction(1)) for low, high in bounds]
    (drawn,) = sample_cfs(
        [0.0] * len(bounds), list(map(float, most)), 1.0, seed=stream.word(), count=1
    )
    parts = [min(Fraction(part), high) for part, high in zip(drawn.tolist(), most, strict=True)]
    rest = 1 - sum(parts, Fraction(0))
    free = [high - part for part, high in zip(parts, most, strict=True)] if rest > 0 else parts
    share = rest / sum(free, Fraction(0)) if rest else Fraction(0)
    return [
        low + room * (part + share * own)
        for (low, _), part, own in zip(bounds, parts, free, strict=True)
    ]


UTILISATION_METHODS: dict[str, Callable[[Stream, Fraction, Bounds], list[Fraction]]] = {
    "uunifast-discard": uunifast_discard,
    "fixed-sum": fixed_sum,
}
