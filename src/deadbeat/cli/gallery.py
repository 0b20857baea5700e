"""``page --all``: machines and their results as pages that can be published as they are."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from deadbeat.base.kinds.registry import kind_of
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import DeadbeatError, UsageError
from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.words import count_of, escape, inside
from deadbeat.base.report.document import Column, Document, Section, Subsection, Table, said
from deadbeat.base.report.html import LIBRARY_FILE, plotly, write_page
from deadbeat.base.store.files import atomic_write, read_json, write_json
from deadbeat.base.verdicts.words import value_text
from deadbeat.cli._output import say
from deadbeat.cli.history import COLUMNS, PastLine, Series, series_in

INDEX_FILE, RESULTS = "index.html", "results"
#: In a gallery: result -> what its page was made from.
PAGES_FILE = "pages.json"
#: Size of a sparkline, and its edge.
_WIDE, _HIGH, _EDGE = 180, 30, 4
#: Results that are all in sight.
_MANY = 50
#: Columns that the machine or the link has.
_ABOVE = ("series", "machine", "name")
_HINT = "name a new folder, or a gallery"


def gallery(*, folder: Path, runs: Path) -> Shown:
    known = _known(folder)
    found = series_in(runs, None)
    lines = [line for each in found for line in each.lines]
    if not lines:
        raise UsageError(f"{runs} holds no result", "measure first: deadbeat latency --quick")
    write_json(folder / PAGES_FILE, {"pages": known})  # so that it can be killed
    pages = dict(_pages(folder, runs, lines, known))
    for name in known.keys() - pages.keys():
        _page(folder, name).unlink(missing_ok=True)
    write_json(folder / PAGES_FILE, {"pages": pages})
    atomic_write(folder / RESULTS / LIBRARY_FILE, plotly(surfaces=True))
    place = attrgetter("result.machine", "result.system")
    newest = sorted(lines, key=attrgetter("result.date"), reverse=True)
    machines = grouped(sorted(newest, key=place), place)
    counts = {
        "result": len(lines),
        "machine": sum(bool(name) for name, _ in machines),
        "change": sum(len(line.changed) for line in lines),
    }
    answer = ", ".join(count_of(count, what) for what, count in counts.items())
    answer += " of the main figure of each kind"
    series = Table(name="series", columns=_SERIES, rows=[each for each in found if each.number])
    columns = [_linked(pages), *(each for each in COLUMNS if each.key not in _ABOVE)]
    results = [
        Subsection(
            f"{name or 'No machine'}: {count_of(len(own), 'result')}",
            [Table(name=f"machine-{number}", columns=columns, rows=own)],
            folded=len(lines) > _MANY,
        )
        for number, ((name, _), own) in enumerate(machines.items())
    ]
    document = Document(
        title="Machines and results",
        kind="history",
        product="deadbeat history",
        source="the stored results",
        answer=(f"{answer}.",),
        sections=(
            Section("series", "Over time", [series]),
            Section("results", "Results", results),
        ),
    )
    page = write_page(folder / INDEX_FILE, document)
    return Shown(
        plain={"page": str(page), **counts}, headline=answer, parts=[answer, f"page: {page}"]
    )


def _known(folder: Path) -> dict[str, str]:
    """What the pages of a gallery were made from. Raises UsageError: the folder is another's."""
    if (folder / PAGES_FILE).is_file():
        found = inside(read_json(folder / PAGES_FILE, what="gallery", hint=_HINT), "pages")
        return {name: str(stamp) for name, stamp in found.items()}
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} holds other files", _HINT)
    return {}


def _page(folder: Path, name: str) -> Path:
    return folder / RESULTS / f"{name}.html"


def _pages(
    folder: Path, runs: Path, lines: Sequence[PastLine], known: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Writes the page of each result where that has changed; made here, as a page that came with
    a result may hold anything."""
    results = [line.result for line in lines if line.result.kind]
    if new := sum(known.get(each.name) != each.stamp for each in results):
        say(f"writing {count_of(new, 'page')} of results")
    for each in results:
        page = _page(folder, each.name)
        if known.get(each.name) != each.stamp or not page.is_file():
            document = None
            with suppress(DeadbeatError):  # the line says it
                document = kind_of(each.kind).show(runs / each.name).document
            if document is None:
                continue
            write_page(page, document, shared=True)
        yield each.name, each.stamp


def _linked(pages: Container[str]) -> Column:
    """The name of a result, which leads to its page."""

    def link(line: PastLine) -> str:
        name = escape(line.result.name)
        place = quote(f"{RESULTS}/{line.result.name}.html")
        return f'<a href="{place}">{name}</a>' if line.result.name in pages else name

    return said("result", lambda line: "", markup=link)


def _sparkline(series: Series) -> str:
    """The figure of the worst cell of the last result, over all; a dot where it changed."""
    last = series.lines[-1]
    assert last.worst is not None and last.metric is not None
    cell = last.worst.cell
    points = [(f.value, cell in x.changed) for x in series.lines for f in x.cells if f.cell == cell]
    values = [value for value, _ in points]
    ends = min(values), max(values)
    across = np.linspace(_EDGE, _WIDE - _EDGE, len(points))
    places = [*zip(across, np.interp(values, ends, (_HIGH - _EDGE, _EDGE)), strict=True)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="currentColor"/>'
        for (x, y), (_, changed) in zip(places, points, strict=True)
        if changed
    )
    low, high = (value_text(last.metric, end) for end in ends)
    label = escape(f"{count_of(len(points), 'result')} from {low} to {high}")
    return (
        f'<svg width="{_WIDE}" height="{_HIGH}" role="img" aria-label="{label}"><title>{label}'
        f'</title><polyline points="{line}" fill="none" stroke="currentColor"'
        f' stroke-width="1.5"/>{dots}</svg>'
    )


def _last(heading: str, key: str, **more: Any) -> Column:
    """What the last result of a series has."""
    value: Callable[[PastLine], Any] = attrgetter(key)
    return said(heading, lambda series: value(series.lines[-1]) or None, **more)


_SERIES = (
    _last("machine", "result.machine"),
    _last("processor", "result.system", words=True),
    _last("last kernel", "result.kernel", words=True),
    _last("measured", "result.kind", words=True),
    _last("figure", "metric.words", words=True),
    said("course", lambda series: "", markup=_sparkline, words=True),
    _last("last [95 %]", "text"),
    said("results", lambda series: len(series.lines)),
    said("changes", attrgetter("answer"), long=True),
)
