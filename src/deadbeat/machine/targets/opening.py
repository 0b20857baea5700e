"""From the word for a machine to its target."""

from __future__ import annotations

import re
from contextlib import closing
from importlib import import_module
from typing import TYPE_CHECKING

from deadbeat.base.kinds.base import Begin
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.words import shown
from deadbeat.machine.targets.base import LOCAL, Target
from deadbeat.machine.targets.local import LocalTarget

if TYPE_CHECKING:
    from deadbeat.machine.targets.base import Target

#: What a word for another machine begins with -> ``module:maker``, which is given the word.
SCHEMES = {
    "ssh": "deadbeat.machine.targets.ssh:SshTarget",
    "lab": "deadbeat.lab.target:lab_target",
}
#: Between two machines of a list; options of one are ``KEY=VALUE`` or ``parallel``.
_BETWEEN = r",(?!\w+=|parallel)"


def targets_in(words: str | None) -> tuple[str, ...]:
    """The machines of a list with commas, in its order; none: the one that deadbeat runs on.
    Raises UsageError: one is named twice."""
    found = tuple(word.strip() for word in re.split(_BETWEEN, words or ""))
    twice = [word for word in found if found.count(word) > 1]
    if twice:
        raise UsageError(f"--target: {shown(twice[0])} is named twice", "name each machine once")
    return found if words is not None else ()


def slug(word: str) -> str:
    """A machine's word as a part of a file's name: ``ssh-root-board``."""
    return re.sub(r"[^\w.]+", "-", word, flags=re.ASCII).strip("-.") or "target"


def open_target(word: str | None) -> Target:
    """The machine that ``word`` names; None: the one that deadbeat runs on.

    Raises:
        UsageError: It names none.
        TargetError: The machine cannot be reached, or used.
    """
    if word is None or word == LOCAL:
        return LocalTarget()
    scheme, colon, _ = word.partition(":")
    if not colon or scheme not in SCHEMES:
        raise UsageError(
            f"--target: {shown(word)} names no machine",
            f"write {LOCAL}, ssh://user@host[:port] or lab:KERNEL",
        )
    module, _, name = SCHEMES[scheme].partition(":")
    target: Target = getattr(import_module(module), name)(word)
    return target


def opened(asked: Begin) -> Target | None:
    """The machine to measure on, held until all is over; None: a made-up one.
    Raises UsageError: both are asked for."""
    if asked.simulated:
        refuse_made_up(asked.target or asked.cross, "--simulated")
        return None
    return asked.held.enter_context(closing(open_target(asked.target)))


def refuse_made_up(target: str | None, option: str) -> None:
    """Raises UsageError where ``option`` names what runs task sets, and ``--target`` another."""
    if target is not None:
        raise UsageError(f"{option} and --target (or --cross) exclude each other", "drop one")
