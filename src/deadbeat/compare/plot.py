"""Pictures of latency matrices by preset: a page, and the figure on paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import asdict, evolve

from deadbeat.kinds.base import Shown
from deadbeat.kinds.latency.runner import FOLDERS
from deadbeat.kinds.latency.sides import DrawnPlot, PlotPreset, Question, Side, SidesTable, question
from deadbeat.kinds.latency.summarise import summarise_latency
from deadbeat.kinds.latency.words import kernel_text
from deadbeat.model.errors import DataError, UsageError
from deadbeat.model.latency import LoadPoint
from deadbeat.model.published import nearest_preset, published
from deadbeat.model.words import Json, loud, shown
from deadbeat.report.document import (
    Document,
    FactList,
    Figures,
    Lines,
    Part,
    Section,
    Sentence,
    Subsection,
    Table,
    texts_table,
)
from deadbeat.report.html import terms, write_page
from deadbeat.report.paper import FORMATS, Words, write_charts
from deadbeat.store.files import followed, parse_json, read_bytes
from deadbeat.store.latency import LatencyStore
from deadbeat.store.runfolder import DOCTOR_FILE

#: Sides with their kernels below a figure on paper; rows that a terminal shows first.
_KERNELS, _ROWS = 7, 24
_INVENTORY_HINT = "deadbeat doctor --json > doctor.json on the system that was measured"


def presets() -> Mapping[str, PlotPreset]:
    return published("plots", PlotPreset)


def preset_of(name: str) -> PlotPreset:
    """The preset called ``name``; UsageError with the nearest where none is."""
    found = presets().get(name)
    if found is None:
        raise UsageError(f"{shown(name)} is not a preset", nearest_preset(name, presets()))
    return found


def read_side(path: Path, *, name: str = "", inventory: Path | None = None) -> Side:
    """The matrix in ``path``. ``name``: in the picture; "": that of the folder. ``inventory``:
    answer of ``deadbeat doctor --json``; None: ``doctor.json`` there, if any. Raises DataError: a
    file of it is missing or damaged; UsageError: it holds no run."""
    store = LatencyStore.open(path)
    runs = tuple(store.runs())
    if not runs:
        raise UsageError(f"{path} holds no run", "repeat its command: it measures what is missing")
    kept = path / DOCTOR_FILE
    source = followed(inventory) if inventory else kept if kept.is_file() else None
    return Side(
        name=name or path.name,
        summary=summarise_latency(runs, name=path.name, beside=store.spec.get("beside")),
        platform=asdict(store.platform),
        dma_latency=str(store.spec.get("dma_latency") or ""),
        lacking=max(0, FOLDERS.state_of(path).planned - len(runs)),
        inventory=read_inventory(source) if source else {},
        runs=runs,
    )


def read_inventory(path: Path) -> dict[str, str]:
    """Lines of the inventory in an answer of ``deadbeat doctor --json``: title -> value. Raises
    DataError: unreadable, not JSON, or without one."""
    data = read_bytes(path, what="inventory", hint=_INVENTORY_HINT)
    plain = parse_json(path, data, what="inventory", hint=_INVENTORY_HINT)
    answer = plain.get("results", plain) if isinstance(plain, dict) else None  # before 0049: bare
    found = answer.get("inventory") if isinstance(answer, dict) else None
    lines = found if isinstance(found, list) else []
    if not lines or not all(isinstance(line, dict) and "title" in line for line in lines):
        raise DataError(f"{path} holds no inventory", _INVENTORY_HINT)
    return {str(line["title"]): _line_text(line) for line in lines}


def _line_text(line: Mapping[str, Json]) -> str:
    """Its value; of one that is not known, why."""
    text, basis = str(line.get("text") or "not known"), line.get("basis")
    return f"{text}: {basis}" if line.get("value") is None and basis else text


def write_plot(
    preset: PlotPreset,
    sides: Sequence[Side],
    out_dir: Path,
    *,
    engine: str = "",
    load: LoadPoint | None = None,
    formats: Sequence[str] = FORMATS,
) -> Shown:
    """Writes ``PRESET.html`` and ``PRESET.FORMAT`` into ``out_dir`` (made when missing).
    ``engine``, ``load``: what to draw; "" and None: the preset's own choice. Raises UsageError: the
    sides cannot stand beside each other; DeadbeatError: something cannot be written."""
    preset.check([side.name for side in sides])
    asked = question(sides, engine=engine, load=load)
    drawn = preset.draw(asked)
    document = plot_document(preset, asked, drawn)
    few = sides if len(sides) <= _KERNELS else ()  # of many the page has a table
    kernels = [f"{side.name}: {kernel_text(side.platform.get('kernel'))}" for side in few]
    words = Words(labels=", ".join(document.labels), caption="; ".join(kernels) + "." * bool(few))
    files = write_charts(out_dir, drawn.charts, words, formats)
    page = write_page(out_dir / f"{preset.name}.html", document)
    pictures = [str(path) for path in files]
    return Shown(
        headline=drawn.sentences[0] if drawn.sentences else "",
        plain={
            "preset": preset.name,
            "results": [side.name for side in sides],
            "engine": asked.engine,
            "loads": [each.text for each in asked.loads],
            "labels": list(document.labels),
            "sentences": list(drawn.sentences),
            "caveats": list(drawn.caveats),
            "tables": [asdict(table) for table in drawn.tables],
            "files": pictures,
            "page": str(page),
        },
        document=evolve(document, details=", ".join(pictures) or "the page"),
        page=page,
    )


def labels_of(sides: Sequence[Side]) -> tuple[str, ...]:
    """Labels of any side, with its name where they are not of all."""
    found = []
    for label in dict.fromkeys(label for side in sides for label in side.summary.labels):
        own = [side.name for side in sides if label in side.summary.labels]
        (shown,) = loud([label])
        found.append(shown if len(own) == len(sides) else f"{shown}: {', '.join(own)}")
    return tuple(found)


def plot_document(preset: PlotPreset, asked: Question, drawn: DrawnPlot) -> Document:
    said: list[Part] = [Sentence(line, answer=True, terminal=True) for line in drawn.sentences]
    if drawn.caveats:
        caveats = [Lines(drawn.caveats, terminal=True)]
        said.append(Subsection("With these reservations", caveats))
    first = [_table(each, 0) for each in drawn.tables[:1] if each.rows]
    return Document(
        title=preset.title,
        answer=[*drawn.sentences, *drawn.caveats],
        picture=first[0] if first else None,
        rows=_ROWS,
        kind="plot",
        product=f"deadbeat compare --picture {preset.name}",
        source=f"the stored runs of {', '.join(side.name for side in asked.sides)}",
        labels=labels_of(asked.sides),
        about=f"{preset.about} After {preset.source}.",
        sections=(
            Section("answer", "What it says", said),
            Section("figures", "Figure", [Figures(drawn.charts)]),
            Section(
                "tables",
                "Figures and systems",
                [
                    Subsection(
                        each.title, [_table(each, number) if each.rows else Sentence(each.empty)]
                    )
                    for number, each in enumerate(drawn.tables, 1)
                ],
            ),
            Section("reading", "How to read this", [FactList(terms("latency"), terms=True)]),
        ),
    )


def _table(table: SidesTable, number: int) -> Table:
    columns = [heading or "what" for heading in table.columns]
    return texts_table(
        f"table-{number}",
        columns,
        table.rows,
        title=table.title,
        dense=True,
        wrapped=len(columns) <= 4,
        terminal=True,
    )
