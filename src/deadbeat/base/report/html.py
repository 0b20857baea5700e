"""A document as one self-contained HTML page. Every text is escaped here."""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from string import Template
from typing import Any

from attrs import evolve

from deadbeat.base.model.words import Json, escape
from deadbeat.base.report.charts import Chart, chart_data
from deadbeat.base.report.document import UNKNOWN, CellMap, Document
from deadbeat.base.report.paper import Words, write_charts
from deadbeat.base.report.parts import definitions, figures, parts_of, table, text
from deadbeat.base.store.files import atomic_write, write_json
from deadbeat.base.store.folder import OwnedFolder
from deadbeat.base.store.place import REPORT_FILE

#: Significant digits of embedded figures; files beside the page hold them in full.
_DIGITS = 6
#: Largest integer a JavaScript number holds exactly; a larger one (a seed) travels as text.
_EXACT_IN_JAVASCRIPT = 2**53 - 1


@cache
def asset(name: str) -> str:
    return resources.files("deadbeat.base.report").joinpath(f"assets/{name}").read_text("utf-8")


def content_policy(*scripts: str, shared: bool = False) -> str:
    """Nothing from outside; of scripts only these, one of which may be unpacked by another, and
    ``shared`` ones beside the page. Plotly sets styles and draws to blobs."""
    hashes = " ".join(
        "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
        for text in scripts
    )
    beside = " 'self'" * shared
    return (
        f"default-src 'none'; script-src {hashes}{beside}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


#: What draws everything but surfaces, and what draws those; `tools/plotly` renews them.
_FLAT, _RAISED = "plotly-cartesian.min.js.gz", "plotly-gl3d.min.js.gz"
#: Beside pages that share it.
LIBRARY_FILE = "plotly.js"
#: How every page of figures begins to load the library; charts.js waits for the promise.
_UNPACK = "const plotlyReady ="


@cache
def _library(name: str) -> tuple[str, str]:
    """Part of the plotting library: packed, for a page, and as it is."""
    packed = resources.files("deadbeat.base.report").joinpath(f"assets/{name}").read_bytes()
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


def encode(data: Mapping[str, Json]) -> str:
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


_DRAWING = "charts.js"


def page(document: Document, *, reload_s: int = 0, shared: bool = False) -> str:
    """The page as text; the same document gives the same page.

    Args:
        reload_s: Time after which a browser loads it again; 0: it does not.
        shared: The plotting library lies beside it (`LIBRARY_FILE`), and not in it.
    """
    charts = document.charts
    draws = document.draws or bool(charts)
    scripts = (*([_DRAWING] if draws else []), *document.scripts)
    script = "".join(map(asset, scripts))
    surfaces = any(panel.surface for chart in charts for panel in chart.panels)
    shared = shared and draws
    library = plotly(surfaces=surfaces) if draws and not shared else ""
    unpacked = [_library(name)[1] for name in (_FLAT, *([_RAISED] if surfaces else ())) if draws]
    made = {each.id: parts_of(each.parts, document) for each in document.sections}
    kept = [each for each in document.sections if made[each.id].strip()]
    sections = "\n".join(
        f'<section id="{each.id}" aria-labelledby="{each.id}-title">\n'
        f'<h2 id="{each.id}-title">{escape(each.title)}</h2>\n{made[each.id]}\n</section>\n'
        for each in kept
    )
    links = [section for section in kept if section.link != ""]
    head = Template(asset("head.html")).substitute(
        policy=content_policy(*filter(None, (library, script, *unpacked)), shared=shared),
        reload=f'<meta http-equiv="refresh" content="{reload_s}">\n' if reload_s else "",
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
    elements += [f'<script src="{LIBRARY_FILE}"></script>'] * shared
    elements += [f"<script>{code}</script>" for code in (library, script) if code]
    credit = ' Figures by <span translate="no">plotly.js</span> (MIT licence).' if draws else ""
    return Template(asset("document.html")).substitute(
        head=head.rstrip(),
        first=kept[0].id if kept else "",
        product=escape(document.product or f"deadbeat {document.kind}"),
        name=escape(document.title),
        intro=_intro(document),
        nav="\n".join(
            f'<a href="#{each.id}">{escape(each.link or each.title)}</a>' for each in links
        ),
        sections=sections,
        version=escape(metadata.version("deadbeat")),
        source=f" from {escape(document.source)}" if document.source else "",
        alone=f"needs {LIBRARY_FILE} beside it" if shared else "is self-contained",
        credit=credit,
        data="\n".join(elements),
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
    words = "".join(f'<p class="sentence">{text(line)}</p>' for line in document.answer)
    seen, lead = picture(document), document.lead
    data = escape(f"; their data is in {document.data_files}" if document.data_files else "")
    drawn = _NO_SCRIPT.format(data) + figures(lead, document) if lead else ""
    if lead and len(lead[0].panels) <= _BESIDE:
        made.append(f'<div class="first beside"><div>{words}{seen}</div><div>{drawn}</div></div>')
    else:
        made.append(
            f'<div class="first"><div>{words}</div><div>{seen}</div></div>' if seen else words
        )
        made.append(drawn)
    if document.head:
        words = " · ".join(
            f"{name.lower()} {value}" if name.startswith("Preemption") else value
            for name, value in document.head[:3]
            if value != UNKNOWN and (value != "none" or name.startswith("Preemption"))
        )
        made.append(
            f'<details class="machine"><summary>{text(words) or "Machine and run"}</summary>'
            f'<dl class="facts">{definitions(document.head)}</dl></details>'
        )
    return "\n".join(filter(None, made))


#: A figure of more panels has no room beside the answer.
_BESIDE = 1
_NO_SCRIPT = (
    '<noscript><p class="banner">The figures need JavaScript; it is inside this file and loads'
    " nothing. The same figures are in the folder figures/{}.</p></noscript>"
)


#: Rows of the table beside the answer, characters of a row, and columns of a small screen.
_GLANCE, _GLANCED, _SMALL = 8, 50, 5


def picture(document: Document) -> str:
    """The small table or map that belongs to the answer; spare columns where there is room."""
    found = document.picture
    if isinstance(found, CellMap):
        drawn = any(chart.panels[0].heat for chart in document.lead[:1])
        if drawn and len(found.columns) > _GLANCE:
            return ""
        # Its cells as a table; the further beyond the noise, the darker.
        heads = "".join(f"<th>{escape(text)}</th>" for text in (found.corner, *found.columns))
        map_rows = "".join(
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
            f"<caption>{escape(found.title)}</caption><tr>{heads}</tr>{map_rows}</table></div>"
        )
    if found is None or not found.rows:
        return ""
    rows = found.rows[:_GLANCE]
    kept = [each for each in found.shown(terminal=True) if each.page]
    wide = {each.key: max(map(len, (each.title, *map(each.text, rows)))) for each in kept}
    for column in [each for each in reversed(kept) if each.spare]:
        if sum(wide.values()) > _GLANCED:
            del wide[column.key]
    more = f"{len(found.rows) - _GLANCE} more below" if len(found.rows) > _GLANCE else ""
    note = ". ".join(filter(None, (found.title, found.note.removesuffix("."), more)))
    columns = [c for c in kept if c.key in wide]
    # A small screen has room for fewer.
    least = [c for c in columns if not c.spare][:_SMALL]
    columns = [c if c in least else evolve(c, terminal=False) for c in columns]
    small = evolve(found, name="glance", rows=rows, columns=columns, order=(), note=note, hint="")
    return table(evolve(small, dense=True))


Terms = tuple[tuple[str, str], ...]


@functools.cache
def _glossary() -> dict[str, Terms]:
    """Kind of report -> its terms, in the order in which a reader meets them."""
    known: dict[str, str] = {}
    found = {}
    for section in asset("terms.md").split("\n## ")[1:]:
        name, *entries = section.strip().split("\n\n")
        split = [" ".join(entry.split()).removeprefix("**").partition("**") for entry in entries]
        pairs = [(term, words.removeprefix(": ")) for term, _, words in split]
        for term, words in pairs:
            known.setdefault(term, words)
        found[name] = tuple((term, words or known[term]) for term, words in pairs)
    return found


def terms(*kinds: str) -> Terms:
    """The terms of ``profile``, ``latency`` ...; of several kinds one after the other."""
    return tuple(pair for kind in kinds for pair in _glossary()[kind])


def term(word: str) -> tuple[str, str] | None:
    """The term that is, or has among others, ``word``, with its words; None: there is none."""
    every = (pair for known in _glossary().values() for pair in known)
    return next((p for p in every if word.lower() in p[0].lower().split(", ")), None)


def write_page(path: Path, document: Document, **how: Any) -> Path:
    """The `page` at ``path``, which is returned; its folder is made when missing.
    Raises DeadbeatError: the folder or file cannot be written."""
    # A host name read from bytes can hold lone surrogates, which UTF-8 cannot.
    atomic_write(path, page(document, **how).encode("utf-8", "xmlcharrefreplace"))
    return path


def write_result(
    store: OwnedFolder,
    document: Document,
    files: Mapping[str, str | dict[str, Json]],
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
