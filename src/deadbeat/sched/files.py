"""Task-system files: JSON (with a published schema), CSV, and SimSo's XML.

All of a file is checked before any of it is used, and every defect is told, each with its place.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from attrs import frozen

from deadbeat.model.errors import UsageError
from deadbeat.model.refused import refusal
from deadbeat.model.systems import TaskSystem
from deadbeat.model.words import nearest, shown
from deadbeat.sched.arrays import FIELDS
from deadbeat.sched.documents import Defect, Literal, build, number, path_text
from deadbeat.sched.simso import read_simso

FORMATS = ("json", "csv", "xml")
#: The largest file that is read: 65,535 tasks with every field take a fifth of it.
BYTES_MAX = 64 << 20

_EXAMPLE = '{"processors": 2, "tasks": [{"wcet": 1, "period": 3}]}'
_COLUMNS = ("name", *FIELDS)


@frozen(kw_only=True)
class TaskSystemFile:
    """What a file holds, and what of it was left out: a line each."""

    system: TaskSystem
    remarks: tuple[str, ...] = ()


def load_task_system(
    path: Path | str, *, processors: int | None = None, whole_cycles: bool = False
) -> TaskSystemFile:
    """The task system in ``path``: JSON, CSV or SimSo XML, by suffix, else by content.

    Args:
        processors: Wins over the file's number; a CSV file may have none.

    Raises:
        UsageError: It cannot be read or is wrong; every defect in ``details``, with its place.
    """
    path = Path(path)
    data = _content(path)
    kind = path.suffix.lower().removeprefix(".")
    return parse_task_system(
        data,
        source=str(path),
        kind=kind if kind in FORMATS else None,
        processors=processors,
        whole_cycles=whole_cycles,
    )


def parse_task_system(
    data: bytes,
    *,
    source: str,
    kind: str | None = None,
    processors: int | None = None,
    whole_cycles: bool = False,
) -> TaskSystemFile:
    """The task system in ``data``, which came from ``source``.

    Args:
        kind: One of FORMATS; by content unless given.
        processors: Wins over the file's number.
        whole_cycles: Cut SimSo's times to whole cycles, as SimSo does.

    Raises:
        UsageError: As `load_task_system`.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = f"byte {error.start} is not UTF-8"
        raise UsageError(f"{source}: not text: {at}", "save the file as UTF-8") from None
    if not text.strip():
        raise UsageError(f"{source}: empty", f"the smallest file is {_EXAMPLE}")
    chosen = kind or {"{": "json", "[": "json", '"': "json", "<": "xml"}.get(text.strip()[0], "csv")
    if chosen == "xml":
        document, remarks, where = read_simso(text, source=source, whole_cycles=whole_cycles)
        system = build(document, source=source, where=where, processors=processors)
        return TaskSystemFile(system=system, remarks=remarks)
    parse = _parse_json if chosen == "json" else _parse_csv
    return TaskSystemFile(system=parse(text, source, processors))


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            data = stream.read(BYTES_MAX + 1)
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        hint = "name a JSON, CSV or SimSo XML file, or - for standard input"
        raise UsageError(*refusal(f"cannot read {path}", error, hint)) from None
    if len(data) > BYTES_MAX:
        raise UsageError(f"{path}: more than {BYTES_MAX >> 20} MiB", "65535 tasks at most")
    return data


# --- JSON -----------------------------------------------------------------------------------------


class _Object(dict[str, Any]):
    """An object that knows which of its keys were written more than once."""

    doubled: tuple[str, ...] = ()


def _parse_json(text: str, source: str, processors: int | None) -> TaskSystem:
    def constant(word: str) -> Literal:
        return Literal(word, f"{word} is not a whole number", "write it like 250")

    try:
        document = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=number,
            parse_float=number,
            parse_constant=constant,
        )
        return build(document, source=source, found=_doubled(document, ()), processors=processors)
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column {error.colno}"
        hint = "check commas, quotes and brackets there"
        raise UsageError(f"{source}: not JSON: {error.msg} at {at}", hint) from None
    except RecursionError:
        raise UsageError(f"{source}: nested too deeply", f"write it like {_EXAMPLE}") from None


def _object(pairs: list[tuple[str, Any]]) -> _Object:
    value = _Object(pairs)
    if len(value) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        value.doubled = tuple(key for key, count in counts.items() if count > 1)
    return value


def _doubled(value: Any, path: tuple[str | int, ...]) -> list[Defect]:
    found = []
    if isinstance(value, _Object):
        found += [
            Defect((*path, key), "written more than once", "keep one") for key in value.doubled
        ]
    children: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        children = value.items()
    elif isinstance(value, list):
        children = enumerate(value)
    for key, item in children:
        if isinstance(item, (dict, list)):
            found += _doubled(item, (*path, key))
    return found


# --- CSV ------------------------------------------------------------------------------------------


def _parse_csv(text: str, source: str, processors: int | None) -> TaskSystem:
    document: dict[str, Any] = {}
    found: list[Defect] = []
    lines = text.split("\n")
    skipped = _comments(lines, document)
    rows, numbers = _rows(lines[skipped:], skipped, source)
    if not rows:
        raise UsageError(f"{source}: no header line", "write one like: wcet,period,deadline")
    header = [cell.strip() for cell in rows[0]]
    if len(header) == 1 and header[0] not in _COLUMNS:
        message = f"line {numbers[0]}: {shown(header[0])} is not a header"
        raise UsageError(f"{source}: {message}", "write one like: wcet,period,deadline")
    found += [
        Defect(("tasks", "", name), "a second column of this name", "keep one")
        for name in dict.fromkeys(name for name in header if header.count(name) > 1)
    ]
    # Told once for the whole column, not once per task.
    unknown = [name for name in dict.fromkeys(header) if name not in _COLUMNS]
    found += [
        Defect(("tasks", "", name), "unknown column", nearest(name, _COLUMNS)) for name in unknown
    ]
    near = " ".join(nearest(name, _COLUMNS) for name in unknown)
    missing = [key for key in ("wcet", "period") if key not in header]
    found += [
        Defect(("tasks", "", key), "no such column", "every task has a wcet and a period")
        for key in missing
        if f"did you mean {key}?" not in near
    ]
    tasks = []
    for index, row in enumerate(rows[1:]):
        if len(row) > len(header):
            text_of = f"{len(row)} cells under {len(header)} columns"
            found.append(Defect(("tasks", index), text_of, "remove the comma that is too many"))
        entry = {
            name: _cell(name, cell)
            for name, cell in zip(header, row, strict=False)
            if name in _COLUMNS and (cell if name == "name" else cell.strip())
        }
        tasks.append({**dict.fromkeys(missing, 1), **entry})
    document["tasks"] = tasks
    return build(
        document, source=source, where=_csv_place(numbers), found=found, processors=processors
    )


def _comments(lines: list[str], document: dict[str, object]) -> int:
    """Reads ``# processors: 4`` and the like above the header; how many lines that takes."""
    for index, line in enumerate(lines):
        text = line.rstrip("\r")
        if text.strip() and not text.startswith("#"):
            return index
        match = re.fullmatch(r"#\s*(processors|name|unit): ?(.*)", text)
        if match is not None:
            word = match[2]
            document[match[1]] = number(word) if match[1] == "processors" else word
    return len(lines)


def _rows(lines: list[str], skipped: int, source: str) -> tuple[list[list[str]], list[int]]:
    """Rows that are neither blank nor comments, and the line each ends on."""
    header = lines[0] if lines else ""
    delimiter = next((d for d in (",", ";", "\t") if d in header), ",")
    reader = csv.reader(io.StringIO("\n".join(lines), newline=""), delimiter=delimiter, strict=True)
    rows, numbers = [], []
    try:
        for row in reader:
            if any(cell.strip() for cell in row) and not row[0].startswith("#"):
                rows.append(row)
                numbers.append(skipped + reader.line_num)
    except csv.Error as error:
        at = f"line {skipped + reader.line_num}"
        raise UsageError(f"{source}: not CSV: {error} at {at}", "check its quotes") from None
    return rows, numbers


def _cell(name: str, cell: str) -> Any:
    return cell if name == "name" else number(cell)


def _csv_place(numbers: list[int]) -> Callable[[tuple[str | int, ...]], str]:
    def where(path: tuple[str | int, ...]) -> str:
        match path:
            case ("tasks", int(index)):
                return f"line {numbers[index + 1]}"
            case ("tasks", int(index), key):
                return f"line {numbers[index + 1]}, tasks[{index}].{key}"
            case ("tasks", "", key):
                return f"line {numbers[0]}, column {shown(key)[1:-1]}"
        return path_text(path)

    return where
