"""Points of a profile and groups of a stress campaign in tables; columns are declared here."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from attrs import evolve

from deadbeat.kinds.contention import facts
from deadbeat.kinds.contention.facts import factors, ratio
from deadbeat.kinds.contention.grids import (
    METRICS,
    GridMetric,
    bare_words,
    cell_text,
    point_words,
    state_of,
)
from deadbeat.kinds.contention.headline import load_words
from deadbeat.model.figures import MEASURES, CellFigures
from deadbeat.model.results import Summary
from deadbeat.report.charts import MEASURED
from deadbeat.report.document import Column, Table, said

#: What stands below the groups of a stress campaign, and the points of a profile.
STRESS_NOTE = "+ after a miss %: certainly more than the same tasks miss alone"
NOTE = f"deadline needed: by all but 1 in 1000 jobs, as a multiple of C;\n{STRESS_NOTE}"
_, _NEEDED, _MISS, _ = METRICS


# ---------- points ----------


def _percent(value: float) -> str:
    return f"{value:.{2 if value < 10 else 1}f}"


def _or_dash(cell: CellFigures, metric: GridMetric) -> str:
    return cell_text(cell, metric) if state_of(cell, metric) in MEASURED else "-"


def _miss(cell: CellFigures) -> str:
    found = _MISS.drawn(cell)
    text = found.text(_percent) if found.value else _or_dash(cell, _MISS)
    return text + ("+" if found.value and cell.misses else " ")


def _slowdown(cell: CellFigures) -> str:
    return cell.slowdown.text(ratio)


#: A point without an answer says ``undecided`` where its slowdown would stand.
POINT_COLUMNS = (
    said("M", lambda cell: str(cell.cores)),
    said("rho", lambda cell: f"{cell.sync_share:.2f}"),
    said("alpha", lambda cell: f"{cell.contended_ratio:.2f}"),
    said("sets", lambda cell: str(cell.task_sets)),
    said("slowdown\nmean [95 %]", _slowdown),
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
            plain=True,
        )
        for number, cells in enumerate([*grid, *loaded])
    ]


def _text(column: str, scale: float = 1.0) -> Callable[[CellFigures], str]:
    """A figure of a cell with its interval, with fixed decimals."""
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


def _needed(column: str) -> Callable[[CellFigures], str]:
    return lambda cell: bare_words(cell, _NEEDED, column)


#: What explains a point without being its answer.
FURTHER_COLUMNS = (
    said("point", lambda cell: f"{point_words(cell)}; {load_words(cell, ', ')}"),
    *(_figure(each.title, each.name, each.scale) for each in MEASURES if each.title),
    _figure("misses alone %", "alone_miss_ratio", 100.0),
    _figure("misses beyond those %", "miss_excess", 100.0),
    said("sets that miss", lambda cell: cell.value("miss_sets"), format="{:.0f}".format),
    # At least the low end where the high end is not known.
    *(
        said(f"needed{words}, 1 in {of}", _needed(f"{side}deadline_needed_{name}"))
        for name, of in (("p99", 100), ("p999", 1000))
        for side, words in (("", ""), ("alone_", " alone"))
    ),
)


def further_table(summary: Summary) -> Table:
    """A line per point."""
    rows = (*facts.grid_of(summary).cells, *facts.loaded_cells(summary))
    return Table(
        name="further-table", title="More of each point", columns=FURTHER_COLUMNS, rows=rows,
        dense=True,
    )  # fmt: skip


# ---------- groups ----------


def _count(heading: str, name: str, *, terminal: bool = False) -> Column:
    return said(heading, attrgetter(name), format="{:,}".format, terminal=terminal)


def _missed(cell: CellFigures) -> str:
    return f"{100 * (cell.miss_ratio.value or 0.0):.2f}" + ("+" if cell.misses else " ")


def group_table(summary: Summary) -> Table:
    """A row per group and deadline factor: every figure of summary.csv; some in a terminal."""
    aimed = any(cell.stopped for cell in summary.cells)
    several = len(factors(summary.cells)) > 1
    columns = (
        said("group", attrgetter("group")),
        said("D/C", attrgetter("factor"), format="{:g}".format, page=several),
        _count("sets", "task_sets", terminal=True),
        _count("jobs", "jobs"),
        _count("miss episodes", "miss_episodes"),
        _count("overruns", "overruns"),
        said("slowdown\nmean [95 %]", lambda cell: cell, format=_text("slowdown_mean"),
             terminal=_slowdown),
        _figure("p5", "slowdown_p5"),
        *(_figure(name, f"slowdown_{name}", short=ratio) for name in ("p50", "p95")),
        _figure("p99", "slowdown_p99"),
        _figure("max", "slowdown_max"),
        _figure("delay ratio\nmean [95 %]", "delay_ratio_mean"),
        *(_figure(name, f"delay_ratio_{name}") for name in ("p50", "p95", "max")),
        _figure("response ratio", "response_ratio_mean"),
        evolve(_figure("miss %\nof jobs", "deadline_miss_ratio", 100.0), terminal=_missed),
        _figure("of\nsets", "miss_set_share", 100.0, "{:.1f}".format),
        _figure("their median %", "deadline_miss_p50_nonzero", 100.0),
        _figure("their p95 %", "deadline_miss_p95_nonzero", 100.0),
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
        plain=True,
        dense=True,
        hint="In brackets: 95 % intervals of the mean over task sets (how: docs, metrics)."
        " Percentiles are over task sets, the miss ratio over all jobs. The same figures in full:"
        " summary.csv.",
    )
