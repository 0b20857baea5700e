"""Talk to people on stderr, answers on stdout: tables, JSON."""

from __future__ import annotations

import json
from typing import Any

import click

from deadbeat.kinds.base import Shown
from deadbeat.report import terminal

print_table = terminal.print_table


def say(text: str) -> None:
    """One line for the person, on stderr."""
    click.echo(f"deadbeat: {text}", err=True)


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False))


def print_shown(shown: Shown, *, as_json: bool) -> None:
    """What a kind says of one of its folders.

    Raises:
        UsageError: There is nothing to read.
    """
    if as_json:
        print_json(shown.plain)
        return
    if shown.unsaid is not None:
        raise shown.unsaid
    if shown.document is not None:
        terminal.print_document(shown.document)
    for table in shown.tables:
        terminal.print_part(table)
    terminal.print_findings(shown.findings)
    for line in shown.lines:
        click.echo(line)


def duration(seconds: float) -> str:
    """``2 min 5 s``, ``3 h 10 min``; whole seconds."""
    whole = max(0, round(seconds))
    minutes, rest = divmod(whole, 60)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def size(count: float) -> str:
    """Bytes in decimal units: ``8.4 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
