"""A study as one self-contained HTML page. As page.py: all text is escaped, or embedded as data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from deadbeat.kinds.study.charts import Chart, Line, Panel
from deadbeat.kinds.study.figures import COLOURS
from deadbeat.kinds.study.judge import Judgement
from deadbeat.kinds.study.words import ANSWER_COLUMNS, StudyWords
from deadbeat.report.data import encode
from deadbeat.report.embed import document
from deadbeat.report.parts import definitions, pairs_table

_SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x")


def render_study(words: StudyWords, charts: Sequence[Chart]) -> str:
    """The page as text; the same study gives the same page."""
    return document(
        "study.html",
        title=f"{words.name} – deadbeat study",
        styles=("page.css", "study.css"),
        scripts=("plots.js", "study.js"),
        fields={
            "name": escape(words.name),
            "banner": f'<p class="banner" id="labels"><strong>{escape(words.label)}</strong> — '
            f"{escape(words.label_means)}</p>",
            "head_facts": definitions(words.facts),
            "about": escape(words.about),
            "conclusions": _conclusions(words.judgements),
            "figures": "".join(_figure(chart) for chart in charts),
            "answers": _table(ANSWER_COLUMNS, words.answers),
            "open_cases": "".join(f"<li>{escape(text)}</li>" for text in words.open_cases),
            "parameters": pairs_table(words.parameters),
            "data": encode({"format": 1, "charts": [_chart(chart) for chart in charts]}),
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
    held = sum(item.holds for item in judgement.evidence)
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


def _figure(chart: Chart) -> str:
    plots = "".join(
        f'<div><h4 id="{chart.name}-{k}-title">{escape(panel.title)}</h4>'
        f'<div class="plot low" id="{chart.name}-{k}" role="img"'
        f' aria-labelledby="{chart.name}-{k}-title"></div></div>'
        for k, panel in enumerate(chart.panels)
    )
    return (
        f"<figure><h3>{escape(chart.title)} — simulated</h3>"
        f'<div class="panels">{plots}</div><figcaption>{escape(chart.caption)}</figcaption>'
        "</figure>"
    )


def _chart(chart: Chart) -> dict[str, Any]:
    return {"name": chart.name, "panels": [_panel(panel) for panel in chart.panels]}


def _panel(panel: Panel) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "x": panel.x_label, "y": panel.y_label,
        "steps": panel.steps, "percent": panel.percent, "limits": panel.limits,
    }  # fmt: skip
    if panel.heat is not None:
        heat = panel.heat
        return {**plain, "heat": {
            "x": [f"{x:g}" for x in heat.x], "y": [f"{y:g}" for y in heat.y],
            "z": [[v if v is None else round(v, 3) for v in row] for row in heat.values],
            "texts": heat.texts, "top": heat.top,
        }}  # fmt: skip
    return {**plain, "lines": [_line(line, k) for k, line in enumerate(panel.lines)]}


def _line(line: Line, k: int) -> dict[str, Any]:
    return {
        "label": line.label,
        "x": _numbers(line.x),
        "y": _numbers(line.y),
        "low": _numbers(line.low),
        "high": _numbers(line.high),
        "sets": list(line.sets),
        "colour": COLOURS[k % len(COLOURS)],
        "symbol": _SYMBOLS[k % len(_SYMBOLS)],
    }


def _numbers(values: Iterable[float]) -> list[float | None]:
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in values]
