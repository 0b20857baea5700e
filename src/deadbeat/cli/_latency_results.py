"""What ``latency``, ``report`` and ``show`` share: a matrix in the terminal, and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import click

from deadbeat.cli._latency_causes import causes_of, print_causes
from deadbeat.cli._output import print_json, print_table
from deadbeat.kinds.latency import words
from deadbeat.kinds.latency.page import labels_of
from deadbeat.kinds.latency.place import state_of
from deadbeat.kinds.latency.spec import read_spec
from deadbeat.kinds.latency.summarise import latency_rows, summarise_latency, tail_rows
from deadbeat.kinds.latency.write import write_latency
from deadbeat.model.finding import counts_text
from deadbeat.model.latency_summary import LatencySummary
from deadbeat.store.latency import LatencyStore
from deadbeat.store.place import REPORT_FILE

_SEVERITIES = ("serious", "warning", "info")
#: Invalid runs, and runs without a result, that are named; the folder has all of them.
_TOLD = 5


#: Columns of the page's table that a terminal has no room for; ``--json`` has them.
_LEFT_OUT = ("min", "mean", "p90", "p99.99", "max on")


def print_matrix(summary: LatencySummary) -> None:
    """A line per load, engine and CPU, in microseconds, and the answer in words."""
    marks = "   ".join(labels_of(summary))
    kept = [i for i, name in enumerate(words.MATRIX_COLUMNS) if name not in _LEFT_OUT]
    columns = [words.MATRIX_COLUMNS[i] for i in kept]
    # Of the load that was reached the mean alone: its range is on the page.
    rows = [
        [row[i].partition(" (")[0] for i in kept] for row in words.matrix_rows(summary, cpus=True)
    ]
    if rows:
        print_table(
            columns,
            rows,
            title=f"{summary.name}   wake-up latency, us   {marks}".rstrip(),
            numeric=columns[2:-2],
            whole=columns[:-2],
        )
    if any(text.endswith("*") for row in rows for text in row):
        click.echo(words.MARKS)
    if nothing := words.without_run(summary.cells):
        click.echo(nothing)
    click.echo(words.sentence(summary))
    for text in words.tail_sentences(summary):
        click.echo(text)
    if summary.beside:
        click.echo(f"{summary.beside}.")
    print_causes(summary.cells)
    invalid = [run for cell in summary.cells for run in cell.invalid]
    for one in invalid[:_TOLD]:
        why = next(p.message for p in one.problems if p.severity == "invalid")
        click.echo(f"invalid, counted nowhere: {one.key.text}: {why}")
    if len(invalid) > _TOLD:
        click.echo(f"{summary.invalid_runs} of {summary.runs} runs are invalid in all")


def finding_counts(summary: LatencySummary) -> str:
    """``2 serious, 1 warning`` or ``none``."""
    return counts_text(summary.findings)


def print_findings(summary: LatencySummary) -> None:
    """Every finding but the mere remarks, the serious ones first."""
    for severity in _SEVERITIES[:2]:
        for finding in summary.findings:
            if finding.severity == severity:
                cure = f" ({finding.cure})" if finding.cure else ""
                click.echo(f"{severity}: {finding.message}{cure}")


def status_of(summary: LatencySummary, *, strict: bool = False) -> int:
    """Exit status: 1 where nothing was measured that counts; if strict, also where any run does
    not."""
    valid = summary.runs - summary.invalid_runs
    return 1 if not valid or (strict and summary.invalid_runs) else 0


def answer_dict(store: LatencyStore, summary: LatencySummary) -> dict[str, Any]:
    """What ``--json`` prints of a matrix."""
    state = state_of(store.path)
    report = store.path / REPORT_FILE
    return {
        "kind": "latency",
        "name": store.path.name,
        "path": str(store.path),
        "state": state.state,
        "planned": state.planned,
        "done": state.done,
        "failed": [{"run": k.text, "reason": why} for k, why in store.failed().items()],
        "invalid": [
            {"run": run, "problem": name, "text": text}
            for run, name, text in words.invalid_rows(summary)
        ],
        "beside": summary.beside,
        "labels": list(labels_of(summary)),
        "headline": words.sentence(summary),
        "tail": list(words.tail_sentences(summary)),
        "rows": list(latency_rows(summary)),
        "tails": tail_rows(summary),
        "causes": causes_of(summary.cells),
        "findings": [attrs.asdict(finding) for finding in summary.findings],
        "report": str(report) if report.is_file() else None,
    }


def show_matrix(path: Path, *, as_json: bool) -> None:
    """What ``deadbeat show`` says of a matrix."""
    store = LatencyStore.open(path)
    deadlines = read_spec(store.spec).deadlines
    summary = summarise_latency(store.runs(), name=path.name, deadlines_ns=deadlines)
    if as_json:
        print_json(answer_dict(store, summary))
        return
    print_matrix(summary)
    print_findings(summary)
    for key, reason in list(store.failed().items())[:_TOLD]:
        click.echo(f"no result: {key.text}: {reason}")
    state = state_of(path)
    click.echo(
        f"{state.state}: {state.done} of {state.planned} runs, {state.failed} failed,"
        f" {summary.invalid_runs} invalid   findings: {finding_counts(summary)}"
    )


def report_matrix(path: Path, *, figures: bool, as_json: bool) -> None:
    """What ``deadbeat report`` does with a matrix."""
    store = LatencyStore.open(path)
    deadlines = read_spec(store.spec).deadlines
    report = write_latency(store, deadlines_ns=deadlines, figures=figures)
    if as_json:
        print_json(answer_dict(store, report.summary))
        return
    click.echo(f"findings: {finding_counts(report.summary)}")
    click.echo(f"report: {report.page}")
