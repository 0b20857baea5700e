"""What ``latency``, ``report`` and ``show`` share: a matrix in the terminal, and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import click

from deadbeat.cli._latency_causes import causes_of
from deadbeat.cli._output import print_json
from deadbeat.kinds.latency import words
from deadbeat.kinds.latency.document import latency_document, problems_of, write_latency
from deadbeat.kinds.latency.place import state_of
from deadbeat.kinds.latency.spec import read_spec
from deadbeat.kinds.latency.summarise import latency_rows, summarise_latency, tail_rows
from deadbeat.kinds.latency.words import labels_of
from deadbeat.model.finding import counts_text
from deadbeat.model.latency_summary import LatencySummary
from deadbeat.report.terminal import print_document, print_findings
from deadbeat.store.latency import LatencyStore
from deadbeat.store.place import REPORT_FILE

#: Runs without a result that are named; the folder has all of them.
_TOLD = 5


def finding_counts(summary: LatencySummary) -> str:
    """``2 serious, 1 warning`` or ``none``."""
    return counts_text(summary.findings)


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
            {"run": key.text, "problem": problem.id, "text": problem.message}
            for key, problem in problems_of(summary)
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
    print_document(latency_document(summary))
    print_findings(summary.findings)
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
