"""Tables of a document as values of files: rows of JSON, text of CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from deadbeat.report.document import Column
from deadbeat.store.summary import csv_text

_ENDS = {"": "value", "_low": "low", "_high": "high"}


def keys_of(columns: Iterable[Column]) -> list[str]:
    """Names of the columns of a file; an interval has three."""
    return [key for column in columns if column.raw for key in _keys(column)]


def records(columns: Sequence[Column], rows: Iterable[Any]) -> Iterator[dict[str, object]]:
    """Each row as plain values by key; what is not known is None."""
    for row in rows:
        found: dict[str, object] = {}
        for column in columns:
            if column.raw:
                found.update(zip(_keys(column), _values(column, row), strict=True))
        yield found


def csv_of(columns: Sequence[Column], rows: Iterable[Any]) -> str:
    """The rows as CSV, in full precision."""
    return csv_text(tuple(keys_of(columns)), records(columns, rows))


def _keys(column: Column) -> list[str]:
    return [column.key + end for end in _ENDS] if column.interval else [column.key]


def _values(column: Column, row: Any) -> list[Any]:
    value = column.of(row)
    if not column.interval:
        return [value]
    return [getattr(value, name, None) for name in _ENDS.values()]
