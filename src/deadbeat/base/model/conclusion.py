"""A published statement, what results show of it, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from attrs import evolve, field, frozen

CONFIRMED, NOT_CONFIRMED, DEPENDS, UNDECIDED = "confirmed", "not confirmed", "depends", "undecided"
VERDICTS = (CONFIRMED, NOT_CONFIRMED, DEPENDS, UNDECIDED)

R = TypeVar("R")


@frozen(kw_only=True)
class Evidence:
    """What one variant of the results shows.

    Attributes:
        holds: Whether the statement does, by its criterion; None where the data do not suffice.
        figures: The numbers that decided it, one line.
        variant: Dimension -> value: ``{"ties": "index", "denominator": "all sets"}``.
        details: Further numbers: what, value.
        runs: Results it rests on, where not all.
    """

    holds: bool | None
    figures: str
    variant: Mapping[str, str] = field(factory=dict)
    details: tuple[tuple[str, str], ...] = ()
    runs: tuple[str, ...] = ()


@frozen(kw_only=True)
class Conclusion(Generic[R]):
    """A statement to be checked.

    Attributes:
        says: The statement in the words of its source, shortened.
        check: Results -> evidence of every variant; none where they cannot tell. Raises
            LackingError where they never could.
    """

    id: str
    says: str
    confirmed: str
    check: Callable[[R], Iterable[Evidence]] = field(repr=False)


@frozen(kw_only=True)
class Judgement:
    """What became of a conclusion.

    Attributes:
        verdict: One of the words above, or what is missing: ``needs >= 8 cores``.
        labels: What must show beside it (``simulated``, ...).
    """

    conclusion: Conclusion[Any]
    verdict: str
    evidence: tuple[Evidence, ...]
    on: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


class LackingError(Exception):
    """Results cannot show it: ``verdict`` says what is needed, ``because`` why."""

    def __init__(self, verdict: str, because: str) -> None:
        super().__init__(verdict, because)
        self.verdict, self.because = verdict, because


def judge(
    conclusion: Conclusion[R], results: R, *, doubt: Callable[[Evidence], str] = lambda _: ""
) -> Judgement | None:
    """The verdict over all variants, or what is needed for one; None where there is no evidence.
    ``doubt``: why evidence decides nothing; "": it may."""
    try:
        evidence = tuple(conclusion.check(results))
    except LackingError as lacking:
        shown = Evidence(holds=None, figures=lacking.because)
        return Judgement(conclusion=conclusion, verdict=lacking.verdict, evidence=(shown,))
    if not evidence:
        return None
    evidence = tuple(
        evolve(each, holds=None, figures=f"{why}: {each.figures}") if (why := doubt(each)) else each
        for each in evidence
    )
    held = [item.holds for item in evidence]
    if True in held and False in held:
        verdict = DEPENDS
    elif None in held:
        verdict = UNDECIDED
    else:
        verdict = CONFIRMED if held[0] else NOT_CONFIRMED
    on = deciding(evidence) if verdict == DEPENDS else ()
    return Judgement(conclusion=conclusion, verdict=verdict, on=on, evidence=evidence)


def all_hold(conditions: Sequence[bool | None]) -> bool | None:
    """Whether every condition holds; None while none is refuted and one is not known."""
    return False if False in conditions else None if None in conditions else True


def deciding(evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Dimensions that alone turn the answer somewhere: all else equal, it differs along them.

    Where none does alone, all that vary.
    """
    names = list(dict.fromkeys(name for item in evidence for name in item.variant))
    found = []
    for name in names:
        groups: dict[tuple[tuple[str, str], ...], set[bool | None]] = {}
        for item in evidence:
            rest = tuple(sorted((k, v) for k, v in item.variant.items() if k != name))
            if name in item.variant:
                groups.setdefault(rest, set()).add(item.holds)
        if any(len(held) > 1 for held in groups.values()):
            found.append(name)
    varied = (n for n in names if len({item.variant.get(n) for item in evidence}) > 1)
    return tuple(found or varied)
