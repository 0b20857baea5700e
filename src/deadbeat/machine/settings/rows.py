"""Settings as rows: what is wanted of each, why, who says so, and how it is set.

``settings/checks/FAMILY.toml`` holds the rows of a family, a table each; the check of
``deadbeat doctor`` and the knob of ``deadbeat tune`` are made of the same row. A row that compares
one number needs nothing else; where the logic is conditional a function in ``FAMILY.py`` has it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from operator import eq, ge, gt, le, lt
from typing import TypeVar

from attrs import evolve, frozen
from cattrs import Converter, transform_error

from deadbeat.base.model.tuning import Form
from deadbeat.base.model.words import Json
from deadbeat.machine.settings.facts import CONFIG, DMESG, ONLINE
from deadbeat.machine.settings.readiness import Severity

_FOLDER = "deadbeat.machine.settings.checks"
#: ``sources`` of the advice and titles of ``families``, by name.
WORDS: Mapping[str, Mapping[str, str]] = tomllib.loads(
    files("deadbeat.machine.settings").joinpath("words.toml").read_text(encoding="utf-8")
)
_TERM = re.compile(r"(<=|>=|<|>)? ?(-?\d+)")
_COMPARE = {None: eq, "<=": le, ">=": ge, "<": lt, ">": gt}


def accepts(text: str) -> Callable[[int], bool]:
    """The condition that ``0``, ``0 or 2``, ``<= 10`` or ``0 or >= 600`` puts on a number.
    Raises ValueError: it is none of these."""
    terms = []
    for word in text.split(" or "):
        term = _TERM.fullmatch(word)
        if term is None:
            raise ValueError(f"{text!r} is no condition on a number")
        terms.append((_COMPARE[term[1]], int(term[2])))
    return lambda now: any(compare(now, limit) for compare, limit in terms)


@frozen(kw_only=True)
class SetRow:
    """How a setting is made: the ``set`` table of a row, or a row of ``settings/knobs.toml``.

    Attributes:
        name: Name in ``deadbeat tune --knob``.
        why: Where no check has it: what it does to latency.
        source: Who says so, beside the source of the row.
        cures: Checks that pass with it; empty: its row's.
        path: The file, or a pattern of files; "": the row's own.
        paths: Several, in place of ``path``; those that are there are written.
        only_rt: Only files of the CPUs for real-time tasks.
        lacking: Why the file may not be there.
        boot: Words of the kernel's command line, in place of a file; ``{rt}`` is the CPUs for
            real-time tasks, ``{others}`` the rest, ``{others_mask}`` the rest as a mask.
        writes: What is written where no value can be given; as ``boot``.
        value: What is written unless another value is given.
        values: The values there are; else a whole number in ``range``, in ``unit``, or a text of
            the form ``shape``, which ``words`` describes; none of these: it takes no value.
        form: How the file tells its value (`deadbeat.base.model.tuning.Form`).
        enough: What a profile leaves alone: ``less`` or ``more`` than the value, or a condition
            (`accepts`).
        irreversible: What cannot be put back, in words; it is refused unless that is accepted.
        keep: Patterns of files that change with it and cannot be written.
        note: What else it does, or who disagrees.
    """

    name: str
    title: str
    why: str = ""
    source: str = ""
    cures: tuple[str, ...] = ()
    path: str = ""
    paths: tuple[str, ...] = ()
    only_rt: bool = False
    lacking: str = ""
    boot: tuple[str, ...] = ()
    writes: str = ""
    value: str = ""
    values: tuple[str, ...] = ()
    range: tuple[int, int] = (0, 0)
    unit: str = ""
    shape: str = ""
    words: str = ""
    form: Form = "plain"
    enough: str = ""
    irreversible: str = ""
    keep: tuple[str, ...] = ()
    note: str = ""


@frozen(kw_only=True)
class FactRow:
    """A fact of the inventory, of which nothing is wanted: a row of ``settings/inventory.toml``.

    Attributes:
        path: The file that says it, or a pattern of files that are counted up by name.
        pattern: What of the file says it; of a pattern of files: which texts count.
        option: In place of ``path``: a build option.
    """

    name: str
    title: str
    path: str = ""
    pattern: str = ""
    option: str = ""


@frozen(kw_only=True)
class Row:
    """One setting.

    Attributes:
        severity: Severity of a failure, unless the function says another.
        why: What it does to latency.
        wanted: What passes, in words.
        source: Who says so; ``{NAME}`` is one of words.toml.
        reads: Files, patterns and ``command:NAME`` that its function takes (settings/facts.py), in
            the order of its parameters.
        fix: What mends it, to be typed; "": nothing that can be typed.
        bad: Why a failure is one, where the function does not say.
        path, good, well: For a row without a function: the file, the condition on its number
            (`accepts`), and what is said where it passes.
        words: In place of ``good``: the words that pass; of a pattern of files, of each of them.
        skip: For a pattern of files: the beginnings of the names that do not count.
        lacking: Why nothing is known where the files of the pattern are not there.
        pattern: Where in the file the number stands, as a group.
        none: In place of ``good``: no file is called as the patterns say.
        log: In place of a file: what the kernel must not have logged.
        spares_rt: In place of ``good``: the mask has no CPU for real-time tasks.
        having, without: In place of a file: the build option that the kernel needs, or those it
            must not have.
        shown: Format of the number: ``{} s``; "": with the name of its file.
        missing: It also passes where the file is not there; what is said then.
        unset: It also passes where this kernel option is not set and the file not there.
        passes, fails: Texts of the file, or lines of the log, with which it does: its test cases.
        set: How it is made; None: not by deadbeat.
    """

    id: str
    title: str
    severity: Severity
    why: str
    wanted: str
    source: str
    reads: tuple[str, ...] = ()
    fix: str = ""
    path: str = ""
    good: str = ""
    bad: str = ""
    well: str = ""
    words: tuple[str, ...] = ()
    skip: str = ""
    lacking: str = ""
    pattern: str = ""
    none: bool = False
    log: str = ""
    spares_rt: bool = False
    having: str = ""
    without: tuple[str, ...] = ()
    shown: str = ""
    missing: str = ""
    unset: str = ""
    passes: tuple[str, ...] = ()
    fails: tuple[str, ...] = ()
    set: SetRow | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """Whatever its check reads."""
        also = {
            CONFIG: bool(self.having or self.without or self.unset),
            DMESG: bool(self.log),
            ONLINE: self.none or self.spares_rt,
        }
        found = (self.path, *self.reads, *(each for each, asked in also.items() if asked))
        return tuple(dict.fromkeys(filter(None, found)))


_converter = Converter(forbid_extra_keys=True)
T = TypeVar("T")


def read_rows(kind: type[T], file: str) -> Iterator[T]:
    """A row per table of a file beside this one, with the table's name as its own."""
    text = files("deadbeat.machine.settings").joinpath(file).read_text(encoding="utf-8")
    for name, plain in tomllib.loads(text).items():
        cited = {"source": _cited(plain["source"])} if "source" in plain else {}
        yield _converter.structure({**plain, **cited, "name": name}, kind)


@cache
def rows() -> Mapping[str, Row]:
    """Every row by its id, in the order of the families and of their files.
    Raises ValueError: a row is wrong; says which and how."""
    tables = (each for each in files(_FOLDER).iterdir() if each.name.endswith(".toml"))
    return {
        id: row_of(id, plain)
        for file in sorted(tables, key=lambda each: each.name)
        for name, plain in tomllib.loads(file.read_text(encoding="utf-8")).items()
        for id in (f"{file.name.removesuffix('.toml')}.{name}",)
    }


@cache
def loose() -> tuple[SetRow, ...]:
    """Settings that no check looks at, or that have a check's second knob: settings/knobs.toml."""
    return tuple(read_rows(SetRow, "knobs.toml"))


@cache
def learned(kind: str) -> Mapping[str, tuple[str, ...]]:
    """What functions of ``checks`` or ``knobs`` read, by id or name, learned from their cases."""
    text = files("deadbeat.machine.settings").joinpath("reads.json").read_text(encoding="utf-8")
    return {name: tuple(reads) for name, reads in json.loads(text)[kind].items()}


def _cited(source: str) -> str:
    return source.format_map(WORDS["sources"])


def row_of(id: str, plain: Mapping[str, Json]) -> Row:
    """The row ``id`` from its table. Raises ValueError where it is wrong."""
    try:
        row = _converter.structure({"id": id, **plain}, Row)
    except Exception as error:  # cattrs groups whatever is wrong
        raise ValueError(f"{id}: {'; '.join(transform_error(error))}") from error
    if row.good:
        accepts(row.good)
    how = evolve(row.set, source=_cited(row.set.source)) if row.set else None
    return evolve(row, source=_cited(row.source), set=how)
