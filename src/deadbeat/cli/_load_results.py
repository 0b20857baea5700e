"""What ``load``, ``report`` and ``show`` share: a load test in the terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from deadbeat.cli._output import print_json, print_table
from deadbeat.kinds.interference.place import state_of
from deadbeat.kinds.interference.view import summary_of
from deadbeat.kinds.interference.words import (
    SHORT_COLUMNS,
    SHORT_EFFECTS,
    label_of,
    power_lines,
    sentences,
    short_effects,
    short_rows,
)
from deadbeat.kinds.interference.write import summary_dict, write_load
from deadbeat.model.load import PLAIN
from deadbeat.model.load_summary import LoadSummary
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


def print_load(summary: LoadSummary) -> None:
    """The table, the remedies and the causes on stdout."""
    print_table(
        SHORT_COLUMNS,
        short_rows(summary),
        title=f"{summary.name}   {label_of(summary)}",
        numeric=SHORT_COLUMNS[1:],
        whole=SHORT_COLUMNS[:1],
    )
    if summary.effects:
        print_table(
            SHORT_EFFECTS,
            short_effects(summary),
            title="remedies: a verdict errs in 5 % of tests, all of them together",
            numeric=SHORT_EFFECTS[1:-1],
            whole=SHORT_EFFECTS[:1],
        )
        for line in power_lines(summary):
            click.echo(line)
    for line in sentences(summary):
        click.echo(line)


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
    print_load(summary)
    click.echo(f"report: {page}")
    return summary


def show_load(path: Path, *, as_json: bool) -> None:
    """The answer of what is stored."""
    summary = summary_of(LoadStore.open(path))
    if as_json:
        print_json(summary_dict(summary, path=str(path), report=str(path / REPORT_FILE), failed={}))
        return
    print_load(summary)
    state = state_of(path)
    click.echo(f"{state.state}: {state.done} of {state.planned} runs")
