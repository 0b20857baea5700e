"""Text of an error: message and hint."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import click

from deadbeat.base.model.errors import DeadbeatError
from deadbeat.base.model.refused import hint_in, hint_of
from deadbeat.base.model.words import near

DEBUG = "--debug"
#: What other tools call going on; here the command itself does.
_RESUMING = ("--resume", "--continue")
#: Options that are the same elsewhere.
_ELSEWHERE = dict.fromkeys(("--cores", "--cpus", "--cpu"), "--processors")


def explain_usage(error: click.ClickException) -> tuple[str, str]:
    """Message and hint of what click refused, with the nearest right word."""
    context = getattr(error, "ctx", None)
    name = context.command_path if context else "deadbeat"
    see_help = f"see {name} --help"
    message = error.format_message().rstrip(".")
    if isinstance(error, click.exceptions.NoSuchOption) and context:
        known = [
            option
            for parameter in context.command.get_params(context)
            if not getattr(parameter, "hidden", False)
            for option in parameter.opts
            if option.startswith("--")
        ]
        message = f"{name} has no option {error.option_name}"
        if error.option_name in _RESUMING and "--fresh" in known:
            return message, "none is needed: the same command again continues where it stopped"
        if (same := _ELSEWHERE.get(error.option_name)) in known:
            return message, f"did you mean {same}?"
        return message, near(error.option_name, known) or see_help
    if isinstance(error, click.UsageError) and context and isinstance(context.command, click.Group):
        # The word that should have been a command of the group of ``context``.
        words = [word for word in context.find_root().obj or () if not word.startswith("-")]
        depth = len(context.command_path.split()) - 1
        asked = words[depth] if depth < len(words) else ""
        verbs = context.command.list_commands(context)
        if asked and asked not in verbs:
            full = " ".join((*context.command_path.split()[1:], asked))
            hint = near(asked, verbs) or "deadbeat --help lists them"
            return f'there is no command "{full}"', hint
    return message[:1].lower() + message[1:], see_help


def explain_error(error: Exception) -> tuple[str, str]:
    """Message and hint of an error of any class."""
    if isinstance(error, DeadbeatError):
        return error.message, error.hint
    if isinstance(error, MemoryError):
        return "out of memory", hint_of(errno.ENOMEM)
    if isinstance(error, OSError) and error.strerror:
        where = f"{Path(os.fsdecode(error.filename))}: " if error.filename else ""
        return f"{where}{error.strerror}", hint_of(error.errno, f"repeat with {DEBUG} to see where")
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    # A library that a limit keeps from being loaded, a thread from being started.
    if limit := hint_in(f"{text} {error.__cause__} {error.__context__}"):
        return f"{error!s:.200}", limit
    return f"unexpected: {text}", f"a defect: repeat with {DEBUG} and report it"
