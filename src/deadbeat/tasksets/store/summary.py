"""The derived files of a campaign: summary.csv, summary.json, sets.csv, sets.json.

They can be rebuilt from the runs at any time; each is replaced atomically. CSV cells hold numbers
with the shortest text of at most nine significant digits, nothing for None.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from attrs import fields
from cattrs import Converter

from deadbeat.base.model.errors import DataError
from deadbeat.base.model.lateness import LateJob
from deadbeat.base.store.files import (
    atomic_write,
    csv_text,
    file_hash,
    read_bytes,
    read_json,
    write_json,
)
from deadbeat.base.store.serial import NUMBER_MAX
from deadbeat.tasksets.model.figures import CELL_COLUMNS, CellFigures, SetFigures, Value
from deadbeat.tasksets.model.results import PrecisionRecord, Summary
from deadbeat.tasksets.store.campaign import CampaignStore
from deadbeat.tasksets.store.serial import converter, structure, to_plain

#: Columns of text; all others are numbers.
_TEXTS = {"key", "group", "class", "set_id", "shared_objects", "file", "stopped"}
#: What ``meta`` has of these kinds, where it has them.
_TYPED: dict[str, Any] = {
    "causes": tuple[LateJob, ...] | None,
    "precision": PrecisionRecord | None,
    "parameters": dict[str, Any],
}
#: Says that what it names is a summary as it was written.
_HASHES = "summary.sha256"


def write_summary(store: CampaignStore, summary: Summary) -> None:
    """Write the derived files of ``store``; summary.csv comes last.
    Raises DeadbeatError: they cannot be written; each file is the old or the new one."""
    columns, mode = CELL_COLUMNS[summary.mode], summary.mode
    plain = {field.name: getattr(summary, field.name) for field in fields(Summary)}
    sets = [each.row(mode) for each in plain.pop("sets")]
    rows = [each.row(mode) for each in plain.pop("cells")]
    with store.lock():
        atomic_write(store.path / "sets.csv", csv_text(SetFigures.columns(mode), sets))
        write_json(store.path / "sets.json", {"sets": sets})
        typed = {name: to_plain(plain[name]) for name in ("findings", "points", "noise_floor")}
        body = {**plain, "rows": rows, **typed, "columns": columns}
        write_json(store.path / "summary.json", body)
        if "causes" in summary.meta:
            names = ("causes", "causes_unavailable", "causes_notes")
            write_json(store.path / "causes.json", {name: summary.meta[name] for name in names})
        atomic_write(store.path / _HASHES, _hashes(store.path))
        atomic_write(store.path / "summary.csv", csv_text(columns, rows))


@cache
def _row_converter() -> Converter:
    made = converter()
    for kind in (CellFigures, SetFigures):
        made.register_structure_hook(kind, lambda row, of: of.of(row))
    return made


def read_summary(store: CampaignStore) -> Summary | None:
    """The stored summary; None where it is not what this deadbeat, or any, wrote."""
    try:
        if read_bytes(store.path / _HASHES, what="hashes", hint="") != _hashes(store.path):
            return None
        plain: Any = read_json(store.path / "summary.json", what="summary", hint="")
        sets: Any = read_json(store.path / "sets.json", what="set file", hint="")["sets"]
        del plain["columns"]
        plain |= {"cells": plain.pop("rows"), "sets": sets}
        columns = CELL_COLUMNS[plain["mode"]], SetFigures.columns(plain["mode"])
        tables = zip(map(set, columns), (plain["cells"], sets), strict=True)
        if not all(c <= row.keys() and _is_row(row) for c, table in tables for row in table):
            return None
        made = _row_converter()
        found = structure(plain, Summary, path=store.path, what="summary", hint="", made=made)
        for name, of in _TYPED.items():
            structure(found.meta.get(name), of, path=store.path, what=name, hint="")
    except (AttributeError, DataError, KeyError, TypeError):
        return None
    return found


def _is_row(row: Mapping[str, Value]) -> bool:
    """Whether each column of ``row`` has a value of its kind."""
    return all(
        isinstance(value, str)
        if column in _TEXTS or column.endswith("_basis")
        else isinstance(value, int | float) and abs(value) <= NUMBER_MAX
        for column, value in row.items()
        if value is not None
    )


def _hashes(folder: Path) -> bytes:
    """SHA-256 of what a summary is read from, as ``sha256sum`` writes them."""
    names = ("sets.json", "summary.json")
    return "".join(f"{file_hash(folder / name)}  {name}\n" for name in names).encode()
