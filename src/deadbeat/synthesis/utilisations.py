"""Utilisations of the tasks of a core: uniform over the vectors with a fixed sum and bounds.

Both methods return fractions: bounds are kept and the sum is met exactly. They have one law; what
differs is how often they draw in vain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from deadbeat.model.errors import SynthesisError
from deadbeat.synthesis.stream import Stream

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
        total: As of :func:`uunifast_discard`.
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
