"""Points of a profile and groups of a stress campaign in tables; columns are declared here."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from deadbeat.kinds.contention import facts
from deadbeat.kinds.contention.facts import (
    Row,
    factor_of,
    factors,
    figure,
    misses,
    number,
    ratio,
)
from deadbeat.kinds.contention.grids import (
    METRICS,
    GridMetric,
    bare_words,
    cell_text,
    point_words,
    state_of,
)
from deadbeat.kinds.contention.headline import load_words
from deadbeat.model.measures import MEASURES
from deadbeat.model.results import Summary
from deadbeat.report.charts import MEASURED
from deadbeat.report.document import Column, Table, said

#: What stands below the groups of a stress campaign, and the points of a profile.
STRESS_NOTE = "+ after a miss %: certainly more than the same tasks miss alone"
NOTE = f"deadline needed: by all but 1 in 1000 jobs, as a multiple of C;\n{STRESS_NOTE}"
_SLOWDOWN, _NEEDED, _MISS, _ = METRICS


# ---------- points ----------


def _percent(value: float) -> str:
    return f"{value:.{2 if value < 10 else 1}f}"


def _or_dash(row: Row, metric: GridMetric) -> str:
    return cell_text(row, metric) if state_of(row, metric) in MEASURED else "-"


def _miss(row: Row) -> str:
    found = _MISS.drawn(row)
    text = found.text(_percent) if found.value else _or_dash(row, _MISS)
    return text + ("+" if found.value and misses(row) else " ")


def _slowdown(row: Row) -> str:
    return _SLOWDOWN.of(row).text(ratio)


#: A point without an answer says ``undecided`` where its slowdown would stand.
POINT_COLUMNS = (
    said("M", lambda row: str(row["cores"])),
    said("rho", lambda row: f"{row['sync_share']:.2f}"),
    said("alpha", lambda row: f"{row['contended_ratio']:.2f}"),
    said("sets", lambda row: str(row.get("task_sets") or 0)),
    said("slowdown\nmean [95 %]", _slowdown),
    said("deadline\nneeded", lambda row: _or_dash(row, _NEEDED)),
    said("miss %\n[95 %]", _miss),
)


def point_tables(summary: Summary) -> list[Table]:
    """Points in order, those of each deadline factor and number of tasks a core for themselves;
    those of the grid are on the page in another form."""
    grid, loaded = (
        list(facts.loads(rows).values())
        for rows in (facts.grid_of(summary).rows, facts.loaded_rows(summary))
    )
    return [
        Table(
            name=f"loaded-{number - len(grid)}",
            title=load_words(rows[0], ", "),
            columns=POINT_COLUMNS,
            rows=sorted(rows, key=lambda r: (r["cores"], r["sync_share"], r["contended_ratio"])),
            note=NOTE if number == len(grid) + len(loaded) - 1 else "",
            terminal=True,
            page=number >= len(grid),
            plain=True,
        )
        for number, rows in enumerate([*grid, *loaded])
    ]


def _text(column: str, scale: float = 1.0) -> Callable[[Row], str]:
    """A figure of a row with its interval, with fixed decimals."""
    digits = f"{{:.{2 if scale == 100 else 3}f}}".format

    def text(row: Row) -> str:
        found = figure(row, column).scaled(scale)
        if found.value == 0 and found.ends and found.ends[1]:
            return f"< {found.ends[1]:.2g} (none seen)"
        return found.text(digits)

    return text


def _figure(
    heading: str, column: str, scale: float = 1.0, short: Callable[[float], str] | None = None
) -> Column:
    """A figure of a row; ``short``: how a terminal writes it, None: it does not."""
    return said(
        heading,
        lambda row: None if number(row.get(column)) is None else row,
        format=_text(column, scale),
        terminal=False if short is None else lambda row: short(scale * row[column]),
    )


def _needed(column: str) -> Callable[[Row], str]:
    return lambda row: bare_words(row, _NEEDED, column)


#: What explains a point without being its answer.
FURTHER_COLUMNS = (
    said("point", lambda row: f"{point_words(row)}; {load_words(row, ', ')}"),
    *(_figure(each.title, each.name, each.scale) for each in MEASURES if each.title),
    _figure("misses alone %", "alone_miss_ratio", 100.0),
    _figure("misses beyond those %", "miss_excess", 100.0),
    said("sets that miss", lambda row: row.get("miss_sets"), format=str),
    # At least the low end where the high end is not known.
    *(
        said(f"needed{words}, 1 in {of}", _needed(f"{side}deadline_needed_{name}"))
        for name, of in (("p99", 100), ("p999", 1000))
        for side, words in (("", ""), ("alone_", " alone"))
    ),
)


def further_table(summary: Summary) -> Table:
    """A line per point."""
    rows = (*facts.grid_of(summary).rows, *facts.loaded_rows(summary))
    return Table(
        name="further-table", title="More of each point", columns=FURTHER_COLUMNS, rows=rows,
        dense=True,
    )  # fmt: skip


# ---------- groups ----------


def _count(heading: str, column: str, *, terminal: bool = False) -> Column:
    return said(
        heading,
        lambda row: number(row.get(column)),
        format=lambda value: f"{int(value):,}",
        terminal=terminal,
    )


def _missed(row: Row) -> str:
    return f"{100 * row['deadline_miss_ratio']:.2f}" + ("+" if misses(row) else " ")


def group_table(summary: Summary) -> Table:
    """A row per group and deadline factor: every figure of summary.csv; some in a terminal."""
    aimed = any(row.get("stopped") for row in summary.rows)
    several = len(factors(summary.rows)) > 1
    columns = (
        said("group", lambda row: str(row.get("group"))),
        said("D/C", factor_of, format="{:g}".format, page=several),
        _count("sets", "task_sets", terminal=True),
        _count("jobs", "jobs"),
        _count("miss episodes", "miss_episodes"),
        _count("overruns", "overruns"),
        said("slowdown\nmean [95 %]", lambda row: row, format=_text("slowdown_mean"),
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
        said("half width", lambda row: number(row.get("half_width")), format="{:.3f}".format,
             page=aimed, terminal=False),
        said("stopped because", lambda row: row.get("stopped") or None, page=aimed, terminal=False,
             words=True),
    )  # fmt: skip
    return Table(
        name="groups-table",
        columns=columns,
        rows=summary.rows,
        note=STRESS_NOTE,
        terminal=True,
        plain=True,
        dense=True,
        hint="In brackets: 95 % intervals of the mean over task sets (how: docs, metrics)."
        " Percentiles are over task sets, the miss ratio over all jobs. The same figures in full:"
        " summary.csv.",
    )
