"""A latency matrix as one self-contained HTML page. As page.py: all text is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from deadbeat.kinds.latency import circumstances_table as latency_circumstances
from deadbeat.kinds.latency import split as latency_split
from deadbeat.kinds.latency import words
from deadbeat.kinds.latency.histograms import histogram_charts, tail_charts
from deadbeat.kinds.latency.load_charts import load_charts
from deadbeat.kinds.latency.machine_charts import machine_charts
from deadbeat.kinds.latency.split import split_charts
from deadbeat.kinds.latency.timeline import timeline_charts
from deadbeat.model.latency import LatencyRun
from deadbeat.model.latency_summary import LatencySummary
from deadbeat.report import parts
from deadbeat.report.charts import Chart
from deadbeat.report.charts_html import Stamp, data_of, figures
from deadbeat.report.embed import document
from deadbeat.report.glossary import LATENCY_TERMS


def latency_charts(summary: LatencySummary, runs: Sequence[LatencyRun]) -> list[Chart]:
    """Every figure that there are numbers for."""
    return [
        *load_charts(summary),
        *histogram_charts(summary),
        *timeline_charts(runs),
        *tail_charts(summary),
        *split_charts(summary.cells),
        *machine_charts(runs),
    ]


def render_latency(
    summary: LatencySummary,
    runs: Sequence[LatencyRun],
    *,
    platform: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> str:
    """The page as text; the same runs give the same page.

    Args:
        platform: Of the machine, as plain values; None: not recorded.
        parameters: What was asked for, as plain values.
    """
    machine = platform or {}
    labels = labels_of(summary)
    split, machine_did = split_charts(summary.cells), machine_charts(runs)
    elsewhere = {chart.name for chart in (*split, *machine_did)}
    charts = [chart for chart in latency_charts(summary, runs) if chart.name not in elsewhere]
    stamp = Stamp(labels=labels, noise="")
    return document(
        "latency.html",
        title=f"{summary.name} – deadbeat latency",
        styles=("page.css", "charts.css"),
        scripts=("plots.js", "charts.js"),
        fields={
            "name": escape(summary.name),
            "banner": parts.banner(labels),
            "head_facts": parts.definitions(words.head_facts(summary, machine)),
            "sentence": parts.together(words.sentence(summary)),
            "tail_sentences": "".join(
                f"<p>{parts.together(text)}</p>"
                for text in (*words.tail_sentences(summary), *_beside(summary))
            ),
            "answers": parts.listed(
                (_answer(load, lines) for load, lines in words.answers(summary)), "answers groups"
            ),
            "findings": parts.findings_list(summary.findings, summary.labels),
            "figures": figures(charts, stamp) or "<p>Nothing was measured yet.</p>",
            "matrix": _matrix(summary, cpus=False),
            "by_cpu": _matrix(summary, cpus=True),
            "tail": _tail(summary),
            "why": figures(split, stamp) + latency_split.section(summary.cells),
            "validity": _validity(summary, runs),
            "circumstances": figures(machine_did, stamp)
            + latency_circumstances.section(runs, machine, parameters or {}),
            "glossary": parts.definitions(LATENCY_TERMS, "terms"),
            "charts": data_of([*charts, *split, *machine_did]),
        },
    )


def labels_of(summary: LatencySummary) -> tuple[str, ...]:
    """What must show on every figure."""
    return tuple(
        label.upper() if label in {"simulated", "emulated"} else label for label in summary.labels
    )


def _answer(load: str, lines: Sequence[str]) -> str:
    texts = "".join(f'<span class="words">{parts.together(line)}</span>' for line in lines)
    return f"<b>{escape(load)}</b><span>{texts}</span>"


def _matrix(summary: LatencySummary, *, cpus: bool) -> str:
    rows = words.matrix_rows(summary, cpus=cpus)
    name = "cpus-table" if cpus else "matrix-table"
    table = parts.cell_table(words.MATRIX_COLUMNS, rows, id=name, kind="dense")
    marked = any(text.endswith("*") for row in rows for text in row)
    return table + (f'<p class="hint">{escape(words.MARKS)}.</p>' if marked else "")


def _tail(summary: LatencySummary) -> str:
    rows = words.tail_rows(summary)
    if not rows:
        return "<p>Nothing was measured: nothing can be said.</p>"
    table = parts.cell_table(words.TAIL_COLUMNS, rows, id="tail-table", kind="dense heads")
    made = (
        '<p class="hint">Bounds hold at 95 % whatever the distribution is, each by itself:'
        " of many some fail. The share counts"
        " wake-ups as if so many were independent; the share of runs assumes nothing about"
        " wake-ups within a run.</p>"
        f"{parts.scrolled(table, 'Bounds')}"
    )
    lines = words.extrapolation_lines(summary)
    if lines:
        gates = words.gate_rows(summary)
        made += f"<h3>Beyond what was seen</h3>{parts.pairs_table(lines)}"
        if gates:
            looked = parts.cell_table(words.GATE_COLUMNS, gates, id="gates-table", kind="said")
            made += (
                f"<details><summary>{len(gates)} conditions that were looked at</summary>"
                f"{parts.scrolled(looked, 'Conditions')}</details>"
            )
    return made


def _beside(summary: LatencySummary) -> tuple[str, ...]:
    return (f"{summary.beside}.",) if summary.beside else ()


def _validity(summary: LatencySummary, runs: Sequence[LatencyRun]) -> str:
    invalid, warnings = words.invalid_rows(summary), words.warning_rows(runs)
    made = f"<p>{summary.runs - summary.invalid_runs} of {summary.runs} runs count.</p>"
    if invalid:
        table = parts.cell_table(words.INVALID_COLUMNS, invalid, id="invalid-table", kind="said")
        made += f"<h3>Runs that do not count</h3>{parts.scrolled(table, 'Invalid runs')}"
    if warnings:
        table = parts.cell_table(words.WARNING_COLUMNS, warnings, id="warning-table", kind="said")
        made += f"<h3>What happened beside runs that count</h3>{parts.scrolled(table, 'Warnings')}"
    return made
