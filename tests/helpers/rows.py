"""Figures of a campaign as the rows of its files, and back."""

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve

from deadbeat.tasksets.model.figures import CellFigures, SetFigures
from deadbeat.tasksets.model.results import Summary

Row = dict[str, Any]


def rows_of(summary: Summary) -> list[Row]:
    """The rows of summary.csv."""
    return [dict(cell.row(summary.mode)) for cell in summary.cells]


def sets_of(summary: Summary) -> list[Row]:
    """The rows of sets.csv."""
    return [dict(each.row(summary.mode)) for each in summary.sets]


def cells_from(rows: Iterable[Mapping[str, Any]]) -> tuple[CellFigures, ...]:
    return tuple(map(CellFigures.of, rows))


def sets_from(rows: Iterable[Mapping[str, Any]]) -> tuple[SetFigures, ...]:
    return tuple(map(SetFigures.of, rows))


def summary_of(rows: Iterable[Row] = (), sets: Iterable[Row] = (), **more: Any) -> Summary:
    """A campaign of these rows."""
    return Summary(cells=cells_from(rows), sets=sets_from(sets), **more)


def with_rows(base: Summary, **changed: Any) -> Summary:
    """The same campaign with other ``rows``, ``sets`` or attributes."""
    if "rows" in changed:
        changed["cells"] = cells_from(changed.pop("rows"))
    if "sets" in changed:
        changed["sets"] = sets_from(changed["sets"])
    return evolve(base, **changed)
