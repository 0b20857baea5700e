"""Evidence of studies: one scheduler against another, a trend, one mean against another."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from deadbeat import Count, Evidence, Mask, Mean, StudyResults
from deadbeat_papers.thesis.comparisons import compare, compare_means, compare_paired


def ordered(
    results: StudyResults, more: str, fewer: str, mask: Mask, variant: Mapping[str, str]
) -> Evidence:
    """Whether ``more`` schedules more of the same sets than ``fewer``; the sets in ``mask``."""
    inside = mask & results.decided(more) & results.decided(fewer)
    told, only_more, only_fewer = compare_paired(
        results.yes(more)[inside], results.yes(fewer)[inside]
    )
    a, b = (Count(int(np.sum(results.yes(x)[inside])), int(inside.sum())) for x in (more, fewer))
    return Evidence(
        variant=variant,
        holds=told == 1,
        figures=f"{more} {a.text()}, {fewer} {b.text()}; only {more} {only_more},"
        f" only {fewer} {only_fewer}{told_text(told, 1)}",
    )


def falling(
    results: StudyResults,
    label: str,
    masks: Mapping[str, Mask],
    variant: Mapping[str, str],
    *,
    rising: bool = False,
) -> Evidence:
    """Whether the share of ``label`` goes one way over ``masks``, in their order."""
    counts = {name: results.count(label, mask) for name, mask in masks.items()}
    known = {name: count for name, count in counts.items() if count.total}
    sign = 1 if rising else -1
    values = list(known.values())
    ends = compare(values[-1], values[0]) if len(values) > 1 else 0
    back = [after for (_, a), (after, b) in pairwise(known.items()) if compare(b, a) == -sign]
    against = f"; turns back at {', '.join(back)}" if back else ""
    text = ", ".join(f"{name}: {100 * c.share:.1f} % of {c.total}" for name, c in known.items())
    return Evidence(
        variant=variant,
        holds=ends == sign and not back,
        figures=f"{text}{against}{told_text(ends, sign)}",
    )


def larger(
    name_a: str, a: Mean, name_b: str, b: Mean, variant: Mapping[str, str], *, unit: str = ""
) -> Evidence:
    """Whether mean ``a`` is larger than ``b``, told apart at 95 %."""
    told = compare_means(a, b)
    return Evidence(
        variant=variant,
        holds=told == 1,
        figures=f"{name_a} {a.text(unit)}, {name_b} {b.text(unit)}{told_text(told, 1)}",
    )


def told_text(found: int, wanted: int) -> str:
    """Why it does not hold: the opposite was found, or nothing that this many sets can tell."""
    if found == wanted:
        return ""
    return " (the opposite)" if found == -wanted else " (not told apart at 95 %)"
