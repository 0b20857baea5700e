"""A document in a terminal: its tables, then what they say, so that the answer stands last."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import click

from deadbeat.model.finding import Finding, Severity, ordered
from deadbeat.report.document import Document, Lines, Part, Sentence, Subsection, Table

#: Width of a table where stdout is no terminal and says nothing of its own width.
_PLAIN_WIDTH, _NO_LIMIT = 120, 10_000


def print_document(document: Document) -> None:
    """Its name, tables and sentences on stdout; findings: `print_findings`."""
    click.echo("   ".join([document.title, *document.labels]))
    for part in sorted(document.parts(), key=lambda part: not isinstance(part, Table)):
        _print(part)


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
            click.echo(part.text)
        case Lines(terminal=True) if part.lines:
            lines = [x for line in part.lines for x in ([line] if isinstance(line, str) else line)]
            click.echo("\n    ".join([f"{heading}:", *lines]) if heading else "\n".join(lines))


def print_part(part: Table) -> None:
    """One table and its note."""
    columns = part.shown(terminal=True)
    print_table(
        [column.title for column in columns],
        part.texts(terminal=True),
        title=part.title,
        numeric=[c.title for c in columns[1:] if not (c.words or c.long)],
        whole=[columns[0].title, *(c.title for c in columns if c.words)],
        plain=part.plain,
    )
    if part.note:
        click.echo(part.note)


def finding_line(finding: Finding) -> str:
    """``serious: the message (the cure)``."""
    cure = f" ({finding.cure})" if finding.cure else ""
    return f"{finding.severity}: {finding.message}{cure}"


def print_findings(
    findings: Iterable[Finding], severities: Sequence[Severity] = ("serious", "warning")
) -> None:
    """A line for each finding but the mere remarks, the gravest first."""
    for finding in ordered(findings):
        if finding.severity in severities:
            click.echo(finding_line(finding))


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str = "",
    numeric: Sequence[str] = (),
    whole: Sequence[str] = (),
    plain: bool = False,
) -> None:
    """A table on stdout; without colour or cut-off words where stdout is no terminal.

    Args:
        whole: Columns that are never cut, as they hold what is to be copied; the others give way.
            A terminal that has no room for them breaks them between words.
        plain: Without lines between the columns: they take half of the width of narrow ones.
    """
    # A tenth of a second, which --json must not pay.
    from rich import box  # noqa: PLC0415
    from rich.cells import cell_len  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415
    from rich.measure import Measurement  # noqa: PLC0415
    from rich.table import Table as RichTable  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(highlight=False)
    texts = [list(row) for row in rows]
    by_column = [[name, *(row[n] for row in texts)] for n, name in enumerate(columns)]
    longest = [max(map(cell_len, "\n".join(each[1:]).split("\n"))) for each in by_column]
    least = [max(map(cell_len, re.split(r"\s(?!%)", " ".join(each)))) for each in by_column]
    needed = [longest[n] if name in whole else least[n] for n, name in enumerate(columns)]
    room = console.width - 3 * len(columns) - 1
    cramped = console.is_terminal and sum(least) <= room < sum(needed)
    if cramped:
        widths = _widths(least, longest, room)
    cells = [list(map(Text, row)) for row in texts]
    table = RichTable(title=Text(title) if title else None, title_justify="left")
    if plain:
        table.box, table.padding, table.show_edge = box.SIMPLE_HEAD, (0, 1, 0, 0), False
    for number, column in enumerate(columns):
        kept = column in whole and not cramped
        table.add_column(
            column,
            justify="right" if column in numeric else "left",
            overflow="fold",
            no_wrap=kept,
            min_width=longest[number] if kept else None,
            width=widths[number] if cramped else None,
        )
    for row in cells:
        table.add_row(*row)
    if not console.is_terminal:
        wanted = Measurement.get(console, console.options.update(max_width=_NO_LIMIT), table)
        width = max(_PLAIN_WIDTH, console.width, wanted.minimum)
        console = Console(highlight=False, width=width)
    console.print(table)


def _widths(least: Sequence[int], longest: Sequence[int], room: int) -> list[int]:
    """Of columns that break between words: what is left goes to those that lack most."""
    found = list(least)
    for _ in range(room - sum(least)):
        lacking = max(range(len(found)), key=lambda n: longest[n] - found[n])
        found[lacking] += 1
    return found
