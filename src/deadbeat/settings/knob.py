"""A knob: a setting of the machine that matters to real-time work, and how it is made.

A knob is the ``set`` table of a row (settings/rows.py) or a row of ``settings/knobs.toml``, and
where it takes logic a function in ``settings/making.py``. It says what it reads, and from that
which files shall hold what, or why there is nothing to turn here. What is set at boot only gives
words for the kernel's command line instead; those are printed, never applied.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module

from attrs import field, frozen

from deadbeat.host.values import cpu_mask, cpus_text
from deadbeat.model.tuning import Form, Setting
from deadbeat.settings.facts import Facts
from deadbeat.settings.reading_values import housekeeping
from deadbeat.settings.rows import Row, SetRow, accepts, loose, rows
from deadbeat.targets.readings import is_pattern


class NotHereError(Exception):
    """There is nothing to turn on this machine; says why."""


@frozen
class Values:
    """What may be given to a knob.

    Attributes:
        words: In words, for a person.
        allows: Whether a text is one of them.
    """

    words: str
    allows: Callable[[str], bool]


def whole(least: int, most: int, unit: str = "") -> Values:
    """Whole numbers from ``least`` to ``most``."""

    def allows(text: str) -> bool:
        return bool(re.fullmatch(r"-?\d{1,18}", text)) and least <= int(text) <= most

    return Values(f"{least} to {most}{unit and ' '}{unit}", allows)


def one_of(*words: str) -> Values:
    return Values(
        f"{', '.join(words[:-1])} or {words[-1]}" if words[1:] else words[0], {*words}.__contains__
    )


#: Of a knob that takes its values from the CPUs meant for real-time tasks, or has only one.
NOTHING = Values("no value", lambda text: text == "")

Make = Callable[[Facts, str], Sequence[Setting]]
Words = Callable[[Facts, str], Sequence[str]]


@frozen(kw_only=True)
class Knob:
    """One knob.

    Attributes:
        name: As ``--knob`` has it.
        title: What it turns, a few words.
        why: What it does to latency, a sentence.
        source: Who advises it.
        cures: Checks of `deadbeat doctor` that pass with it.
        reads: Files and patterns that ``settings`` and ``boot`` look at (settings/facts.py).
        values: What may be given; ``default``: what is taken without.
        settings: Files and what they shall hold, in the order of writing. NotHereError or
            UnreadError where there is nothing to turn.
        boot: Words for the kernel's command line, in place of ``settings``.
        fixed: Files of ``settings`` that the kernel lets nobody write, and why; told, left alone.
        commands: Words of the commands in ``reads``, by name.
        enough: Whether a number that is there is as good as the one that is wanted; a profile
            leaves it alone then, ``--knob NAME=VALUE`` does not.
        irreversible: What cannot be put back, in words; then it is refused unless accepted.
        keep: Patterns of files that change with it and cannot be written; the way back tells which
            are no longer as they were.
        note: What else it does, or who disagrees.
    """

    name: str
    title: str
    why: str
    source: str
    cures: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    values: Values = NOTHING
    default: str = ""
    settings: Make | None = None
    boot: Words | None = None
    fixed: Callable[[Facts], Mapping[str, str]] | None = None
    commands: Mapping[str, str] = field(factory=dict)
    enough: Callable[[int, int], bool] | None = None
    irreversible: str = ""
    keep: tuple[str, ...] = ()
    note: str = ""


def present(facts: Facts, path: str) -> list[str]:
    """``path``, or every path that the pattern matches.

    NotHereError where there is none: an empty list would look as if it had been turned."""
    if is_pattern(path):
        found = sorted(facts.matches(path), key=_by_number)
        if found:
            return found
        raise NotHereError(f"nothing is called {path}")
    reading = facts.reading(path)
    if reading.text is None:
        raise NotHereError(f"{path}: {reading.reason}")
    return [path]


def _by_number(path: str) -> list[tuple[int, str]]:
    return [(int(n or -1), text) for text, n in re.findall(r"(\D+)(\d*)", path)]


def of_cpus(facts: Facts, pattern: str) -> list[str]:
    """Paths that ``pattern`` matches of the CPUs meant for real-time tasks.

    Raises:
        NotHereError: There is none.
    """
    found = [each for each in present(facts, pattern) if cpu_of(each) in facts.rt_cpus]
    if not found:
        raise NotHereError(f"nothing of CPU {cpus_text(facts.rt_cpus)} is called {pattern}")
    return found


def cpu_of(path: str) -> int:
    """CPU of a path with ``cpuN`` in it; -1 where none is."""
    found = re.search(r"/cpu(\d+)(?:/|$)", path)
    return int(found[1]) if found else -1


def housekeeping_mask(facts: Facts) -> str:
    """Mask of the CPUs that are left for everything else. UnreadError where none is."""
    return cpu_mask(housekeeping(facts))


def housekeeping_list(facts: Facts) -> str:
    """As `housekeeping_mask`, as a list: ``0-1,4``."""
    return cpus_text(housekeeping(facts))


@frozen(kw_only=True)
class _Making:
    """The logic of a knob; the attributes are those of `Knob`."""

    settings: Make | None = None
    boot: Words | None = None
    fixed: Callable[[Facts], Mapping[str, str]] | None = None
    commands: Mapping[str, str] = field(factory=dict)


_MAKINGS: dict[str, _Making] = {}


def makes(
    name: str,
    *,
    fixed: Callable[[Facts], Mapping[str, str]] | None = None,
    commands: Mapping[str, str] | None = None,
) -> Callable[[Make], Make]:
    """Makes a function the ``settings`` of the knob ``name``; the rest as in `Knob`."""

    def keep(make: Make) -> Make:
        _MAKINGS[name] = _Making(settings=make, fixed=fixed, commands=commands or {})
        return make

    return keep


def says(name: str) -> Callable[[Words], Words]:
    """Makes a function the ``boot`` words of the knob ``name``."""

    def keep(words: Words) -> Words:
        _MAKINGS[name] = _Making(boot=words)
        return words

    return keep


def _enough(text: str) -> Callable[[int, int], bool] | None:
    if text == "less":
        return lambda now, wanted: now <= wanted
    if text == "more":
        return lambda now, wanted: now >= wanted
    return (lambda now, _wanted: accepts(text)(now)) if text else None


def _values(how: SetRow) -> Values:
    if how.values:
        return one_of(*how.values)
    if how.shape:
        return Values(how.words, lambda text: bool(re.fullmatch(how.shape, text)))
    return NOTHING if how.range == (0, 0) else whole(*how.range, unit=how.unit)


def knob_of(how: SetRow, row: Row | None = None) -> Knob:
    """The knob of a ``set`` table and its row."""
    path = how.path or (row.path if row else "")
    making = _MAKINGS.get(how.name)
    if making is None and how.boot:
        making = _Making(boot=lambda _facts, _value: how.boot)
    if making is None:
        making = _Making(settings=_file_settings(path, how.form))
    return Knob(
        name=how.name,
        title=how.title,
        why=how.why or (row.why if row else ""),
        source=how.source or (row.source if row else ""),
        cures=how.cures or ((row.id,) if row else ()),
        reads=how.reads or (() if how.boot else (path,)),
        values=_values(how),
        default=how.value,
        settings=making.settings,
        boot=making.boot,
        fixed=making.fixed,
        commands=making.commands,
        enough=_enough(how.enough),
        irreversible=how.irreversible,
        keep=how.keep,
        note=how.note,
    )


def _file_settings(path: str, form: Form) -> Make:
    """One file, or every file that a pattern matches, holds the value as given."""
    return lambda facts, value: [Setting(each, value, form) for each in present(facts, path)]


@cache
def all_knobs() -> Mapping[str, Knob]:
    """Name -> knob of every row, in alphabetical order."""
    import_module("deadbeat.settings.making")  # by name: it imports this module
    found = [knob_of(row.set, row) for row in rows().values() if row.set is not None]
    found += map(knob_of, loose())
    return {knob.name: knob for knob in sorted(found, key=lambda knob: knob.name)}
