"""What the doctor found as one self-contained HTML page. As page.py: all text is escaped."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path

from deadbeat.base.model.words import escape
from deadbeat.base.report.document import (
    Document,
    FactList,
    Markup,
    Note,
    Section,
    Sentence,
    Table,
    said,
    texts_table,
)
from deadbeat.base.report.html import asset, terms, write_page
from deadbeat.base.report.parts import text
from deadbeat.machine.settings import doctor_summary as summary
from deadbeat.machine.settings.doctor import DoctorReport
from deadbeat.machine.settings.readiness import SEVERITIES, CheckResult


def _found(result: CheckResult) -> str:
    """What was found; where that is nothing, what it means."""
    return result.reason if result.found in ("", "none") else result.found


_GRAVEST = (
    said("severity", lambda each: each.severity, words=True),
    said("check", lambda each: each.id, words=True),
    said("found", _found, words=True, long=True),
)
#: Most rows of the first screen, their lines together, and characters in a line of the last column.
_ROWS, _LINES, _FOUND = 10, 11, 38


def write_doctor(report: DoctorReport, path: Path) -> Path:
    """Writes the page to ``path`` and returns it.

    Raises:
        DeadbeatError: The folder, of which all but the last must be there, or file cannot be
            written.
    """
    return write_page(path, doctor_document(report))


def doctor_document(report: DoctorReport) -> Document:
    families = "".join(map(_family, summary.groups(report.results)))
    rows = []
    for severity in SEVERITIES:
        own = [result for result in report.results if result.severity == severity]
        counts = [sum(r.status == status for r in own) for status in ("fail", "unknown", "pass")]
        rows.append((severity, *map(str, counts)))
    overview = texts_table("overview-table", ("severity", "fail", "unknown", "pass"), rows)
    if not report.inventory:
        inventory: tuple[Section, ...] = ()
    else:
        counted = texts_table(
            "inventory-table", summary.INVENTORY_COLUMNS, summary.inventory_rows(report)
        )
        hardening = texts_table(
            "hardening-table", summary.HARDENING_COLUMNS, summary.hardening_rows(report.hardening)
        )
        hint = Note(
            "The expected cost comes from the sources, not from this machine. To measure it"
            " here, run deadbeat latency without and with the option, then deadbeat compare"
            " WITHOUT WITH."
        )
        inventory = (
            Section("inventory", "Inventory", (counted,)),
            Section("hardening", "Hardening", (hint, hardening)),
        )
    sections = (
        Section(
            "answer",
            "Is it ready",
            (Sentence(summary.sentence(report), answer=True), overview, *_tuning(report)),
            "Answer",
        ),
        Section("checks", "Checks", (Markup(asset("checks.html") + families),)),
        *inventory,
        Section("reading", "How to read this", (FactList(terms("doctor"), terms=True),)),
    )
    failing = summary.failing(report)
    # Rows leave room on a screen of 24 lines for what stands around them.
    lines = accumulate(-(-len(_found(each)) // _FOUND) for each in failing[:_ROWS])
    return Document(
        title=report.target.name,
        answer=(summary.sentence(report), f"{summary.counts(report)}."),
        picture=Table(name="gravest", columns=_GRAVEST, rows=failing),
        rows=sum(line <= _LINES for line in lines),
        steps=summary.steps(report),
        details="deadbeat doctor --all",
        kind="doctor",
        product="deadbeat doctor",
        labels=summary.labels(report),
        head=summary.facts(report),
        sections=sections,
        styles=("doctor.css",),
        scripts=("doctor.js",),
    )


def _tuning(report: DoctorReport) -> tuple[Markup, ...]:
    tuning = summary.tuning(report)
    if tuning is None:
        return ()
    command, does = tuning
    return (Markup(f'<p class="tuning"><code>{escape(command)}</code> {escape(does)}.</p>'),)


def _family(group: summary.CheckGroup) -> str:
    items = "".join(map(_item, group.results))
    return (
        f'<div class="family" id="family-{escape(group.name)}"><h3>{escape(group.title)}'
        f' <span class="count">{escape(group.counts)}</span></h3>'
        f'<p class="hint nothing" hidden>Nothing to show of {len(group.results)} checks.</p>'
        f'<ul class="results">{items}</ul></div>'
    )


def _item(result: CheckResult) -> str:
    line = summary.cure(result)
    cure = f'<p class="cure">What to do: <code>{escape(line)}</code></p>' if line else ""
    details = "".join(
        f"<div><dt>{name}</dt><dd>{escape(getattr(result, name))}</dd></div>"
        for name in ("wanted", "read", "source")
    )
    return (
        f'<li class="{result.status} {result.severity}">'
        f'<span class="status">{result.status}, {result.severity}</span><div>'
        f"<p><strong>{escape(result.title)}</strong>"
        f' <span class="id">{escape(result.id)}</span></p>'
        f"<p>{text(summary.reading(result))}</p>"
        f"{cure}"
        f"<details><summary>wanted, read, source</summary><dl>{details}</dl></details></div></li>"
    )
