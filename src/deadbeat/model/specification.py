"""What the specifications of campaigns have in common: checked whole, every problem at once.

Fields state their rule with ``Annotated`` (`deadbeat.model.rules`); a class may have ``problems()``
for what is wrong between fields that are each right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, get_type_hints

import attrs
from attrs import frozen
from cattrs import Converter
from cattrs.errors import ClassValidationError, ForbiddenExtraKeysError
from cattrs.gen import make_dict_structure_fn

from deadbeat.model.errors import UsageError
from deadbeat.model.rules import Problem, RefusedError, duration_ns, duration_words, refuse
from deadbeat.model.words import nearest, shortened, shown

T = TypeVar("T")
#: Keys whose plain numbers are seconds; other lengths of time have their unit beside them.
_SECONDS = ("seconds", "duration")
_LENGTH = re.compile(r"[0-9]+(?:ns|us|ms|s|min|h|d)")


@frozen
class Option:
    """How a field of a specification is given on the command line; part of its ``Annotated``.

    Attributes:
        name: ``--repeats``.
        metavar: What stands for the value: its form or unit.
        help: What it is; in brackets what it is unless given.
    """

    name: str
    metavar: str
    help: str


def options_of(kind: type, section: str = "") -> tuple[tuple[str, str, str, str], ...]:
    """Name, path, metavar and help of every option of a specification, in the order of its fields.

    Args:
        section: Where the table lies in the whole: ``run`` for ``[run]``.
    """
    hints = get_type_hints(kind, include_extras=True)
    return tuple(
        (
            option.name,
            f"{section}.{field.name}" if section else field.name,
            *attrs.astuple(option)[1:],
        )
        for field in attrs.fields(kind)
        for option in getattr(hints[field.name], "__metadata__", ())
        if isinstance(option, Option)
    )


def read(kind: type[T], *layers: Mapping[str, Any], names: Mapping[str, str] | None = None) -> T:
    """The specification that ``layers`` describe over its defaults, the last of them first.

    Args:
        names: What a path is called where it was written (``duration`` -> ``--duration``).

    Raises:
        UsageError: Naming every problem.
    """
    asked: dict[str, Any] = {}
    for layer in layers:
        asked.update(layer)
    try:
        return Structure(kind).build(asked, kind)
    except RefusedError as error:
        problems = error.problems
    raise usage([renamed(problem, names or {}) for problem in problems])


class Structure:
    """Builds specifications of one kind from plain values, by the rules of their fields.

    Args:
        whole: The class of a whole specification.
        sections: Its tables: name of the field -> class.
    """

    def __init__(self, whole: type, sections: Mapping[str, type] | None = None) -> None:
        self._sections = dict(sections or {})
        self._converter = Converter(detailed_validation=True, forbid_extra_keys=True)
        self._converter.register_structure_hook_func(
            lambda kind: _rule(kind) is not None, lambda value, kind: _rule(kind).parse(value)
        )
        for kind in (*self._sections.values(), whole):
            self._converter.register_structure_hook(kind, _checked(kind, self._converter))

    def build(self, values: Any, kind: type[T]) -> T:
        """The specification; raises RefusedError with every problem and its full path."""
        try:
            return self._converter.structure(values, kind)
        except (RefusedError, ClassValidationError) as error:
            problems = self._problems(error, "")
        raise RefusedError(*problems)

    def _problems(self, error: BaseException, path: str) -> list[Problem]:
        """Flattens what cattrs collected into problems with their full path."""
        if isinstance(error, ClassValidationError):
            below = [
                problem
                for inner, note in error.group_exceptions()[0]
                for problem in self._problems(inner, _join(path, note.name))
            ]
            return below + [
                p for inner in error.group_exceptions()[1] for p in self._problems(inner, path)
            ]
        if isinstance(error, RefusedError):
            return [Problem(_join(path, p.path), p.found, p.hint) for p in error.problems]
        if isinstance(error, ForbiddenExtraKeysError):
            known = attrs.fields_dict(error.cl)
            return [
                Problem(_join(path, shown(key)[1:-1]), "unknown key", self._where(key, known))
                for key in sorted(map(str, error.extra_fields))
            ]
        if isinstance(error, KeyError):
            return [Problem(path, "missing", "add it")]
        raise error

    def _where(self, key: str, known: Mapping[str, Any]) -> str:
        """Hint for an unknown key: the section in which it does exist, or the nearest here."""
        for section, kind in self._sections.items():
            if key in attrs.fields_dict(kind):
                return f"it belongs in [{section}]"
        return nearest(key[:60], known)


def _rule(kind: Any) -> Any:
    return next(iter(getattr(kind, "__metadata__", ())), None)


def _checked(kind: type, converter: Converter) -> Callable[[Any, Any], Any]:
    """Structure hook of a table: it must be one, and its fields must fit each other."""
    fields: Callable[[Any, Any], Any] = make_dict_structure_fn(kind, converter)

    def structure(values: Any, kind: Any) -> Any:
        if not isinstance(values, Mapping):
            raise refuse(f"{shown(values)} is not a table", "write a section like [grid]")
        built = fields(dict(values), kind)
        problems = built.problems() if hasattr(built, "problems") else ()
        if problems:
            raise RefusedError(*problems)
        return built

    return structure


def _join(path: str, below: str) -> str:
    if not path or not below:
        return path or below
    return path + below if below.startswith("[") else f"{path}.{below}"


def renamed(problem: Problem, names: Mapping[str, str]) -> Problem:
    """The path as the person wrote it: the longest known beginning is replaced."""
    for path in sorted(names, key=len, reverse=True):
        rest = problem.path.removeprefix(path)
        if problem.path.startswith(path) and (not rest or rest[0] in ".["):
            return Problem(names[path] + rest, problem.found, problem.hint)
    return problem


def usage(problems: Sequence[Problem]) -> UsageError:
    """One error for all problems, a line each; a single one keeps its hint as the error's hint."""
    # An option that stands for two keys is wrong once.
    problems = tuple(dict.fromkeys(problems))
    if len(problems) == 1:
        (only,) = problems
        return UsageError(f"{only.path}: {only.found}" if only.path else only.found, only.hint)
    return UsageError(f"{len(problems)} problems:", details=tuple(map(str, problems)))


def differences(old: Mapping[str, Any], new: Mapping[str, Any], path: str = "") -> list[str]:
    """Paths at which two canonical specifications differ, with both values for a reader:
    ``run.period (3 ms there, 2 ms now)``."""
    found: list[str] = []
    for key in sorted(set(old) | set(new)):
        here, a, b = f"{path}{key}", old.get(key), new.get(key)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            found += differences(a, b, f"{here}.")
        elif a != b:
            found.append(f"{here} ({_told(key, a)} there, {_told(key, b)} now)")
    return found


def _told(key: str, value: Any) -> str:
    """A canonical value in words and units."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return shortened(f"[{', '.join(_told(key, item) for item in value)}]")
    if isinstance(value, int | float) and key in _SECONDS:
        return f"{value:g} s"
    if isinstance(value, str) and _LENGTH.fullmatch(value):
        return duration_words(duration_ns(value))
    return shortened(value if isinstance(value, str) and value else shown(value))
