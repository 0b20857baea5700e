"""Utilisations of the tasks of a core: uniform over the vectors with a fixed sum and bounds.

Both methods draw whole numbers and return fractions: bounds are kept and the sum is met exactly,
and the vectors are uniform over a lattice of 2^-40 of the room there is. They have one law; what
differs is how often they draw in vain.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import comb

from deadbeat.model.errors import SynthesisError
from deadbeat.synthesis.stream import Stream

#: Steps of the lattice, as a power of two.
LATTICE_BITS = 40
#: Vectors that are discarded before a core is given up.
DISCARDS = 10_000


def uunifast_discard(
    stream: Stream, tasks: int, total: Fraction, low: Fraction, high: Fraction
) -> list[Fraction]:
    """UUniFast (Bini and Buttazzo 2005), discarding while a task is outside its bounds (Davis and
    Burns 2009).

    UUniFast draws the partial sums, largest first, from the law of a sum; that is the law of the
    gaps between sorted uniform points, which is how it is drawn here, without a root. The lower
    bounds are set aside first, so that only a task above ``high`` is discarded: what is kept of
    a uniform law is uniform over what is kept, by either way.

    Raises:
        SynthesisError: ``DISCARDS`` vectors were outside.
    """
    room = total - tasks * low
    if room == tasks * (high - low):
        return [high] * tasks
    units = 1 << LATTICE_BITS
    most = min((high - low) / room, Fraction(1)) * units if room else Fraction(units)
    for _ in range(DISCARDS):
        gaps = composition(stream, tasks, units)
        if max(gaps) <= most:
            return [low + room * gap / units for gap in gaps]
    raise SynthesisError(
        f"uunifast-discard drew {DISCARDS} times in vain: {tasks} tasks of {low} to {high} "
        f"that sum to {total}",
        "use utilisation_method fixed-sum, which discards nothing",
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


def fixed_sum(
    stream: Stream, tasks: int, total: Fraction, low: Fraction, high: Fraction
) -> list[Fraction]:
    """The law of RandFixedSum (Emberson, Stafford and Davis 2010), by counting: nothing is drawn
    in vain.

    A task is ``low`` and a number of steps below 2^40, of which ``high - low`` has 2^40, and what
    one step less than a task's part of the sum is left over is the same for all tasks. The lists
    of numbers with a given sum are counted bit by bit: a column of ``tasks`` bits with c ones is
    one of C(tasks, c), and hands a carry to the next. A list is drawn from the highest bit down,
    each column with the number of lists that it leaves.
    """
    if tasks == 1 or low == high:
        return [total / tasks] * tasks
    step = (high - low) / (1 << LATTICE_BITS)
    steps = (total - tasks * low) / step
    most = tasks * ((1 << LATTICE_BITS) - 1)
    # Half a step each is left over where the bounds allow: so neither is nearer than the other.
    whole = min(max(round(steps - Fraction(tasks, 2)), 0), most)
    rest = (steps - whole) / tasks
    numbers = with_sum(stream, tasks, whole, bits=LATTICE_BITS)
    return [low + step * (number + rest) for number in numbers]


def with_sum(stream: Stream, count: int, whole: int, *, bits: int) -> list[int]:
    """``count`` numbers in [0, 2^bits) that sum to ``whole``, every such list equally likely."""
    ways = _ways(count, whole, bits)
    numbers, carry = [0] * count, whole >> bits
    for bit in reversed(range(bits)):
        reached = (whole >> bit & 1) + 2 * carry
        left = stream.below(ways[bit + 1][carry])
        for below, lists in enumerate(ways[bit]):
            ones = reached - below
            share = comb(count, ones) * lists if ones >= 0 else 0
            if left < share:
                break
            left -= share
        carry = below
        for index in _some(stream, count, ones):
            numbers[index] |= 1 << bit
    return numbers


@lru_cache(maxsize=32)
def _ways(count: int, whole: int, bits: int) -> list[list[int]]:
    """For each bit and carry into it: in how many ways the columns below make that carry and the
    bits of ``whole`` below."""
    ways = [[1]]
    for bit in range(bits):
        wanted = whole >> bit & 1
        below = ways[-1]
        ways.append(
            [
                sum(
                    comb(count, wanted + 2 * carry - into) * lists
                    for into, lists in enumerate(below)
                    if wanted + 2 * carry >= into
                )
                for carry in range(count)
            ]
        )
    return ways


def _some(stream: Stream, count: int, size: int) -> list[int]:
    """``size`` of the indexes below ``count``, every choice equally likely."""
    indexes = list(range(count))
    for place in range(size):
        other = place + stream.below(count - place)
        indexes[place], indexes[other] = indexes[other], indexes[place]
    return indexes[:size]


UTILISATION_METHODS: dict[
    str, Callable[[Stream, int, Fraction, Fraction, Fraction], list[Fraction]]
] = {
    "uunifast-discard": uunifast_discard,
    "fixed-sum": fixed_sum,
}
