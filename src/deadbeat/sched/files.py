"""Task-system files: JSON (with a published schema), tables, and those of other tools.

All of a file is checked before any of it is used, and every defect is shown with its place.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.base.model.refused import refusal
from deadbeat.base.model.systems import TaskSystem
from deadbeat.base.model.words import nearest, shown
from deadbeat.base.store.texts import text_of
from deadbeat.sched.arrays import EXTRAS, FIELDS
from deadbeat.sched.documents import Defect, Literal, build, number, path_text, unknown_hint
from deadbeat.sched.foreign import read_xml
from deadbeat.sched.mast import is_mast, read_mast
from deadbeat.sched.rt_app import BARE, Members, from_rt_app, is_rt_app, members
from deadbeat.sched.tasksystems import FORMULA
from deadbeat.sched.typed import ordered, own_keys, own_word, whole

FORMATS = ("json", "csv", "xml")
#: The largest file that is read: 65,535 tasks with every field take a fifth of it.
BYTES_MAX = 64 << 20

_EXAMPLE = '{"processors": 2, "tasks": [{"wcet": 1, "period": 3}]}'
_COLUMNS = ("name", *FIELDS, *EXTRAS, "bcet")
#: Far more than a table of tasks has.
_COLUMNS_MAX = 1000


@frozen(kw_only=True)
class TaskSystemFile:
    """What a file holds, and what of it was left out: a line each."""

    system: TaskSystem
    remarks: tuple[str, ...] = ()


def load_task_system(
    path: Path | str, *, processors: int | None = None, whole_cycles: bool = False
) -> TaskSystemFile:
    """The task system in ``path``: JSON, CSV or of another tool, by suffix, else by content.

    Args:
        processors: Wins over the file's number; a CSV file may have none.

    Raises:
        UsageError: It cannot be read or is wrong; every defect in ``details``, with its place.
    """
    path = Path(path)
    try:
        with path.open("rb") as stream:
            data = stream.read(BYTES_MAX + 1)
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        hint = "name a JSON, CSV or XML file, or - for standard input"
        raise UsageError(*refusal(f"cannot read {path}", error, hint)) from None
    if len(data) > BYTES_MAX:
        raise UsageError(f"{path}: more than {BYTES_MAX >> 20} MiB", "65535 tasks at most")
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
        UsageError: See `load_task_system`.
    """
    empty = UsageError(f"{source}: empty", f"the smallest file is {_EXAMPLE}")
    if not data.strip():
        raise empty
    try:
        read = text_of(
            data, name=source, what="task system", hint="save it as text", limit=BYTES_MAX
        )
    except DataError as error:
        rest = error.message.removeprefix(f"task system {source}").removeprefix(" is")
        raise UsageError(f"{source}:{rest}", error.hint) from None
    text = read.text
    if not text.strip():
        raise empty
    chosen = kind or {"{": "json", "[": "json", "<": "xml"}.get(text.strip()[0], "csv")
    if chosen == "xml":
        document, cut, where = read_xml(text, source=source, whole_cycles=whole_cycles)
        document, scaled = whole(document, {}, source)
        system = build(document, source=source, where=where, processors=processors)
        return TaskSystemFile(system=system, remarks=(*read.notes, *cut, *scaled))
    if chosen == "csv" and is_mast(text):
        document, left = read_mast(text, source)
        document, scaled = whole(document, {}, source)
        system = build(document, source=source, processors=processors)
        return TaskSystemFile(system=system, remarks=(*read.notes, *left, *scaled))
    parse = _parse_json if chosen == "json" else _parse_csv
    system, remarks = parse(text, source, processors)
    return TaskSystemFile(system=system, remarks=(*read.notes, *remarks))


# --- JSON -----------------------------------------------------------------------------------------


#: What a system came to, and what was assumed.
_Parsed = tuple[TaskSystem, Sequence[str]]
# What is not closed goes on to the end: else it would be looked for from each beginning.
_TEXT_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"?|/\*.*?(?:\*/|\Z)|//[^\n]*', re.DOTALL)
_TEXT_OR_COMMA = re.compile(r'"(?:\\.|[^"\\\n])*"?|,(?=\s*[}\]])', re.DOTALL)


def _parse_json(text: str, source: str, processors: int | None) -> _Parsed:
    def constant(word: str) -> Literal:
        return Literal(word, f"{word} is not a whole number", "write it like 250")

    try:
        # JSON of libjson-c: blanks for comments and commas behind the last, so that places stay.
        def blank(found: re.Match[str]) -> str:
            is_open = found[0].startswith("/*") and not found[0].endswith("*/")
            kept = is_open or found[0][0] == '"'
            return found[0] if kept else re.sub(r"[^\n]", " ", found[0])

        plain = _TEXT_OR_COMMA.sub(blank, _TEXT_OR_COMMENT.sub(blank, text))
        document = json.loads(
            BARE.sub(r'\1: ""', plain),
            object_pairs_hook=members,
            parse_int=number,
            parse_float=number,
            parse_constant=constant,
        )
        units: dict[str, str] = {}
        if is_rt_app(document):  # its keys are written again on purpose
            document, remarks = from_rt_app(document, source)
            doubled = []
        else:
            doubled = _doubled(document, ())
            document, units, remarks = own_keys(document, source)
        document, scaled = whole(document, units, source)
        system = build(document, source=source, found=doubled, processors=processors)
        return system, remarks + scaled
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column {error.colno}"
        hint = "check commas, quotes and brackets there"
        raise UsageError(f"{source}: not JSON: {error.msg} at {at}", hint) from None
    except RecursionError:
        raise UsageError(f"{source}: nested too deeply", f"write it like {_EXAMPLE}") from None


def _doubled(value: Any, path: tuple[str | int, ...]) -> list[Defect]:
    found = []
    if isinstance(value, Members):
        found += [
            Defect((*path, key), "written more than once", "keep one") for key in value.doubled
        ]
    listed = value if isinstance(value, list) else ()
    children = value.items() if isinstance(value, dict) else enumerate(listed)
    return found + [each for key, item in children for each in _doubled(item, (*path, key))]


# --- CSV ------------------------------------------------------------------------------------------


def _parse_csv(text: str, source: str, processors: int | None) -> _Parsed:
    document: dict[str, Any] = {}
    found: list[Defect] = []
    lines = text.split("\n")
    skipped = _comments(lines, document)
    if skipped < len(lines) and skipped and _is_data(lines[skipped]):
        titles = lines[skipped - 1].lstrip("# \t")  # they may be a comment above the numbers
        if any(own_word(each, _COLUMNS)[0] for each in re.split(r"[,;\s]+", titles)):
            skipped -= 1
            lines[skipped] = titles
    rows, numbers = _rows(lines[skipped:], skipped, source)
    if not rows:
        raise UsageError(f"{source}: no header line", "write one like: wcet,period,deadline")
    if {"job id", "arrival min"} <= {cell.strip().lower() for cell in rows[0]}:
        message = f"{source}: a job set, with the times of every job, and no task system"
        raise UsageError(message, "write a line a task: name,wcet,period,deadline")
    if len(rows[0]) > _COLUMNS_MAX:
        message = f"line {numbers[0]}: {len(rows[0])} columns"
        raise UsageError(f"{source}: {message}", "write one like: wcet,period,deadline")
    remarks: list[str] = []
    if not any(own_word(cell, _COLUMNS)[0] for cell in rows[0]) and any(map(_is_data, rows[0])):
        header, said = ordered(rows, source)
        units: dict[str, str] = {}
        remarks.append(said)
        rows, numbers = [header, *rows], [0, *numbers]
    else:
        words = [own_word(cell, _COLUMNS) for cell in rows[0]]
        units = {key: unit for key, unit in words if unit}
        header = [key or cell.strip() for (key, _), cell in zip(words, rows[0], strict=True)]
    if not {*header} & {*_COLUMNS} and len(header) == 1:
        message = f"line {numbers[0]}: {shown(' '.join(header))} is not a header"
        raise UsageError(f"{source}: {message}", "write one like: wcet,period,deadline")
    found += [
        Defect(("tasks", "", name), "a second column of this name", "keep one")
        for name in dict.fromkeys(name for name in header if header.count(name) > 1)
    ]
    # Said once for the whole column, not once per task.
    unknown = [name for name in dict.fromkeys(header) if name not in _COLUMNS]
    found += [
        Defect(("tasks", "", name), "unknown column", unknown_hint(name, _COLUMNS))
        for name in unknown
    ]
    near = " ".join(nearest(name, _COLUMNS) for name in unknown)
    missing = [key for key in ("wcet", "period") if key not in header]
    found += [
        Defect(("tasks", "", key), "no such column", "every task has a wcet and a period")
        for key in missing
        if f"did you mean {key}?" not in near
    ]
    if processors is None and "processors" not in document:
        hint = "write a first line: # processors: 4, or give --processors 4"
        found.append(Defect(("processors",), "missing", hint))
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
    document, scaled = whole(document, units, source)
    system = build(
        document, source=source, where=_csv_place(numbers), found=found, processors=processors
    )
    return system, remarks + scaled


#: As much of Europe writes 0.5.
_COMMA = re.compile(r"(\s*[0-9]+),([0-9]+\s*)\Z")


def _is_data(line: str) -> bool:
    return all(re.fullmatch(r"[\d.]+", cell) for cell in re.split(r"[,;\s]+", line.strip()))


def _comments(lines: list[str], document: dict[str, Any]) -> int:
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
    delimiter = next((d for d in (";", ",", "\t") if d in header), "\t")
    if delimiter not in header and len(header.split()) > 1:  # in columns
        lines = [line if line.startswith("#") else "\t".join(line.split()) for line in lines]
    reader = csv.reader(
        io.StringIO("\n".join(lines), newline=""),
        delimiter=delimiter,
        strict=True,
        skipinitialspace=True,
    )
    rows, numbers = [], []
    try:
        for row in reader:
            if any(cell.strip() for cell in row) and not row[0].startswith("#"):
                rows.append(row)
                numbers.append(skipped + reader.line_num)
    except csv.Error as error:
        at = f"line {skipped + reader.line_num}"
        raise UsageError(f"{source}: not CSV: {error} at {at}", "check its quotes") from None
    if delimiter != ",":
        commas = [cell.strip() for row in rows for cell in row if _COMMA.fullmatch(cell.strip())]
        if commas and all(re.fullmatch(r"[1-9]\d{0,2}(,\d{3})+", cell) for cell in commas):
            message = f"{source}: {commas[0]} may have a decimal comma, or thousands"
            raise UsageError(message, f"write {commas[0].replace(',', '')} or {commas[0][:-1]}")
        rows = [
            [cell.replace(",", ".") if _COMMA.fullmatch(cell) else cell for cell in row]
            for row in rows
        ]
    return rows, numbers


def _cell(name: str, cell: str) -> Any:
    if name != "name":
        return number(cell)
    return cell[1:] if cell[:1] == "'" and FORMULA.match(cell[1:]) else cell


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
