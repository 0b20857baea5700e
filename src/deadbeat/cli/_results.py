"""What ``profile``, ``report`` and ``show`` share: results to files, to a table, to JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import click

from deadbeat.cli._output import print_table
from deadbeat.kinds.contention.headline import headline
from deadbeat.kinds.contention.late import WORST
from deadbeat.kinds.contention.place import state_of
from deadbeat.kinds.contention.summarise import summarise
from deadbeat.kinds.contention.table import NOTE, STRESS_NOTE, terminal_columns, terminal_sections
from deadbeat.kinds.contention.write import write_figures, write_report
from deadbeat.model.finding import counts_text
from deadbeat.model.results import Summary
from deadbeat.report.facts import labels, origin_text, precision_text
from deadbeat.store.campaign import CampaignStore
from deadbeat.store.place import REPORT_FILE
from deadbeat.store.summary import write_summary

SEVERITIES = ("serious", "warning", "info")


def write_results(
    store: CampaignStore, *, figures: bool, worst: int = WORST
) -> tuple[Summary, Path]:
    """Everything that derives from the runs; the page last, because it marks the campaign done."""
    summary = summarise(store, worst=worst)
    write_summary(store, summary)
    if figures:
        write_figures(summary, store.path)
    return summary, write_report(summary, store.path)


def print_points(summary: Summary, path: Path) -> None:
    """A line per point, the answer in words, and what holds for all of them, on stdout."""
    columns = terminal_columns(summary)
    marks = "   ".join(label.upper() for label in labels(summary))
    click.echo(f"{path.name}   {marks}".rstrip())
    for section in terminal_sections(summary):
        print_table(
            [heading for _, heading in columns],
            ([row[key] for key, _ in columns] for row in section.rows),
            title=section.title,
            numeric=[heading for key, heading in columns if key != "group"],
            plain=True,
        )
    if summary.rows:
        click.echo(STRESS_NOTE if summary.mode == "stress" else NOTE)
    click.echo()
    for line in headline(summary).lines:
        click.echo(line)
    if text := origin_text(summary):
        click.echo(f"programs {text}")
    if text := precision_text(summary):
        click.echo(text)


def finding_counts(summary: Summary) -> str:
    """``2 serious, 1 warning`` or ``none``."""
    return counts_text(summary.findings)


def print_findings(summary: Summary, severities: Sequence[str] = SEVERITIES[:2]) -> None:
    """Every finding but the mere remarks, the serious ones first."""
    for severity in severities:
        for finding in summary.findings:
            if finding.severity == severity:
                cure = f" ({finding.cure})" if finding.cure else ""
                click.echo(f"{severity}: {finding.message}{cure}")


def answer_dict(summary: Summary, path: Path) -> dict[str, Any]:
    """What ``--json`` prints of a campaign."""
    state = state_of(path)
    failed = summary.meta.get("failed") or {}
    report = path / REPORT_FILE
    return {
        "name": path.name,
        "path": str(path),
        "state": state.state,
        "planned": state.planned,
        "done": state.done,
        "failed": [{"run": key, "reason": failed[key].get("reason", "")} for key in sorted(failed)],
        "labels": list(labels(summary)),
        "mode": summary.mode,
        "headline": headline(summary).sentence,
        "origin": summary.meta.get("origin"),
        "noise_floor": summary.noise_floor,
        "precision": summary.meta.get("precision"),
        "rows": list(summary.rows),
        "findings": [attrs.asdict(finding) for finding in summary.findings],
        "report": str(report) if report.is_file() else None,
    }
