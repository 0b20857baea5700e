"""The nine observations of a paper on contention, and what became of each."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from deadbeat import CONFIRMED, NOT_CONFIRMED, UNDECIDED, Judgement, UsageError
from deadbeat_papers.observations import grid, kernels, modes
from deadbeat_papers.observations.base import (
    Campaign,
    Campaigns,
    PublishedObservation,
    ask,
    judge,
    lack,
    lacks_input,
    needs_cores,
    needs_kernels,
)

__all__ = ["Campaign", "Campaigns", "PublishedObservation", "ask", "judge", "lacks_input"]

#: In the order of their numbers, a part behind its whole.
OBSERVATIONS = tuple(
    sorted(
        (*grid.OBSERVATIONS, *modes.OBSERVATIONS, *kernels.OBSERVATIONS),
        key=lambda each: (each.number, each.part),
    )
)
#: Words that name observations.
NUMBERS = re.compile(r"all|([0-9]+)(?:(?:\.\.|-)([0-9]+))?")


def chosen_of(words: Iterable[str]) -> tuple[PublishedObservation, ...]:
    """The observations of words: ``7``, ``1..4``, ``all``; raises UsageError."""
    known = [observation.number for observation in OBSERVATIONS]
    numbers: set[int] = set()
    for match in filter(None, map(NUMBERS.fullmatch, words)):
        low = int(match[1] or 1)
        high = int(match[2] or match[1] or max(known))
        if low not in known or high not in known or low > high:
            raise UsageError(f"there is no observation {match[0]}", f"1 to {max(known)}, or all")
        numbers.update(range(low, high + 1))
    return tuple(each for each in OBSERVATIONS if each.number in numbers)


def lacking_here(observation: PublishedObservation, cores: int) -> Judgement | None:
    if cores < observation.cores:
        replay = f"--executor replay:RUN,cores={observation.cores} replays more by stored prices"
        because = f"{cores} can be used here; {replay}"
        return lack(observation, needs_cores(observation.cores), because)
    if observation.kernels > 1:
        because = "run the programs of one campaign on the other kernel (--programs-from), then"
        because += f" observe {observation.number} --from A B"
        return lack(observation, needs_kernels(observation.kernels), because)
    return None


def plain_of(judgement: Judgement) -> dict[str, object]:
    observation: Any = judgement.conclusion
    (found,) = judgement.evidence
    return {
        "number": observation.number,
        "part": observation.part,
        "title": observation.title,
        "statement": observation.says,
        "criterion": observation.confirmed,
        "verdict": judgement.verdict,
        "because": found.figures,
        "figures": [{"what": what, "value": value} for what, value in found.details],
        "runs": list(found.runs),
        "labels": list(judgement.labels),
    }


def lines_of(judgement: Judgement) -> Iterator[str]:
    observation: Any = judgement.conclusion
    marks = "".join(f"   {label}" for label in judgement.labels)
    (found,) = judgement.evidence
    of = f"   ({', '.join(found.runs)})" if found.runs else ""
    number = f"{observation.number}{observation.part}"
    yield f"{number}. {observation.title}: {judgement.verdict.partition(':')[0].upper()}{of}{marks}"
    lines = [found.figures, *(f"{what}: {value}" for what, value in found.details)]
    if judgement.verdict in (CONFIRMED, NOT_CONFIRMED, UNDECIDED):
        lines.append(f"criterion: {observation.confirmed}")
    wrap = textwrap.TextWrapper(
        width=100, initial_indent="   ", subsequent_indent="     ", break_on_hyphens=False
    )
    yield from map(wrap.fill, lines)
