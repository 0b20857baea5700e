"""Conclusions: a statement, what is found in each variant of the study, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
from attrs import frozen

from deadbeat.kinds.study.results import Mask, Results
from deadbeat.kinds.study.statistics import Count, Mean, compare, compare_means, compare_paired

Word = Literal["confirmed", "not confirmed", "depends"]


@frozen(kw_only=True)
class Evidence:
    """What one variant says.

    Attributes:
        variant: Dimension -> value: ``{"ties": "index", "denominator": "all sets"}``.
        holds: Whether the statement does, by the rule of its conclusion.
        figures: The numbers, with their denominators.
    """

    variant: Mapping[str, str]
    holds: bool
    figures: str


@frozen(kw_only=True)
class Conclusion:
    """A statement to be checked.

    Attributes:
        id: Short, unique.
        says: The statement, in few words of the seed.
        confirmed: What "confirmed" means.
        check: Results -> evidence of every variant; none where the study cannot tell.
    """

    id: str
    says: str
    confirmed: str
    check: Callable[[Results], Iterable[Evidence]]


@frozen(kw_only=True)
class Judgement:
    """What became of a conclusion; ``on``: the dimensions that decide, where it depends."""

    conclusion: Conclusion
    verdict: Word
    on: tuple[str, ...]
    evidence: tuple[Evidence, ...]


def judge(conclusions: Iterable[Conclusion], results: Results) -> tuple[Judgement, ...]:
    """Every conclusion that ``results`` can say something of."""
    made = []
    for conclusion in conclusions:
        evidence = tuple(conclusion.check(results))
        if not evidence:
            continue
        held = [item.holds for item in evidence]
        verdict: Word = "confirmed" if all(held) else "depends" if any(held) else "not confirmed"
        on = deciding(evidence) if verdict == "depends" else ()
        made.append(Judgement(conclusion=conclusion, verdict=verdict, on=on, evidence=evidence))
    return tuple(made)


def deciding(evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Dimensions that alone turn the answer somewhere: all else equal, it differs along them.

    Where none does alone, all that vary.
    """
    names = list(dict.fromkeys(name for item in evidence for name in item.variant))
    found = []
    for name in names:
        groups: dict[tuple[tuple[str, str], ...], set[bool]] = {}
        for item in evidence:
            rest = tuple(sorted((k, v) for k, v in item.variant.items() if k != name))
            if name in item.variant:
                groups.setdefault(rest, set()).add(item.holds)
        if any(len(held) > 1 for held in groups.values()):
            found.append(name)
    varied = (n for n in names if len({item.variant.get(n) for item in evidence}) > 1)
    return tuple(found or varied)


def ordered(
    results: Results, more: str, fewer: str, mask: Mask, variant: Mapping[str, str]
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
        f" only {fewer} {only_fewer}{_told(told, 1)}",
    )


def falling(
    results: Results,
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
        figures=f"{text}{against}{_told(ends, sign)}",
    )


def larger(
    name_a: str, a: Mean, name_b: str, b: Mean, variant: Mapping[str, str], *, unit: str = ""
) -> Evidence:
    """Whether mean ``a`` is larger than ``b``, told apart at 95 %."""
    told = compare_means(a, b)
    return Evidence(
        variant=variant,
        holds=told == 1,
        figures=f"{name_a} {a.text(unit)}, {name_b} {b.text(unit)}{_told(told, 1)}",
    )


def _told(found: int, wanted: int) -> str:
    """Why it does not hold: the opposite was found, or nothing that this many sets can tell."""
    if found == wanted:
        return ""
    return " (the opposite)" if found == -wanted else " (not told apart at 95 %)"
