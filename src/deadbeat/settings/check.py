"""A check: what it reads, what it wants, how grave a failure is, and who says so.

A family is a file of ``readiness/checks``; a check is a function in it under `check`. Nothing else
has to be told of it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from types import ModuleType

from attrs import frozen

from deadbeat.host.values import UnreadError
from deadbeat.model.readiness import CheckResult, Severity, Status
from deadbeat.settings import checks
from deadbeat.settings.facts import Facts


@frozen
class Verdict:
    """What a check says: pass, fail or unknown, what it found, and why.

    Attributes:
        cure, severity: In place of the check's own, where they depend on what was found.
    """

    status: Status
    found: str = ""
    reason: str = ""
    cure: str | None = None
    severity: Severity | None = None


def passed(found: object, reason: str = "", *, severity: Severity | None = None) -> Verdict:
    return Verdict("pass", str(found), reason, severity=severity)


def failed(
    found: object, reason: str, *, cure: str | None = None, severity: Severity | None = None
) -> Verdict:
    return Verdict("fail", str(found), reason, cure, severity)


def unknown(reason: str, found: object = "") -> Verdict:
    return Verdict("unknown", str(found), reason)


Body = Callable[[Facts], Verdict]


@frozen(kw_only=True)
class Check:
    """One check; the attributes are those of `CheckResult`.

    Attributes:
        reads: Paths, patterns, ``command:NAME`` (readiness/facts.py).
        body: The function.
    """

    id: str
    title: str
    severity: Severity
    source: str
    wanted: str
    cure: str
    reads: tuple[str, ...]
    body: Body

    def run(self, facts: Facts) -> CheckResult:
        """What it finds; what it could not read makes it ``unknown``."""
        try:
            verdict = self.body(facts)
        except UnreadError as error:
            verdict = unknown(str(error))
        reason = verdict.reason or ("as wanted" if verdict.status == "pass" else "")
        cure = self.cure if verdict.cure is None else verdict.cure
        return CheckResult(
            id=self.id,
            title=self.title,
            status=verdict.status,
            reason=_line(reason),
            found=_line(verdict.found),
            wanted=self.wanted,
            severity=verdict.severity or self.severity,
            source=self.source,
            cure="" if verdict.status == "pass" else cure,
            read=", ".join(each.removeprefix("command:") for each in self.reads),
        )


_LONGEST = 200


def _line(text: str) -> str:
    """On one line, and not a long one: what a file holds, or a program complains of, may be."""
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 4]} ..."


_PENDING = "deadbeat_checks"


def check_of(
    body: Body,
    *,
    id: str,
    title: str,
    severity: Severity,
    source: str,
    wanted: str,
    reads: Sequence[str],
    cure: str = "",
) -> Check:
    """As `check`, for a family that makes its checks of a table and keeps them as ``CHECKS``."""
    return Check(
        id=id, title=title, severity=severity, source=source, wanted=wanted, cure=cure,
        reads=tuple(reads), body=body,
    )  # fmt: skip


def check(
    id: str,
    title: str,
    *,
    severity: Severity,
    source: str,
    wanted: str,
    reads: Sequence[str],
    cure: str = "",
) -> Callable[[Body], Body]:
    """Makes a function of `Facts` a check; ``id`` is ``family.name``.

    The function's own words are the reason for the check: why the setting matters.
    """

    def keep(body: Body) -> Body:
        made = check_of(
            body, id=id, title=title, severity=severity, source=source, wanted=wanted, cure=cure,
            reads=reads,
        )  # fmt: skip
        setattr(body, _PENDING, made)
        return body

    return keep


def _families() -> Iterator[ModuleType]:
    for found in pkgutil.iter_modules(checks.__path__):
        yield import_module(f"{checks.__name__}.{found.name}")


def all_commands() -> dict[str, str]:
    """``COMMANDS`` of every family: words for a shell by name, beside `facts.COMMANDS`."""
    return {
        name: words
        for family in _families()
        for name, words in getattr(family, "COMMANDS", {}).items()
    }


def all_checks() -> tuple[Check, ...]:
    """Every check of every family, in the order of the files and of their lines."""
    found = []
    for family in _families():
        for value in vars(family).values():
            made = getattr(value, _PENDING, None)
            if isinstance(made, Check) and value.__module__ == family.__name__:
                found.append(made)
        found += getattr(family, "CHECKS", ())
    return tuple(found)
