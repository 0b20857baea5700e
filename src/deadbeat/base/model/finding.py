"""What makes results doubtful, and what it means for the numbers.

A check of a run, a label and a doubt about a whole result are all a `Finding`. The paragraph of a
kind of finding is a file, ``base/findings/ID.md``: reports and ``deadbeat show ID`` have it, and
docs/explanation/why-your-numbers-may-be-wrong.md holds them all (`tools/docs.py`). Its
``severity:`` (else: warning) and ``cure:`` are those of every such finding that has no others.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib import resources
from typing import Any, Literal

from attrs import frozen

Severity = Literal["invalid", "serious", "warning", "info"]
#: Gravest first.
SEVERITIES: tuple[Severity, ...] = ("invalid", "serious", "warning", "info")
#: Lines of a page below its title.
_KNOWN = re.compile(r"^(severity|cure): (.*)$", re.M)


@frozen(kw_only=True)
class Finding:
    """Something that makes a run or a result doubtful, or that the reader must know.

    Attributes:
        id: Stable identifier (``steal``, ``no-housekeeping-core``, ``load-not-reached``).
        severity: ``invalid``: a run that is shown and counted nowhere. A ``warning``
            of a run is a label: it counts.
        cure: One line: what to do about it.
        where: Run or point it concerns; "" for the whole result, or the run that holds it.
    """

    id: str
    severity: Severity
    message: str
    cure: str = ""
    where: str = ""


@frozen(kw_only=True)
class Explanation:
    """What a kind of finding means for the numbers.

    Attributes:
        wrong: What it does to the numbers.
        check: How to see whether it did, and what to do.
        severity, cure: The usual ones of such a finding.
    """

    id: str
    title: str
    wrong: str
    check: str
    severity: Severity = "warning"
    cure: str = ""


def finding(
    id: str,
    message: str,
    *,
    severity: Severity | None = None,
    cure: str | None = None,
    where: str = "",
) -> Finding:
    """A finding of a result; None: the value on its page."""
    page = explanations()[id]
    return Finding(
        id=id,
        severity=severity or page.severity,
        message=message,
        cure=page.cure if cure is None else cure,
        where=where,
    )


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
    folder = resources.files("deadbeat.base").joinpath("findings")
    texts = {file.name.removesuffix(".md"): file.read_text("utf-8") for file in folder.iterdir()}
    found = {}
    for name in sorted(texts):
        # Parse a file: a title, severity and cure, what the finding does, and `## What to do` where
        # the cure does not say it.
        wrong, _, check = texts[name].partition("## What to do\n")
        title, _, wrong = wrong.removeprefix("# ").partition("\n")
        known: dict[str, Any] = dict(_KNOWN.findall(wrong))
        wrong = " ".join(_KNOWN.sub("", wrong).split())
        check = " ".join(check.split())
        if not check and (cure := known.get("cure")):
            check = f"{cure[0].upper()}{cure[1:]}."
        found[name] = Explanation(id=name, title=title, wrong=wrong, check=check, **known)
    return found


def not_counted(id: str, name: str, invalid: int, stored: int) -> Iterator[Finding]:
    """Runs of one side that do not count."""
    if invalid:
        yield finding(
            id,
            f"{invalid} of {stored} runs of {name} do not count",
            cure=f"deadbeat show {name} says why",
            where=name,
        )


def other_work_beside(name: str, text: str) -> Iterator[Finding]:
    """What else ran beside the runs of one side, in words; the runs count."""
    if text:
        yield finding("other-work-beside", f"{name}: {text}", where=name)
