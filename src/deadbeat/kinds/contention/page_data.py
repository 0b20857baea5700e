"""The data that is embedded in the page of a profile, compact: its points, sets, distributions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from deadbeat.kinds.contention import facts, grids
from deadbeat.kinds.contention.classes import class_words
from deadbeat.model.results import SUMMARY_COLUMNS, ClassFigures, JobHistogram, Summary
from deadbeat.report.charts import MEASURED
from deadbeat.report.html import plain

#: Version of the embedded data.
FORMAT = 1

#: Heading, keys a set may name the quantity by (first one that occurs), kind of formatting.
_SET_FIELDS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("replica", ("replica",), "integer"),
    ("object", ("class",), "text"),
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
    ("shared objects", ("shared_objects",), "text"),
    ("file", ("file", "key"), "text"),
)


def page_data(summary: Summary) -> dict[str, object]:
    """Everything the page draws, as plain values; the points beside the grid as rows alone."""
    loaded = facts.loaded_rows(summary)
    summary = facts.grid_of(summary)
    floor = facts.noise_floor(summary)
    classes = {grids.point_key(attrs.asdict(p)): p.by_class for p in summary.points}
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
        "points": {grids.point_key(row): _said(row, classes) for row in summary.rows},
        "row_columns": list(SUMMARY_COLUMNS),
        "rows": _rows(summary.rows),
        "loaded_rows": _rows(loaded),
        **_sets(summary.sets),
        **_distributions(summary.distributions),
    }


def _rows(rows: Iterable[Mapping[str, object]]) -> list[list[Any]]:
    return [[plain(row.get(column)) for column in SUMMARY_COLUMNS] for row in rows]


def _said(row: Mapping[str, object], classes: Mapping[str, Mapping[str, ClassFigures]]) -> str:
    """Every metric of a point in words, and the slowdown of each object."""
    if grids.state_of(row, grids.METRICS[0]) not in MEASURED:
        return "undecided, no run"
    known = ((metric.name.lower(), grids.metric_words(row, metric)) for metric in grids.METRICS)
    own = classes.get(grids.point_key(row), {})
    objects = [f"{name} {class_words(each)}" for name, each in own.items()]
    told = [f"{name} {words}" for name, words in known]
    return "; ".join([*told, *(["by object: " + ", ".join(objects)] if objects else [])])


def _sets(sets: Sequence[Mapping[str, object]]) -> dict[str, object]:
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


def _distributions(items: Sequence[JobHistogram]) -> dict[str, object]:
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
                plain(item["cores"]),
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
