"""Steps in a row of measurements, and where to measure next to find them; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

Values = Sequence[float]


def apart(one: Values, other: Values, *, least: float) -> bool:
    """Whether all values of one lie beyond all of the other, and their centres differ by the
    fraction ``least`` of the smaller."""
    if not one or not other:
        return False
    low, high = sorted((one, other), key=_centre)
    return max(low) < min(high) and _centre(high) > _centre(low) * (1 + least)


def steps(row: Sequence[Values], *, least: float) -> tuple[tuple[int, int], ...]:
    """Places of a row, before and after, that are apart: neighbours, else those on both sides of
    one that is apart from neither."""
    near = {at for at in range(1, len(row)) if apart(row[at - 1], row[at], least=least)}
    over = [
        (at - 1, at + 1)
        for at in range(1, len(row) - 1)
        if not near & {at, at + 1} and apart(row[at - 1], row[at + 1], least=least)
    ]
    return tuple(sorted([*((at - 1, at) for at in near), *over]))


def between(names: Sequence[str], known: Mapping[str, Values], *, least: float) -> tuple[str, ...]:
    """Which to measure next: the middle of every gap whose ends are apart.

    Repeated until it gives nothing, every step found stands between neighbours of ``names``.

    Args:
        names: All in order. ``known``: values of those that were measured; none of one that cannot
            be, which is passed over.
    """
    left = [name for name in names if known.get(name, (0.0,))]
    places = [place for place, name in enumerate(left) if name in known]
    return tuple(
        left[(low + high) // 2]
        for low, high in pairwise(places)
        if high - low > 1 and apart(known[left[low]], known[left[high]], least=least)
    )


def _centre(values: Values) -> float:
    """Their median."""
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
