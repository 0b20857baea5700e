"""The data that is embedded in the page of a campaign, compact: points, sets, distributions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from deadbeat.kinds.contention import facts, grids
from deadbeat.kinds.contention.classes import class_words
from deadbeat.kinds.contention.configurations import group_samples, groups
from deadbeat.kinds.contention.facts import Level, levels
from deadbeat.model.figures import SUMMARY_COLUMNS, CellFigures, SetFigures
from deadbeat.model.results import ClassFigures, JobHistogram, Summary
from deadbeat.model.words import Json
from deadbeat.report.charts import MEASURED
from deadbeat.report.html import plain

#: Version of the embedded data.
FORMAT = 1

#: Columns of a task set, what it is and what came of it: heading and kind of formatting.
_DRAWN: Mapping[str, tuple[str, str]] = {
    "group": ("group", "text"),
    "replica": ("replica", "integer"),
    "class": ("object", "text"),
    "deadline_factor": ("D/C", "identifier"),
    "cores": ("M", "identifier"),
    "critical_cores": ("critical cores", "identifier"),
    "tasks": ("tasks N", "integer"),
    "seed": ("seed", "identifier"),
    "utilisation": ("utilisation", "ratio"),
}
_FOUND: Mapping[str, tuple[str, str]] = {
    "jobs": ("jobs", "integer"),
    "slowdown_mean": ("slowdown", "ratio"),
    "delay_ratio_mean": ("delay ratio", "ratio"),
    "deadline_misses": ("misses", "integer"),
    "deadline_miss_ratio": ("miss ratio", "percent"),
    "miss_episodes": ("episodes", "integer"),
    "sync_share_real": ("ρ real", "share"),
    "contended_ratio_real": ("α real", "share"),
    "overlap_real": ("overlap", "percent"),
    "shared_objects": ("shared objects", "text"),
    "file": ("file", "text"),
}
_FIELDS = {**_DRAWN, **_FOUND}
#: Columns of the sets of a point, and of the worst sets of a stress campaign, in order.
_OF_POINT = ("replica", "class", "seed", "tasks", *_FOUND)
_OF_STRESS = tuple(name for name in _FIELDS if name not in ("class", "miss_episodes"))
#: Task sets in the table of each group: the worst. All are in sets.csv.
SETS_SHOWN = 100


def page_data(summary: Summary) -> dict[str, Json]:
    """Everything the page draws, as plain values; the points beside the grid as rows alone."""
    loaded = facts.loaded_cells(summary)
    summary = facts.grid_of(summary)
    floor = facts.noise_floor(summary)
    classes = {grids.point_key(p): p.by_class for p in summary.points}
    return {
        "format": FORMAT,
        "name": facts.campaign_name(summary),
        "labels": list(facts.labels(summary)),
        "noise": {"share": floor.share, "text": floor.text},
        "cores": list(grids.cores_of(summary)),
        "sync_shares": list(grids.axis_of(summary, "sync_share")),
        "contended_ratios": list(grids.axis_of(summary, "contended_ratio")),
        "factors": list(facts.factors(summary.cells)),
        "points": {grids.point_key(cell): _said(cell, classes) for cell in summary.cells},
        "row_columns": list(SUMMARY_COLUMNS),
        "rows": _rows(summary.cells),
        "loaded_rows": _rows(loaded),
        **_sets(summary.sets),
        **_distributions(summary.distributions),
    }


def _rows(cells: Iterable[CellFigures]) -> list[list[Any]]:
    return [[*map(plain, cell.row("profile").values())] for cell in cells]


def _said(cell: CellFigures, classes: Mapping[str, Mapping[str, ClassFigures]]) -> str:
    """Every metric of a point in words, and the slowdown of each object."""
    if grids.state_of(cell, grids.METRICS[0]) not in MEASURED:
        return "undecided, no run"
    known = ((metric.name.lower(), grids.metric_words(cell, metric)) for metric in grids.METRICS)
    own = classes.get(grids.point_key(cell), {})
    objects = [f"{name} {class_words(each)}" for name, each in own.items()]
    told = [f"{name} {words}" for name, words in known]
    return "; ".join([*told, *(["by object: " + ", ".join(objects)] if objects else [])])


def _fields(columns: Iterable[str], **other: tuple[str, str]) -> list[dict[str, str]]:
    """Heading and kind of columns; ``other``: where they are not the usual ones."""
    found = (other.get(column, _FIELDS[column]) for column in columns)
    return [{"heading": heading, "kind": kind} for heading, kind in found]


def _lines(sets: Iterable[SetFigures], columns: Sequence[str]) -> list[list[Any]]:
    return [[plain(row[column]) for column in columns] for row in (s.row("stress") for s in sets)]


def _sets(sets: Sequence[SetFigures]) -> dict[str, Json]:
    """A line per set behind the four numbers of its point."""
    point = ("cores", "sync_share", "contended_ratio", "deadline_factor")
    return {"set_fields": _fields(_OF_POINT), "sets": _lines(sets, (*point, *_OF_POINT))}


def sets_data(summary: Summary) -> dict[str, Json]:
    """The worst task sets of each group, as the table of the page shows them."""
    columns = _OF_STRESS
    shown = [item for level in levels(summary.cells) for item in _worst(summary, level)]
    return {
        "format": FORMAT,
        "fields": _fields(columns, replica=("set", "identifier")),
        "group": columns.index("group"),
        "groups": list(groups(summary)),
        "sort": columns.index("slowdown_mean"),
        "sets": _lines(shown, columns),
        "total": len(summary.sets),
    }


def sets_note(summary: Summary) -> str:
    if len(summary.sets) <= SETS_SHOWN:
        return "Every task set; click a heading to sort. The same in full: sets.csv."
    return (
        f"The {SETS_SHOWN} most slowed down sets of each group, and as many with the highest miss"
        " ratio; click a heading to sort. Every task set: sets.csv."
    )


def _worst(summary: Summary, level: Level) -> list[SetFigures]:
    """Several factors share the room of one."""
    room = max(10, SETS_SHOWN // len(levels(summary.cells)))
    found: list[SetFigures] = []
    for sample in group_samples(summary, level):
        kept: dict[int, SetFigures] = {}
        for column in ("slowdown_mean", "deadline_miss_ratio"):
            kept |= _most(sample.sets, column, room)
        found += kept.values()
    return found


def _most(sets: Sequence[SetFigures], column: str, count: int) -> dict[int, SetFigures]:
    """The sets with the largest values, by place."""
    values = [each.column(column) for each in sets]
    known = [float("-inf") if value is None else value for value in values]
    ordered = sorted(range(len(sets)), key=known.__getitem__, reverse=True)
    return {place: sets[place] for place in ordered[:count]}


def _distributions(items: Sequence[JobHistogram]) -> dict[str, Json]:
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
        table = 0
        if grid[first : first + len(bins)] != bins:
            table, first = len(tables), 0
            tables.append(bins)
        where = [plain(item.get(axis)) for axis in ("cores", "sync_share", "contended_ratio")]
        own = counts[filled[0] : filled[-1] + 1]
        factor = plain(item.get("deadline_factor") or 0.0)
        lines.append([*where, str(item["metric"]), table, first, own, factor])
    return {"edges": [[plain(edge) for edge in bins] for bins in tables], "distributions": lines}
