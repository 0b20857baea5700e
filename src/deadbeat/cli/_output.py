"""Talk to people on stderr, answers on stdout: tables, JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version as version_of
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from attrs import asdict

from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.finding import Finding
from deadbeat.base.model.lazy import Later
from deadbeat.base.model.plain import is_plain
from deadbeat.base.model.words import Json
from deadbeat.base.report.lines import echo, print_table
from deadbeat.base.store.files import atomic_write

if TYPE_CHECKING:
    from deadbeat.base.report import machines, terminal
else:  # an answer of few words needs neither
    machines, terminal = (
        Later(f"deadbeat.base.report.{name}") for name in ("machines", "terminal")
    )

#: Of an answer: a line, or what prints a part of it.
Part = str | Callable[[], None]


def say(text: str) -> None:
    """One line for the person, on stderr."""
    echo(f"deadbeat: {text}", err=True)


def agree(text: str, *, yes: bool) -> None:
    """Says what will be done, and asks for leave unless ``yes``.
    Raises UsageError: there is no leave, or no terminal to ask on."""
    say(text)
    if yes:
        return
    if not sys.stdin.isatty() or not click.confirm("deadbeat: go on?", err=True):
        raise UsageError("nothing was run: it wants your leave", "--yes gives it beforehand")


def print_json(value: Any) -> None:
    # A hyper-period is printed exactly, also where it has more digits than Python shows by itself.
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        how: dict[str, Any] = {"ensure_ascii": is_plain(), "allow_nan": False}
        text = json.dumps(value, indent=2, sort_keys=True, **how)
    finally:
        sys.set_int_max_str_digits(limit)
    click.echo(text)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], **more: Any) -> Part:
    """A table as a part of an answer; arguments as for `print_table`."""
    return lambda: print_table(columns, rows, **more)


#: Version of what ``--json`` prints, as docs/reference/answer.schema.json has it.
SCHEMA = 1


def envelope(shown: Shown, command: str = "") -> dict[str, Json]:
    """What ``--json`` prints, the same of every command.

    Args:
        command: Stands for the kind of an answer that says none.
    """
    return {
        "deadbeat": {"version": version_of("deadbeat"), "schema": SCHEMA},
        "kind": shown.kind or command,
        "state": shown.state or "answered",
        "headline": shown.headline or _heading(shown, command),
        "findings": [asdict(finding) for finding in findings_of(shown)],
        "results": shown.plain,
    }


def _heading(shown: Shown, command: str) -> str:
    """The first line of an answer without a headline; of one that begins with a table, its size."""
    for part in shown.parts[:1]:
        if isinstance(part, str):
            return part.partition("\n")[0]
    plain, last = shown.plain, command.rpartition(" ")[2]
    found = plain if isinstance(plain, dict) else {last: plain}
    lists = {key: len(rows) for key, rows in found.items() if isinstance(rows, list | tuple)}
    return ", ".join(
        f"{count:,} {key.replace('_', ' ').removesuffix('s' * (count == 1))}"
        for key, count in lists.items()
    )


def findings_of(shown: Shown) -> Sequence[Finding]:
    """What makes an answer doubtful."""
    return shown.document.findings if shown.document else shown.doubts


def print_shown(
    shown: Shown,
    *,
    as_json: bool = False,
    command: str = "",
    junit: Path | None = None,
    annotations: bool = False,
    openmetrics: bool = False,
) -> None:
    """What a command answers.

    Args:
        command: As for `envelope`.
        junit: Where what passed and failed is written. ``annotations``: said on stderr too.
        openmetrics: The figures alone.

    Raises:
        UsageError: There is nothing to read.
    """
    if junit is not None:
        about = {"headline": shown.headline, "deadbeat": version_of("deadbeat")}
        atomic_write(junit, machines.junit(command, shown.cases, about))
    for line in machines.annotated(shown.cases) if annotations else ():
        click.echo(line, err=True)
    if openmetrics and shown.metrics is not None:
        click.echo(shown.metrics(), nl=False)
        return
    if as_json:
        print_json(envelope(shown, command))
        return
    if shown.unsaid is not None:
        raise shown.unsaid
    # The answer for a person.
    document = shown.document
    if document is not None and (shown.whole or not document.answer):
        terminal.print_document(document)
    for part in shown.parts:
        if callable(part):
            part()
        else:
            for line in part.split("\n"):
                echo(line, "  ")
    for each in shown.tables:
        terminal.print_part(each)
    if shown.findings:
        terminal.print_findings(shown.findings)
    for line in shown.lines:
        echo(line)
    if document is not None and document.answer:
        page = shown.page if shown.page and shown.page.is_file() else None
        terminal.print_screen(document, page, whole=shown.whole)
