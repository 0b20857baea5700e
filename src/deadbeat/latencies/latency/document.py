"""A latency matrix as a document and as files; the columns of its tables are declared here."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter, methodcaller
from typing import Any

from attrs import asdict, evolve, frozen

from deadbeat.base.model.finding import Finding
from deadbeat.base.model.histogram import QUANTILES_PPM
from deadbeat.base.model.words import Json, count_of, time_text, us_text
from deadbeat.base.report.beside import with_beside
from deadbeat.base.report.charts import Chart
from deadbeat.base.report.document import (
    Column,
    Document,
    FactList,
    Figures,
    Findings,
    Lines,
    Note,
    Part,
    Section,
    Sentence,
    Subsection,
    Table,
    csv_of,
    percent,
    said,
)
from deadbeat.base.report.html import terms, write_result
from deadbeat.base.report.paper import Words
from deadbeat.latencies.latency import split, words
from deadbeat.latencies.latency.charts import load_charts, machine_charts, timeline_charts
from deadbeat.latencies.latency.histograms import histogram_charts, tail_charts
from deadbeat.latencies.latency.model import LatencyKey, LatencyRun
from deadbeat.latencies.latency.spec import read_spec
from deadbeat.latencies.latency.split import split_charts
from deadbeat.latencies.latency.store import LatencyStore
from deadbeat.latencies.latency.summarise import LATENCY_COLUMNS, lines_of, summarise_latency
from deadbeat.latencies.latency.summary import (
    FEW,
    CellSummary,
    Distribution,
    LatencyRow,
    LatencySummary,
    TailStatement,
)
from deadbeat.latencies.latency.tail import few_digits
from deadbeat.latencies.latency.words import kernel_text, labels_of, load_words

CSV_FILE = "latency.csv"
#: Invalid runs that a terminal names; the page has all of them.
_SHOWN = 5
#: Below a table in which a percentile is marked.
MARKS = f"* fewer than {FEW} wake-ups are later than this: a single one can change it"

# ---------- the matrix ----------


@frozen
class MatrixLine:
    """A row of the matrix: all CPUs of a cell or one of them, as measured or corrected."""

    cell: CellSummary
    row: LatencyRow
    shown: Distribution
    corrected: bool

    @property
    def load(self) -> str:
        return load_words(self.cell.load) + (", corrected" if self.corrected else "")

    @property
    def missed(self) -> str:
        """``8``, or ``0 + 47 unknown``: as many more may have been missed."""
        unknown = f" + {self.row.unaccounted:,} unknown" if self.row.unaccounted else ""
        return f"{self.row.missed:,}{unknown}"

    @property
    def place(self) -> str | None:
        run = f", repeat {self.row.max_run.repeat}" if self.row.max_run else ""
        if self.row.max_cpu is None:
            return None
        return f"{words.place_words(self.cell, self.row.max_cpu)}{run}"

    @property
    def valid(self) -> str:
        runs, invalid = len(self.row.runs), len(self.cell.invalid)
        return f"{runs} of {runs + invalid}" if invalid else str(runs)

    def figure(self, name: str) -> str | None:
        """Microseconds; marked where it rests on few wake-ups."""
        value = self.shown[name].value_ns
        if name == "max" and self.row.exceeds_ns is not None:
            return f"≥ {us_text(self.row.exceeds_ns)}"
        if value is None or not self.shown.rests_on_few(name):
            return None if value is None else us_text(value)
        return None if self.corrected else f"{us_text(value)}*"


def achieved_text(cell: CellSummary, *, ends: bool = True) -> str:
    """``98 % (96 % to 100 %)``; or that it is not known."""
    if cell.achieved is None:
        return "not known" if cell.load.percent else "none"
    text = percent(cell.achieved)
    if not ends or cell.achieved_min is None or cell.achieved_max is None:
        return text
    low, high = percent(cell.achieved_min), percent(cell.achieved_max)
    return text if low == high else f"{text} ({low} to {high})"


MATRIX_COLUMNS = (
    said("load", attrgetter("load"), words=True),
    said("engine", attrgetter("cell.engine"), words=True, spare=True),
    said("CPU", lambda line: "all" if line.row.cpu is None
         else words.place_words(line.cell, line.row.cpu).removeprefix("CPU ")),
    *(
        said(name, methodcaller("figure", name), terminal=name in ("p50", "p99", "p99.9", "max"))
        for name in ("max", "min", "mean", *QUANTILES_PPM)
    ),
    said("max on", attrgetter("place"), terminal=False),
    said("wake-ups", attrgetter("shown.histogram.total"), spare=True),
    said("missed", attrgetter("missed"), spare=True),
    said("valid runs", attrgetter("valid"), spare=True),
    said("load reached", attrgetter("cell"), format=achieved_text,
         terminal=lambda cell: achieved_text(cell, ends=False), spare=True),
)  # fmt: skip


def matrix_table(summary: LatencySummary, *, cpus: bool) -> Table:
    """A row per cell, or per CPU of it; a second one, corrected, where periods were missed."""
    rows = [
        MatrixLine(cell, row, shown, corrected)
        for cell in summary.cells
        for row in (cell.cpus if cpus else (cell.whole,))
        for shown, corrected in ((row.raw, False), (row.changed, True))
        if shown is not None
    ]
    return Table(
        name="cpus-table" if cpus else "matrix-table",
        title="wake-up latency, µs",
        columns=MATRIX_COLUMNS,
        rows=rows,
        note=_marks(rows),
        terminal=cpus,
        dense=True,
    )


#: Columns of the table while it is measured, as cyclictest and rtla have it.
_LIVE = ("CPU", "load", "engine", "wake-ups", "min", "mean", "p99", "max")


def live_table(summary: LatencySummary) -> Table:
    """A row per CPU and load, in the order of the loads: what is known so far."""
    rows = [
        MatrixLine(cell, row, row.honest, corrected=False)
        for cell in summary.cells
        for row in cell.cpus
    ]
    worst = max(rows, key=lambda line: line.shown["max"].value_ns or 0, default=None)
    where = f"; the latest {worst.figure('max')}, {worst.load}, {worst.place}" if worst else ""
    columns = [evolve(c, terminal=True, spare=c.key == "engine") for c in MATRIX_COLUMNS]
    return Table(name="live", title=f"µs{where}", columns=columns, rows=rows, order=_LIVE)


def _marks(rows: Sequence[MatrixLine]) -> str:
    marked = any((line.figure(name) or "").endswith("*") for line in rows for name in QUANTILES_PPM)
    return f"{MARKS}." if marked else ""


def _by_load(summary: LatencySummary, machine: Mapping[str, Json]) -> Table:
    """A row per load, the latest first: what users of cyclictest look for."""
    rows = [
        MatrixLine(cell, cell.whole, cell.whole.honest, corrected=False) for cell in summary.cells
    ]
    swallowed = sum(cell.whole.missed for cell in summary.cells if cell.whole.changed)
    counted_in = f"{count_of(swallowed, 'wake-up')} that late ones swallowed count, too."
    spare = {"p99", "p99.9", "max on", "wake-ups"}
    spare |= set() if len(words.engines_of(summary.cells)) > 1 else {"engine"}
    without = words.not_measured(summary, machine)
    return Table(
        name="loads-table",
        title=f"wake-up latency, µs, all {words.place_kind(summary.cells)}s"
        f"{f' but {without}' if without else ''}",
        columns=[
            evolve(column, spare=column.key in spare, terminal=True)
            for column in MATRIX_COLUMNS
            if column.key in ("load", "engine", "max", "max on", "p50", "p99", "p99.9", "wake-ups")
        ],
        rows=sorted(rows, key=lambda line: -(line.shown["max"].value_ns or 0)),
        note=" ".join(filter(None, [_marks(rows), counted_in if swallowed else ""])),
        terminal=True,
    )


def _by_cpu(summary: LatencySummary) -> list[Part]:
    """Minimum, mean and maximum of each CPU, as cyclictest has them, where the latest was."""
    found = [cell for cell in summary.cells if cell.cpus]
    if not found:
        return []
    cell = max(found, key=lambda cell: cell.whole.raw["max"].value_ns or 0)
    table = Table(
        name="worst-cpus-table",
        title=f"Min, mean and max of each {words.place_kind([cell])}",
        columns=[c for c in MATRIX_COLUMNS if c.key in ("CPU", "max", "min", "mean", "wake-ups")],
        order=("CPU", "wake-ups", "min", "mean", "max"),
        rows=[MatrixLine(cell, row, row.honest, corrected=False) for row in cell.cpus],
        dense=True,
    )
    kind = words.place_kind([cell])
    return [
        Subsection(f"Each {kind} under load {load_words(cell.load)}, {cell.engine}, µs", [table])
    ]


def _steps(summary: LatencySummary, asked: Mapping[str, Json]) -> list[tuple[str, str]]:
    labels = {label.lower() for label in summary.labels}
    if "simulated" in labels:
        return [("deadbeat latency --quick", "measure this machine")]
    if "emulated" in labels:
        return [("deadbeat lab run", "in virtual time, where times mean something")]
    if "virtual-time" in labels:
        real = "what a real machine adds: caches, buses, idle states"
        other = ("deadbeat list kernels", "kernels to compare it with")
        return [other, ("deadbeat latency --target local", real)]
    why = ("deadbeat latency --trace", "find out where the worst wake-up's time went")
    known = bool(split.causes_table(summary.cells).rows)
    if known:
        why = (f"deadbeat why {shlex.quote(summary.name)}", "where the worst wake-ups' time went")
    more = ("deadbeat latency --duration 10min", "look for rarer ones: ten minutes a run")
    return [
        *[why] * (known or not (asked.get("trace") or asked.get("keep_above"))),
        ("deadbeat doctor", "what on this machine makes wake-ups late"),
        *[more] * (max(summary.meta.seconds, default=0) < 600),
    ]


# ---------- the tail ----------


def bound_text(tail: TailStatement) -> str | None:
    if tail.bound is None:
        return None
    return "nothing is shown" if tail.bound >= 1 else f"{tail.bound:.2g}"


def _often(tail: TailStatement) -> str | None:
    rate = tail.episodes_per_hour
    return None if rate is None else f"{few_digits(rate)}, {tail.rate_condition}"


def _statement(heading: str, value: Callable[[Any], Any], **more: Any) -> Column:
    return said(heading, lambda row: value(row[1]), **more)


TAIL_COLUMNS = (
    said("load", lambda row: load_words(row[0].load)),
    said("engine", lambda row: row[0].engine, words=True),
    _statement("latency", attrgetter("limit_ns"), format=time_text),
    _statement("kind", attrgetter("kind"), words=True),
    _statement("wake-ups", attrgetter("wake_ups")),
    _statement("later", attrgetter("exceeded")),
    _statement("as good as independent", attrgetter("effective"), format="{:,.0f}".format),
    _statement("share later at most", bound_text),
    _statement("on condition", attrgetter("condition"), long=True),
    _statement("times an hour at most", _often, long=True),
    _statement("runs with a later one", lambda tail: f"{tail.runs_exceeded} of {tail.runs}"),
    _statement("share of runs at most", attrgetter("run_bound"), format=percent),
    _statement("more hours for a tenth of the share", attrgetter("hours_for_tenth"),
               format="{:.3g}".format),
)  # fmt: skip


def _tail(summary: LatencySummary) -> tuple[Part, ...]:
    rows = [(cell, tail) for cell in summary.cells for tail in cell.whole.tail]
    if not rows:
        return (Sentence("Nothing was measured: nothing can be said."),)
    return (
        Note(
            "Bounds hold at 95 % whatever the distribution is, each by itself: some of many fail."
            " The share counts wake-ups as if that many were independent; the share of runs assumes"
            " nothing about wake-ups within a run."
        ),
        Table(name="tail-table", title="Bounds", columns=TAIL_COLUMNS, rows=rows, dense=True),
    )


# ---------- validity ----------

INVALID_COLUMNS = (
    said("run", lambda row: row[0].text),
    said("problem", lambda row: row[1].id, words=True),
    said("what was seen", lambda row: row[1].message, long=True),
)
WARNING_COLUMNS = (
    said("warning", itemgetter(0)),
    said("runs", itemgetter(1)),
    said("for example", itemgetter(2), long=True),
)


def problems_of(summary: LatencySummary) -> list[tuple[LatencyKey, Finding]]:
    """Every problem of every run that does not count."""
    runs = (run for cell in summary.cells for run in cell.invalid)
    return [(run.key, problem) for run in runs for problem in run.problems]


def warnings_of(runs: Iterable[LatencyRun]) -> list[tuple[str, int, str]]:
    """Warnings of valid runs, those of one name together: how many, and the first one's text."""
    texts: dict[str, list[str]] = defaultdict(list)
    for run in (run for run in runs if run.valid):
        for name, text in {problem.id: problem.message for problem in run.problems}.items():
            texts[name].append(f"{run.key.text}: {text}")
    found = ((name, len(each), each[0]) for name, each in texts.items())
    return sorted(found, key=lambda row: -row[1])


def _validity(summary: LatencySummary, runs: Sequence[LatencyRun]) -> tuple[Part, ...]:
    tables = (
        ("Runs that do not count", "invalid-table", INVALID_COLUMNS, problems_of(summary)),
        ("What disturbed runs that count", "warning-table", WARNING_COLUMNS, warnings_of(runs)),
    )
    return (
        Sentence(f"{summary.runs - summary.invalid_runs} of {summary.runs} runs count."),
        *(
            Subsection(title, (Table(name=name, columns=columns, rows=rows, dense=True),))
            for title, name, columns, rows in tables
            if rows
        ),
    )


def _invalid_lines(summary: LatencySummary) -> list[str]:
    invalid = [run for cell in summary.cells for run in cell.invalid]
    lines = [
        f"invalid, counted nowhere: {run.key.text}:"
        f" {next(p.message for p in run.problems if p.severity == 'invalid')}"
        for run in invalid[:_SHOWN]
    ]
    if len(invalid) > _SHOWN:
        lines.append(f"{summary.invalid_runs} of {summary.runs} runs are invalid in all")
    return lines


# ---------- circumstances ----------


def latency_charts(
    summary: LatencySummary, runs: Sequence[LatencyRun], *, machine: bool = True
) -> list[Chart]:
    """Every figure that there are numbers for; ``machine``: also of the path and the machine."""
    tops = defaultdict[str, int](int)
    for cell in summary.cells:
        load, top = load_words(cell.load), cell.whole.raw.histogram.max_ns or 0
        tops[load] = max(tops[load], top)

    def worst_first(charts: Iterable[Chart]) -> list[Chart]:
        return sorted(charts, key=lambda chart: -tops[chart.option])

    own = [*worst_first(histogram_charts(summary)), *load_charts(summary)]
    own += [*worst_first(timeline_charts(runs)), *worst_first(tail_charts(summary))]
    return [*own, *split_charts(summary.cells), *machine_charts(runs)] if machine else own


def latency_document(
    summary: LatencySummary,
    runs: Sequence[LatencyRun] = (),
    *,
    platform: Mapping[str, Json] | None = None,
    parameters: Mapping[str, Json] | None = None,
) -> Document:
    """What a matrix says: how late a task wakes up, and why.

    Args:
        runs: For figures over time and circumstances; a terminal needs none.
        platform: The machine as plain values; None: not recorded.
        parameters: What was asked for, as plain values.
    """
    machine, cells = platform or {}, summary.cells
    figures = Figures(latency_charts(summary, runs, machine=False), "Nothing was measured yet.")
    facts = words.circumstances(runs, machine, parameters or {})
    why = (Figures(split_charts(cells)), *split.paths(cells))
    matrix = (
        Note(
            "Microseconds. All wake-ups of all valid runs pooled; percentiles and maxima are never"
            ' averaged over CPUs. A row "corrected" stands where periods were missed. The same with'
            " intervals: latency.csv."
        ),
        matrix_table(summary, cpus=False),
        Subsection("By CPU", (matrix_table(summary, cpus=True),), folded=True),
    )
    loads = words.answers(summary)
    answer = (
        Lines(list(filter(None, [words.without_run(summary.cells)])), terminal=True, page=False),
        Sentence(words.sentence(summary), answer=True, terminal=True),
        *(Sentence(text, terminal=True) for text in words.tail_sentences(summary)),
        *((Sentence(f"{summary.beside}.", terminal=True),) if summary.beside else ()),
        Lines([lines for _, lines in loads], heads=[load for load, _ in loads]),
        *_by_cpu(summary),
        Lines(split.cause_lines(summary.cells), terminal=True, page=False),
        Lines(_invalid_lines(summary), terminal=True, page=False),
    )
    return Document(
        title=summary.name,
        kind="latency",
        source="the stored runs of this matrix",
        labels=labels_of(summary),
        head=words.head_facts(summary, machine),
        answer=words.short_answer(summary),
        picture=_by_load(summary, machine),
        steps=_steps(summary, parameters or {}),
        data_files=CSV_FILE,
        sections=(
            Section("answer", "How late a task wakes up", answer, "Answer"),
            Section("findings", "Findings", (Findings(summary.findings, summary.labels),)),
            Section("figures", "Figures", (figures,)),
            Section("matrix", "Matrix", matrix),
            Section("tail", "Have we measured long enough?", _tail(summary), "Long enough?"),
            Section("why", "Where the latency went", why, "Why late"),
            Section("validity", "Validity", _validity(summary, runs)),
            Section("circumstances", "Circumstances", (Figures(machine_charts(runs)), *facts)),
            Section("glossary", "How to read this", (FactList(terms("latency"), terms=True),)),
        ),
    )


# ---------- files ----------


def summary_of(store: LatencyStore, runs: Iterable[LatencyRun] | None = None) -> LatencySummary:
    """What the runs of a matrix come to."""
    return summarise_latency(
        store.runs() if runs is None else runs,
        name=store.path.name,
        deadlines_ns=read_spec(store.spec).deadlines,
        beside=store.spec.get("beside"),
    )


def write_latency(store: LatencyStore, figures: bool = True) -> LatencySummary:
    """``latency.csv``, the figures, and the page, last: everything that derives from the runs."""
    runs = tuple(store.runs())
    summary = summary_of(store, runs)
    document = latency_document(
        summary, runs, platform=asdict(store.platform), parameters=store.spec
    )
    write_result(
        store,
        with_beside(document, store.path),
        {CSV_FILE: csv_of(LATENCY_COLUMNS, lines_of(summary))},
        words=paper_words(summary, kernel=store.platform.kernel),
        charts=latency_charts(summary, runs) if figures else (),
    )
    return summary


def paper_words(summary: LatencySummary, *, kernel: str = "") -> Words:
    """Labels and caption of every figure on paper."""
    origin = words.rests(summary) + (f"; {kernel_text(kernel)}" if kernel else "")
    return Words(labels=", ".join(labels_of(summary)), caption=f"{origin}.")
