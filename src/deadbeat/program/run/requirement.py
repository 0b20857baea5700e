"""What a program must keep: the table ``[requirement.ID]`` of a file."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from attrs import frozen

from deadbeat.base.model import rules
from deadbeat.base.model.words import Json, nearest, shown, time_text

_TIME = rules.DurationNs(1_000, 3600 * 10**9)
_SHARE = rules.Ratio("0", "1")


@frozen(kw_only=True)
class Requirement:
    """``thread`` responds ``within`` ns, or its data of ``age_of`` are no older, in a ``share`` of
    jobs (0: in all, which a test has to prove); or it breaks none of ``rules``; or, ``proved``, a
    test accepts the task set."""

    id: str
    thread: str = ""
    age_of: str = ""
    within: int = 0
    share: float = 0.0
    rules: tuple[str, ...] = ()
    proved: bool = False

    @property
    def of(self) -> str:
        """The name that `--deadline` has for it."""
        return f"{self.thread}<-{self.age_of}" if self.age_of else self.thread

    @property
    def words(self) -> str:
        """``control within 5 ms in 99.9 % of jobs``."""
        if self.rules:
            who = f"{self.thread} never" if self.thread else "no real-time thread"
            return f"{who} breaks {' or '.join(self.rules)}"
        if self.proved:
            return "a test proves that deadlines are met"
        what = f"{self.thread} within" if not self.age_of else f"data of {self.of} no older than"
        many = f"{percent(self.share)} of jobs" if self.share else "all jobs"
        return f"{what} {time_text(self.within)} in {many}"


def percent(share: float) -> str:
    """``99.999 %``."""
    return f"{100 * share:.10g} %"


@frozen
class Requirements:
    """Tables by identifier; canonical: in its order."""

    def parse(self, value: Any) -> tuple[Requirement, ...]:
        if not isinstance(value, Mapping):
            raise rules.refuse(
                f"{shown(value)} is no table", '[requirement.R-1], thread = "control"'
            )
        found = tuple(_parsed(str(id), table) for id, table in sorted(value.items()))
        ages = [each.of for each in found if each.age_of]
        if len({*ages}) < len(ages):
            twice = next(each for each in ages if ages.count(each) > 1)
            raise rules.refuse(f"two requirements of the age of {twice}", "write one")
        return found

    @staticmethod
    def plain(found: tuple[Requirement, ...]) -> dict[str, Json]:
        return {
            each.id: {
                key: [*value] if key == "rules" else f"{value}ns" if key == "within" else value
                for key in _KEYS
                if (value := getattr(each, key))
            }
            for each in found
        }


def _name(value: Any) -> str:
    if isinstance(value, str) and value.isprintable() and 0 < len(value) <= 64:
        return value
    raise rules.refuse(f"{shown(value)} is no name", "one line, 64 characters at most")


def _share(value: Any) -> float:
    found = float(_SHARE.parse(value))
    if 0 < found < 1:
        return found
    hint = "0.999; of all jobs no run shows it: leave share out, and a test has to prove it"
    raise rules.refuse(f"{shown(value)} is no share of jobs", hint)


def _rule(value: Any) -> str:
    known = import_module("deadbeat.program.derive.rules").RULES  # heavy: help needs none
    if value in known:
        return str(value)
    raise rules.refuse(f"{shown(value)} is no rule", nearest(str(value), known))


_KEYS = {
    "thread": _name,
    "age_of": _name,
    "within": _TIME.parse,
    "share": _share,
    "rules": rules.ListOf(_rule, "a list of rules", "page-fault", rules.unique).parse,
    "proved": rules.Flag().parse,
}


def _parsed(id: str, table: Any) -> Requirement:
    if not isinstance(table, Mapping):
        raise rules.refuse(f"{shown(table)} is no table", f"[requirement.{id}]", path=id)
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key not in _KEYS:
            raise rules.refuse("unknown key", nearest(str(key), _KEYS), path=f"{id}.{key}")
        try:
            found[key] = _KEYS[key](value)
        except rules.RefusedError as error:
            (first, *_) = error.problems
            raise rules.refuse(first.found, first.hint, path=f"{id}.{key}") from None
    made = Requirement(id=_name(id), **found)
    kinds = [bool(made.within), bool(made.rules), made.proved]
    if sum(kinds) != 1:
        raise rules.refuse("it asks for nothing, or for two things", "within, rules or proved", id)
    if made.within and not made.thread:
        raise rules.refuse("within needs a thread", 'thread = "control"', id)
    if (made.share or made.age_of) and not made.within:
        raise rules.refuse("share and age_of go with within", "drop them", id)
    if made.thread == made.age_of != "":
        raise rules.refuse("data of a thread from itself", "age_of names another one", id)
    return made
