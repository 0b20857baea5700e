"""A document in a terminal: its tables, then what they say, so that the answer stands last."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from unicodedata import category

import click
from attrs import evolve

from deadbeat.model.finding import Finding, counts_text, ordered
from deadbeat.report.document import (
    ROWS,
    CellMap,
    Document,
    Lines,
    Part,
    Sentence,
    Subsection,
    Table,
)

#: Least width of a table where stdout is no terminal.
_PLAIN_WIDTH = 120


def print_document(document: Document) -> None:
    """Its name, tables and sentences on stdout; findings: `print_findings`."""
    echo("   ".join([document.title, *document.labels]))
    for part in sorted(document.parts(), key=lambda part: not isinstance(part, Table)):
        _print(part)


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


def _print_picture(document: Document, details: str) -> bool:
    """Whether it said where the rest of it is."""
    picture = document.picture
    if isinstance(picture, CellMap):
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _PLAIN_WIDTH
        echo(picture.title)
        for line in map_lines(picture, width):
            click.echo(line)
    elif picture is not None and picture.rows:
        more = len(picture.rows) - document.rows
        print_part(evolve(picture, rows=picture.rows[: document.rows]))
        if more > 0:
            echo(f"{more} more: {details}")
            return True
    return False


def echo(text: str, indent: str = "") -> None:
    """A line; on a terminal broken between words."""
    text = clean(text)
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        text = textwrap.fill(
            text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
    click.echo(text)


def map_lines(heat: CellMap, width: int) -> list[str]:
    """Every cell as its text and a block as strong as it is; columns are left out evenly where
    there is no room."""
    head = max(map(len, [heat.corner, *heat.rows]))
    inside = [*heat.columns, *(text for row in heat.cells for text in row)]
    cell = max(map(len, inside), default=0) + 1
    most = max(2, (width - head) // (cell + 1))
    places = list(range(len(heat.columns)))
    if len(places) > most:  # the first and the last stay
        last = len(places) - 1
        places = sorted({round(k * last / (most - 1)) for k in range(most)})
    texts = (f"{heat.columns[n]:>{cell - 1}} " for n in places)
    lines = [f"{heat.corner:<{head}} " + " ".join(texts)]
    for name, row, strength in zip(heat.rows, heat.cells, heat.strength, strict=True):
        texts = (f"{row[n]:>{cell - 1}}{_BLOCKS[strength[n]]}" for n in places)
        lines.append(f"{name:>{head}} " + " ".join(texts))
    return [clean(line).rstrip() for line in lines]


def picture_lines(found: Table | CellMap | None, width: int) -> list[str]:
    if isinstance(found, CellMap):
        return [clean(found.title), *map_lines(found, width)]
    if found is None or not found.rows:
        return []
    return ["so far:", *plain_lines(evolve(found, rows=found.rows[:ROWS]))]


def print_parts(parts: Iterable[Part], heading: str = "") -> None:
    """Tables and sentences in their order; lines under what they belong to."""
    for part in parts:
        if isinstance(part, Subsection):
            print_parts(part.parts, part.title)
        else:
            _print(part, heading)


def _print(part: Part, heading: str = "") -> None:
    match part:
        case Table(terminal=True) if part.rows:
            print_part(part)
        case Sentence(terminal=True):
            echo(part.text)
        case Lines(terminal=True) if part.lines:
            lines = [x for line in part.lines for x in ([line] if isinstance(line, str) else line)]
            if heading:
                echo(f"{heading}:")
            for line in lines:
                echo(f"    {line}" if heading else line, "    " if heading else "")


def plain_lines(part: Table) -> list[str]:
    """A table as lines of text: the first column left, the others right."""
    rows = [[c.title for c in part.shown(terminal=True)], *part.texts(terminal=True)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{clean(text):<{wide}}" if place == 0 else f"{clean(text):>{wide}}"
            for place, (text, wide) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def print_part(part: Table) -> None:
    columns = part.shown(terminal=True)
    print_table(
        [column.title for column in columns],
        part.texts(terminal=True),
        title=part.title,
        numeric=[c.title for c in columns[1:] if not (c.words or c.long)],
        whole=[columns[0].title, *(c.title for c in columns if c.words)],
        spare=[c.title for c in columns if c.spare],
        plain=part.plain,
    )
    if part.note:
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


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str = "",
    numeric: Sequence[str] = (),
    whole: Sequence[str] = (),
    spare: Sequence[str] = (),
    plain: bool = False,
) -> None:
    """A table on stdout, in which no number is folded and nothing is cut.

    Where a terminal has no room for it, the lines between the columns go first, then the ``spare``
    columns, which a line below names; where that is not enough, every row becomes lines of its own.

    Args:
        whole: Columns whose texts do not break between words either, where there is room.
        spare: Columns that may be left out, the last of them first.
        plain: Without lines between the columns from the start.
    """
    # A tenth of a second, which --json must not pay.
    from rich.cells import cell_len  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415

    console = Console(highlight=False)
    if title:
        echo(title)
    texts = [[clean(cell) for cell in row] for row in rows]
    heads = [clean(column) for column in columns]
    by_column = list(zip(heads, *texts, strict=True))
    lines = [[line for text in each for line in text.split("\n")] for each in by_column]
    longest = [max(map(cell_len, each)) for each in lines]
    least = [max(map(cell_len, re.split(r"\s(?!%)", " ".join(each)))) for each in by_column]
    # a heading may break between words where the texts below it may not
    needed = [max([least[n], *map(cell_len, each[1:])]) for n, each in enumerate(by_column)]
    kept = list(range(len(heads)))
    left_out: list[str] = []
    width = console.width
    if not console.is_terminal:
        width = max(_PLAIN_WIDTH, width, sum(longest) + _frame(kept, plain=plain))
    else:
        plain = plain or sum(least) + _frame(kept, plain=False) > width
        for name in reversed(spare):
            if sum(needed[n] for n in kept) + _frame(kept, plain=plain) <= width:
                break
            kept = [n for n in kept if columns[n] != name]
            left_out.insert(0, name)
    if sum(least[n] for n in kept) + _frame(kept, plain=plain) > width:
        _print_rows(heads, texts, width)
        return
    room = width - _frame(kept, plain=plain)
    firm = {*whole, *numeric}
    wanted = [needed[n] if columns[n] in firm else least[n] for n in kept]
    if sum(wanted) > room:
        wanted = [least[n] for n in kept]
    widths = _widths(wanted, [longest[n] for n in kept], room)
    table = _rich_table(plain=plain)
    for n, wide in zip(kept, widths, strict=True):
        table.add_column(heads[n], justify="right" if columns[n] in numeric else "left", width=wide)
    for row in texts:
        table.add_row(*(row[n] for n in kept))
    Console(highlight=False, markup=False, width=width).print(table)
    if left_out:
        names = ", ".join(" ".join(name.split()) for name in left_out)
        echo(f"no room here for: {names}")


def clean(text: str) -> str:
    """Without what a terminal would carry out instead of showing it."""
    return "".join(
        c if c.isprintable() or c == "\n" or category(c) == "Zs" else "\N{REPLACEMENT CHARACTER}"
        for c in text
    )


def _frame(kept: Sequence[int], *, plain: bool) -> int:
    """Width of what stands between and around the columns."""
    return 2 * len(kept) if plain else 3 * len(kept) + 1


def _rich_table(*, plain: bool) -> Any:
    from rich import box  # noqa: PLC0415
    from rich.table import Table as RichTable  # noqa: PLC0415

    table = RichTable()
    if plain:
        table.box, table.padding, table.show_edge = box.SIMPLE_HEAD, (0, 1, 0, 0), False
    return table


def _print_rows(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> None:
    """Every row as its first value, and lines of the others with their names."""
    names = [" ".join(head.split()) for head in heads]
    for first, *others in rows:
        click.echo(f"{names[0]} {first}".strip())
        pairs = (
            f"{name}\N{NO-BREAK SPACE}{' '.join(value.split())}"
            for name, value in zip(names[1:], others, strict=True)
            if value.strip()
        )
        text = textwrap.fill(
            ", ".join(pairs), width, initial_indent="  ", subsequent_indent="  ",
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        click.echo(text.replace("\N{NO-BREAK SPACE}", " "))


def _widths(least: Sequence[int], longest: Sequence[int], room: int) -> list[int]:
    """Of columns that break between words: what is left goes to those that lack most."""
    found = list(least)
    for _ in range(room - sum(least)):
        lacking = max(range(len(found)), key=lambda n: longest[n] - found[n])
        if longest[lacking] <= found[lacking]:
            break
        found[lacking] += 1
    return found
