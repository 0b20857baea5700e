"""What makes results doubtful, and what it means for the numbers.

A check of a run, a label and a doubt about a whole result are all a `Finding`. The paragraph of a
kind of finding is a file, ``findings/ID.md`` of this package: reports show it, ``deadbeat explain``
prints it, and docs/explanation/why-your-numbers-may-be-wrong.md holds them all (`tools/docs`).
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable
from importlib import resources
from typing import Literal

from attrs import frozen

Severity = Literal["invalid", "serious", "warning", "info"]
#: Gravest first.
SEVERITIES: tuple[Severity, ...] = ("invalid", "serious", "warning", "info")


@frozen(kw_only=True)
class Finding:
    """Something that makes a run or a result doubtful, or that the reader must know.

    Attributes:
        id: Stable identifier (``steal``, ``no-housekeeping-core``, ``load-not-reached``).
        severity: ``invalid``: of a run, whose figures are shown and counted nowhere. A ``warning``
            of a run is a label: it counts.
        message: One line with the figures: what was found.
        cure: One line: what to do about it.
        where: Run or point it concerns; "" for the whole result, or the run that holds it.
    """

    id: str
    severity: Severity
    message: str
    cure: str = ""
    where: str = ""


class Judged:
    """What counts unless one of its problems is grave."""

    __slots__ = ()
    problems: tuple[Finding, ...]

    @property
    def valid(self) -> bool:
        """Whether its figures count."""
        return all(problem.severity != "invalid" for problem in self.problems)


@frozen(kw_only=True)
class Explanation:
    """What a kind of finding means for the numbers.

    Attributes:
        id: Identifier of the finding.
        title: What it is about, in a few words.
        wrong: What it does to the numbers.
        check: How to see whether it did, and what to do.
    """

    id: str
    title: str
    wrong: str
    check: str


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """The gravest first; those of one severity as they were."""
    return sorted(findings, key=lambda each: SEVERITIES.index(each.severity))


def counts_text(findings: Iterable[Finding]) -> str:
    """``1 serious, 2 warnings`` or ``none``."""
    counts = Counter(finding.severity for finding in findings)
    plural = {s: f"{s}s" if s == "warning" and counts[s] > 1 else s for s in SEVERITIES}
    return ", ".join(f"{counts[s]} {plural[s]}" for s in SEVERITIES if counts[s]) or "none"


@functools.cache
def explanations() -> dict[str, Explanation]:
    """Every explanation by its identifier, in alphabetical order."""
    folder = resources.files("deadbeat").joinpath("findings")
    texts = {file.name.removesuffix(".md"): file.read_text("utf-8") for file in folder.iterdir()}
    return {name: _explanation(name, texts[name]) for name in sorted(texts)}


def _explanation(name: str, text: str) -> Explanation:
    """Of a file: a title, what the finding does, and ``## What to do``."""
    wrong, _, check = text.partition("## What to do\n")
    title, _, wrong = wrong.removeprefix("# ").partition("\n")
    return Explanation(
        id=name, title=title, wrong=" ".join(wrong.split()), check=" ".join(check.split())
    )


def explained(finding: str) -> Explanation | None:
    """The explanation of a finding's identifier; None if there is none."""
    return explanations().get(finding)


def other_work_beside(name: str, text: str) -> tuple[Finding, ...]:
    """What else ran beside the runs of one side, in words; the runs count."""
    if not text:
        return ()
    found = Finding(
        id="other-work-beside",
        severity="info",
        message=f"{name}: {text}",
        cure="where one side has more of it the difference may be that; repeats of the"
        " baseline (--aa) in such an hour show how much it moves",
        where=name,
    )
    return (found,)
