"""Reads the front matter of fragment files: what the pools hold.

A fragment states itself in TOML in its leading comment (``CONTRIBUTING.md`` shows one); nothing
else lists it. Everything wrong in any file is reported at once, with file and line.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import NOTHING, field, fields, frozen

from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.base.model.words import nearest
from deadbeat.tasksets.model.tasks import Entry, Fragment, Kind

POOLS = ("full", "quick", "portable")
#: Words of ``requires`` that every core port has (runtime/include/deadbeat/port_sync.h).
CORE_PORT = frozenset({"message-queue", "priority-inheritance", "realtime-policy"})
MODES = ("default", "shared-address-space")
NS_CLASSES = ("compute-integer", "compute-float", "control", "memory", "crypto", "codec", "signal")

_OPEN = "/*+++"
_CLOSE = "+++*/"
_SIZE_LIMIT = 2**32
_WORD = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOML_LINE = re.compile(r"\(at line (\d+), column \d+\)")
_TOML_END = re.compile(r"\(at end of document\)")


def _by_name(fragments: Mapping[str, Fragment]) -> dict[str, Fragment]:
    return {name: fragments[name] for name in sorted(fragments)}


@frozen(kw_only=True)
class Catalog:
    """The fragments that exist, sorted by name."""

    fragments: dict[str, Fragment] = field(converter=_by_name)

    def entries(self, pool: str = "full", *, mode: str = "default") -> tuple[Entry, ...]:
        """Every size of every fragment of ``pool`` that may be used in layout ``mode``, sorted.
        Raises UsageError: no such pool or mode."""
        if pool not in POOLS:
            raise UsageError(f"no pool is called {pool!r}", f"pools are {', '.join(POOLS)}")
        if mode not in MODES:
            raise UsageError(f"no layout is called {mode!r}", f"layouts are {', '.join(MODES)}")
        return tuple(
            Entry(fragment.name, size)
            for fragment in self.fragments.values()
            if fragment.fits(mode) and not (pool == "portable" and lacking(fragment))
            for size in (fragment.quick if pool == "quick" else fragment.sizes)
        )

    def fragment(self, name: str) -> Fragment:
        """The fragment called ``name``.
        Raises UsageError: there is none; the hint names the nearest."""
        try:
            return self.fragments[name]
        except KeyError:
            near = nearest(name, self.fragments)
            hint = near if near.startswith("did") else "`deadbeat list fragments` lists them"
            raise UsageError(f"no fragment is called {name!r}", hint) from None


def lacking(fragment: Fragment, port: frozenset[str] = CORE_PORT) -> str:
    """Why ``fragment`` cannot run on a port that has the words of ``port``; "" where it can."""
    words = sorted(set(fragment.requires) - port)
    return f"needs {', '.join(words)}" if words else ""


def load_catalog(root: Path | None = None) -> Catalog:
    """Reads every ``ns/*.c`` and ``sy/*.c`` below ``root``.

    Args:
        root: Folder of the pools; by default the one that belongs to this installation.

    Raises:
        DataError: A folder or file cannot be read, or front matter is missing or wrong; the message
            names each with file and line.
    """
    root = pools_root() if root is None else root
    if not (root / "ns").is_dir() and not (root / "sy").is_dir():
        raise DataError(f"{root}: no folder of fragment pools (ns, sy)", "give the folder of pools")
    errors: list[str] = []
    fragments: dict[str, Fragment] = {}
    for path in sorted([*root.glob("ns/*.c"), *root.glob("sy/*.c")]):
        where = path.relative_to(root)
        fragment = _read_fragment(path, where.as_posix(), errors)
        if fragment is None:
            continue
        if fragment.name in fragments:
            other = fragments[fragment.name].path
            errors.append(f"{where.as_posix()}:1: name {fragment.name!r} is taken by {other}")
        fragments[fragment.name] = fragment
    if errors:
        raise DataError(
            errors[0]
            if len(errors) == 1
            else f"{len(errors)} errors in fragment files:\n  " + "\n  ".join(errors) + "\n",
            f"under {root}; CONTRIBUTING.md shows a complete front matter",
        )
    return Catalog(fragments=fragments)


def pools_root() -> Path:
    """Folder of the pools of this installation: of a wheel, else of the clone it runs from.
    Raises DataError: neither exists."""
    package = Path(__file__).resolve().parents[1]
    for root in (package / "_native" / "fragments", package.parents[1] / "fragments"):
        if root.is_dir():
            return root
    raise DataError(f"no fragment pools beside {package}", "install deadbeat again")


def _read_fragment(path: Path, where: str, errors: list[str]) -> Fragment | None:
    """The fragment in ``path``, or None after its errors were appended to ``errors``."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        errors.append(f"{where}: cannot be read: {error}")
        return None
    start = text.find(_OPEN)
    end = text.find(_CLOSE, start)
    if start < 0 or end < 0:
        missing = _OPEN if start < 0 else _CLOSE
        errors.append(f"{where}:1: no front matter: expected {missing!r}")
        return None
    if text[:start].strip():
        errors.append(f"{where}:1: front matter must be the leading comment")
        return None
    first = text.count("\n", 0, start) + 2
    raw = text[start + len(_OPEN) : end].split("\n")[1:]
    lines = [re.sub(r"^\s*\* ?", "", line) for line in raw]
    try:
        table = tomllib.loads("\n".join(lines) + "\n")
    # Not only TOMLDecodeError: numbers beyond 4300 digits, and lists nested without end.
    except (ValueError, RecursionError) as error:
        at = _TOML_LINE.search(str(error))
        line = first + (int(at[1]) if at else len(lines)) - 1
        reason = _TOML_END.sub("", _TOML_LINE.sub("", str(error))).strip()
        errors.append(f"{where}:{line}: not TOML: {reason}")
        return None
    problems = list(_problems(table, path.stem, path.parent.name.upper()))
    for key, reason in problems:
        named = re.compile(rf"\s*\[*\"?{re.escape(key)}\"?\s*[=\].]")
        found = (first + number for number, line in enumerate(lines) if named.match(line))
        errors.append(f"{where}:{next(found, first - 1)}: {key}: {reason}")
    symbol = f"struct db_fragment db_fragment_{path.stem}"
    if not re.search(rf"{re.escape(symbol)}\s*=", text):
        errors.append(f"{where}:1: expected a definition of `const {symbol}`")
    elif not problems:
        values: dict[str, Any] = {**table, "kind": Kind(table["kind"]), "path": where}
        listed = {key: tuple(v) for key, v in values.items() if isinstance(v, list)}
        return Fragment(**(values | listed))
    return None


def _problems(table: dict[Any, Any], stem: str, folder: str) -> Iterator[tuple[str, str]]:
    """Key and reason of whatever is wrong in the front matter of ``FOLDER/STEM.c``."""
    for key, value in table.items():
        if reason := _wrong(key, value, stem, folder):
            yield key, reason
    for key in (*_REQUIRED, *(_SY_REQUIRED if folder == "SY" else ())):
        if key not in table:
            yield key, f"missing; expected {_KEYS[key][1]}"
    sizes, quick = table.get("sizes", []), table.get("quick", [])
    if _is_ascending(sizes) and _is_ascending(quick) and (strange := set(quick) - set(sizes)):
        yield "quick", f"expected some of sizes, found {sorted(strange)}"


def _wrong(key: Any, value: Any, stem: str, folder: str) -> str:
    """What is wrong with the value of a key; "": nothing."""
    if key not in _KEYS:
        return f"unknown key; {nearest(key, _KEYS)}"
    if not _KEYS[key][0](value):
        return f"expected {_KEYS[key][1]}, found {value!r}"
    wanted = {
        "name": (stem, "the name of the file, {!r}"),
        "kind": (folder, "{!r}, as the folder says"),
    }
    if key in wanted and value != wanted[key][0]:
        return "expected " + wanted[key][1].format(wanted[key][0])
    if folder == "NS" and key in _SY_ONLY:
        return "only SY fragments have it"
    if folder == "NS" and key == "resource_class" and value not in NS_CLASSES:
        return f"expected {', '.join(NS_CLASSES)}, found {value!r}"
    return ""


def _is_line(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\n" not in value


def _is_word(value: object) -> bool:
    return isinstance(value, str) and bool(_WORD.fullmatch(value))


def _is_ascending(value: Any) -> bool:
    whole = isinstance(value, list) and all(type(size) is int for size in value)
    return whole and sorted(set(value)) == value and all(0 < n < _SIZE_LIMIT for n in value)


def _are_words(value: Any) -> bool:
    listed = isinstance(value, list) and all(map(_is_word, value))
    return listed and len(set(value)) == len(value)


_LINE = "one line of text in quotes"
_FLAG = (lambda value: isinstance(value, bool), "true or false")
_ASCENDING = "a list of ascending whole numbers from 1 to 4294967295"

#: key -> (whether a value is one, what is expected)
_KEYS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "name": (
        lambda value: isinstance(value, str) and bool(_IDENTIFIER.fullmatch(value)),
        "a C identifier in quotes",
    ),
    "kind": (lambda value: value in ("NS", "SY"), '"NS" or "SY"'),
    "summary": (_is_line, _LINE),
    "resource_class": (_is_word, "a lower-case word in quotes"),
    "sizes": (lambda value: value != [] and _is_ascending(value), _ASCENDING),
    "size_unit": (_is_line, _LINE),
    "quick": (_is_ascending, _ASCENDING),
    "requires": (_are_words, 'a list of different lower-case words, like ["sysv-ipc"]'),
    "modes": (
        lambda value: value != [] and _are_words(value) and set(value) <= set(MODES),
        f"some of {', '.join(MODES)}, in a list",
    ),
    "blocking": _FLAG,
    "hold": (_is_line, _LINE),
    "parallel": _FLAG,
    "mixed_priorities": _FLAG,
    "origin": (_is_line, _LINE),
    "tacle": (lambda value: value == "" or _is_line(value), f'{_LINE}, or ""'),
    "licence": (_is_line, _LINE),
    "tsan": _FLAG,
}
_REQUIRED = tuple(each.name for each in fields(Fragment) if each.default is NOTHING)
_SY_REQUIRED = ("blocking", "hold")
_SY_ONLY = (*_SY_REQUIRED, "parallel", "mixed_priorities")
