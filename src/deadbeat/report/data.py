"""The data that is embedded in the page: compact, plain, and unable to end its script element."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from deadbeat.model.results import SUMMARY_COLUMNS, Summary
from deadbeat.report import facts, grids

#: Version of the embedded data.
FORMAT = 1

#: Significant digits of embedded figures; summary.json and sets.json hold them in full.
_DIGITS = 6

#: Largest integer a JavaScript number holds exactly; a larger one (a seed) travels as text.
_EXACT_IN_JAVASCRIPT = 2**53 - 1

#: Heading, keys a set may name the quantity by (first one that occurs), kind of formatting.
_SET_FIELDS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("replica", ("replica",), "integer"),
    ("seed", ("seed",), "identifier"),
    ("tasks N", ("tasks",), "integer"),
    ("jobs", ("jobs",), "integer"),
    ("slowdown", ("slowdown_mean",), "ratio"),
    ("delay ratio", ("delay_ratio_mean",), "ratio"),
    ("misses", ("deadline_misses",), "integer"),
    ("miss ratio", ("deadline_miss_ratio",), "percent"),
    ("episodes", ("miss_episodes",), "integer"),
    ("ρ real", ("sync_share_real",), "share"),
    ("α real", ("contended_ratio_real",), "share"),
    ("overlap", ("overlap_real",), "percent"),
    ("file", ("file", "key"), "text"),
)


def page_data(summary: Summary) -> dict[str, Any]:
    """Everything the page draws, as plain values; the points beside the grid as rows alone."""
    loaded = facts.loaded_rows(summary)
    summary = facts.grid_of(summary)
    floor = facts.noise_floor(summary)
    cores = grids.cores_of(summary)
    shares = grids.axis_of(summary, "sync_share")
    ratios = grids.axis_of(summary, "contended_ratio")
    return {
        "format": FORMAT,
        "name": facts.campaign_name(summary),
        "labels": list(facts.labels(summary)),
        "noise": {"share": floor.share, "text": floor.text},
        "cores": list(cores),
        "sync_shares": list(shares),
        "contended_ratios": list(ratios),
        "factors": list(facts.factors(summary.rows)),
        "sync_edges": list(grids.edges(shares)) if shares else [],
        "contended_edges": list(grids.edges(ratios)) if ratios else [],
        "metrics": [_metric(summary, metric, floor, cores) for metric in grids.METRICS],
        "row_columns": list(SUMMARY_COLUMNS),
        "rows": _rows(summary.rows),
        "loaded_rows": _rows(loaded),
        **_sets(summary.sets),
        **_distributions(summary.distributions),
    }


def _rows(rows: Iterable[Mapping[str, Any]]) -> list[list[Any]]:
    return [[plain(row.get(column)) for column in SUMMARY_COLUMNS] for row in rows]


def encode(data: Mapping[str, Any]) -> str:
    """JSON that may stand inside a script element: ``<``, ``>`` and ``&`` only as escapes."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _metric(
    summary: Summary, metric: grids.Metric, floor: facts.NoiseFloor, cores: Iterable[int]
) -> dict[str, Any]:
    scale = grids.scale(summary, metric, floor)
    return {
        "id": metric.id,
        "name": metric.name,
        "axis": metric.axis,
        "column": metric.column,
        "low": metric.low,
        "high": metric.high,
        "scale": metric.scale,
        "alone": metric.alone,
        "from_below": metric.from_below,
        "range": [plain(scale.low), plain(scale.high)],
        "levels": list(scale.levels),
        "grids": {
            place: _grid(grids.grid(summary, metric, m, digits=grids.digits_for(scale), factor=f))
            for place, m, f in _planes(summary, cores)
        },
    }


def _planes(summary: Summary, cores: Iterable[int]) -> Iterable[tuple[str, int, float | None]]:
    """Name, M and deadline factor of each grid; the factor has a part where there are several."""
    every = facts.factors(summary.rows)
    for m in cores:
        if len(every) < 2:
            yield str(m), m, None
        else:
            yield from ((f"{m}/{factor:g}", m, factor) for factor in every)


def _grid(grid: grids.Grid) -> dict[str, Any]:
    return {
        "values": [[plain(value) for value in line] for line in grid.values.tolist()],
        "texts": [list(line) for line in grid.texts],
        "states": [list(line) for line in grid.states],
    }


def _sets(sets: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Columns that occur in any set, and a line per set behind the four numbers of its point."""
    present = {key for item in sets for key in item}
    fields = []
    for heading, keys, kind in _SET_FIELDS:
        key = next((key for key in keys if key in present), None)
        if key is not None:
            fields.append((heading, key, kind))
    point = ("cores", "sync_share", "contended_ratio", "deadline_factor")
    columns = [*point, *(key for _, key, _ in fields)]
    return {
        "set_fields": [{"heading": heading, "kind": kind} for heading, _, kind in fields],
        "sets": [[plain(item.get(key)) for key in columns] for item in sets],
    }


def _distributions(items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Histograms without their empty ends, as a place in one list of edges and the counts.

    Bins of one grid, whole or cut, share that list; bins that do not fit into it bring their own.
    """
    grid = sorted({float(edge) for item in items for edge in item["edges"]})
    place = {edge: index for index, edge in enumerate(grid)}
    tables, lines = [grid], []
    for item in items:
        counts = [int(count) for count in item["counts"]]
        filled = [index for index, count in enumerate(counts) if count]
        if not filled:
            continue
        bins = [float(edge) for edge in item["edges"][filled[0] : filled[-1] + 2]]
        first = place[bins[0]]
        fits = grid[first : first + len(bins)] == bins
        if not fits:
            tables.append(bins)
        lines.append(
            [
                int(item["cores"]),
                plain(item["sync_share"]),
                plain(item["contended_ratio"]),
                str(item["metric"]),
                0 if fits else len(tables) - 1,
                first if fits else 0,
                counts[filled[0] : filled[-1] + 1],
                plain(facts.factor_of(item)),
            ]
        )
    return {"edges": [[plain(edge) for edge in bins] for bins in tables], "distributions": lines}


def plain(value: Any) -> Any:
    """A JSON value: floats shortened, what is no number or not finite as None, the rest as text."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, int) and abs(value) > _EXACT_IN_JAVASCRIPT:
        return str(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if hasattr(value, "item"):
        return plain(value.item())
    return str(value)
