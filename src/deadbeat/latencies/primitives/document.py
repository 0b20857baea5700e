"""Timed primitives in words, as a picture, and as files."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import attrs
import numpy as np
from attrs import evolve

from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.platform import Platform
from deadbeat.base.model.rules import size_word
from deadbeat.base.model.specification import plain_of
from deadbeat.base.model.words import Json, count_of, time_text
from deadbeat.base.report.building import CurvePoint, curve, log_edges
from deadbeat.base.report.charts import Chart, Panel
from deadbeat.base.report.conclusions import (
    conclusion_parts,
    counted_verdicts,
    plain_conclusions,
    terminal_lines,
    verdict_text,
)
from deadbeat.base.report.document import (
    Column,
    Document,
    FactList,
    Figures,
    Findings,
    Section,
    Sentence,
    Table,
    csv_of,
    detail,
    flatten,
    folded,
    machine_facts,
    records,
    said,
)
from deadbeat.build.pool import NATIVE
from deadbeat.latencies.primitives import matrices
from deadbeat.latencies.primitives.results import PrimitiveCell, PrimitivesSummary
from deadbeat.latencies.primitives.spec import PrimitivesPreset


def short_time(value_ns: float) -> str:
    """A time with three digits, also below a nanosecond."""
    return time_text(round(value_ns)) if value_ns >= 10 else f"{value_ns:.3g} ns"


def _at(key: str, heading: str, share_ppm: int, **more: Any) -> Column:
    return Column(
        key=key,
        heading=heading,
        value=lambda row: row.quantile_ns(share_ppm),
        format=short_time,
        **more,
    )


def _interval(key: str, heading: str, field: str, words: str) -> Column:
    def text(row: PrimitiveCell) -> str:
        interval = row.interval(getattr(row, field))
        return f"{short_time(interval.low)} to {short_time(interval.high)}" if interval else "–"

    line = f"where the mean of the repeats' {words} lies"
    return detail(key, f"{heading}, 95 %", value=text, help=line, raw=False)


#: Rows of a table on the page; files hold all.
_LISTED_MOST = 64
COLUMNS = (
    Column(key="operation", heading="primitive", value=attrgetter("case.operation"), words=True),
    Column(key="size", heading="size", value=lambda row: row.case.size or None, format=size_word),
    Column(key="placement", heading="where", value=attrgetter("where"), words=True),
    Column(key="runtime", heading="runtime", value=attrgetter("case.runtime"), words=True),
    detail("samples", "samples"),
    _at("p50_ns", "median", 500_000),
    _at("p99_ns", "99 %", 990_000, spare=True),
    _at("p999_ns", "99.9 %", 999_000),
    _at("max_ns", "max", 1_000_000),
    Column(
        key="stall_ns",
        heading="longest gap",
        format=short_time,
        help="between two samples: a stall may fall there, too",
        spare=True,
    ),
    _interval("median_interval", "median", "medians_ns", "medians"),
    _interval("p99_interval", "99 %", "p99s_ns", "99 % quantiles"),
    detail(
        "footprint_bytes",
        "footprint",
        format=size_word,
        help="what all threads hold at once: for copy_shared one source, and a destination each",
    ),
    detail("bytes_per_ns", "GB/s", format="{:.1f}".format, help="of each thread, at its median"),
    detail(
        "fairness",
        "fairness",
        format="{:.3f}".format,
        help="Jain's index of threads' samples: 1 if all had as many, 1/n if one of n had all",
    ),
    detail(
        "most_share",
        "most by fewest",
        format="{:.2f}".format,
        help="samples of the thread that had most, by those of the one that had fewest",
    ),
    detail(
        "allocated_bytes",
        "allocated",
        value=lambda row: (
            None if row.allocated_bytes is None else row.allocated_bytes / row.samples
        ),
        format="{:.3g} B".format,
        help="on the heap of its runtime, for each sample",
        raw=False,
    ),
    detail(
        "first_faults",
        "first page faults",
        help="before what counts: memory that is touched for the first time",
    ),
    detail("faults", "page faults", help="while it was measured, of all threads and repeats"),
    detail(
        "worst",
        "during the longest sample",
        value=lambda row: (row.worst.words if row.worst else "") or None,
        words=True,
    ),
    detail("resolved", "resolved", help="the median is at least 5 steps of the clock"),
)


def columns_of(found: PrimitivesSummary) -> tuple[Column, ...]:
    several = len({row.case.runtime for row in found.cells}) > 1
    return tuple(column for column in COLUMNS if several or column.key != "runtime")


def _beyond(row: PrimitiveCell, share_ppm: int) -> float:
    """How far a quantile lies beyond the median, ns: what takes long as a rule has no tail."""
    return row.quantile_ns(share_ppm) - row.quantile_ns(500_000)


def _ends(found: PrimitivesSummary) -> list[tuple[str, PrimitiveCell, PrimitiveCell]]:
    """The cheapest and the dearest event on one CPU, and from CPU to CPU."""
    made = []
    events = [row for row in found.cells if row.case.test == "event"]
    for same, words in ((True, "on the same CPU"), (False, "on another CPU")):
        rows = [row for row in events if (row.case.placement == "same") == same]
        if rows:
            best, slow = (
                choose(rows, key=lambda row: row.quantile_ns(500_000)) for choose in (min, max)
            )
            made.append((words, best, slow))
    return made


def _latest(found: PrimitivesSummary) -> PrimitiveCell:
    return max(found.cells, key=lambda row: _beyond(row, 1_000_000))


def answer(found: PrimitivesSummary) -> tuple[str, ...]:
    """What an event costs on one CPU and across, and the sample furthest beyond its median."""
    if not found.cells:
        why = "; ".join(dict.fromkeys(found.refused.values()))
        if why and not found.done:
            return (f"Nothing of this is testable here: {why}.",)
        return ("Nothing is measured yet.",)
    simulated = "Simulated: " * ("SIMULATED" in found.labels)
    if found.judgements:
        return (f"{simulated}{counted_verdicts(found.judgements)}",)
    parts = []
    for words, *both in _ends(found):
        best, slow = both
        more = ["" if row.case.runtime == NATIVE else row.case.runtime for row in both]
        if best.case.variant == slow.case.variant and more[0] == more[1]:
            more = [row.where for row in both]
        pairs = zip(both, more, strict=True)
        ways = tuple(", ".join(filter(None, (row.case.variant, each))) for row, each in pairs)
        parts.append(
            f"{simulated}Waking a thread {words} takes {short_time(best.quantile_ns(500_000))}"
            f" ({ways[0]}) to {short_time(slow.quantile_ns(500_000))} ({ways[1]}), median."
        )
    worst = _latest(found)
    why = f"; {worst.worst.words}" if worst.worst and worst.worst.words else ""
    size = f" of {size_word(worst.case.size)}" if worst.case.size else ""
    parts.append(
        f"{simulated if not parts else ''}The slowest of"
        f" {sum(row.samples for row in found.cells):,}:"
        f" {short_time(worst.quantile_ns(1_000_000))} ({worst.case.operation}{size}"
        f"{'' if worst.case.runtime == NATIVE else f' in {worst.case.runtime}'}, {worst.where};"
        f" median {short_time(worst.quantile_ns(500_000))}{why})."
    )
    return tuple(parts)


def _clock(found: PrimitivesSummary) -> str:
    flagged = ""
    if unresolved := sum(not row.resolved for row in found.cells):
        flagged = f" {count_of(unresolved, 'row')} with a median below 5 steps of it"
        flagged += f" {'is' if unresolved == 1 else 'are'} not resolved: give --set batch=100."
    clock = "clock" if found.spec.clock == "system" else "processor's counter"
    return (
        f"A reading of the {clock} takes {found.clock_cost_ps / 1000:.1f} ns; to keep a sample"
        f" takes {found.sample_cost_ps / 1000:.1f} ns beyond its two readings. Nothing is"
        f" subtracted. Two readings lie {found.resolution_ns} ns apart at least.{flagged}"
    )


def _chart(test: str, rows: list[PrimitiveCell]) -> Chart:
    known = [row.times.lows_ns() / row.batch for row in rows]
    edges = np.asarray(log_edges(np.concatenate(known).tolist()))
    curves = []
    for look, (row, values) in enumerate(zip(rows, known, strict=True)):
        below = np.append(0, np.cumsum(row.times.counts))
        above = row.samples - below[np.searchsorted(values, edges, side="right")]
        longer = [(edge, n) for edge, n in zip(edges, above, strict=True) if n > 0]
        # it ends where its longest sample lies
        points = [*longer, ((row.times.max_ns or 0) / row.batch, 1)]
        curves.append(
            curve(
                f"{row.case.text} (n = {row.samples:,})",
                (CurvePoint(float(x), 100 * float(n) / row.samples) for x, n in points),
                look=look,
            )
        )
    panel = Panel(
        title="",
        x_label="time of an operation, ns",
        y_label="longer than that, %",
        curves=tuple(curves),
        x_log=True,
        y_log=True,
    )
    caption = "The share of samples that took longer: a tail shows where it begins."
    name = "times-" + test.replace(",", "").replace(" ", "-").replace("_", "-")
    return Chart(
        name=name, title="Times", caption=caption, panels=(panel,), family="times", option=test
    )


def charts(found: PrimitivesSummary) -> list[Chart]:
    """Charts of a preset; one of what the answer names, one of each way that has sizes, and of all
    ways beside each other where none has."""
    if found.preset:
        return [chart for made in found.preset.charts for chart in made(found)]
    groups = grouped(
        found.cells,
        lambda row: row.case.operation if row.case.size else f"{row.case.test}, {row.where}",
    )
    if len(groups) > 1:
        named = [row for _, *both in _ends(found) for row in both] + [_latest(found)]
        once = {id(row): row for row in named}
        groups = {"what the answer names": [*once.values()], **groups}
    return [_chart(title, rows) for title, rows in groups.items()]


def _matrix(found: PrimitivesSummary) -> tuple[Section, ...]:
    if not found.lines:
        return ()
    # for more CPUs the figure has the numbers, and lines.csv
    listed = found.lines if len(found.lines) <= _LISTED_MOST else ()
    table = Table(name="lines", columns=matrices.LINE_COLUMNS, rows=listed)
    note = Sentence(matrices.note(found.lines, found.clock_cost_ps))
    parts = (note, Figures(matrices.matrices(found.lines)), *([folded(table)] if listed else ()))
    return (Section("lines", "Cache lines from CPU to CPU", parts),)


def _contention(found: PrimitivesSummary) -> tuple[Section, ...]:
    threads = matrices.contenders(found)
    if not threads:
        return ()
    table = Table(name="contenders", columns=matrices.THREAD_COLUMNS, rows=threads[:_LISTED_MOST])
    return (
        Section(
            "contenders", "Who gets the lock", (Figures(matrices.handovers(found)), folded(table))
        ),
    )


#: Rows of the first screen.
_ROWS = 8


def _verdicts(found: PrimitivesSummary) -> Table:
    return Table(
        name="verdicts",
        columns=(
            said("here", lambda item: verdict_text(item).partition(":")[0], words=True),
            said("what was published", lambda item: item.conclusion.says, long=True),
        ),
        rows=found.judgements,
        title=f"of {count_of(len(found.judgements), 'published statement')}, each with its figures"
        " below",
    )


def _conclusions(found: PrimitivesSummary, preset: PrimitivesPreset[PrimitivesSummary]) -> Section:
    parts = [part for each in found.judgements for part in conclusion_parts(each)]
    sentence = Sentence(" ".join(answer(found)), answer=True)
    parts = [sentence, *parts, terminal_lines(found.judgements)]
    return Section("conclusions", preset.title, parts, "Conclusions")


def document(found: PrimitivesSummary, platform: Platform) -> Document:
    """The result for people: for a preset its conclusions and figures first."""
    preset, figures = found.preset, Section("figures", "Figures", (Figures(charts(found)),))
    columns = columns_of(found)
    table = Table(name="primitives", columns=columns, rows=found.cells, terminal=True)
    shown = [each.key for each in columns if each.heading]
    at = shown.index("footprint_bytes")  # where times end, and counts begin
    counted = (*shown[: shown.index("samples")], *shown[at:])
    tables = (
        evolve(table, order=shown[:at]),
        evolve(table, name="counted", order=counted, terminal=False),
    )
    sentence = Sentence(" ".join(answer(found)), answer=True, terminal=True)
    parts = (
        *map(folded, tables, ("Times", "What was counted")),
        Sentence(_clock(found), terminal=True),
    )
    if found.preset:
        times = Section("times", "What the primitives take", parts, "Times")
    else:
        times = Section("answer", "What the primitives take", (sentence, *parts), "Answer")
    first = (_conclusions(found, preset), figures, times) if preset else (times, figures)
    extra = [
        Section(name, title, (FactList(facts),))
        for name, title, facts in (
            ("refused", "Not run, and why", [*found.refused.items()]),
            ("runtimes", "Runtimes", found.runtimes),
        )
        if facts
    ]
    if preset:
        picture = _verdicts(found)
    else:
        # Row with the 99.9 % furthest beyond its median, by primitive and runtime.
        groups = grouped(found.cells, attrgetter("case.test", "case.runtime"))
        late = [max(rows, key=lambda row: _beyond(row, 999_000)) for rows in groups.values()]
        rows = sorted(late, key=lambda row: -_beyond(row, 999_000))
        title = "the longest tail of each primitive"
        picture = Table(
            name="tails", columns=columns_of(found), rows=rows, terminal=True, title=title
        )
    return Document(
        title=found.name,
        kind="primitives",
        source="the stored runs",
        labels=found.labels,
        head=machine_facts(attrs.asdict(platform)),
        about=preset.about if preset else "",
        answer=answer(found),
        picture=picture,
        rows=len(found.judgements) if preset else _ROWS,
        steps=[
            ("deadbeat primitives --quick", "measure this machine")
            if "SIMULATED" in found.labels
            else ("deadbeat interfere", "what they take beside each other")
        ],
        sections=(
            *first,
            *_matrix(found),
            *_contention(found),
            *extra,
            Section("findings", "What makes this doubtful", (Findings(found.findings),)),
            Section("parameters", "Parameters", (FactList([*flatten(plain_of(found.spec))]),)),
        ),
    )


def files(found: PrimitivesSummary) -> dict[str, str]:
    threads = matrices.contenders(found)
    return {
        **({"lines.csv": csv_of(matrices.LINE_COLUMNS, found.lines)} if found.lines else {}),
        **({"contenders.csv": csv_of(matrices.THREAD_COLUMNS, threads)} if threads else {}),
    }


def rows(found: PrimitivesSummary) -> list[dict[str, Json]]:
    return [
        {column.key: column.of(row) for column in COLUMNS if column.raw}
        | {
            "part": row.part,
            "medians_ns": list(row.medians_ns),
            "median_interval_ns": list(row.interval(row.medians_ns) or ()) or None,
            "p99_interval_ns": list(row.interval(row.p99s_ns) or ()) or None,
            "handover": {each.thread: list(each.after) for each in row.contenders},
            "p99s_ns": list(row.p99s_ns),
            "maxima_ns": list(row.maxima_ns),
            "looked": row.looked,
            "allocated_bytes": row.allocated_bytes,
            "tagged": row.tagged,
        }
        for row in found.cells
    ]


def summary_dict(found: PrimitivesSummary) -> dict[str, Json]:
    return {
        "done": found.done,
        "labels": list(found.labels),
        "clock_cost_ps": found.clock_cost_ps,
        "sample_cost_ps": found.sample_cost_ps,
        "resolution_ns": found.resolution_ns,
        "refused": found.refused,
        **({"conclusions": plain_conclusions(found.judgements)} if found.preset else {}),
        "rows": rows(found),
        "lines": list(records(matrices.LINE_COLUMNS, found.lines)),
    }
