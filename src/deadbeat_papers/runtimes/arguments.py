"""Arguments of RTSJMcBench (an XML file of the thesis, section 4.1) as a layer of a specification.

Expat reads them, without a tree: a document type is refused where it begins, before it can declare
an entity. So nothing is expanded, and nothing is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar
from xml.parsers import expat

from attrs import field, frozen

from deadbeat import (
    Problem,
    ReadBy,
    RefusedError,
    Rule,
    UsageError,
    Whole,
    bytes_of,
    nearest_word,
    quoted,
    read_file,
    refuse,
    size_word,
    usage_error,
)

#: Bytes of a file: an example has 1,300.
_FILE_LIMIT = 1 << 16
#: Its runs end with their count; this is for one that would not.
_SECONDS = 10


@frozen
class _Word:
    known: tuple[str, ...]

    def parse(self, value: Any) -> str:
        word = str(value).strip().lower()
        if word not in self.known:
            raise refuse(f"{quoted(value)} is not a choice", nearest_word(word, self.known))
        return word


def _folder(value: Any) -> str:
    if not str(value).strip() or "\0" in value:
        raise refuse(f"{quoted(value)} names no folder", "./datadir")
    return str(value)


@frozen
class _Size:
    """Bytes, or a share of the cache: 1/4."""

    shares: bool = False

    def parse(self, value: Any) -> int | str:
        share = re.fullmatch(r"\s*(?:L2\s*/|1\s*/)\s*([0-9]{1,5})\s*", value)
        if share and self.shares:
            return str(share[1])
        return bytes_of(value)


_MEMORIES = ("lt", "vt", "immortal", "heap")
#: What every test is given.
_COMMON: Mapping[str, Rule] = {
    "no_of_threads": Whole(1, 128),
    "type_of_threads": _Word(("rt", "nh")),
    "scheduling_policy": _Word(("rr", "fifo")),
    "count": Whole(1, 10**7),
    "priority": Whole(1, 79),
    "datadir": ReadBy(_folder),
    "instr_load": Whole(0, 10**9),
}


@frozen(kw_only=True)
class _Test:
    """A test of RTSJMcBench. ``words``: in the application's name something after a full stop
    begins with one of them. ``jvm``, ``native``: the primitive that repeats it, or one for each
    type of memory. ``own``: arguments beside the common ones."""

    words: tuple[str, ...]
    jvm: Mapping[str, str]
    native: Mapping[str, str]
    placements: tuple[str, ...] = ("all",)
    own: Mapping[str, Rule] = field(factory=dict)

    @property
    def known(self) -> Mapping[str, Rule]:
        return {**_COMMON, **self.own}


_HEAP = "heap"
#: Arguments that may be left out.
_OPTIONAL = {"memtype", "memsize"}


def _memory(*types: str, shares: bool = False) -> Mapping[str, Rule]:
    return {"allocsize": _Size(shares=shares), "memtype": _Word(types), "memsize": _Size()}


#: In the order in which a name is looked up.
TESTS = (
    _Test(
        words=("mem.alloc",),
        jvm={word: f"alloc:{word}" for word in _MEMORIES},
        native={
            **dict.fromkeys(("lt", "immortal"), "alloc_pool:own"),
            **{_HEAP: "alloc:ring", "vt": "alloc:budget"},
        },
        own=_memory(*_MEMORIES),
    ),
    _Test(
        words=("cache", "shared"),
        jvm={_HEAP: "copy_shared"},
        native={_HEAP: "copy_shared"},
        placements=("cache",),
        own=_memory(_HEAP, shares=True),
    ),
    _Test(words=("mem.copy",), jvm={_HEAP: "copy"}, native={_HEAP: "copy"}, own=_memory(_HEAP)),
    _Test(
        words=("event", "async"),
        jvm={_HEAP: "event:monitor"},
        native={_HEAP: "event:condvar"},
        placements=("same",),
    ),
    _Test(
        words=("lock", "spin"),
        jvm={_HEAP: "lock:tas"},
        native={_HEAP: "lock:tas"},
        placements=("both",),
    ),
)


#: Arguments by name, as their rules read them.
_Values = Mapping[str, Any]


@frozen
class _Argument:
    value: str
    line: int


@frozen(kw_only=True)
class RtsjArguments:
    """What a file asks for: the test application's name, and the values of its arguments."""

    app: str
    test: _Test
    values: Mapping[str, Any]
    #: What runs it by default.
    runtimes: ClassVar[str] = "jvm"

    @property
    def memory(self) -> str:
        return str(self.values.get("memtype", _HEAP))

    @property
    def datadir(self) -> Path:
        return Path(self.values["datadir"])

    def tests(self, runtimes: str) -> list[str]:
        """Primitives that repeat it, of each of ``runtimes`` (``native,jvm:25:G1``)."""
        words = [each.strip() for each in runtimes.split(",")]
        pools = [self.test.native if word == "native" else self.test.jvm for word in words]
        return list(dict.fromkeys(pool[self.memory] for pool in pools))

    def layer(self, runtimes: str) -> dict[str, object]:
        """Keys of a specification, by the argument that says them where one does."""
        values = self.values
        made: dict[str, object] = {
            "tests": self.tests(runtimes),
            "runtimes": runtimes,
            "placements": list(self.test.placements),
            "threads": [values["no_of_threads"]],
            "policy": values["scheduling_policy"],
            "priority": values["priority"],
            "samples": values["count"],
            "work": values["instr_load"],
            "handlers": ["equal"],
            "duration": _SECONDS,
            "keep": True,
        }
        size = values.get("allocsize")
        if size is not None:
            made |= {"shares": [int(size)]} if isinstance(size, str) else {"sizes": [size]}
        return made

    def notes(self, runtimes: str) -> Iterator[str]:
        yield f"{self.app} is {', '.join(self.tests(runtimes))} of {runtimes}"
        if self.test.own:
            yield _MEANS[self.memory]
        if self.values["type_of_threads"] == "nh":
            yield "type_of_threads nh: threads that allocate nothing on the heap while they run"


_MEANS = {
    "heap": "memtype heap: the collected heap of a JVM; malloc of a native program",
    "lt": "memtype LT: slices of memory that has all its pages, left as a whole; natively blocks"
    " of a pool that has them",
    "vt": "memtype VT: an arena opened and closed in the sample; natively malloc of what is freed"
    " as a whole",
    "immortal": "memtype immortal: slices that are never left; natively blocks of a pool",
}


def read_arguments(path: Path) -> RtsjArguments:
    """The arguments in ``path``. Raises UsageError: naming every problem with its line."""
    data = read_file(path, what="arguments", hint="name an XML file of arguments", piped=True)
    if len(data) > _FILE_LIMIT:
        raise UsageError(f"{path}: larger than {_FILE_LIMIT} bytes", "is it a file of arguments?")
    reader = _Reader()
    try:
        reader.parse(data)
    except (expat.ExpatError, ValueError, LookupError) as error:  # an encoding that it cannot read
        raise UsageError(f"{path}: not XML: {error}", "see docs/howto/time-primitives.md") from None
    problems = reader.problems
    found = _arguments(reader, problems) if reader.app or not problems else None
    if found is None or problems:
        raise usage_error([Problem(f"{path}{p.path}", p.found, p.hint) for p in problems])
    return found


def _arguments(reader: _Reader, problems: list[Problem]) -> RtsjArguments | None:
    app = f".{reader.app.lower()}"
    test = next((each for each in TESTS if any(f".{word}" in app for word in each.words)), None)
    if test is None:
        known = "; ".join(" or ".join(each.words) for each in TESTS)
        where = f", line {reader.line}: testapp"
        problems.append(
            Problem(where, f"no test is called {quoted(reader.app)}", f"its name has {known}")
        )
        return None
    values = {}
    for name, given in reader.given.items():
        where = f", line {given.line}: {name}"
        if name not in test.known:
            problems.append(Problem(where, "unknown argument", nearest_word(name, test.known)))
            continue
        try:
            values[name] = test.known[name].parse(given.value)
        except RefusedError as error:
            problems += [Problem(where, each.found, each.hint) for each in error.problems]
    for name in test.known.keys() - reader.given.keys() - _OPTIONAL:
        hint = f'add <arg name="{name}" value="..."/>'
        problems.append(Problem(f": {name}", "missing", hint))
    problems.sort(key=lambda each: each.path.startswith(": "))
    if not problems:
        problems += _together(values, reader.given)
    return RtsjArguments(app=reader.app, test=test, values=values)


def _together(values: _Values, given: Mapping[str, _Argument]) -> Iterator[Problem]:
    """What is wrong between arguments that are each right."""
    memory, area = values.get("memtype", _HEAP), values.get("memsize")
    if values["type_of_threads"] == "nh" and memory == _HEAP and "allocsize" in values:
        where = f", line {given['type_of_threads'].line}: type_of_threads"
        found = "a NoHeapRealtimeThread cannot use the heap"
        yield Problem(where, found, "memtype LT, VT or immortal, or type_of_threads rt")
    if memory != _HEAP and area is None:
        yield Problem(": memsize", f"missing, and memtype is {memory}", "say how much there is")
    size, count = values.get("allocsize"), values["count"]
    if area is not None and isinstance(size, int) and count * size > area:
        where = f", line {given['memsize'].line}: memsize"
        found = f"{count} x {size_word(size)} = {count * size:,} bytes do not fit into"
        hint = f"give {count * size} at least, or fewer iterations"
        yield Problem(where, f"{found} {size_word(area)}", hint)


class _Reader:
    """Elements of a file, as they come."""

    def __init__(self) -> None:
        self.app, self.line = "", 0
        self.given: dict[str, _Argument] = {}
        self.problems: list[Problem] = []
        self._open: list[str] = []
        self._parser = expat.ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._refuse_type
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = lambda name: self._open.pop()

    def parse(self, data: bytes) -> None:
        try:
            self._parser.Parse(data, True)
        except RefusedError as error:
            self.problems += error.problems

    def _where(self, name: str) -> str:
        return f", line {self._parser.CurrentLineNumber}: {name}"

    def _refuse_type(self, *_: object) -> None:
        found = "a document type is not read: it can declare entities"
        raise refuse(found, "take <!DOCTYPE ...> out", self._where("DOCTYPE"))

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        self._open.append(name)
        wanted = {1: "testapp", 2: "arg"}.get(len(self._open))
        if name != wanted:
            inside = f" inside {self._open[-2]}" if len(self._open) > 1 else ""
            hint = f"only {wanted} stands there" if wanted else "an argument holds text alone"
            self._add(name, f"unexpected element{inside}", hint)
            return
        required = ("name",) if name == "testapp" else ("name", "value")
        for attribute in (each for each in required if each not in attributes):
            self._add(name, f"no attribute {attribute}", f'{attribute}="..."')
        for attribute in (each for each in attributes if each not in required):
            self._add(name, f"unknown attribute {quoted(attribute)}", f"it has {required}")
        if name == "testapp":
            self.app, self.line = attributes.get("name", ""), self._parser.CurrentLineNumber
        elif {*attributes} >= {*required}:
            self._keep(attributes["name"], attributes["value"])

    def _keep(self, name: str, value: str) -> None:
        if name in self.given:
            before = self.given[name].line
            self._add(name, f"given twice, first in line {before}", "leave one out")
        else:
            self.given[name] = _Argument(value, self._parser.CurrentLineNumber)

    def _add(self, name: str, found: str, hint: str) -> None:
        self.problems.append(Problem(self._where(quoted(name)[1:-1]), found, hint))
