"""Claims of a publication: rows of a table beside the module that has the checks they name."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from attrs import fields_dict

from deadbeat import CONFIRMED, DEPENDS, NOT_CONFIRMED, UNDECIDED, Conclusion, Evidence

C = TypeVar("C", bound=Conclusion[Any])
Checks = Mapping[str, Callable[..., Iterable[Evidence]]]


#: The verdict on what a formula made, in place of one of these.
MADE_UP = "no verdict: a made-up machine"
VERDICTS = (CONFIRMED, NOT_CONFIRMED, DEPENDS, UNDECIDED)


def tables(module: str, name: str) -> dict[str, Any]:
    """Tables of the TOML file of that name beside ``module``."""
    return tomllib.loads(Path(module).with_name(f"{name}.toml").read_text(encoding="utf-8"))


def claims(module: str, checks: Checks, kind: type[C]) -> dict[str, tuple[C, ...]]:
    """The claims by table of the TOML file beside ``module``, each made into a ``kind``.

    A row names its check, and gives it all keys that are not fields of ``kind``. Texts name such
    keys in braces, entries of the table ``words``, and what stands beside the checks.
    """
    found = tables(module, Path(module).stem)
    words = {**checks, **found.pop("words", {})}

    def claim(id: str, row: Mapping[str, str]) -> C:
        fields: Any = {key: row[key] for key in row.keys() & fields_dict(kind)}
        asked = {key: row[key] for key in row.keys() - fields}
        for text in ("says", "confirmed"):
            fields[text] = row[text].format_map({**words, **asked})
        fields |= {"id": id, "check": partial(checks[row["check"]], **asked)}
        return kind(**fields)

    return {
        table: tuple(claim(id, row) for id, row in rows.items()) for table, rows in found.items()
    }
