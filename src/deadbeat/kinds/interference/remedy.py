"""Remedies against missed deadlines: each a file of ``loadtest/remedies`` with REMEDY.

They are the advice of a paper (docs/reference/load.md); whether one helps is measured, not assumed.
"""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Callable, Sequence
from importlib import import_module

from attrs import frozen

from deadbeat.model.tuning import Setting
from deadbeat.targets.readings import Readings


@frozen(kw_only=True)
class Situation:
    """What a remedy looks at.

    Attributes:
        readings: What its ``reads`` gave.
        cpus: CPUs that the threads may use.
        home: The one a pinned real-time thread is bound to.
    """

    readings: Readings
    cpus: tuple[int, ...]
    home: int

    def text(self, path: str) -> str | None:
        """What a file holds, without white space around it; None where it is unread."""
        reading = self.readings.files.get(path)
        return None if reading is None or reading.text is None else reading.text.strip()

    def why(self, path: str) -> str:
        """Why it is unread."""
        reading = self.readings.files.get(path)
        return "it was not asked for" if reading is None else reading.reason


@frozen(kw_only=True)
class RemedyChange:
    """What a remedy does.

    Attributes:
        settings: Values of the kernel's files: journalled, written, read back, put back.
        pin: CPU the real-time thread is bound to.
        normal_cpus: CPUs the ordinary threads keep to.
        words: All of it, for a reader.
    """

    settings: tuple[Setting, ...] = ()
    pin: int | None = None
    normal_cpus: tuple[int, ...] | None = None
    words: str


@frozen
class Impossible:
    """Why a remedy cannot be tried here."""

    reason: str


@frozen(kw_only=True)
class Remedy:
    """One piece of advice.

    Attributes:
        name: On the command line and in files.
        title: What is done, in a few words.
        claim: Why it is said to help; a hypothesis until it is measured.
        source: Who says so.
        order: Place in lists.
        reads: Paths and patterns it looks at, of the CPUs.
        plan: What it does in a situation, or why it cannot.
    """

    name: str
    title: str
    claim: str
    source: str
    order: int
    reads: Callable[[Sequence[int]], tuple[str, ...]]
    plan: Callable[[Situation], RemedyChange | Impossible]


@functools.cache
def known_remedies() -> dict[str, Remedy]:
    """Name -> remedy, in order."""
    from deadbeat.kinds.interference import remedies  # noqa: PLC0415  its modules import this one

    modules = (
        import_module(f"{remedies.__name__}.{module.name}")
        for module in pkgutil.iter_modules(remedies.__path__)
    )
    found: list[Remedy] = sorted((module.REMEDY for module in modules), key=lambda r: r.order)
    return {remedy.name: remedy for remedy in found}


def together(changes: Sequence[RemedyChange]) -> RemedyChange:
    """All of them at once."""
    settings = {each.path: each for change in changes for each in change.settings}
    pins = [change.pin for change in changes if change.pin is not None]
    kept = [change.normal_cpus for change in changes if change.normal_cpus is not None]
    return RemedyChange(
        settings=tuple(settings.values()),
        pin=pins[0] if pins else None,
        normal_cpus=kept[0] if kept else None,
        words="; ".join(change.words for change in changes),
    )
