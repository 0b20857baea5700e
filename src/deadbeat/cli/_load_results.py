"""What ``load``, ``report`` and ``show`` share: a load test in the terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from deadbeat.cli._output import print_json
from deadbeat.kinds.interference.document import load_document, summary_dict, write_load
from deadbeat.kinds.interference.place import state_of
from deadbeat.kinds.interference.view import summary_of
from deadbeat.model.load import PLAIN
from deadbeat.model.load_summary import LoadSummary
from deadbeat.report.terminal import print_document
from deadbeat.store.load import LoadStore
from deadbeat.store.place import REPORT_FILE

#: What --fail-on of ``load`` may name.
FAIL_ON = ("misses", "invalid")


def status_of(summary: LoadSummary, *, failed: int = 0, fail_on: str = "") -> int:
    """Exit status: 1 where no run without a remedy counts, so that the question has no answer.

    Args:
        failed: Runs without a result.
        fail_on: 1 also where a deadline was missed without a remedy (``misses``), or where a run is
            invalid or has no result (``invalid``).
    """
    plain = [cell for cell in summary.cells if cell.condition == PLAIN and cell.runs]
    missed = any(cell.failures for cell in plain)
    lost = failed > 0 or any(cell.invalid for cell in summary.cells)
    fails = {"misses": missed, "invalid": lost}.get(fail_on, False)
    return int(not plain or fails)


def report_load(
    path: Path, *, figures: bool, as_json: bool, failed: Mapping[str, str] | None = None
) -> LoadSummary:
    """Writes everything derived, and prints the answer.

    Args:
        failed: Runs of this invocation without a result, and why.
    """
    store = LoadStore.open(path)
    summary, page = write_load(store, summary_of(store), figures=figures)
    if as_json:
        more = {"path": str(path), "report": str(page), "failed": dict(failed or {})}
        print_json(summary_dict(summary, **more))
        return summary
    print_document(load_document(summary))
    click.echo(f"report: {page}")
    return summary


def show_load(path: Path, *, as_json: bool) -> None:
    """The answer of what is stored."""
    summary = summary_of(LoadStore.open(path))
    if as_json:
        print_json(summary_dict(summary, path=str(path), report=str(path / REPORT_FILE), failed={}))
        return
    print_document(load_document(summary))
    state = state_of(path)
    click.echo(f"{state.state}: {state.done} of {state.planned} runs")
