"""The machine whose settings are changed, and its journal."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from deadbeat.model.errors import UsageError
from deadbeat.settings.journal import STATE_FOLDER, Journal
from deadbeat.targets.base import Target
from deadbeat.targets.local import LocalTarget
from deadbeat.targets.readings import is_pattern
from deadbeat.targets.rooted import RootedTarget

F = TypeVar("F", bound=Callable[..., Any])


def root_option(function: F) -> F:
    """A tree in place of the machine's own files."""
    return click.option(
        "--root",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="Take the kernel's files from below DIR, a made-up machine.",
    )(function)


@contextmanager
def opened(root: Path | None) -> Iterator[tuple[Target, Journal]]:
    """The target to read from, and the journal of its settings.

    Raises:
        UsageError: ``root`` is no folder, or its name would be taken for a pattern.
    """
    if root is None:
        with LocalTarget() as target:
            yield target, Journal(target)
        return
    tree = str(root.resolve())
    if not root.is_dir() or is_pattern(tree) or not tree.isprintable():
        raise UsageError(f"--root: {root} is no folder that can be used", "name a folder")
    folder = os.environ.get("DEADBEAT_STATE") or tree + STATE_FOLDER
    with LocalTarget() as target:
        yield RootedTarget(target, tree), Journal(target, folder=folder, root=tree)


def boot_lines(add: tuple[str, ...], replaced: tuple[str, ...], whole: str | None) -> list[str]:
    """What to do by hand at the boot loader."""
    lines = ["", "Only a boot sets these; add them to the kernel's command line yourself:"]
    lines.append(f"  {' '.join(add)}")
    if replaced:
        lines.append(f"in place of\n  {' '.join(replaced)}")
    if whole is None:
        return [*lines, "to what is there now, which could not be read (/proc/cmdline)"]
    return [*lines, "which makes the whole line", f"  {whole}"]
