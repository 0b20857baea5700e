"""Pieces of pages that are no documents yet; every text is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from deadbeat.report import facts
from deadbeat.report.html import findings_list, text

prose = together = text
__all__ = [
    "banner", "cell_table", "definitions", "findings_list", "missing", "pairs_table",
    "prose", "scrolled", "together",
]  # fmt: skip


def banner(labels: Iterable[str]) -> str:
    """What holds for every figure; empty without labels."""
    texts = [escape(label) for label in labels]
    if not texts:
        return ""
    return (
        f'<p class="banner" id="labels"><strong>{" · ".join(texts)}</strong> — '
        "holds for every figure on this page.</p>"
    )


def pairs_table(pairs: Iterable[tuple[str, str]]) -> str:
    """A line per pair, or that nothing is recorded."""
    lines = "".join(
        f'<tr><th scope="row">{escape(key)}</th><td>{escape(value)}</td></tr>'
        for key, value in pairs
    )
    return f'<table class="plain"><tbody>{lines}</tbody></table>' if lines else missing()


def missing() -> str:
    """Not recorded, in words."""
    return f"<p>{escape(facts.UNKNOWN.capitalize())}.</p>"


def definitions(pairs: Iterable[tuple[str, str]], kind: str = "") -> str:
    """Definition list entries; wrapped in a list of class ``kind`` when one is given."""
    items = "".join(
        f"<div><dt>{escape(term)}</dt><dd>{escape(text)}</dd></div>" for term, text in pairs
    )
    return f'<dl class="{kind}">{items}</dl>' if kind else items


def cell_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, id: str, kind: str = ""
) -> str:
    """A table of texts with a heading row; the first cell of each row names it."""
    first = ' class="text"'
    head = "".join(
        f'<th scope="col"{"" if place else first}>{escape(text)}</th>'
        for place, text in enumerate(columns)
    )
    lines = "".join(
        f'<tr><th scope="row" class="text">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(text)}</td>" for text in row[1:])
        + "</tr>"
        for row in rows
    )
    named = f' class="{kind}"' if kind else ""
    return f'<table id="{id}"{named}><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>'


def scrolled(table: str, name: str) -> str:
    """A table that scrolls by itself where the page is narrow; ``name`` is read aloud."""
    label = escape(name)
    return f'<div class="scroll" role="region" aria-label="{label}" tabindex="0">{table}</div>'
