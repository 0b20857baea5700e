"""A document as one self-contained HTML page. Every text is escaped here."""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from string import Template
from typing import Any

from attrs import evolve

from deadbeat.model.finding import Finding, explained, ordered
from deadbeat.model.words import escape
from deadbeat.report.charts import OPTION, Chart, chart_data
from deadbeat.report.document import (
    UNKNOWN,
    CellMap,
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
    Section,
    Sentence,
    Subsection,
    Table,
    inside,
)
from deadbeat.report.paper import Words, write_charts
from deadbeat.store.files import atomic_write, storing, write_json
from deadbeat.store.folder import OwnedFolder
from deadbeat.store.place import REPORT_FILE

#: Significant digits of embedded figures; files beside the page hold them in full.
_DIGITS = 6
#: Largest integer a JavaScript number holds exactly; a larger one (a seed) travels as text.
_EXACT_IN_JAVASCRIPT = 2**53 - 1


@cache
def asset(name: str) -> str:
    return resources.files("deadbeat.report").joinpath(f"assets/{name}").read_text("utf-8")


def content_policy(*scripts: str, connects: bool = False) -> str:
    """Nothing from outside; of scripts only these, one of which may be unpacked by another.
    Plotly sets styles and draws to blobs."""
    hashes = " ".join(
        "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
        for text in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        + ("connect-src 'self'; " if connects else "")
        + "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


#: What draws everything but surfaces, and what draws those; `tools/plotly` renews them.
_FLAT, _RAISED = "plotly-cartesian.min.js.gz", "plotly-gl3d.min.js.gz"
#: How every page of figures begins to load the library; charts.js waits for the promise.
_UNPACK = "const plotlyReady ="


@cache
def _library(name: str) -> tuple[str, str]:
    """Part of the plotting library: packed, for a page, and as it is."""
    packed = resources.files("deadbeat.report").joinpath(f"assets/{name}").read_bytes()
    return base64.b64encode(packed).decode(), gzip.decompress(packed).decode()


@cache
def plotly(*, surfaces: bool) -> str:
    """A script that unpacks the plotting library; its part for surfaces once one is looked at."""
    raised = _library(_RAISED)[0] if surfaces else ""
    return f"""{_UNPACK} (async () => {{
  const run = async (text) => {{
    const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    return Plotly;
  }};
  const flat = await run("{_library(_FLAT)[0]}");
  let raised = null;
  flat.raised = () => raised ??= run("{raised}").finally(() => {{ window.Plotly = flat; }});
}})();"""


def encode(data: Mapping[str, object]) -> str:
    """JSON that may stand inside a script element: ``<``, ``>`` and ``&`` only as escapes."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def plain(value: Any) -> Any:
    """A JSON value: floats shortened, what is no number or not finite as None, the rest as text."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, int) and abs(value) > _EXACT_IN_JAVASCRIPT:
        return str(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if hasattr(value, "item"):
        return plain(value.item())
    return str(value)


#: ``--retry``: hyphens are places where a line may end.
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_DRAWING = "charts.js"
#: FactList up to this many are shown unfolded.
_SHORT = 8


def page(document: Document, *, connects: bool = False) -> str:
    """The page as text; the same document gives the same page.

    Args:
        connects: Its scripts may ask whoever serves it.
    """
    charts = document.charts
    draws = document.draws or bool(charts)
    scripts = (*([_DRAWING] if draws else []), *document.scripts)
    script = "".join(map(asset, scripts))
    surfaces = any(panel.surface for chart in charts for panel in chart.panels)
    library = plotly(surfaces=surfaces) if draws else ""
    unpacked = [_library(name)[1] for name in (_FLAT, *([_RAISED] if surfaces else ())) if draws]
    sections = "\n".join(_sections(document, warn=draws))
    links = [section for section in document.sections if section.link != ""]
    head = Template(asset("head.html")).substitute(
        policy=content_policy(*filter(None, (library, script, *unpacked)), connects=connects),
        title=text(f"{document.title} – deadbeat {document.kind}", spaces=False),
        style="".join(map(asset, ("page.css", "charts.css", *document.styles))),
    )
    data = dict(document.data)
    if draws:
        data["deadbeat-charts"] = encode({"format": 1, "charts": chart_data(charts)})
    elements = [
        f'<script type="application/json" id="{escape(name)}">{content}</script>'
        for name, content in data.items()
    ]
    elements += [f"<script>{code}</script>" for code in (library, script) if code]
    credit = ' Figures by <span translate="no">plotly.js</span> (MIT licence).' if draws else ""
    return Template(asset("document.html")).substitute(
        head=head.rstrip(),
        first=document.sections[0].id,
        product=escape(document.product or f"deadbeat report · {document.kind}"),
        name=escape(document.title),
        intro=_intro(document),
        nav="\n".join(
            f'<a href="#{each.id}">{escape(each.link or each.title)}</a>' for each in links
        ),
        sections=sections,
        version=escape(metadata.version("deadbeat")),
        source=f" from {escape(document.source)}" if document.source else "",
        credit=credit,
        data="\n".join(elements),
    )


def text(words: str, *, spaces: bool = True) -> str:
    """Escaped; options, "ρ = 1" and "1 %" are never cut at the end of a line."""
    made = _OPTION.sub(r'<span class="option">\g<0></span>', escape(words))
    return (
        made.replace(" = ", "&nbsp;=&nbsp;").replace(" %", "&nbsp;%") if spaces else escape(words)
    )


def _intro(document: Document) -> str:
    made = []
    if document.labels:
        marks = " · ".join(map(escape, document.labels))
        made.append(
            f'<p class="banner" id="labels"><strong>{marks}</strong> — '
            "holds for every figure on this page.</p>"
        )
    if document.about:
        made.append(f'<p class="sentence">{text(document.about)}</p>')
    told = "".join(f'<p class="sentence">{text(line)}</p>' for line in document.answer)
    seen = picture(document)
    made.append(f'<div class="first"><div>{told}</div><div>{seen}</div></div>' if seen else told)
    if document.head:
        told = " · ".join(
            f"{name.lower()} {value}" if name.startswith("Preemption") else value
            for name, value in document.head[:3]
            if value != UNKNOWN and (value != "none" or name.startswith("Preemption"))
        )
        made.append(
            f'<details class="machine"><summary>{text(told) or "Machine and run"}</summary>'
            f'<dl class="facts">{_definitions(document.head)}</dl></details>'
        )
    return "\n".join(filter(None, made))


#: Rows of the table beside the answer, and characters of a row.
_GLANCE, _GLANCED = 8, 44


def picture(document: Document) -> str:
    """The small table or map that belongs to the answer; spare columns where there is room."""
    found = document.picture
    if isinstance(found, CellMap):
        return _map(found)
    if found is None or not found.rows:
        return ""
    rows = found.rows[:_GLANCE]
    kept = [each for each in found.shown(terminal=True) if each.page]
    wide = {each.key: max(map(len, (each.title, *map(each.text, rows)))) for each in kept}
    for column in [each for each in reversed(kept) if each.spare]:
        if sum(wide.values()) > _GLANCED:
            del wide[column.key]
    note = ". ".join(filter(None, (found.title, found.note)))
    small = evolve(found, name="glance", rows=rows, order=list(wide), note=note, hint="")
    return table(evolve(small, dense=True))


def _map(found: CellMap) -> str:
    """Its cells as a table; the further beyond the noise, the darker."""
    heads = "".join(f"<th>{escape(text)}</th>" for text in (found.corner, *found.columns))
    rows = "".join(
        f"<tr><th>{escape(name)}</th>"
        + "".join(
            f'<td class="strength-{strong}">{escape(text)}</td>'
            for text, strong in zip(cells, strength, strict=True)
        )
        + "</tr>"
        for name, cells, strength in zip(found.rows, found.cells, found.strength, strict=True)
    )
    return (
        '<div class="scroll"><table class="glance cells">'
        f"<caption>{escape(found.title)}</caption><tr>{heads}</tr>{rows}</table></div>"
    )


def _sections(document: Document, *, warn: bool) -> Iterable[str]:
    """Each section; before the first with figures a word for who has no JavaScript."""
    for section in document.sections:
        if warn and any(isinstance(part, Figures | Markup) for part in inside(section.parts)):
            warn = False
            beside = f"; their data is in {document.data_files}" if document.data_files else ""
            yield (
                '<noscript><p class="banner">The figures need JavaScript; it is inside this file'
                " and loads nothing. The same figures are in the folder"
                f" figures/{escape(beside)}.</p></noscript>"
            )
        yield _section(section, document)


def _section(section: Section, document: Document) -> str:
    return (
        f'<section id="{section.id}" aria-labelledby="{section.id}-title">\n'
        f'<h2 id="{section.id}-title">{escape(section.title)}</h2>\n'
        f"{_parts(section.parts, document)}\n</section>\n"
    )


def _parts(parts: Sequence[Part], document: Document) -> str:
    return "\n".join(filter(None, (_part(part, document) for part in parts)))


def _part(part: Part, document: Document) -> str:  # noqa: PLR0911  one line per kind of part
    match part:
        case Sentence(page=False) | Lines(page=False) | Table(page=False):
            return ""
        case Sentence() if part.text in document.answer:
            return ""  # Told at the top.
        case Sentence():
            return f"<p{' class=sentence' if part.answer else ''}>{text(part.text)}</p>"
        case Note():
            return f'<p class="hint">{text(part.text)}</p>' if part.text else ""
        case Lines():
            return _lines(part)
        case Table():
            return table(part)
        case FactList():
            return _facts(part)
        case Remarks():
            return _remarks(part.remarks) if part.remarks else _said(part.empty)
        case Findings():
            return findings_list(part.findings, part.labels)
        case Figures():
            return figures(part.charts, document) or _said(part.empty)
        case Markup():
            return part.html
        case Subsection():
            return _group(part, document)


def _said(words: str) -> str:
    return f"<p>{text(words)}</p>" if words else ""


def _group(group: Subsection, document: Document) -> str:
    inner = _parts(group.parts, document)
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


# ---------- tables and facts ----------


def table(part: Table) -> str:
    """A table that scrolls by itself where the page is narrow."""
    columns = part.shown(terminal=False)
    head = "".join(
        f'<th scope="col"{_class(each, first=not place)}{_help(each)}>{escape(each.title)}</th>'
        for place, each in enumerate(columns)
    )
    lines = "".join(
        f'<tr{_differs(part, row)}><th scope="row" class="text">'
        f"{escape(texts[0])}{_more(columns[0], row)}</th>"
        + "".join(
            f"<td{_class(each)}>{escape(words)}{_more(each, row)}</td>"
            for each, words in zip(columns[1:], texts[1:], strict=True)
        )
        + "</tr>"
        for row, texts in zip(part.rows, part.texts(), strict=True)
    )
    kind = ' class="dense"' if part.dense else ""
    name = escape(part.title or part.name.removesuffix("-table").capitalize())
    made = (
        f'<div class="scroll" role="region" aria-label="{name}" tabindex="0">'
        f'<table id="{part.name}"{kind}><thead><tr>{head}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )
    below = filter(None, (part.note, part.hint))
    return made + "".join(f'<p class="hint">{text(words)}</p>' for words in below)


def _class(column: Column, *, first: bool = False) -> str:
    kind = "text" if first else "words long" if column.long else "words" if column.words else ""
    return f' class="{kind}"' if kind else ""


def _more(column: Column, row: object) -> str:
    return column.markup(row) if column.markup is not None else ""


def _help(column: Column) -> str:
    return f' title="{escape(column.help)}"' if column.help else ""


def _differs(part: Table, row: object) -> str:
    return ' class="differs"' if part.differs is not None and part.differs(row) else ""


def _facts(part: FactList) -> str:
    if not part.pairs:
        return _said(part.empty)
    if part.terms or part.grid:
        kind = "terms" if part.terms else "facts"
        return f'<dl class="{kind}">{_definitions(part.pairs)}</dl>'
    lines = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in part.pairs
    )
    made = f'<table class="plain"><tbody>{lines}</tbody></table>'
    if len(part.pairs) <= _SHORT:
        return made
    return f"<details><summary>{len(part.pairs)} values</summary>{made}</details>"


def _definitions(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in pairs
    )


# ---------- figures ----------


def figures(charts: Sequence[Chart], document: Document) -> str:
    """All charts in order; those of a family behind one choice, the first of them shown."""
    made, families = [], set()
    for chart in charts:
        if chart.family and chart.family not in families:
            families.add(chart.family)
            made.append(_choice([c for c in charts if c.family == chart.family]))
            made.append(_figure(chart, document))
        else:
            made.append(_figure(chart, document, hidden=bool(chart.family)))
    return "".join(made)


def _choice(family: Sequence[Chart]) -> str:
    """A box for each part of the options; the first of a family has the first of each."""
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
    return f'<div class="controls"><label>{escape(family[0].title)}: show</label>{boxes}</div>'


def _figure(chart: Chart, document: Document, *, hidden: bool = False) -> str:
    title = chart.whole_title
    marked = f"{title} — {', '.join(document.labels)}" if document.labels else title
    plots = "".join(_panel(chart, k) for k in range(len(chart.panels)))
    family = (
        f' data-family="{escape(chart.family)}" data-option="{escape(chart.option)}"'
        if chart.family
        else ""
    )
    noise = f"{document.noise[:1].upper()}{document.noise[1:]}. " if document.noise else ""
    return (
        f'<figure class="chart" id="chart-{chart.name}"{family}{" hidden" if hidden else ""}>'
        f'<h3 class="figure-title" id="chart-{chart.name}-title">{escape(marked)}</h3>'
        f'<div class="panels of-{len(chart.panels)}">{plots}</div>'
        f"<figcaption>{escape(noise)}{escape(chart.caption)}</figcaption></figure>"
    )


def _panel(chart: Chart, place: int) -> str:
    """A surface says no more than its map: it is folded, and drawn once somebody looks."""
    panel, name = chart.panels[place], f"{chart.name}-{place}"
    title = f'id="{name}-title">{escape(panel.title)}'
    plot = (
        f'<div class="plot" id="{name}" role="img"'
        f' aria-labelledby="chart-{chart.name}-title {name}-title"></div>'
    )
    if panel.surface:
        return f'<details class="raised"><summary {title}</summary>{plot}</details>'
    return f"<div><h4 {title}</h4>{plot}</div>"


# ---------- what was found ----------


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
    told: set[str] = set()
    shown = _remarks(map(_remark, grave), told) if grave else ""
    if not others:
        return shown
    noun = "finding" if len(others) == 1 else "findings"
    head = f"{len(others)} {noun}{' more' if grave else ''}, none serious"
    rest = _remarks(map(_remark, others), told)
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


def _remarks(remarks: Iterable[Remark], told: set[str] | None = None) -> str:
    """A list; the first of each identifier has its explanation, ``told`` are those that had."""
    told = set() if told is None else told
    items = []
    for remark in remarks:
        items.append(_item(remark, explain=remark.id not in told))
        told.add(remark.id)
    return f'<ul class="findings">{"".join(items)}</ul>'


def _item(remark: Remark, *, explain: bool) -> str:
    more = f' <span class="where">{text(remark.detail)}</span>' if remark.detail else ""
    if remark.cure:
        more += f' <span class="cure">What to do: {text(remark.cure)}</span>'
    why = explained(remark.id) if remark.id and explain else None
    if why is not None:
        more += (
            f'<details class="why" id="why-{escape(why.id)}"><summary>{escape(why.title)}</summary>'
            f"<p>{text(why.wrong)} <em>What to do:</em> {text(why.check)}</p></details>"
        )
    label = f'<span class="severity">{escape(remark.label)}:</span> ' if remark.label else ""
    return f'<li class="{escape(remark.kind)}">{label}{text(remark.text)}{more}</li>'


Terms = tuple[tuple[str, str], ...]


@functools.cache
def _glossary() -> dict[str, Terms]:
    """Kind of report -> its terms, in the order in which a reader meets them."""
    known: dict[str, str] = {}
    found = {}
    for section in asset("terms.md").split("\n## ")[1:]:
        name, *entries = section.strip().split("\n\n")
        split = [" ".join(entry.split()).removeprefix("**").partition("**") for entry in entries]
        pairs = [(term, text.removeprefix(": ")) for term, _, text in split]
        for term, text in pairs:
            known.setdefault(term, text)
        found[name] = tuple((term, text or known[term]) for term, text in pairs)
    return found


def terms(*kinds: str) -> Terms:
    """The terms of ``profile``, ``latency`` ...; of several kinds one after the other."""
    return tuple(pair for kind in kinds for pair in _glossary()[kind])


def write_page(path: Path, document: Document) -> Path:
    """The document as a page at ``path``, which is returned; its folder is made when missing.

    Raises:
        DeadbeatError: The folder or file cannot be written.
    """
    # A host name read from bytes can hold lone surrogates, which UTF-8 cannot.
    return write_text(path, page(document).encode("utf-8", "xmlcharrefreplace"))


def write_result(
    store: OwnedFolder,
    document: Document,
    files: Mapping[str, str | dict[str, object]],
    *,
    words: Words,
    charts: Sequence[Chart] = (),
) -> Path:
    """All that derives from the runs in ``store``, each file replaced atomically; the page last.

    Args:
        files: Name -> text, or plain values for JSON.
        charts: Drawn in ``figures/``, with ``words`` on each.
    """
    with store.lock():
        for name, content in files.items():
            if isinstance(content, str):
                atomic_write(store.path / name, content)
            else:
                write_json(store.path / name, content)
        if charts:
            write_charts(store.path / "figures", charts, words)
        return write_page(store.path / REPORT_FILE, document)


def write_text(path: Path, text: str | bytes) -> Path:
    """Text or an encoded page at ``path``, as `write_page`."""
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, text)
    return path
