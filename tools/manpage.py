"""The manual page, deadbeat(1), from the commands themselves; `tools/docs.py` writes it."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Iterator
from importlib.metadata import version

import click

TAIL = r"""
.SH FILES
.TP
.I runs/NAME
Results of a measurement: its page is report.html. Another folder: \-\-runs, or DEADBEAT_RUNS.
.TP
.I ~/.cache/deadbeat
Compiled runtime and programs; may be deleted. Another folder: DEADBEAT_CACHE, or XDG_CACHE_HOME.
.SH ENVIRONMENT
.TP
.B DEADBEAT_RUNS
Folder of results.
.TP
.B DEADBEAT_CACHE
Folder of what was compiled.
.TP
.B DEADBEAT_CC
The C compiler of measured programs.
.SH EXIT STATUS
0 done; 1 failed, or found what \-\-fail\-on names; 2 wrong usage; 128 + signal interrupted.
.SH SEE ALSO
.BR cyclictest (8),
.BR stress\-ng (1),
.BR chrt (1)
"""


def escaped(text: str) -> str:
    """Text that roff reads as text, in lines of its own."""
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace("–", r"\(en")
    return "\n".join(rf"\&{line}" if line[:1] in (".", "'") else line for line in plain.split("\n"))


def paragraphs(text: str) -> Iterator[str]:
    """Those of a help text; one that begins with ``\\b`` keeps its lines."""
    for part in inspect.cleandoc(text).split("\n\n"):
        kept = part.startswith("\b\n")
        body = escaped(part.removeprefix("\b\n") if kept else " ".join(part.split()))
        yield f".PP\n.nf\n{body}\n.fi" if kept else f".PP\n{body}"


def option(each: click.Option) -> str:
    names = ", ".join(rf"\fB{escaped(name)}\fR" for name in (*each.opts, *each.secondary_opts))
    value = "" if each.is_flag or each.count else rf" \fI{escaped(each.metavar or '')}\fR"
    return f".TP\n{names}{value}\n{escaped(' '.join((each.help or '').split()))}"


def command(words: str, each: click.Command, common: Collection[str]) -> str:
    context = click.Context(each)
    arguments = [p.make_metavar(context) for p in each.params if isinstance(p, click.Argument)]
    usage = escaped(" ".join(["[OPTIONS]", *arguments]))
    options = [p for p in each.params if isinstance(p, click.Option) and not p.hidden]
    parts = [f".SS {escaped(words)}", rf"\fB{escaped(words)}\fR {usage}"]
    own = [text for text in map(option, options) if text not in common]
    also = escaped(" ".join(each.opts[0] for each in options if option(each) in common))
    also = f".PP\nAnd of several commands: {also}" if also else ""
    return "\n".join(filter(None, [*parts, *paragraphs(each.help or ""), *own, also]))


def manual(
    root: click.Command,
    commands: Iterable[tuple[str, click.Command]],
    shared: Iterable[click.Option],
) -> str:
    """deadbeat(1): the help of every command on one page, what they share once."""
    common = [*map(option, shared)]
    about, *more = paragraphs(root.help or "")
    name = " ".join(about.split()[1:])
    sections = [
        '.\\" Written by `tools/docs.py` from the commands themselves.',
        f'.TH DEADBEAT 1 "" "deadbeat {version("deadbeat")}" "User Commands"',
        rf".SH NAME{chr(10)}deadbeat \- {name[:1].lower() + name[1:].rstrip('.')}",
        ".SH SYNOPSIS\n.B deadbeat\n.I COMMAND\n[OPTIONS] [ARGUMENTS]",
        "\n".join([".SH DESCRIPTION", *more]),
        "\n".join([".SH COMMANDS", *(command(words, each, common) for words, each in commands)]),
        "\n".join([".SH OPTIONS OF SEVERAL COMMANDS", *common]),
    ]
    return "\n".join(sections) + TAIL
