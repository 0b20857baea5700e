"""The parts of a document as elements of a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from deadbeat.base.model.finding import Finding, explanations, ordered
from deadbeat.base.model.words import capital, escape
from deadbeat.base.report.charts import OPTION, Chart
from deadbeat.base.report.document import (
    Column,
    Document,
    FactList,
    Figures,
    Findings,
    Lines,
    Markup,
    Note,
    Part,
    Remark,
    Remarks,
    Sentence,
    Subsection,
    Table,
)

#: ``--retry``: hyphens are places where a line may end.
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
#: FactList up to this many are shown unfolded.
_SHORT = 8


def text(words: str, *, spaces: bool = True) -> str:
    """Escaped; options, "ρ = 1" and "1 %" are never cut at the end of a line."""
    made = _OPTION.sub(r'<span class="option">\g<0></span>', escape(words))
    return (
        made.replace(" = ", "&nbsp;=&nbsp;").replace(" %", "&nbsp;%") if spaces else escape(words)
    )


def parts_of(parts: Sequence[Part], document: Document) -> str:
    return "\n".join(filter(None, (_part(part, document) for part in parts)))


def _part(part: Part, document: Document) -> str:
    return _PARTS[type(part)](part, document) if getattr(part, "page", True) else ""


def _sentence(part: Sentence, document: Document) -> str:
    if part.text in (*document.answer, " ".join(document.answer)):
        return ""  # It stands at the top.
    return f"<p{' class=sentence' if part.answer else ''}>{text(part.text)}</p>"


def _said(words: str) -> str:
    return f"<p>{text(words)}</p>" if words else ""


def _group(group: Subsection, document: Document) -> str:
    inner = parts_of(group.parts, document)
    if group.folded:
        return f"<details><summary>{escape(group.title)}</summary>{inner}</details>"
    return f"<h3>{escape(group.title)}</h3>\n{inner}"


def _lines(part: Lines) -> str:
    texts = [[each] if isinstance(each, str) else each for each in part.lines]
    if not texts:
        return ""
    if not part.heads:
        return f"<ul>{''.join(f'<li>{text(line)}</li>' for lines in texts for line in lines)}</ul>"
    items = "".join(
        f"<li><b>{escape(head)}</b><span>"
        + "".join(f'<span class="words">{text(line)}</span>' for line in lines)
        + "</span></li>"
        for head, lines in zip(part.heads, texts, strict=True)
    )
    return f'<ul class="answers groups">{items}</ul>'


def table(part: Table) -> str:
    """A table that scrolls by itself where the page is narrow."""
    columns = part.shown(terminal=False)
    head = "".join(
        f'<th scope="col"{_class(each, first=not place)}{_help(each)}>{escape(each.title)}</th>'
        for place, each in enumerate(columns)
    )
    found = []
    for row, texts in zip(part.rows, part.texts(), strict=True):
        differs = ' class="differs"' if part.differs is not None and part.differs(row) else ""
        found.append(
            f'<tr{differs}><th scope="row" class="text">'
            f"{escape(texts[0])}{_more(columns[0], row)}</th>"
            + "".join(
                f"<td{_class(each, words)}>{escape(words)}{_more(each, row)}</td>"
                for each, words in zip(columns[1:], texts[1:], strict=True)
            )
            + "</tr>"
        )
    lines = "".join(found)
    kind = ' class="dense"' if part.dense else ""
    name = escape(part.title or part.name.removesuffix("-table").capitalize())
    above = "" if part.title in f"{part.note}{part.hint}" else part.title
    caption = f"<caption>{text(above[0].upper() + above[1:])}</caption>" if above else ""
    made = (
        f'<div class="scroll" role="region" aria-label="{name}" tabindex="0">'
        f'<table id="{part.name}"{kind}>{caption}<thead><tr>{head}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )
    below = filter(None, (part.note, part.hint))
    return made + "".join(f'<p class="hint">{text(words)}</p>' for words in below)


def _class(column: Column, words: str = "", *, first: bool = False) -> str:
    """``aside``: what a small screen leaves out, as a terminal does. ``wraps``: an interval."""
    kind = "text" if first else "words long" if column.long else "words" if column.words else ""
    kind = kind or "wraps" * (" [" in words)
    kind = f"{kind} aside".strip() if column.terminal is False else kind
    return f' class="{kind}"' if kind else ""


def _more(column: Column, row: object) -> str:
    return column.markup(row) if column.markup is not None else ""


def _help(column: Column) -> str:
    return f' title="{escape(column.help)}"' if column.help else ""


def _facts(part: FactList) -> str:
    if not part.pairs:
        return _said(part.empty)
    if part.terms:
        words = f"{len(part.pairs)} terms"
        inner = f'<dl class="terms">{definitions(part.pairs)}</dl>'
        return f"<details><summary>{words}</summary>{inner}</details>"
    if part.grid:
        return f'<dl class="facts">{definitions(part.pairs)}</dl>'
    lines = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in part.pairs
    )
    made = f'<table class="plain"><tbody>{lines}</tbody></table>'
    if len(part.pairs) <= _SHORT:
        return made
    return f"<details><summary>{len(part.pairs)} values</summary>{made}</details>"


def definitions(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in pairs
    )


def _figures(part: Figures, document: Document) -> str:
    """All but what stands beside the answer."""
    lead = {chart.name for chart in document.lead}
    rest = [chart for chart in part.charts if chart.name not in lead]
    return figures(rest, document) if part.charts else _said(part.empty)


def figures(charts: Sequence[Chart], document: Document) -> str:
    """All charts in order; those of a family behind one choice, the first of them shown."""
    made, families = [], set()
    for chart in charts:
        if chart.family and chart.family not in families:
            families.add(chart.family)
            # A box for each part of the options; the first of a family has the first of each.
            family = [c for c in charts if c.family == chart.family]
            parts = zip(*(chart.option.split(OPTION) for chart in family), strict=True)
            boxes = "".join(
                f' <select data-family="{escape(family[0].family)}" autocomplete="off"'
                f' aria-label="{escape(family[0].title)}">'
                + "".join(
                    f'<option value="{escape(text)}">{escape(text)}</option>'
                    for text in dict.fromkeys(part)
                )
                + "</select>"
                for part in parts
            )
            choice = (
                f'<div class="controls"><label>{escape(family[0].title)}: show</label>{boxes}</div>'
            )
            made.append(choice)
            made.append(_figure(chart, document))
        else:
            made.append(_figure(chart, document, hidden=bool(chart.family)))
    return "".join(made)


def _figure(chart: Chart, document: Document, *, hidden: bool = False) -> str:
    title = chart.whole_title
    marked = f"{title} — {', '.join(document.labels)}" if document.labels else title
    plots = "".join(_panel(chart, k) for k in range(len(chart.panels)))
    family = (
        f' data-family="{escape(chart.family)}" data-option="{escape(chart.option)}"'
        if chart.family
        else ""
    )
    noise = f"{capital(document.noise)}. " if document.noise else ""
    return (
        f'<figure class="chart" id="chart-{chart.name}"{family}{" hidden" if hidden else ""}>'
        f'<h3 class="figure-title" id="chart-{chart.name}-title">{escape(marked)}</h3>'
        f'<div class="panels of-{len(chart.panels)}">{plots}</div>'
        f"<figcaption>{escape(noise)}{escape(chart.caption)}</figcaption></figure>"
    )


def _panel(chart: Chart, place: int) -> str:
    """A surface says no more than its map: it is folded, and drawn when it is opened."""
    panel, name = chart.panels[place], f"{chart.name}-{place}"
    title = f'id="{name}-title">{escape(panel.title)}'
    plot = (
        f'<div class="plot" id="{name}" role="img"'
        f' aria-labelledby="chart-{chart.name}-title {name}-title"></div>'
    )
    if panel.surface:
        return f'<details class="raised"><summary {title}</summary>{plot}</details>'
    return f"<div><h4 {title}</h4>{plot}</div>"


def findings_list(findings: Sequence[Finding], labels: Iterable[str] = ()) -> str:
    """The grave findings, the others folded; ``labels`` of what they are about."""
    found = ordered(findings)
    if not found and any(label.lower().startswith("simulated") for label in labels):
        return (
            "<p>No findings. But these results are simulated: they say nothing about a machine.</p>"
        )
    if not found:
        return "<p>Nothing was found that makes these results doubtful.</p>"
    grave = [item for item in found if item.severity not in ("warning", "info")]
    others = found[len(grave) :]
    seen: set[str] = set()
    shown = _remarks(map(_remark, grave), seen) if grave else ""
    if not others:
        return shown
    noun = "finding" if len(others) == 1 else "findings"
    head = f"{len(others)} {noun}{' more' if grave else ''}, none serious"
    rest = _remarks(map(_remark, others), seen)
    return f"{shown}<details><summary>{head}</summary>{rest}</details>"


def _remark(finding: Finding) -> Remark:
    return Remark(
        kind=finding.severity,
        label=finding.severity.capitalize(),
        text=finding.message,
        detail=f"Where: {finding.where}" if finding.where else "",
        cure=finding.cure,
        id=finding.id,
    )


def _remarks(remarks: Iterable[Remark], seen: set[str] | None = None) -> str:
    """A list; the first of each identifier has its explanation, ``seen`` are those that had."""
    seen = set() if seen is None else seen
    items = []
    for remark in remarks:
        items.append(_item(remark, explain=remark.id not in seen))
        seen.add(remark.id)
    return f'<ul class="findings">{"".join(items)}</ul>'


def _item(remark: Remark, *, explain: bool) -> str:
    more = f' <span class="where">{text(remark.detail)}</span>' if remark.detail else ""
    if remark.cure:
        more += f' <span class="cure">What to do: {text(remark.cure)}</span>'
    why = explanations().get(remark.id) if remark.id and explain else None
    if why is not None:
        more += (
            f'<details class="why" id="why-{escape(why.id)}"><summary>{escape(why.title)}</summary>'
            f"<p>{text(why.wrong)} <em>What to do:</em> {text(why.check)}</p></details>"
        )
    label = f'<span class="severity">{escape(remark.label)}:</span> ' if remark.label else ""
    return f'<li class="{escape(remark.kind)}">{label}{text(remark.text)}{more}</li>'


#: How each kind of part becomes elements.
_PARTS: Mapping[type, Callable[[Any, Document], str]] = {
    Sentence: _sentence,
    Note: lambda part, _: f'<p class="hint">{text(part.text)}</p>' if part.text else "",
    Lines: lambda part, _: _lines(part),
    Table: lambda part, _: table(part),
    FactList: lambda part, _: _facts(part),
    Remarks: lambda part, _: _remarks(part.remarks) if part.remarks else _said(part.empty),
    Findings: lambda part, _: findings_list(part.findings, part.labels),
    Figures: _figures,
    Markup: lambda part, _: part.html,
    Subsection: _group,
}
