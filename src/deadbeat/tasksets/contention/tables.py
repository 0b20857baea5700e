"""Points, groups and sets in tables, and as the data that a page embeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from heapq import nlargest
from operator import attrgetter
from typing import Any

from attrs import evolve

from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.words import Json, count_of
from deadbeat.base.report.charts import MEASURED
from deadbeat.base.report.document import Column, Table, said
from deadbeat.base.report.html import plain
from deadbeat.tasksets.contention import facts, grids
from deadbeat.tasksets.contention.facts import Level, factors, levels, ratio
from deadbeat.tasksets.contention.grids import (
    METRICS,
    GridMetric,
    bare_words,
    cell_text,
    point_words,
    state_of,
)
from deadbeat.tasksets.contention.headline import load_words
from deadbeat.tasksets.contention.point import class_words
from deadbeat.tasksets.contention.samples import group_samples, groups
from deadbeat.tasksets.model.figures import MEASURES, SUMMARY_COLUMNS, CellFigures, SetFigures
from deadbeat.tasksets.model.results import ClassFigures, Summary

#: What stands below the groups of a stress campaign, and the points of a profile.
STRESS_NOTE = "+ after a miss %: certainly more than the same tasks miss alone"
NOTE = f"deadline needed: by all but 1 in 1,000 jobs, as a multiple of C;\n{STRESS_NOTE}"
_, _NEEDED, _MISS, _ = METRICS


# ---------- points ----------


def _or_dash(cell: CellFigures, metric: GridMetric) -> str:
    return cell_text(cell, metric) if state_of(cell, metric) in MEASURED else "-"


def _miss(cell: CellFigures) -> str:
    found = _MISS.drawn(cell)
    if not found.value:
        return f"{_or_dash(cell, _MISS)} "
    return found.text(lambda v: f"{v:.{2 if v < 10 else 1}f}") + ("+" if cell.misses else " ")


#: A point without an answer says ``undecided`` where its slowdown would stand.
POINT_COLUMNS = (
    said("M", lambda cell: str(cell.cores)),
    said("rho", lambda cell: f"{cell.sync_share:.2f}"),
    said("alpha", lambda cell: f"{cell.contended_ratio:.2f}"),
    said("sets", lambda cell: str(cell.task_sets)),
    said("slowdown\nmean [95 %]", lambda cell: cell.slowdown.text(ratio)),
    said("deadline\nneeded", lambda cell: _or_dash(cell, _NEEDED)),
    said("miss %\n[95 %]", _miss),
)


def point_tables(summary: Summary) -> list[Table]:
    """Points in order, those of each deadline factor and number of tasks a core for themselves;
    those of the grid are on the page in another form."""
    grid = facts.loads(facts.grid_of(summary).cells)
    loaded = facts.loads(facts.loaded_cells(summary))
    return [
        Table(
            name=f"loaded-{number - len(grid)}",
            title=load_words(cells[0], ", "),
            columns=POINT_COLUMNS,
            rows=sorted(cells, key=attrgetter("cores", "sync_share", "contended_ratio")),
            note=NOTE if number == len(grid) + len(loaded) - 1 else "",
            terminal=True,
            page=number >= len(grid),
        )
        for number, cells in enumerate([*grid, *loaded])
    ]


def _text(column: str, scale: float = 1.0) -> Callable[[CellFigures], str]:
    digits = f"{{:.{2 if scale == 100 else 3}f}}".format

    def text(cell: CellFigures) -> str:
        found = cell.figure(column).scaled(scale)
        if found.value == 0 and found.ends and found.ends[1]:
            return f"< {found.ends[1]:.2g} (none seen)"
        return found.text(digits)

    return text


def _figure(
    heading: str, column: str, scale: float = 1.0, short: Callable[[float], str] | None = None
) -> Column:
    """A figure of a cell; ``short``: how a terminal writes it, None: it does not."""
    return said(
        heading,
        lambda cell: None if cell.value(column) is None else cell,
        format=_text(column, scale),
        terminal=False if short is None else lambda cell: short(scale * cell.value(column)),
    )


#: What explains a point without being its answer.
FURTHER_COLUMNS = (
    said("point", lambda cell: f"{point_words(cell)}; {load_words(cell, ', ')}"),
    *(_figure(each.title, each.name, each.scale) for each in MEASURES if each.title),
    _figure("misses alone %", "alone_miss_ratio", 100.0),
    _figure("misses beyond those %", "miss_excess", 100.0),
    said("sets that miss", lambda cell: cell.value("miss_sets"), format="{:.0f}".format),
    # At least the low end where the high end is not known.
    *(
        said(
            f"needed{words}, 1 in {of}",
            partial(bare_words, metric=_NEEDED, column=f"{side}deadline_needed_{name}"),
        )
        for name, of in (("p99", 100), ("p999", 1000))
        for side, words in (("", ""), ("alone_", " alone"))
    ),
)


def further_table(summary: Summary) -> Table:
    rows = (*facts.grid_of(summary).cells, *facts.loaded_cells(summary))
    return Table(
        name="further-table", title="More of each point", columns=FURTHER_COLUMNS, rows=rows,
        dense=True,
    )  # fmt: skip


# ---------- groups ----------


def _count(heading: str, name: str, *, terminal: bool = False) -> Column:
    return said(heading, attrgetter(name), format="{:,}".format, terminal=terminal)


def _quantile(name: str) -> Callable[[CellFigures], str]:
    return lambda cell: cell.figure(f"slowdown_{name}").text(ratio)


def group_tables(summary: Summary) -> tuple[Table, Table]:
    """Slowdowns and misses of each group, and what else is known of it."""
    aimed = any(cell.stopped for cell in summary.cells)
    several = len(factors(summary.cells)) > 1
    named = (
        said("group", attrgetter("group")),
        said("D/C", attrgetter("factor"), format="{:g}".format, page=several),
    )
    columns = (
        *named,
        _count("sets", "task_sets", terminal=True),
        _count("jobs", "jobs"),
        said("slowdown\nmean [95 %]", lambda cell: cell, format=_text("slowdown_mean"),
             terminal=False),
        _figure("p5", "slowdown_p5"),
        *(
            evolve(_figure(f"{name} [95 %]", f"slowdown_{name}"), terminal=_quantile(name))
            for name in ("p50", "p95")
        ),
        _figure("p99", "slowdown_p99"),
        _figure("max", "slowdown_max"),
        evolve(
            _figure("miss %\nof jobs", "deadline_miss_ratio", 100.0),
            terminal=lambda c: f"{100 * (c.miss_ratio.value or 0.0):.2f}{'+' if c.misses else ' '}",
        ),
        evolve(_figure("of\nsets", "miss_set_share", 100.0, "{:.1f}".format), spare=True),
        _figure("their median %", "deadline_miss_p50_nonzero", 100.0),
        _figure("their p95 %", "deadline_miss_p95_nonzero", 100.0),
    )  # fmt: skip
    further = (
        *named,
        _count("miss episodes", "miss_episodes"),
        _count("overruns", "overruns"),
        _figure("delay ratio\nmean [95 %]", "delay_ratio_mean"),
        *(_figure(name, f"delay_ratio_{name}") for name in ("p50", "p95", "max")),
        _figure("response ratio", "response_ratio_mean"),
        _figure("ρ real", "sync_share_real"),
        _figure("α real", "contended_ratio_real"),
        _figure("overlap %", "overlap_real", 100.0),
        # How well a group is known where a precision was asked for, and why it stopped.
        said("half width", attrgetter("half_width"), format="{:.3f}".format,
             page=aimed, terminal=False),
        said("stopped because", attrgetter("stopped"), page=aimed, terminal=False,
             words=True),
    )  # fmt: skip
    return Table(
        name="groups-table",
        columns=columns,
        rows=summary.cells,
        note=STRESS_NOTE,
        terminal=True,
        dense=True,
    ), Table(
        name="groups-further",
        columns=further,
        rows=summary.cells,
        dense=True,
        hint="In brackets: 95 % intervals over task sets (how: docs/reference/campaign.md)."
        " Percentiles are over task sets, the miss ratio over all jobs. The same figures in full:"
        " summary.csv.",
    )


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
    "released": ("releases", "integer"),
    "jobs": ("finished", "integer"),
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
    # Histograms without their empty ends, as a place in one list of edges and the counts. Bins of
    # one grid, whole or cut, share that list; bins that do not fit into it bring their own.
    grid = sorted({float(edge) for item in summary.distributions for edge in item["edges"]})
    place = {edge: index for index, edge in enumerate(grid)}
    tables, lines = [grid], []
    for item in summary.distributions:
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
    distributions = {
        "edges": [[plain(edge) for edge in bins] for bins in tables],
        "distributions": lines,
    }
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
        "set_fields": _fields(_OF_POINT),
        "absent": _absent(summary),
        "sets": _lines(summary.sets, (*SUMMARY_COLUMNS[:4], *_OF_POINT)),
        **distributions,
    }


def _rows(cells: Iterable[CellFigures]) -> list[list[Any]]:
    return [[*map(plain, cell.row("profile").values())] for cell in cells]


def _said(cell: CellFigures, classes: Mapping[str, Mapping[str, ClassFigures]]) -> str:
    if grids.state_of(cell, grids.METRICS[0]) not in MEASURED:
        return "undecided, no run"
    known = ((metric.name.lower(), grids.metric_words(cell, metric)) for metric in grids.METRICS)
    own = classes.get(grids.point_key(cell), {})
    objects = [f"{name} {class_words(each)}" for name, each in own.items()]
    parts = [f"{name} {words}" for name, words in known]
    return "; ".join([*parts, *(["by object: " + ", ".join(objects)] if objects else [])])


def _absent(summary: Summary) -> dict[str, str]:
    """Point -> which of its task sets have no result, and why; only points that lack some."""
    reasons = ["other objects or points promised more"] * bool(summary.meta.get("precision"))
    reasons += ["their runs failed: Failed runs, below"] * bool(summary.meta.get("failed"))
    why = f" ({', or '.join(reasons)})" if reasons else ""
    found = {}
    for place, own in grouped(summary.sets, grids.point_key).items():
        there = {each.replica for each in own}
        if lacking := sorted(set(range(max(there))) - there):
            words = count_of(len(lacking), "replica") + f" without a result{why}"
            found[place] = f"{words}: {', '.join(map(str, lacking))}."
    return found


def _fields(columns: Iterable[str], **other: tuple[str, str]) -> list[dict[str, str]]:
    """Heading and kind of columns; ``other``: where they are not the usual ones."""
    found = (other.get(column, _FIELDS[column]) for column in columns)
    return [{"heading": heading, "kind": kind} for heading, kind in found]


def _lines(sets: Iterable[SetFigures], columns: Sequence[str]) -> list[list[Any]]:
    return [[plain(row[column]) for column in columns] for row in (s.row("stress") for s in sets)]


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
        columns = ("slowdown_mean", "deadline_miss_ratio")
        most = (nlargest(room, sample.sets, partial(_or_least, name)) for name in columns)
        found += {id(each): each for own in most for each in own}.values()
    return found


def _or_least(column: str, each: SetFigures) -> float:
    value = each.column(column)
    return -math.inf if value is None else value
