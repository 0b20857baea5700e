"""A check: a row of ``settings/checks/FAMILY.toml`` and, where it takes logic, its function.

A function in ``FAMILY.py`` under `check` is that of the row it names. Nothing else has to be told
of either.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType

from attrs import frozen

from deadbeat.host.values import UnreadError
from deadbeat.model.readiness import CheckResult, Severity, Status
from deadbeat.settings import checks
from deadbeat.settings.facts import Facts
from deadbeat.settings.rows import Row, accepts, rows
from deadbeat.targets.readings import MISSING


@frozen
class CheckVerdict:
    """What a check says: pass, fail or unknown, what it found, and why.

    Attributes:
        cure, severity: In place of the check's own, where they depend on what was found.
    """

    status: Status
    found: str = ""
    reason: str = ""
    cure: str | None = None
    severity: Severity | None = None


def passed(found: object, reason: str = "", *, severity: Severity | None = None) -> CheckVerdict:
    return CheckVerdict("pass", str(found), reason, severity=severity)


def failed(
    found: object, reason: str, *, cure: str | None = None, severity: Severity | None = None
) -> CheckVerdict:
    return CheckVerdict("fail", str(found), reason, cure, severity)


def unknown(reason: str, found: object = "") -> CheckVerdict:
    return CheckVerdict("unknown", str(found), reason)


Body = Callable[[Facts], CheckVerdict]


@frozen(kw_only=True)
class Check:
    """One check; the attributes are those of `CheckResult`.

    Attributes:
        reads: Paths, patterns, ``command:NAME`` (settings/facts.py).
        why: Why the setting matters.
        body: What judges the machine.
    """

    id: str
    title: str
    severity: Severity
    source: str
    wanted: str
    cure: str
    reads: tuple[str, ...]
    why: str
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


def check(id: str) -> Callable[[Body], Body]:
    """Makes a function of `Facts` the logic of the row ``id``."""

    def keep(body: Body) -> Body:
        setattr(body, _PENDING, id)
        return body

    return keep


def check_of(row: Row, body: Body | None = None) -> Check:
    """The check of ``row``; without a ``body`` its number is compared."""
    return Check(
        id=row.id,
        title=row.title,
        severity=row.severity,
        source=row.source,
        wanted=row.wanted,
        cure=row.fix,
        reads=row.files,
        why=row.why,
        body=body or (lambda facts: _compared(row, facts)),
    )


def _compared(row: Row, facts: Facts) -> CheckVerdict:
    reading = facts.reading(row.path)
    if row.unset and reading.reason == MISSING and facts.option(row.unset) == "n":
        return passed(f"CONFIG_{row.unset} is not set")
    return judged(facts, row.path, accepts(row.good), why=row.bad, well=row.well)


def judged(
    facts: Facts, path: str, good: Callable[[int], bool], *, why: str, well: str = ""
) -> CheckVerdict:
    """Pass where the number in ``path`` is ``good``, else fail for ``why``."""
    value = facts.integer(path)
    name = path if path.startswith("/sys") else path.removeprefix("/proc/sys/").replace("/", ".")
    found = f"{name} = {value}"
    return passed(found, well) if good(value) else failed(found, why)


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
    """Every check, by family in alphabetical order, in the order of its rows."""
    found: dict[str, list[Check]] = {}
    bodies: dict[str, Body] = {}
    for family in _families():
        name = family.__name__.rpartition(".")[2]
        found[name] = list(getattr(family, "CHECKS", ()))
        for value in vars(family).values():
            if (id := getattr(value, _PENDING, None)) and value.__module__ == family.__name__:
                bodies[id] = value
    for row in rows().values():
        family_name = row.id.partition(".")[0]
        found.setdefault(family_name, []).append(check_of(row, bodies.pop(row.id, None)))
    assert not bodies, f"no row for {', '.join(bodies)}"
    return tuple(each for name in sorted(found) for each in found[name])
