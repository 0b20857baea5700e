"""A check: a row of ``settings/checks/FAMILY.toml`` and, where it takes logic, its function.

A public function in ``FAMILY.py`` is that of the row of its name, where ``_`` is ``-``; one at the
end only keeps it apart from what it calls. Its parameters behind the facts are the ``reads`` of the
row. What else it asks for, its test cases show: ``reads.json``, written by ``tools/reads.py``.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from inspect import getmembers, isfunction

from attrs import frozen

from deadbeat.machine.host.kernel import CMDLINE
from deadbeat.machine.host.values import chosen, cpus_text, mask_cpus
from deadbeat.machine.settings import checks
from deadbeat.machine.settings.facts import DMESG, ONLINE, Facts
from deadbeat.machine.settings.readiness import CheckResult, Severity, Status
from deadbeat.machine.settings.reading import (
    by_cpu,
    cpu_of,
    few,
    grouped,
    housekeeping,
    lockdown,
    part_of,
    shared,
)
from deadbeat.machine.settings.rows import Row, accepts, learned, rows
from deadbeat.machine.targets.readings import MISSING, is_pattern


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
    found: object, reason: str = "", *, cure: str | None = None, severity: Severity | None = None
) -> CheckVerdict:
    """Without a ``reason``: for that of its row (``bad``)."""
    return CheckVerdict("fail", str(found), reason, cure, severity)


def unknown(reason: str, found: object = "") -> CheckVerdict:
    return CheckVerdict("unknown", str(found), reason)


def verdict(
    good: object,
    found: object,
    bad: object = "",
    *,
    why: str = "",
    well: str = "",
    cure: str | None = None,
    severity: Severity | None = None,
) -> CheckVerdict:
    """Pass where what was ``found`` is ``good``; else fail for ``why``, or as the row says.

    Args:
        bad: What is found in a failure; "": ``found``.
    """
    if good:
        return passed(found, well)
    return failed(bad or found, why, cure=cure, severity=severity)


def none_of(names: Sequence[str], found: object, *, why: str = "") -> CheckVerdict:
    """Fail with the first few of ``names``; where there is none pass with what was ``found``."""
    return failed(few(names), why) if names else passed(found)


Judge = Callable[..., CheckVerdict]


@frozen
class Check:
    """A row, and the function that judges the machine by it; None: the row says all."""

    row: Row
    judge: Judge | None = None

    @property
    def id(self) -> str:
        return self.row.id

    @property
    def reads(self) -> tuple[str, ...]:
        """Paths, patterns, ``command:NAME`` (settings/facts.py)."""
        return learned("checks").get(self.id, self.row.files)

    def run(self, facts: Facts) -> CheckResult:
        """What it finds; what it could not read makes it ``unknown``."""
        row = self.row
        try:
            judge = self.judge
            said = judge(facts, *row.reads) if judge else _compared(row, facts)
        except (ValueError, ArithmeticError, LookupError) as error:  # an odd file
            said = unknown(str(error))
        reason = said.reason or ("as wanted" if said.status == "pass" else row.bad)
        cure = row.fix if said.cure is None else said.cure
        return CheckResult(
            id=row.id,
            title=row.title,
            status=said.status,
            reason=_line(reason),
            found=_line(said.found),
            wanted=row.wanted,
            severity=said.severity or row.severity,
            source=row.source,
            cure="" if said.status == "pass" else cure,
            read=", ".join(each.removeprefix("command:") for each in self.reads),
        )


_LONGEST = 200


def _line(text: str) -> str:
    """On one line, and not a long one: what a file holds, or a program complains of, may be."""
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 4]} ..."


def _compared(row: Row, facts: Facts) -> CheckVerdict:
    if row.unset or row.missing:
        missing = facts.reading(row.path).reason == MISSING
        if row.unset and missing and facts.option(row.unset) == "n":
            return passed(f"CONFIG_{row.unset} is not set")
        if row.missing and facts.text(CMDLINE) and missing:  # /proc is there
            return passed(row.missing)
    return next(judge for name, judge in _FORMS.items() if getattr(row, name))(row, facts)


def _logged(row: Row, facts: Facts) -> CheckVerdict:
    log = facts.text(DMESG)
    lines = [line.strip() for line in log.splitlines() if re.search(row.log, line)]
    if not lines and re.search(r"Linux version |^\[\s*0\.0", log, re.M) is None:
        return unknown("not in the log, but earlier lines of it were overwritten")
    return verdict(not lines, "not in the log since the boot", *lines[-1:])


def _absent(row: Row, facts: Facts) -> CheckVerdict:
    facts.text(ONLINE)  # /sys is there
    found = facts.readings.patterns
    return none_of([path for each in row.files for path in found.get(each, ())], "none")


def _worded(row: Row, facts: Facts) -> CheckVerdict:
    """Find the chosen word of one file; else every file of the first pattern that has some."""
    if not is_pattern(row.files[0]):
        word = chosen(facts.text(row.path))
        return verdict(word in row.words, word, well=row.well)
    pattern = next(filter(facts.matches, filter(is_pattern, row.files)), None)
    if pattern is None:
        return unknown(row.lacking or f"not found: {', '.join(row.files)}")
    texts = facts.texts(pattern)
    if all(cpu_of(path) >= 0 for path in texts):
        return verdict({*texts.values()} <= {*row.words}, grouped(by_cpu(texts)))
    named = {part_of(path, pattern): text for path, text in texts.items()}
    named = {name: t for name, t in named.items() if not re.match(row.skip or "$", name)}
    found = few([f"{name} = {text}" for name, text in named.items()])
    return verdict({*named.values()} <= {*row.words}, found or "none")


def _spares_rt(row: Row, facts: Facts) -> CheckVerdict:
    housekeeping(facts)
    cpus = mask_cpus(facts.text(row.path))
    here = shared(facts, cpus)
    why = f"real-time CPU {cpus_text(here)} is among them"
    return verdict(not here, f"CPU {cpus_text(cpus)}", why=why)


def _in_text(row: Row, facts: Facts) -> CheckVerdict:
    found = re.search(row.pattern, facts.text(row.path), re.M)
    if found is None:
        return unknown(f"{row.path} does not say")
    return verdict(accepts(row.good)(int(found[1])), (row.shown or "{}").format(found[1]))


#: Key of a row -> what judges those that have it; the first one counts.
_FORMS: Mapping[str, Callable[[Row, Facts], CheckVerdict]] = {
    "having": lambda row, facts: having(facts, row.having, why=row.bad),
    "without": lambda row, facts: without(facts, *row.without, why=row.bad),
    "log": _logged,
    "none": _absent,
    "words": _worded,
    "spares_rt": _spares_rt,
    "pattern": _in_text,
    "good": lambda row, facts: judged(
        facts, row.path, row.good, why=row.bad, well=row.well, shown=row.shown
    ),
}


def judged(
    facts: Facts, path: str, good: str, *, why: str, well: str = "", shown: str = ""
) -> CheckVerdict:
    """Pass where the number in ``path`` is ``good`` (`accepts`), else fail for ``why``."""
    value = facts.integer(path)
    name = path if path.startswith("/sys") else path.removeprefix("/proc/sys/").replace("/", ".")
    found = shown.format(value) if shown else f"{name} = {value}"
    return verdict(accepts(good)(value), found, why=why, well=well)


def built(facts: Facts, *names: str) -> list[str]:
    """The options in ``names`` that the kernel was built with, by its configuration."""
    return [f"CONFIG_{n}={facts.option(n)}" for n in names if facts.option(n) != "n"]


def without(facts: Facts, *names: str, why: str) -> CheckVerdict:
    """Passes where the kernel has none of ``names``; else fails for ``why``."""
    there = built(facts, *names)
    return verdict(not there, "not set", ", ".join(there), why=why)


def having(facts: Facts, name: str, *, why: str) -> CheckVerdict:
    """Passes where the kernel has ``name``; else fails for ``why``."""
    there = built(facts, name)
    return verdict(there, "".join(there), f"CONFIG_{name} is not set", why=why)


def shut(facts: Facts, path: str, meanwhile: str = "") -> CheckVerdict:
    """Unknown: a file or pattern of debugfs that is not there or was refused, with the reason.

    Args:
        meanwhile: What to assume as long as it is not known.
    """
    if is_pattern(path):
        reasons = [f"{p}: {r.reason}" for p, r in facts.matches(path).items() if r.text is None]
        reason = next(iter(reasons), f"not found: {path}")
    else:
        reason = f"{path}: {facts.reading(path).reason}"
    mode = lockdown(facts)
    closed = f"the kernel is locked down ({mode})" if mode not in (None, "none") else ""
    return unknown(
        "; ".join(filter(None, (reason, closed or "debugfs: root only, where mounted", meanwhile)))
    )


def all_checks() -> tuple[Check, ...]:
    """Every check, by family in alphabetical order, in the order of its rows."""
    found: dict[str, list[Check]] = {}
    bodies: dict[str, Judge] = {}
    for _, name, _ in pkgutil.iter_modules(checks.__path__):
        family = import_module(f"{checks.__name__}.{name}")
        found[name] = list(getattr(family, "CHECKS", ()))
        for own, judge in getmembers(family, isfunction):
            if judge.__module__ == family.__name__ and not own.startswith("_"):
                bodies[f"{name}.{own.removesuffix('_').replace('_', '-')}"] = judge
    for row in rows().values():
        check = Check(row, bodies.pop(row.id, None))
        found.setdefault(row.id.partition(".")[0], []).append(check)
    assert not bodies, f"no row for {', '.join(bodies)}"
    return tuple(each for name in sorted(found) for each in found[name])
