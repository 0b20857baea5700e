"""``page --all``: machines and their results as pages that can be published as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from deadbeat.base.kinds.registry import kind_of
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import DeadbeatError, UsageError
from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.words import count_of, escape
from deadbeat.base.report.document import (
    Column,
    Document,
    Part,
    Section,
    Table,
    folded,
    said,
)
from deadbeat.base.report.html import write_page
from deadbeat.base.store.files import read_json, tool_version, write_json
from deadbeat.cli._output import say
from deadbeat.cli.history import NOTHING, PastLine, Series, series_in

INDEX_FILE, RESULTS = "index.html", "results"
#: In a gallery: result -> what its page was made from.
PAGES_FILE = "pages.json"
#: Size of a sparkline, and its edge.
_WIDE, _HIGH, _EDGE = 180, 30, 4
_HINT = "name a new folder, or a gallery"


def gallery(*, folder: Path, runs: Path) -> Shown:
    known = _known(folder, runs)
    series = series_in(runs, None)
    lines = [line for each in series for line in each.lines]
    if not lines:
        raise UsageError(f"{runs} holds no result", "measure first: deadbeat latency --quick")
    pages = dict(_pages(folder, runs, lines, known))
    for name in known.keys() - pages.keys():
        _page(folder, name).unlink(missing_ok=True)
    write_json(folder / PAGES_FILE, {"pages": pages})
    machines = grouped(series, lambda each: (each.first.machine, each.first.system))
    changes = sum(len(line.changed) for line in lines)
    answer = f"{count_of(len(lines), 'result')} of {count_of(len(machines), 'machine')}"
    answer += f"; {count_of(changes, 'change')} of a figure for good."
    document = Document(
        title="Machines and results",
        kind="history",
        product="deadbeat history",
        source="the stored results",
        answer=(answer,),
        sections=(
            Section("machines", "Machines", [_machines(machines)]),
            *(
                Section(f"machine-{number}", machine or "No machine", [*_machine(own, pages)])
                for number, ((machine, _), own) in enumerate(machines.items(), 1)
            ),
        ),
    )
    page = write_page(folder / INDEX_FILE, document)
    plain = {
        "page": str(page),
        "results": len(lines),
        "machines": len(machines),
        "changes": changes,
    }
    return Shown(plain=plain, headline=answer, parts=[answer, f"page: {page}"])


def _known(folder: Path, runs: Path) -> dict[str, str]:
    """What the pages of a gallery were made from. Raises UsageError: the folder is another's."""
    if folder.resolve() == runs.resolve():
        raise UsageError(f"{folder} is the folder of results", _HINT)
    if not (folder / PAGES_FILE).is_file():
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{folder} holds other files", _HINT)
        return {}
    found = read_json(folder / PAGES_FILE, what="gallery", hint=_HINT).get("pages")
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, Mapping) else {}


def _page(folder: Path, name: str) -> Path:
    return folder / RESULTS / f"{name}.html"


def _pages(
    folder: Path, runs: Path, lines: Sequence[PastLine], known: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Writes the page of each result where that has changed; made here, as a page that came with
    a result may hold anything."""
    made = {line.result.name: f"{tool_version()} {line.result.stamp}" for line in lines}
    new = sum(known.get(name) != stamp for name, stamp in made.items())
    if new:
        say(f"writing {count_of(new, 'page')} of results")
    for line in lines:
        name, kind = line.result.name, line.result.kind
        if known.get(name) != made[name] or not _page(folder, name).is_file():
            try:
                document = kind_of(kind).show(runs / name).document if kind else None
            except DeadbeatError:  # the line says it
                document = None
            if document is None:
                continue
            write_page(_page(folder, name), document)
        yield name, made[name]


def _machines(machines: Mapping[tuple[str, str], Sequence[Series]]) -> Table:
    rows = []
    for number, ((machine, system), own) in enumerate(machines.items(), 1):
        lines = sorted((line for each in own for line in each.lines), key=lambda x: x.result.date)
        rows.append({
            "link": f'<a href="#machine-{number}">{escape(machine or "No machine")}</a>',
            "system": system or None,
            "kernel": next((x.kernel for x in reversed(lines) if x.result.kernel), None),
            "kinds": ", ".join(dict.fromkeys(x.result.kind for x in lines if x.result.kind)),
            "results": len(lines),
            "last": lines[-1].result.date[:10],
            "changes": sum(len(line.changed) for line in lines),
        })  # fmt: skip
    columns = (
        said("machine", lambda row: "", markup=lambda row: row["link"]),
        Column(key="system", heading="processor", words=True),
        Column(key="kernel", heading="last kernel", words=True),
        Column(key="kinds", heading="measured", words=True),
        Column(key="results", heading="results"),
        Column(key="last", heading="last"),
        Column(key="changes", heading="changes"),
    )
    return Table(name="machines-table", columns=columns, rows=rows)


def _machine(series: Sequence[Series], pages: Mapping[str, str]) -> Iterator[Part]:
    number = series[0].number
    columns = (
        Column(key="kind", heading="measured", value=lambda each: each.first.kind or NOTHING),
        said("figure", _figure, words=True),
        said("course", lambda each: "", markup=_sparkline, words=True),
        said(
            "last", lambda each: each.lines[-1].text(getattr(each.lines[-1].worst, "value", None))
        ),
        said("changes", lambda each: each.answer, long=True),
        said("other settings", lambda each: "; ".join(each.other[:2]) or None, long=True),
    )
    yield Table(name=f"series-{number}", title="Series", columns=columns, rows=series)
    lines = [line for each in series for line in each.lines]
    lines.sort(key=lambda line: line.result.date, reverse=True)
    results = (
        said("result", lambda line: "" if line.result.name in pages else line.result.name,
             markup=lambda line: _link(line.result.name) if line.result.name in pages else ""),
        said("date (UTC)", lambda line: line.result.date[:16].replace("T", " ")),
        said("kernel", lambda line: line.kernel),
        said("commit", lambda line: line.commit, words=True),
        said("figure", lambda line: line.metric and line.metric.words, words=True),
        said("where", lambda line: line.worst and line.worst.cell, words=True),
        said("value", lambda line: line.text(line.worst.value if line.worst else None)),
        said("95 % interval", lambda line: line.interval),
        said("note", lambda line: line.note, long=True),
    )  # fmt: skip
    yield folded(Table(name=f"results-{number}", title="Results", columns=results, rows=lines))


def _link(name: str) -> str:
    return f'<a href="{RESULTS}/{quote(f"{name}.html")}">{escape(name)}</a>'


def _figure(series: Series) -> str | None:
    line = series.lines[-1]
    return f"{line.metric.words} at {line.worst.cell}" if line.metric and line.worst else None


def _sparkline(series: Series) -> str:
    """The figure of the worst cell of the last result, over all; a dot where it changed."""
    last = next((line.worst for line in reversed(series.lines) if line.worst), None)
    points = [
        (each.value, each.cell in line.changed)
        for line in series.lines
        for each in line.cells
        if last and each.cell == last.cell
    ]
    if len(points) < 2:
        return ""
    values = [value for value, _ in points]
    low, span = min(values), max(values) - min(values)
    places = [
        (
            _EDGE + (_WIDE - 2 * _EDGE) * k / (len(points) - 1),
            _HIGH - _EDGE - (_HIGH - 2 * _EDGE) * ((value - low) / span if span else 0.5),
        )
        for k, value in enumerate(values)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="currentColor"/>'
        for (x, y), (_, changed) in zip(places, points, strict=True)
        if changed
    )
    ends = [series.lines[-1].text(value) for value in (low, max(values))]
    label = escape(f"{len(points)} results from {ends[0]} to {ends[1]}")
    return (
        f'<svg width="{_WIDE}" height="{_HIGH}" role="img" aria-label="{label}">'
        f'<title>{label}</title><polyline points="{line}" fill="none" stroke="currentColor"'
        f' stroke-width="1.5"/>{dots}</svg>'
    )
