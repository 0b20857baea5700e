"""What the doctor found as one self-contained HTML page. As page.py: all text is escaped."""

from __future__ import annotations

from html import escape
from pathlib import Path

from deadbeat.model.readiness import SEVERITIES, CheckResult
from deadbeat.report import parts
from deadbeat.report.embed import document
from deadbeat.settings import doctor_words as words
from deadbeat.settings.doctor import Diagnosis
from deadbeat.store.files import atomic_write, storing

_LINKS = '<a href="#inventory">Inventory</a>\n<a href="#hardening">Hardening</a>'


def write_doctor(diagnosis: Diagnosis, path: Path) -> Path:
    """Writes the page to ``path`` and returns it.

    Raises:
        DeadbeatError: The folder, of which all but the last must be there, or file cannot be
            written.
    """
    with storing(path.parent):
        path.parent.mkdir(exist_ok=True)
    atomic_write(path, render_doctor(diagnosis).encode("utf-8", "xmlcharrefreplace"))
    return path


def render_doctor(diagnosis: Diagnosis) -> str:
    """The page as text; the same diagnosis gives the same page."""
    inventory = _inventory(diagnosis)
    return document(
        "doctor.html",
        title=f"{diagnosis.patient.name} – deadbeat doctor",
        styles=("page.css", "doctor.css"),
        scripts=("doctor.js",),
        plots=False,
        fields={
            "name": escape(diagnosis.patient.name),
            "banner": parts.banner(words.labels(diagnosis)),
            "head_facts": parts.definitions(words.facts(diagnosis)),
            "sentence": parts.together(words.sentence(diagnosis)),
            "overview": _overview(diagnosis) + _tuning(diagnosis),
            "families": "".join(map(_family, words.groups(diagnosis.results))),
            "inventory": inventory,
            "inventory_link": _LINKS if inventory else "",
        },
    )


def _overview(diagnosis: Diagnosis) -> str:
    """A line per severity."""
    rows = []
    for severity in SEVERITIES:
        own = [result for result in diagnosis.results if result.severity == severity]
        counts = [sum(r.status == status for r in own) for status in ("fail", "unknown", "pass")]
        rows.append((severity, *map(str, counts)))
    return parts.cell_table(
        ("severity", "fail", "unknown", "pass"), rows, id="overview-table", kind="overview"
    )


def _tuning(diagnosis: Diagnosis) -> str:
    tuning = words.tuning(diagnosis)
    if tuning is None:
        return ""
    command, does = tuning
    return f'<p class="tuning"><code>{escape(command)}</code> {escape(does)}.</p>'


def _family(group: words.Group) -> str:
    items = "".join(map(_item, group.results))
    return (
        f'<div class="family" id="family-{escape(group.name)}"><h3>{escape(group.title)}'
        f' <span class="count">{escape(group.counts)}</span></h3>'
        f'<p class="hint nothing" hidden>Nothing to show of {len(group.results)} checks.</p>'
        f'<ul class="results">{items}</ul></div>'
    )


def _item(result: CheckResult) -> str:
    text = words.cure(result)
    cure = f'<p class="cure">What to do: <code>{escape(text)}</code></p>' if text else ""
    details = parts.definitions(
        (("wanted", result.wanted), ("read", result.read), ("source", result.source))
    )
    return (
        f'<li class="{result.status} {result.severity}">'
        f'<span class="status">{result.status}, {result.severity}</span><div>'
        f"<p><strong>{escape(result.title)}</strong>"
        f' <span class="id">{escape(result.id)}</span></p>'
        f"<p>{parts.prose(words.told(result))}</p>"
        f"{cure}"
        f"<details><summary>wanted, read, source</summary><dl>{details}</dl></details></div></li>"
    )


def _inventory(diagnosis: Diagnosis) -> str:
    if not diagnosis.inventory:
        return ""
    counted = parts.cell_table(
        words.INVENTORY_COLUMNS, words.inventory_rows(diagnosis), id="inventory-table"
    )
    hardening = parts.cell_table(
        words.HARDENING_COLUMNS, words.hardening_rows(diagnosis.hardening), id="hardening-table"
    )
    return (
        '<section id="inventory" aria-labelledby="inventory-title">'
        '<h2 id="inventory-title">Inventory</h2>'
        f"{parts.scrolled(counted, 'Inventory')}</section>"
        '<section id="hardening" aria-labelledby="hardening-title">'
        '<h2 id="hardening-title">Hardening</h2>'
        '<p class="hint">What is expected is expectation, from the sources. What hardening costs on'
        " this machine: measure with deadbeat latency without it and with it, then deadbeat doctor"
        " --hardening-cost WITHOUT WITH.</p>"
        f"{parts.scrolled(hardening, 'Hardening')}</section>"
    )
