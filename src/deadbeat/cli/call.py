"""Verbs as functions: what is typed in a shell, asked from Python.

A keyword is an option: ``loads=["idle"]`` is ``--loads idle``, ``quick=True`` is ``--quick``,
``figures=True`` is ``--figures``. Defaults and refusals are therefore those of the commands.
"""

from __future__ import annotations

import io
import json
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from functools import partial
from typing import Any, TypedDict

import click

from deadbeat.base.kinds.registry import open_folder
from deadbeat.base.model.errors import UsageError
from deadbeat.cli._errors import explain_usage
from deadbeat.cli._help import KEYWORDS
from deadbeat.cli._signals import INTERRUPTED
from deadbeat.cli.commands import root


class Envelope(TypedDict):
    """What ``--json`` prints: docs/reference/answer.schema.json."""

    deadbeat: dict[str, str | int]
    kind: str
    state: str
    headline: str
    findings: list[dict[str, str]]
    results: Any


def ask(verb: str, *arguments: object, progress: bool = False, **options: object) -> Envelope:
    """The answer of a verb: what ``--json`` prints, as a dict.

    Args:
        verb: ``doctor``, ``sched analyze`` ....
        progress: Also print on stderr what the command says meanwhile.
        options: By name, with underscores, and keys; None is as not given.

    Raises:
        UsageError: An argument or option cannot be accepted.
        DeadbeatError: Trouble.
        KeyboardInterrupt: It was interrupted; what is measured is kept, and the same call goes on.
    """
    words = [*verb.split(), *map(str, arguments), "--json"]
    for name, value in options.items():
        # An option as it is typed.
        option = f"--{name.replace('_', '-')}"
        if value is None:
            typed = []
        elif isinstance(value, bool):
            typed = [option if value else f"--no-{option[2:]}"]
        elif isinstance(value, list | tuple):
            typed = [option, ",".join(map(str, value))]
        else:
            typed = [option, str(value)]
        words += typed
    printed = io.StringIO()
    with ExitStack() as quiet:
        quiet.enter_context(redirect_stdout(printed))
        if not progress:
            quiet.enter_context(redirect_stderr(io.StringIO()))
        try:
            with root.make_context("deadbeat", words) as context:
                context.obj, context.meta[KEYWORDS] = words, True
                status = root.invoke(context)
        except click.ClickException as error:
            raise UsageError(*explain_usage(error)) from None
    if isinstance(status, int) and status >= INTERRUPTED:
        raise KeyboardInterrupt
    answer: Envelope = json.loads(printed.getvalue())
    return answer


def measure(verb: str, *, progress: bool = False, **options: object) -> Any:
    """Measures as the verb does; returns what `deadbeat.open` gives of the result, of several
    machines a list.

    Raises:
        As `ask`.
    """
    found = ask(verb, progress=progress, **options)["results"]
    if "campaigns" in found:
        return [open_folder(each["path"]) for each in found["campaigns"]]
    return open_folder(found["path"])


contention, breakdown = (partial(measure, verb) for verb in ("contention", "breakdown"))
latency, load, study = (partial(measure, verb) for verb in ("latency", "load", "sched study"))
primitives, interfere = partial(measure, "primitives"), partial(measure, "interfere")
compare, doctor = partial(ask, "compare"), partial(ask, "doctor")
