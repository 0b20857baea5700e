"""Reads the front matter of fragment files: what the pools hold.

A fragment states itself in TOML in its leading comment (``CONTRIBUTING.md`` shows one); nothing
else lists it. Everything wrong in any file is reported at once, with file and line.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from deadbeat.model.errors import DataError, UsageError
from deadbeat.model.tasks import Entry, Fragment, Kind

POOLS = ("full", "quick")
MODES = ("default", "shared-address-space")
NS_CLASSES = (
    "compute-integer",
    "compute-float",
    "control",
    "memory",
    "crypto",
    "codec",
    "signal",
)

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

        Raises:
            UsageError: No such pool or mode.
        """
        if pool not in POOLS:
            raise UsageError(f"no pool is called {pool!r}", f"pools are {', '.join(POOLS)}")
        if mode not in MODES:
            raise UsageError(f"no layout is called {mode!r}", f"layouts are {', '.join(MODES)}")
        return tuple(
            Entry(fragment.name, size)
            for fragment in self.fragments.values()
            if fragment.fits(mode)
            for size in (fragment.sizes if pool == "full" else fragment.quick)
        )

    def fragment(self, name: str) -> Fragment:
        """The fragment called ``name``.

        Raises:
            UsageError: There is none; the hint names the nearest.
        """
        try:
            return self.fragments[name]
        except KeyError:
            nearest = _nearest(name, self.fragments)
            hint = f"did you mean {nearest!r}?" if nearest else "`deadbeat fragments` lists them"
            raise UsageError(f"no fragment is called {name!r}", hint) from None


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

    Raises:
        DataError: Neither exists.
    """
    package = Path(__file__).resolve().parent
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
    found = len(errors)
    matter = _FrontMatter.of(text, where, errors)
    if matter is None:
        return None
    values = matter.validated(Path(where).stem, Path(where).parent.name.upper())
    symbol = f"struct db_fragment db_fragment_{path.stem}"
    if not re.search(rf"{re.escape(symbol)}\s*=", text):
        errors.append(f"{where}:1: expected a definition of `const {symbol}`")
    if len(errors) > found:
        return None
    return Fragment(**values, path=where)


@frozen
class _FrontMatter:
    """Parsed but not yet trusted TOML of one file; errors go to a list shared by all files."""

    where: str
    lines: tuple[str, ...]
    first_line: int
    table: Mapping[str, Any]
    errors: list[str]

    @classmethod
    def of(cls, text: str, where: str, errors: list[str]) -> _FrontMatter | None:
        start = text.find(_OPEN)
        end = text.find(_CLOSE, start)
        if start < 0 or end < 0:
            missing = _OPEN if start < 0 else _CLOSE
            errors.append(f"{where}:1: no front matter: expected {missing!r}")
            return None
        if text[:start].strip():
            errors.append(f"{where}:1: front matter must be the leading comment")
            return None
        first_line = text.count("\n", 0, start) + 2
        raw = text[start + len(_OPEN) : end].split("\n")[1:]
        lines = tuple(re.sub(r"^\s*\* ?", "", line) for line in raw)
        try:
            table = tomllib.loads("\n".join(lines) + "\n")
        # Not only TOMLDecodeError: numbers beyond 4300 digits, and lists nested without end.
        except (ValueError, RecursionError) as error:
            line = first_line + _toml_line(str(error), len(lines)) - 1
            reason = _TOML_END.sub("", _TOML_LINE.sub("", str(error))).strip()
            errors.append(f"{where}:{line}: not TOML: {reason}")
            return None
        return cls(where, lines, first_line, table, errors)

    def complain(self, key: str, reason: str) -> None:
        self.errors.append(f"{self.where}:{self._line_of(key)}: {key}: {reason}")

    def _line_of(self, key: str) -> int:
        for number, line in enumerate(self.lines):
            if re.match(rf"\s*\[*\"?{re.escape(key)}\"?\s*[=\].]", line):
                return self.first_line + number
        return self.first_line - 1

    def validated(self, stem: str, folder: str) -> dict[str, Any]:
        """Values for :class:`Fragment`; meaningful only if no error was added."""
        for key in self.table:
            if key not in _KEYS:
                nearest = _nearest(key, _KEYS)
                hint = f"did you mean {nearest!r}?" if nearest else f"keys are {', '.join(_KEYS)}"
                self.complain(key, f"unknown key; {hint}")
        values: dict[str, Any] = {}
        for key, (read, expected) in _KEYS.items():
            if key in self.table:
                value = read(self.table[key])
                if value is None:
                    self.complain(key, f"expected {expected}, found {self.table[key]!r}")
                else:
                    values[key] = value
        self._check_presence(folder)
        self._check_agreement(values, stem, folder)
        return values

    def _check_presence(self, folder: str) -> None:
        required = (*_REQUIRED, *(_SY_REQUIRED if folder == "SY" else ()))
        for key in required:
            if key not in self.table:
                self.complain(key, f"missing; expected {_KEYS[key][1]}")
        if folder == "NS":
            for key in _SY_ONLY:
                if key in self.table:
                    self.complain(key, "only SY fragments have it")

    def _check_agreement(self, values: dict[str, Any], stem: str, folder: str) -> None:
        if values.get("name", stem) != stem:
            self.complain("name", f"expected the name of the file, {stem!r}")
        if "kind" in values and values["kind"] != folder:
            self.complain("kind", f"expected {folder!r}, as the folder says")
        resource_class = values.get("resource_class", NS_CLASSES[0])
        if folder == "NS" and resource_class not in NS_CLASSES:
            self.complain(
                "resource_class", f"expected {', '.join(NS_CLASSES)}, found {resource_class!r}"
            )
        strange = [size for size in values.get("quick", ()) if size not in values.get("sizes", ())]
        if "sizes" in values and strange:
            self.complain("quick", f"expected some of sizes, found {strange}")


def _toml_line(message: str, line_count: int) -> int:
    found = _TOML_LINE.search(message)
    return int(found.group(1)) if found else line_count


def _text(value: object) -> str | None:
    if isinstance(value, str) and value.strip() and "\n" not in value:
        return value
    return None


def _text_or_empty(value: object) -> str | None:
    return "" if value == "" else _text(value)


def _identifier(value: object) -> str | None:
    return value if isinstance(value, str) and _IDENTIFIER.fullmatch(value) else None


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and _WORD.fullmatch(value) else None


def _kind(value: object) -> Kind | None:
    return Kind(value) if isinstance(value, str) and value in Kind.__members__ else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _size_list(value: object) -> tuple[int, ...] | None:
    if not isinstance(value, list) or any(type(size) is not int for size in value):
        return None
    if any(not 0 < size < _SIZE_LIMIT for size in value):
        return None
    return tuple(value) if sorted(set(value)) == value else None


def _sizes(value: object) -> tuple[int, ...] | None:
    return _size_list(value) or None


def _words(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list) or any(_word(item) is None for item in value):
        return None
    return tuple(value) if len(set(value)) == len(value) else None


def _modes(value: object) -> tuple[str, ...] | None:
    modes = _words(value)
    return modes if modes and set(modes) <= set(MODES) else None


_LINE = "one line of text in quotes"
_LIST = 'a list of different lower-case words, like ["posix-mq"]'
_ASCENDING = "a list of ascending whole numbers from 1 to 4294967295"

#: key -> (reader that returns None for a wrong value, what is expected)
_KEYS: dict[str, tuple[Callable[[object], Any], str]] = {
    "name": (_identifier, "a C identifier in quotes"),
    "kind": (_kind, '"NS" or "SY"'),
    "summary": (_text, _LINE),
    "resource_class": (_word, "a lower-case word in quotes"),
    "sizes": (_sizes, _ASCENDING),
    "size_unit": (_text, _LINE),
    "quick": (_size_list, _ASCENDING),
    "requires": (_words, _LIST),
    "modes": (_modes, f"some of {', '.join(MODES)}, in a list"),
    "blocking": (_flag, "true or false"),
    "hold": (_text, _LINE),
    "parallel": (_flag, "true or false"),
    "mixed_priorities": (_flag, "true or false"),
    "origin": (_text, _LINE),
    "tacle": (_text_or_empty, 'one line of text in quotes, or ""'),
    "licence": (_text, _LINE),
    "tsan": (_flag, "true or false"),
}
_REQUIRED = (
    "name",
    "kind",
    "summary",
    "resource_class",
    "sizes",
    "size_unit",
    "origin",
    "licence",
)
_SY_REQUIRED = ("blocking", "hold")
_SY_ONLY = ("blocking", "hold", "parallel", "mixed_priorities")


def _nearest(word: str, known: Mapping[str, object]) -> str | None:
    import difflib  # noqa: PLC0415  only errors need it, and it takes 4 ms to import

    matches = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return matches[0] if matches else None
