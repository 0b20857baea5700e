"""A document in a terminal: the answer first, then its picture, tables and doubts.

On a terminal every line is broken between words, and a table leaves out columns, the later ones
first; in a pipe a line is whole.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from pathlib import Path

import click
from attrs import evolve

from deadbeat.base.model.finding import Finding, counts_text, ordered
from deadbeat.base.report.document import (
    ROWS,
    CellMap,
    Document,
    Lines,
    Part,
    Sentence,
    Subsection,
    Table,
)
from deadbeat.base.report.lines import clean, echo, table_lines, width_of


def print_document(document: Document) -> None:
    """All of it on stdout, the answer first; findings: `print_findings`."""
    echo("   ".join([document.title, *document.labels]))
    parts = list(document.parts())
    for line in document.answer:
        echo(line)
    tables = [part for part in parts if isinstance(part, Table) and part.terminal]
    printed = {id(row) for table in tables for row in table.rows}
    picture = document.picture
    if isinstance(picture, CellMap) or (picture and not printed.issuperset(map(id, picture.rows))):
        _print_picture(document, whole=True)
    answered = bool(document.answer)
    for part in sorted(parts, key=_rank):
        if not (answered and isinstance(part, Sentence) and part.answer):
            _print(part, whole=True)


def _rank(part: Part) -> int:
    return 0 if isinstance(part, Sentence) and part.answer else 1 if isinstance(part, Table) else 2


#: What a screen shows of each: steps, serious findings.
_STEPS, _SERIOUS = 3, 3
#: A longer command has its purpose right behind it.
_COMMAND = 44
#: How strong a cell of a map is, for who sees no colour.
_BLOCKS = (" ", "░", "▒", "▓", "█")


def print_screen(document: Document, page: Path | None, *, whole: bool = False) -> None:
    """At most a screen: the answer, its picture, the serious findings, what to do next, and where
    the rest is.

    Args:
        whole: All of it stands above: what to do next is enough.
    """
    details = document.details or f"deadbeat show {shlex.quote(document.title)}"
    rest = [] if whole else [f"details: {details}"]
    if not whole:
        echo("   ".join([document.title, *document.labels]))
        for line in document.answer:
            echo(line)
        if _print_picture(document, details):
            rest = []
        for part in document.below:
            print_part(part) if isinstance(part, Table) else echo(part)
        findings = ordered(document.findings)
        serious = [each for each in findings if each.severity in ("invalid", "serious")]
        for each in serious[:_SERIOUS]:
            echo(f"{each.severity}: {each.message} (deadbeat show {each.id})", "  ")
        if len(findings) > len(serious[:_SERIOUS]):
            rest.append(f"findings: {counts_text(findings)}")
    steps = document.steps[:_STEPS]
    lengths = (len(command) for command, _ in steps)
    wide = max((length for length in lengths if length <= _COMMAND), default=0)
    for command, what in steps:
        echo(f"next: {command:<{wide}}   {what}".rstrip(), "      ")
    if rest:
        echo("; ".join(rest))
    if page is not None:
        echo(f"page: {page}")


def _print_picture(document: Document, details: str = "", *, whole: bool = False) -> bool:
    """Whether it said where the rest of it is."""
    picture = document.picture
    if isinstance(picture, CellMap):
        echo(picture.title)
        for line in map_lines(picture, width_of(sys.stdout)):
            click.echo(line)
    elif picture is not None and picture.rows:
        rows = None if whole else document.rows
        print_part(evolve(picture, rows=picture.rows[:rows]), whole=whole)
        if not whole and (more := len(picture.rows) - document.rows) > 0:
            echo(f"{more} more: {details}")
            return True
    return False


def map_lines(heat: CellMap, width: int | None) -> list[str]:
    """Every cell as its text and a block as strong as it is; columns are left out evenly where
    there is no room."""
    head = max(map(len, [heat.corner, *heat.rows]))
    inside = [*heat.columns, *(text for row in heat.cells for text in row)]
    cell = max(map(len, inside), default=0) + 1
    room = (width or 10_000) - head
    gap = " " if room >= (cell + 1) * len(heat.columns) else ""
    most = max(2, room // (cell + len(gap)))
    places = list(range(len(heat.columns)))
    if len(places) > most:  # the first and the last stay
        last = len(places) - 1
        places = sorted({round(k * last / (most - 1)) for k in range(most)})
    texts = (f"{heat.columns[n]:>{cell - 1}} " for n in places)
    lines = [f"{heat.corner:<{head}} " + gap.join(texts)]
    for name, row, strength in zip(heat.rows, heat.cells, heat.strength, strict=True):
        texts = (f"{row[n]:>{cell - 1}}{_BLOCKS[strength[n]]}" for n in places)
        lines.append(f"{name:>{head}} " + gap.join(texts))
    return [clean(line).rstrip() for line in lines]


def picture_lines(found: Table | CellMap | None, width: int, *, rows: int = ROWS) -> list[str]:
    """What is known so far, in lines: of a table as many ``rows`` as there is room for."""
    if isinstance(found, CellMap):
        return [clean(found.title), *map_lines(found, width)]
    if found is None or not found.rows:
        return []
    return [
        f"so far: {found.title}".rstrip(),
        *plain_lines(evolve(found, rows=found.rows[:rows]), width, whole=False),
    ]


def print_parts(parts: Iterable[Part], heading: str = "") -> None:
    """Tables and sentences in their order; lines under what they belong to."""
    for part in parts:
        if isinstance(part, Subsection):
            print_parts(part.parts, part.title)
        else:
            _print(part, heading)


def _print(part: Part, heading: str = "", *, whole: bool = False) -> None:
    match part:
        case Table(terminal=True) if part.rows:
            print_part(part, whole=whole)
        case Sentence(terminal=True):
            echo(part.text)
        case Lines(terminal=True) if part.lines:
            lines = [x for line in part.lines for x in ([line] if isinstance(line, str) else line)]
            if heading:
                echo(f"{heading}:")
            for line in lines:
                echo(f"    {line}" if heading else line, "    " if heading else "")


def plain_lines(part: Table, width: int | None = None, *, whole: bool = True) -> list[str]:
    """A table as lines of text."""
    columns = part.shown(terminal=True)
    return table_lines(
        [column.title for column in columns],
        part.texts(terminal=True),
        width=width,
        numeric=[c.title for c in columns[1:] if not (c.words or c.long)],
        spare=[c.title for c in columns if c.spare],
        whole=whole,
    )


def print_part(part: Table, *, whole: bool = False) -> None:
    """A table under its title; ``whole``: of all columns, however narrow the terminal."""
    if part.title:
        echo(part.title)
    click.echo("\n".join(plain_lines(part, width_of(sys.stdout), whole=whole)))
    for line in part.note.splitlines():
        echo(line)


def finding_line(finding: Finding) -> str:
    """``serious: the message (the cure)``."""
    cure = f" ({finding.cure})" if finding.cure else ""
    return f"{finding.severity}: {finding.message}{cure}"


def print_findings(findings: Iterable[Finding]) -> None:
    """A line for each finding but the mere remarks, the gravest first."""
    for finding in ordered(findings):
        if finding.severity in ("serious", "warning"):
            echo(finding_line(finding), "    ")
