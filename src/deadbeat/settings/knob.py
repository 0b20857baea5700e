"""A knob: a setting of the machine that matters to real-time work, and how it is made.

A knob is the ``set`` table of a row (settings/rows.py) or a row of ``settings/knobs.toml``; where
it takes logic, `making` has the function. It says what it reads, and from that which files shall
hold what, or why there is nothing to set here. What is set at boot only gives words for the
kernel's command line instead; those are printed, never applied.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from attrs import frozen

from deadbeat.host.values import cpu_mask, cpus_text
from deadbeat.model.tuning import Setting
from deadbeat.settings.facts import Facts
from deadbeat.settings.making import (
    MAKES,
    Make,
    NotHereError,
    managed_interrupts,
    of_cpus,
    present,
)
from deadbeat.settings.reading import ONLINE, housekeeping
from deadbeat.settings.rows import Row, SetRow, accepts, loose, rows


@frozen
class Values:
    """What may be given to a knob.

    Attributes:
        words: In words, for a person.
        allows: Whether a text is one of them.
    """

    words: str
    allows: Callable[[str], bool]


@frozen(kw_only=True)
class Knob:
    """One knob.

    Attributes:
        name: As ``--knob`` has it.
        title: What it sets, a few words.
        why: What it does to latency, a sentence.
        source: Who advises it.
        cures: Checks of `deadbeat doctor` that pass with it.
        reads: Files and patterns that ``settings`` and ``boot`` look at (settings/facts.py).
        values: What may be given; ``default``: what is taken without.
        settings: Files and what they shall hold, in the order of writing. NotHereError or
            UnreadError where there is nothing to set.
        boot: Words for the kernel's command line, in place of ``settings``.
        fixed: Files of ``settings`` that the kernel lets nobody write, and why; told, left alone.
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
    cures: tuple[str, ...]
    reads: tuple[str, ...]
    values: Values
    default: str
    settings: Make | None
    boot: Callable[[Facts], Sequence[str]] | None
    fixed: Callable[[Facts], Mapping[str, str]] | None
    enough: Callable[[int, int], bool] | None
    irreversible: str
    keep: tuple[str, ...]
    note: str


def _knob_of(how: SetRow, row: Row | None = None) -> Knob:
    path = how.path or (row.path if row else "")
    paths = how.paths or ((path,) if not (how.reads or how.boot) else ())
    written = " ".join((*how.boot, how.writes))
    return Knob(
        name=how.name,
        title=how.title,
        why=how.why or (row.why if row else ""),
        source="; ".join(filter(None, (row.source if row else "", how.source))),
        cures=how.cures or ((row.id,) if row else ()),
        reads=(*how.reads, *paths, *((ONLINE,) if "{" in written else ())),
        values=_values(how),
        default=how.value,
        settings=None if how.boot else MAKES.get(how.name) or _files(how, paths),
        boot=(lambda facts: [_filled(word, facts) for word in how.boot]) if how.boot else None,
        fixed=managed_interrupts if how.name == "irq-affinity" else None,
        enough=_enough(how.enough) if how.enough else None,
        irreversible=how.irreversible,
        keep=how.keep,
        note=how.note,
    )


def _values(how: SetRow) -> Values:
    if how.values:
        *others, last = how.values
        return Values(f"{', '.join(others)} or {last}", {*how.values}.__contains__)
    if how.range != (0, 0):
        least, most = how.range

        def allows(text: str) -> bool:
            return bool(re.fullmatch(r"-?\d{1,18}", text)) and least <= int(text) <= most

        return Values(f"{least} to {most}{how.unit and ' '}{how.unit}", allows)
    return Values(how.words or "no value", lambda text: bool(re.fullmatch(how.shape, text)))


def _enough(text: str) -> Callable[[int, int], bool]:
    if text in ("less", "more"):
        return lambda now, wanted: now <= wanted if text == "less" else now >= wanted
    return lambda now, _wanted: accepts(text)(now)


def _files(how: SetRow, paths: Sequence[str]) -> Make:
    """The value in one file or every file of a pattern; of several, in those that are there."""

    def settings(facts: Facts, value: str) -> list[Setting]:
        there = [path for path in paths if facts.get(path) is not None] if how.paths else paths
        try:
            found = [
                each
                for path in there or paths[:1]
                for each in (of_cpus if how.only_rt else present)(facts, path)
            ]
        except NotHereError as error:
            raise NotHereError("; ".join(filter(None, (str(error), how.lacking)))) from None
        text = _filled(how.writes, facts) or value
        return [Setting(each, text, how.form) for each in found]

    return settings


def _filled(text: str, facts: Facts) -> str:
    """``text`` with the CPUs it asks for: those for real-time tasks, and the others.

    UnreadError where no other is left."""
    if "{" not in text:
        return text
    others = housekeeping(facts)
    rt = cpus_text(facts.rt_cpus)
    return text.format(rt=rt, others=cpus_text(others), others_mask=cpu_mask(others))


@cache
def all_knobs() -> Mapping[str, Knob]:
    """Name -> knob of every row, in alphabetical order."""
    found = [_knob_of(row.set, row) for row in rows().values() if row.set is not None]
    found += map(_knob_of, loose())
    return {knob.name: knob for knob in sorted(found, key=lambda knob: knob.name)}
