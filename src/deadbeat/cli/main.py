"""The command line: finds commands, turns every error into one line and an exit status.

Commands are declared in `deadbeat.cli.commands`; those that measure in modules of their names.

Exit status: 0 done; 1 the verdict that was asked for is bad (``--fail-on``, ``selftest``); 2 not
understood; 3 trouble, nothing is said of the question; 128 + signal interrupted (130: Ctrl-C).
"""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stderr
from importlib import import_module
from typing import Any, TextIO

import click
from click.shell_completion import shell_complete

from deadbeat.base.model.errors import DeadbeatError, NotDrawnWarning
from deadbeat.base.model.refused import refusal
from deadbeat.cli._errors import DEBUG, explain_error, explain_usage
from deadbeat.cli._signals import INTERRUPTED, OutputError, Reported, interruptible, make_usable
from deadbeat.cli.commands import root

TROUBLE, USAGE, BROKEN_PIPE = 3, 2, 141
_NO_COLOUR, _QUIET = "--no-color", ("-q", "--quiet")
_SHOW_WARNING = warnings.showwarning
_COMPLETE = "_DEADBEAT_COMPLETE"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status and raises nothing."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    # The options of every command, which may stand anywhere before `--`, and the other words.
    end = words.index("--") if "--" in words else len(words)
    every = {DEBUG, _NO_COLOUR, *_QUIET}
    ours = every.intersection(words[:end])
    rest = [word for word in words[:end] if word not in ours] + words[end:]
    debug = DEBUG in ours
    quiet = bool({*_QUIET} & ours)
    if _NO_COLOUR in ours:
        os.environ["NO_COLOR"] = "1"
    if arguments is None:
        make_usable()
    with interruptible(last=arguments is None) as caught, warnings.catch_warnings():
        warnings.showwarning = _warn
        return caught.status(_guarded(rest, debug=debug, quiet=quiet))


class _Wanted(io.StringIO):
    """Standard error that keeps to what was asked for: annotations, and why it fails."""

    def __init__(self, own: TextIO) -> None:
        super().__init__()
        self._own = own

    def write(self, text: str) -> int:
        return (
            self._own.write(text) if text.startswith(("::", "deadbeat: --fail-on ")) else len(text)
        )


def _guarded(words: list[str], *, debug: bool, quiet: bool) -> int:
    try:
        status = _run(words, quiet=quiet)
        sys.stdout.flush()
        return status
    except OutputError as lost:
        if lost.args[0].errno == errno.EPIPE:  # whoever read it has seen enough
            return BROKEN_PIPE
        return _fail(*refusal("cannot write standard output", lost.args[0]))
    except KeyboardInterrupt as error:
        if not isinstance(error, Reported):
            _say("interrupted")
        return INTERRUPTED
    except Exception as error:  # the last resort: a defect must not print a traceback unasked
        if _interrupted(error):
            _say("interrupted")
            return INTERRUPTED
        if debug:
            raise
        return _fail(*explain_error(error))


def _warn(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """A warning for a person in one line; of those for developers, where it arose."""
    if issubclass(category, NotDrawnWarning):
        _say(str(message))
    else:
        _SHOW_WARNING(message, category, *where, **more)


def _interrupted(error: BaseException | None) -> bool:
    """Whether a signal is behind it: one that strikes while a class is made comes out as another
    error."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _run(words: list[str], *, quiet: bool) -> int:
    if asked := os.environ.get(_COMPLETE):
        # Completion of a shell, as click does it: `bash_source` prints the script that asks.
        if shell_complete(root, {}, "deadbeat", _COMPLETE, asked):
            return _fail(f"{_COMPLETE}={asked} is unknown", "try bash_source", status=USAGE)
        return 0
    try:
        silence = redirect_stderr(_Wanted(sys.stderr)) if quiet else nullcontext()
        with silence, root.make_context("deadbeat", words) as context:
            context.obj = words
            try:
                result = root.invoke(context)
            except click.exceptions.Exit as leave:
                result = leave.exit_code
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as leave:  # of the first group: --help
        return leave.exit_code
    except click.ClickException as error:
        return _fail(*explain_usage(error), status=error.exit_code)
    except DeadbeatError as error:
        return _fail(error.message, error.hint, error.details, status=error.exit_status)


def _fail(message: str, hint: str, details: Sequence[str] = (), *, status: int = TROUBLE) -> int:
    """One line on stderr, whatever the message holds; below it one for each of ``details``."""
    _say(f"error: {_line(f'{message} ({hint})' if hint else message)}")
    for detail in details:
        _echo(f"  {_line(detail)}")
    return status


def _say(text: str) -> None:
    _echo(f"deadbeat: {text}")


def _echo(text: str) -> None:
    """A line on stderr; what breaks it is imported here, for ``--help`` needs it not."""
    import_module("deadbeat.base.report.lines").echo(text, err=True)


def _line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
