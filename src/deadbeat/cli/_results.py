"""What ``profile``, ``report`` and ``show`` share: results to files, to a table, to JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs

from deadbeat.kinds.contention.document import write_figures, write_report
from deadbeat.kinds.contention.headline import headline
from deadbeat.kinds.contention.late import WORST
from deadbeat.kinds.contention.place import state_of
from deadbeat.kinds.contention.summarise import summarise
from deadbeat.model.finding import counts_text
from deadbeat.model.results import Summary
from deadbeat.report.facts import labels
from deadbeat.store.campaign import CampaignStore
from deadbeat.store.place import REPORT_FILE
from deadbeat.store.summary import write_summary


def write_results(
    store: CampaignStore, *, figures: bool, worst: int = WORST
) -> tuple[Summary, Path]:
    """Everything that derives from the runs; the page last, because it marks the campaign done."""
    summary = summarise(store, worst=worst)
    write_summary(store, summary)
    if figures:
        write_figures(summary, store.path)
    return summary, write_report(summary, store.path)


def finding_counts(summary: Summary) -> str:
    """``2 serious, 1 warning`` or ``none``."""
    return counts_text(summary.findings)


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
