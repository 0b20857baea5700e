"""What the doctor found as one self-contained HTML page. As page.py: all text is escaped."""

from __future__ import annotations

from html import escape
from pathlib import Path

from deadbeat.model.readiness import SEVERITIES, CheckResult
from deadbeat.report.document import (
    Document,
    FactList,
    Markup,
    Note,
    Section,
    Sentence,
    Table,
    texts_table,
)
from deadbeat.report.embed import asset
from deadbeat.report.files import write_page
from deadbeat.report.html import text
from deadbeat.settings import doctor_words as words
from deadbeat.settings.doctor import DoctorReport
from deadbeat.store.files import storing


def write_doctor(diagnosis: DoctorReport, path: Path) -> Path:
    """Writes the page to ``path`` and returns it.

    Raises:
        DeadbeatError: The folder, of which all but the last must be there, or file cannot be
            written.
    """
    with storing(path.parent):
        path.parent.mkdir(exist_ok=True)
    return write_page(path, doctor_document(diagnosis))


def doctor_document(diagnosis: DoctorReport) -> Document:
    """What the doctor found; the same diagnosis gives the same page."""
    families = "".join(map(_family, words.groups(diagnosis.results)))
    sections = (
        Section(
            "answer",
            "Is it ready",
            (
                Sentence(words.sentence(diagnosis), answer=True),
                _overview(diagnosis),
                *_tuning(diagnosis),
            ),
            "Answer",
        ),
        Section("checks", "Checks", (Markup(asset("checks.html") + families),)),
        *_inventory(diagnosis),
        Section("reading", "How to read this", (FactList(_TERMS, terms=True),)),
    )
    return Document(
        title=diagnosis.patient.name,
        kind="doctor",
        product="deadbeat doctor",
        labels=words.labels(diagnosis),
        head=words.facts(diagnosis),
        sections=sections,
        styles=("doctor.css",),
        scripts=("doctor.js",),
    )


_TERMS = (
    ("fail", "What was found is not what the source wants. Severity is that of the source where it"
     " gives one; the cure is a line to type, or what to change at boot or build time. Nothing was"
     " changed."),
    ("unknown", "It could not be read, and the reason says why: missing, denied, locked down."
     " Unknown is never a pass."),
    ("pass", "What was found is as wanted now. It says nothing of what a driver or service changes"
     " later."),
    ("ready", "No check of severity fatal or high fails. How late tasks are is measured by deadbeat"
     " latency, not concluded from settings."),
)  # fmt: skip


def _overview(diagnosis: DoctorReport) -> Table:
    """A line per severity."""
    rows = []
    for severity in SEVERITIES:
        own = [result for result in diagnosis.results if result.severity == severity]
        counts = [sum(r.status == status for r in own) for status in ("fail", "unknown", "pass")]
        rows.append((severity, *map(str, counts)))
    return texts_table("overview-table", ("severity", "fail", "unknown", "pass"), rows)


def _tuning(diagnosis: DoctorReport) -> tuple[Markup, ...]:
    tuning = words.tuning(diagnosis)
    if tuning is None:
        return ()
    command, does = tuning
    return (Markup(f'<p class="tuning"><code>{escape(command)}</code> {escape(does)}.</p>'),)


def _family(group: words.CheckGroup) -> str:
    items = "".join(map(_item, group.results))
    return (
        f'<div class="family" id="family-{escape(group.name)}"><h3>{escape(group.title)}'
        f' <span class="count">{escape(group.counts)}</span></h3>'
        f'<p class="hint nothing" hidden>Nothing to show of {len(group.results)} checks.</p>'
        f'<ul class="results">{items}</ul></div>'
    )


def _item(result: CheckResult) -> str:
    line = words.cure(result)
    cure = f'<p class="cure">What to do: <code>{escape(line)}</code></p>' if line else ""
    details = "".join(
        f"<div><dt>{name}</dt><dd>{escape(value)}</dd></div>"
        for name, value in (
            ("wanted", result.wanted), ("read", result.read), ("source", result.source),
        )
    )  # fmt: skip
    return (
        f'<li class="{result.status} {result.severity}">'
        f'<span class="status">{result.status}, {result.severity}</span><div>'
        f"<p><strong>{escape(result.title)}</strong>"
        f' <span class="id">{escape(result.id)}</span></p>'
        f"<p>{text(words.told(result))}</p>"
        f"{cure}"
        f"<details><summary>wanted, read, source</summary><dl>{details}</dl></details></div></li>"
    )


def _inventory(diagnosis: DoctorReport) -> tuple[Section, ...]:
    if not diagnosis.inventory:
        return ()
    counted = texts_table(
        "inventory-table", words.INVENTORY_COLUMNS, words.inventory_rows(diagnosis)
    )
    hardening = texts_table(
        "hardening-table", words.HARDENING_COLUMNS, words.hardening_rows(diagnosis.hardening)
    )
    hint = Note(
        "What is expected is expectation, from the sources. What hardening costs on this machine:"
        " measure with deadbeat latency without it and with it, then deadbeat doctor"
        " --hardening-cost WITHOUT WITH."
    )
    return (
        Section("inventory", "Inventory", (counted,)),
        Section("hardening", "Hardening", (hint, hardening)),
    )
