"""Why the worst wake-ups of a latency matrix were late, in the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from attrs import evolve

from deadbeat.cli._output import print_json
from deadbeat.kinds.latency.spec import read_spec
from deadbeat.kinds.latency.split import (
    cause_line,
    causes_table,
    means_table,
    traced,
    unavailable,
)
from deadbeat.kinds.latency.summarise import summarise_latency
from deadbeat.model.errors import UsageError
from deadbeat.model.latency import PATH_PARTS
from deadbeat.model.latency_summary import CellSummary
from deadbeat.report.terminal import print_part
from deadbeat.store.latency import LatencyStore


def why_matrix(path: Path, *, count: int, as_json: bool) -> None:
    """What ``deadbeat why`` says of a matrix: the split of its path, and its worst wake-ups.

    Raises:
        UsageError: None of its wake-ups was traced.
    """
    store = LatencyStore.open(path)
    summary = summarise_latency(store.runs(), name=path.name)
    causes, reasons = causes_of(summary.cells), list(unavailable(summary.cells))
    if as_json:
        print_json({"causes": causes[:count], "unavailable": "; ".join(reasons), "notes": []})
        return
    if not causes:
        spec = read_spec(store.spec)
        hint = "measure it with --trace, or with --keep-above TIME"
        if (spec.trace or spec.keep_above) and summary.invalid_runs == summary.runs:
            hint = f"its traced runs are invalid: deadbeat show {path.name} tells why"
        message = f"{path.name} does not say where the time of its wake-ups went"
        raise UsageError(message, "; ".join(reasons) or hint)
    _print(summary.cells, count)
    for reason in reasons:
        click.echo(f"not split: {reason}")


def causes_of(cells: Sequence[CellSummary]) -> list[dict[str, Any]]:
    """The worst traced wake-up of every CPU beside every load, the latest first, as plain values:
    times in ns; a part that is not known is None."""
    return [
        {
            "load": item.cell.load.text,
            "engine": item.cell.engine,
            "cpu": item.split.cpu,
            "latency_ns": item.worst_ns,
            "parts_ns": {part: item.worst_parts.get(part) for part in PATH_PARTS},
            "cause": str(item.split.worst.get("cause") or "") or None,
        }
        for item in sorted(traced(cells), key=lambda item: -item.worst_ns)
        if item.worst_ns
    ]


def _print(cells: Sequence[CellSummary], count: int) -> None:
    causes = causes_table(cells)
    worst = causes.rows[:count]
    print_part(evolve(causes, rows=worst))
    for item in worst:
        click.echo(f"beside {cause_line(item)}")
    print_part(means_table(cells))
