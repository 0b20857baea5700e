"""What the specifications of experiments have in common: checked whole, every problem at once.

A field states its rule (`deadbeat.base.model.rules`) and its `Option` with `keyed`: from them
follow reading, errors, the canonical form, the options of a command and the reference of the keys.
A field of another such class is a table (``[run]``). A class may have ``problems()`` for what is
wrong between fields that are each right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

import attrs
from attrs import frozen

from deadbeat.base.model import rules
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.rules import Problem, RefusedError, duration_ns, duration_words, refuse
from deadbeat.base.model.words import Json, inside, nearest, shortened, shown

T = TypeVar("T")
#: Keys with plain numbers in seconds; other lengths of time have their unit beside them.
_SECONDS = ("seconds", "duration")
_LENGTH = re.compile(r"[0-9]+(?:ns|us|ms|s|min|h|d)")
#: Option, path of the key, metavar and help.
Row = tuple[str, str, str, str]


@frozen
class Option:
    """What a key of a specification is to a reader.

    Attributes:
        name: Its option on the command line, ``--repeats``; "": it has none.
        metavar: What stands for the value: its form or unit; "": a flag.
        help: What it is; in brackets what it is unless given.
    """

    name: str
    metavar: str
    help: str


def keyed(rule: rules.Rule, option: str, help: str, *, default: Any = attrs.NOTHING) -> Any:
    """A field of a specification; the help names a default, unless ``help`` does.

    Args:
        rule: What its value may be.
        option: ``--repeats N``; a flag has no metavar, a key without an option nothing else.
        help: See `Option`.
    """
    name, _, metavar = option.rpartition(" ") if " " in option else (option, "", "")
    if not option.startswith("--"):
        name, metavar = "", option
    unsaid = (attrs.NOTHING, None, False, ())
    if "  [" not in help and not any(default is each for each in unsaid):
        help = f"{help}  [{written(_plain(rule, default))}]"
    return attrs.field(
        default=default, metadata={"rule": rule, "options": (Option(name, metavar, help),)}
    )


def written(value: object) -> str:
    """A canonical value as a person writes it: ``1,2``, ``500us``, ``0.9``."""
    if isinstance(value, list):
        return ",".join(map(written, value))
    text = str(value)
    if re.fullmatch(r"[0-9]+ns", text):
        return rules.duration_text(int(text[:-2]))
    return f"{float(Fraction(text)):g}" if re.fullmatch(r"[0-9.]+(/[0-9]+)?", text) else text


@cache
def sections_of(kind: type) -> dict[str, type]:
    """The tables of a specification: field -> class."""
    hints = get_type_hints(kind)
    return {
        field.name: table
        for field in attrs.fields(kind)
        for table in (hints[field.name], *get_args(hints[field.name]))
        if isinstance(table, type) and attrs.has(table) and "rule" not in field.metadata
    }


def rule_of(kind: type, name: str) -> Any:
    return attrs.fields_dict(kind)[name].metadata.get("rule")


def given_by(kind: type, name: str) -> tuple[Option, ...]:
    """What the field ``name`` is to a reader; nothing, where it is none of theirs."""
    found: tuple[Option, ...] = attrs.fields_dict(kind)[name].metadata.get("options", ())
    return found


def options_of(kind: type, *, without: Sequence[str] = (), first: str = "") -> tuple[Row, ...]:
    """The options of a specification and its tables, in the order of their fields.

    Args:
        without: Paths of fields to leave out.
        first: The table with the first options, which take the place of those of the same name.
    """
    rows = [*_options(kind, "")]
    own = [row for row in rows if row[1].startswith(f"{first}.")]
    taken = {row[0] for row in own}
    rows = own + [row for row in rows if row[0] not in taken]
    left_out = tuple(f"{path}." for path in without)
    return tuple(row for row in rows if not f"{row[1]}.".startswith(left_out))


def _options(kind: type, path: str) -> Iterator[Row]:
    for field in attrs.fields(kind):
        if (table := sections_of(kind).get(field.name)) is not None:
            yield from _options(table, f"{path}{field.name}.")
            continue
        for option in given_by(kind, field.name):
            if option.name:
                yield option.name, path + field.name, option.metavar, option.help


def layered(kind: type, *layers: Mapping[str, Json]) -> dict[str, Json]:
    """Later layers win, key by key inside a table of ``kind``; nothing is checked."""
    merged: dict[str, Json] = {}
    for layer in layers:
        for key, value in layer.items():
            below = merged.get(key) if key in sections_of(kind) else None
            merged[key] = value
            if isinstance(value, Mapping):
                merged[key] = {**inside(below), **value}
    return merged


@frozen
class Layer:
    """What was written as a layer of a specification, and what its paths are called."""

    values: dict[str, Any] = attrs.field(factory=dict)
    names: dict[str, str] = attrs.field(factory=dict)

    def put(self, path: str, value: object, name: str) -> None:
        """Sets ``path`` (``run.seconds``), which was written as ``name``."""
        section, _, key = path.rpartition(".")
        (self.values.setdefault(section, {}) if section else self.values)[key] = value
        self.names[path] = name


def names_in_file(file: Path, written: Mapping[str, Json]) -> dict[str, str]:
    found = {}
    for key, value in written.items():
        for path in (str(key), *(f"{key}.{name}" for name in inside(value))):
            found[path] = f"{file}: {path}"
    return found


def plain_of(spec: Any) -> dict[str, Json]:
    """The canonical plain form of a specification, which its rules read back."""
    kind: type = type(spec)
    return {
        field.name: _plain(rule_of(kind, field.name), getattr(spec, field.name))
        for field in attrs.fields(kind)
    }


def _plain(rule: Any, value: Any) -> Any:
    if value is not None and hasattr(rule, "plain"):
        return rule.plain(value)
    if attrs.has(type(value)):
        return plain_of(value)
    if isinstance(value, tuple):
        return [_plain(None, item) for item in value]
    return str(value) if isinstance(value, Fraction) else value


def read(kind: type[T], *layers: Mapping[str, Json], names: Mapping[str, str] | None = None) -> T:
    """The specification that ``layers`` describe over its defaults, the last of them first.
    ``names``: what a path is called where it was written (``duration`` -> ``--duration``). Raises
    UsageError: naming every problem."""
    return checked(kind, layered(kind, *layers), names)


def checked(kind: type[T], values: Any, names: Mapping[str, str] | None = None) -> T:
    """The specification of the plain ``values``, by the rules of its fields. Raises UsageError:
    naming every problem."""
    return parsed(partial(built, kind), values, names or {})


def parsed(parse: Callable[[Any], T], value: Any, names: Mapping[str, str]) -> T:
    """What ``parse`` makes of ``value``; raises UsageError with its paths by ``names``."""
    try:
        return parse(value)
    except RefusedError as error:
        raise usage([renamed(problem, names) for problem in error.problems]) from None


def built(kind: type[T], values: Any) -> T:
    """Check and build; raise RefusedError with every problem and its full path."""
    whole: Any = kind
    made: T = _built(whole, values, sections_of(whole))
    return made


def _built(of: Any, values: Any, tables: Mapping[str, type]) -> Any:
    """A table of a specification that has ``tables``: it must be one, and its fields must fit."""
    if not isinstance(values, Mapping):
        raise refuse(f"{shown(values)} is not a table", "write a section like [grid]")
    problems: list[Problem] = []
    made: dict[str, object] = {}
    fields = attrs.fields_dict(of)
    for name, field in fields.items():
        if name not in values:
            if field.default is attrs.NOTHING:
                problems.append(Problem(name, "missing", "add it"))
            continue
        table, value = sections_of(of).get(name), values[name]
        try:
            if value is None and field.default is None:
                made[name] = None
            elif table is None:
                made[name] = rule_of(of, name).parse(value)
            else:
                made[name] = _built(table, value, tables)
        except RefusedError as error:
            problems += [Problem(_join(name, p.path), p.found, p.hint) for p in error.problems]
    problems += _unknown(values.keys() - fields.keys(), fields, tables)
    if not problems:
        whole = of(**made)
        problems = [*whole.problems()] if hasattr(whole, "problems") else []
        if not problems:
            return whole
    raise RefusedError(*problems)


def _unknown(
    names: Iterable[object], known: Iterable[str], tables: Mapping[str, type]
) -> Iterator[Problem]:
    """Keys that are none of the ``known`` ones, with where they belong or what was meant."""
    for name in sorted(map(str, names)):
        homes = (each for each, table in tables.items() if name in attrs.fields_dict(table))
        home = next(homes, "")
        hint = f"it belongs in [{home}]" if home else nearest(name[:60], known)
        yield Problem(shown(name)[1:-1], "unknown key", hint)


def _join(path: str, below: str) -> str:
    if not path or not below:
        return path or below
    return path + below if below.startswith("[") else f"{path}.{below}"


def renamed(problem: Problem, names: Mapping[str, str]) -> Problem:
    """The path as the person wrote it: the longest known beginning is replaced ("": all)."""
    for path in sorted(names, key=len, reverse=True):
        rest = problem.path.removeprefix(path) if path else ""
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


def differing(
    old: Mapping[str, Json], new: Mapping[str, Json], path: str = ""
) -> Iterator[tuple[str, object, object]]:
    """Paths at which two canonical specifications differ, with both values; None: not there."""
    for key in sorted(set(old) | set(new)):
        a, b = old.get(key), new.get(key)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            yield from differing(a, b, f"{path}{key}.")
        elif a != b:
            yield f"{path}{key}", a, b


def differences(old: Mapping[str, Json], new: Mapping[str, Json]) -> list[str]:
    """What `differing` finds for a reader: ``run.period (3 ms there, 2 ms now)``."""
    return [
        f"{path} ({_shown(path, a)} there, {_shown(path, b)} now)"
        for path, a, b in differing(old, new)
    ]


def _shown(path: str, value: Any) -> str:
    """A canonical value in words and units."""
    if value is None or isinstance(value, bool):
        return {None: "not set", True: "yes", False: "no"}[value]
    if isinstance(value, Mapping):
        return shortened(", ".join(f"{key} {_shown(key, each)}" for key, each in value.items()))
    if isinstance(value, list | tuple):
        return shortened(f"[{', '.join(_shown(path, item) for item in value)}]")
    if isinstance(value, int | float) and path.rpartition(".")[2] in _SECONDS:
        return f"{value:g} s"
    if isinstance(value, str) and _LENGTH.fullmatch(value):
        return duration_words(duration_ns(value))
    return shortened(value if isinstance(value, str) and value else shown(value))
