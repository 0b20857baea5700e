"""A study as one self-contained HTML page. As page.py: all text is escaped, or embedded as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from deadbeat.kinds.study.words import ANSWER_COLUMNS, StudyWords
from deadbeat.model.conclusion import Judgement
from deadbeat.report.charts import Chart
from deadbeat.report.charts_html import Stamp, data_of, figures
from deadbeat.report.embed import document
from deadbeat.report.parts import definitions, pairs_table


def render_study(words: StudyWords, charts: Sequence[Chart]) -> str:
    """The page as text; the same study gives the same page."""
    return document(
        "study.html",
        title=f"{words.name} – deadbeat study",
        styles=("page.css", "charts.css", "study.css"),
        scripts=("plots.js", "charts.js"),
        fields={
            "name": escape(words.name),
            "banner": f'<p class="banner" id="labels"><strong>{escape(words.label)}</strong> — '
            f"{escape(words.label_means)}</p>",
            "head_facts": definitions(words.facts),
            "about": escape(words.about),
            "conclusions": _conclusions(words.judgements),
            "figures": figures(charts, Stamp(labels=(words.label,), noise="")),
            "answers": _table(ANSWER_COLUMNS, words.answers),
            "open_cases": "".join(f"<li>{escape(text)}</li>" for text in words.open_cases),
            "parameters": pairs_table(words.parameters),
            "charts": data_of(charts),
        },
    )


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in columns)
    lines = "".join(
        f'<tr><th scope="row" class="text">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(text)}</td>" for text in row[1:])
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def _conclusions(judgements: Iterable[Judgement]) -> str:
    items = "".join(map(_conclusion, judgements))
    if not items:
        return "<p>This study checks no statement.</p>"
    return f'<ul class="verdicts">{items}</ul>'


def _conclusion(judgement: Judgement) -> str:
    kind = judgement.verdict.replace(" ", "-")
    on = f" on {', '.join(judgement.on)}" if judgement.on else ""
    held = sum(item.holds is True for item in judgement.evidence)
    lines = "".join(
        f'<tr class="{"holds" if item.holds else "fails"}"><td class="text">'
        f"{escape(variant_text(item.variant))}</td><td>{'yes' if item.holds else 'no'}</td>"
        f'<td class="text">{escape(item.figures)}</td></tr>'
        for item in judgement.evidence
    )
    unfold = " open" if len(judgement.evidence) <= 3 else ""
    return (
        f'<li class="{kind}"><p><span class="verdict">{escape(judgement.verdict + on)}</span>'
        f" {escape(judgement.conclusion.says)}.</p>"
        f'<p class="hint">Confirmed means: {escape(judgement.conclusion.confirmed)}.'
        f" Holds in {held} of {len(judgement.evidence)} variants.</p>"
        f'<details{unfold}><summary>Figures</summary><div class="scroll"><table><thead><tr>'
        '<th scope="col" class="text">variant</th><th scope="col">holds</th>'
        f'<th scope="col" class="text">figures</th></tr></thead><tbody>{lines}</tbody></table>'
        "</div></details></li>"
    )


def variant_text(variant: Mapping[str, str]) -> str:
    """``ties: index, denominator: all sets``."""
    return ", ".join(f"{name}: {value}" for name, value in variant.items()) or "as specified"
