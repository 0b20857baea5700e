"""Utilisations of the tasks of a core: uniform over the vectors with a fixed sum and bounds.

Both methods draw whole numbers and return fractions: bounds are kept and the sum is met exactly,
and the vectors are uniform over a lattice of 2^-40 of the room there is. They have one law; what
differs is how often they draw in vain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import comb

from attrs import frozen

from deadbeat.model.errors import SynthesisError
from deadbeat.synthesis.stream import Stream

#: Steps of the lattice, as a power of two.
LATTICE_BITS = 40
#: Vectors that are discarded before a core is given up.
DISCARDS = 10_000
# Ranges of their own are widened to so many significant bits to be counted, and what is then
# outside is drawn again: less than one in 33 for each task.
_SIGNIFICANT_BITS = 6

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
    raise _in_vain("uunifast-discard", total, bounds)


def _in_vain(method: str, total: Fraction, bounds: Bounds) -> SynthesisError:
    lowest, highest = min(low for low, _ in bounds), max(high for _, high in bounds)
    return SynthesisError(
        f"{method} drew {DISCARDS} times in vain: {len(bounds)} tasks of {lowest} to {highest} "
        f"that sum to {total}",
        "use utilisation_method fixed-sum, which hardly discards, or other bounds",
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
    ConvolutionalFixedSum (Griffin and Davis 2025), by counting whole numbers.

    Where the bounds are common nothing is drawn in vain.

    Args:
        total: As of :func:`uunifast_discard`.

    Raises:
        SynthesisError: ``DISCARDS`` vectors were outside; no case is known.
    """
    ranges = [high - low for low, high in bounds]
    if not any(ranges):
        return [low for low, _ in bounds]
    step = max(ranges) / (1 << LATTICE_BITS)
    sizes = [max(width // step, 1) for width in ranges]
    room = total - sum(low for low, _ in bounds)
    most = sum(sizes) - len(sizes)
    # About half a step for each task is left over, and given to where there is room for it.
    whole = min(max(round(room / step - Fraction(len(bounds), 2)), 0), most)
    numbers = in_box(stream, sizes, whole)
    if numbers is None:
        raise _in_vain("fixed-sum", total, bounds)
    rest = room - step * whole
    free = [width - step * number for width, number in zip(ranges, numbers, strict=True)]
    part = rest / sum(free) if rest else Fraction(0)
    return [
        low + step * number + part * own
        for (low, _), number, own in zip(bounds, numbers, free, strict=True)
    ]


def in_box(stream: Stream, sizes: Sequence[int], whole: int) -> list[int] | None:
    """Numbers in [0, size) of each that sum to ``whole``, every such list equally likely; None if
    ``DISCARDS`` lists of the widened ranges were outside."""
    most = sum(sizes) - len(sizes)
    if 2 * whole > most:  # What is widened is above, so that few of the lists reach it.
        mirrored = in_box(stream, sizes, most - whole)
        if mirrored is None:
            return None
        return [size - 1 - number for size, number in zip(sizes, mirrored, strict=True)]
    drawn = [index for index, size in enumerate(sizes) if size > 1]
    digits = tuple(_widened(sizes[index]) for index in drawn)
    for _ in range(DISCARDS):
        found = with_sum(stream, digits, whole)
        if all(number < sizes[index] for index, number in zip(drawn, found, strict=True)):
            numbers = [0] * len(sizes)
            for index, number in zip(drawn, found, strict=True):
                numbers[index] = number
            return numbers
    return None


def _widened(size: int) -> Digits:
    """The next range of few significant bits that holds ``size`` numbers."""
    bits = max(size.bit_length() - _SIGNIFICANT_BITS, 0)
    leading = -(-size >> bits)
    spare = (leading & -leading).bit_length() - 1
    return Digits(leading >> spare, bits + spare)


@frozen
class Digits:
    """The numbers q 2^bits + r with q < ``leading`` and r < 2^bits."""

    leading: int
    bits: int


@frozen
class _Stage:
    """A step of counting: of what is reached after it, what it adds to what was reached before.

    Attributes:
        ways: In how many ways each value before it is reached.
        task: The task whose leading digit it adds, or None: a column of bits.
        parts: In how many ways it adds 0, 1, ...
        bit: Of a column: the bit of the sum there, which is taken off and the rest halved.
    """

    ways: list[int]
    task: int | None
    parts: list[int]
    bit: int = 0


def with_sum(stream: Stream, digits: tuple[Digits, ...], whole: int) -> list[int]:
    """Numbers of ``digits`` that sum to ``whole``, every such list equally likely.

    The lists are counted from the lowest bit up: a column of n bits with c ones is one of C(n, c),
    and hands a carry to the next; a leading digit is added where it begins. A list is drawn from
    the top down, each part with as much weight as lists remain below it.

    Args:
        whole: A sum that they have.
    """
    stages, columns = _stages(digits, whole)
    numbers, value, column = [0] * len(digits), whole >> columns, columns
    for stage in reversed(stages):
        if stage.task is None:
            column -= 1
            value = 2 * value + stage.bit
        part = _part(stream, stage, value)
        value -= part
        if stage.task is not None:
            numbers[stage.task] += part << column
            continue
        members = [task for task, digit in enumerate(digits) if digit.bits > column]
        for member in _some(stream, len(members), part):
            numbers[members[member]] += 1 << column
    return numbers


def _part(stream: Stream, stage: _Stage, value: int) -> int:
    """What the stage adds where ``value`` is reached after it."""
    first = max(value - len(stage.ways) + 1, 0)
    weights = [
        ways * stage.ways[value - part]
        for part, ways in enumerate(stage.parts[first : value + 1], first)
    ]
    left = stream.below(sum(weights))
    for part, weight in enumerate(weights, first):
        if left < weight:
            return part
        left -= weight
    raise AssertionError("a draw below the sum of the weights is below one of the partial sums")


@lru_cache(maxsize=16)
def _stages(digits: tuple[Digits, ...], whole: int) -> tuple[list[_Stage], int]:
    """The stages of counting, lowest first, and how many of them are columns."""
    stages: list[_Stage] = []
    ways, columns = [1], max((digit.bits for digit in digits), default=0) + 1
    for column in range(columns):
        count = sum(digit.bits > column for digit in digits)
        ones = [comb(count, size) for size in range(count + 1)]
        for task, digit in enumerate(digits):
            if digit.bits == column and digit.leading > 1:
                stages.append(_Stage(ways, task, [1] * digit.leading))
                ways = _window_sums(ways, digit.leading)
        stages.append(_Stage(ways, None, ones, whole >> column & 1))
        ways = _halved(ways, ones, whole >> column & 1)
    return stages, columns


def _window_sums(ways: Sequence[int], width: int) -> list[int]:
    """Ways to reach each value once one of 0 to ``width - 1`` is added."""
    found, inside = [], 0
    for value in range(len(ways) + width - 1):
        inside += ways[value] if value < len(ways) else 0
        inside -= ways[value - width] if value >= width else 0
        found.append(inside)
    return found


def _halved(ways: Sequence[int], ones: Sequence[int], bit: int) -> list[int]:
    """Ways to reach each carry once a column is added and its bit of the sum taken off."""
    found = []
    for value in range(bit, len(ways) + len(ones) - 1, 2):
        sizes = range(max(value - len(ways) + 1, 0), min(len(ones), value + 1))
        found.append(sum(ones[size] * ways[value - size] for size in sizes))
    return found


def _some(stream: Stream, count: int, size: int) -> list[int]:
    """``size`` of the indexes below ``count``, every choice equally likely."""
    indexes = list(range(count))
    for place in range(size):
        other = place + stream.below(count - place)
        indexes[place], indexes[other] = indexes[other], indexes[place]
    return indexes[:size]


UTILISATION_METHODS: dict[str, Callable[[Stream, Fraction, Bounds], list[Fraction]]] = {
    "uunifast-discard": uunifast_discard,
    "fixed-sum": fixed_sum,
}
