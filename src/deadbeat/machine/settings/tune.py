"""Settings that hold for a while or for good: who changed them, who may measure beside them.

A change that is meant to last (``deadbeat tune apply``) is recorded with the results. One that a
process holds for a while (a mitigation of a load test) must not be measured by anybody else: its
reason in the journal names the process, and the moment it was started, as numbers are used again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen

from deadbeat.base.model.errors import TargetError
from deadbeat.base.model.platform import LOCAL, TUNED, Platform, target_option
from deadbeat.base.model.tuning import Applied, JournalEntry, Setting
from deadbeat.machine.host.values import Read
from deadbeat.machine.settings.journal import Journal, new_session
from deadbeat.machine.targets.base import Target
from deadbeat.machine.targets.keeper import process_on

_SIGNED = re.compile(r"(?P<reason>.*) \[process (?P<process>\d+), started at tick (?P<tick>\d+)\]")
#: Fields of proc_pid_stat(5), counted from behind the name.
_STATE, _START = 0, 19


@frozen(kw_only=True)
class Holder:
    """Owner of a change in the journal.

    Attributes:
        reason: What for, without the process.
        process: The one that holds the setting for a while; None: the setting is meant to last.
        lives: Whether the process is still there.
    """

    reason: str
    process: int | None = None
    lives: bool = False

    @property
    def words(self) -> str:
        """What for, and who."""
        if self.process is None:
            return self.reason
        return f"{self.reason} (process {self.process}, {'running' if self.lives else 'ended'})"


def signed(reason: str, target: Target) -> str:
    """``reason`` with the process for which ``target`` is changed, as it has a number there."""
    process = process_on(target) or 0
    return f"{reason} [process {process}, started at tick {_started(process, target.read_text)}]"


def read_here(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return None


def holder_of(reason: str, read: Read = read_here) -> Holder:
    """Find the owner that a reason names; ``read``: reads the machine that the journal is on."""
    match = _SIGNED.fullmatch(reason)
    if match is None:
        return Holder(reason=reason)
    process = int(match["process"])
    lives = _started(process, read) == int(match["tick"])
    return Holder(reason=match["reason"], process=process, lives=lives)


def refuse_held(entries: Sequence[JournalEntry], read: Read = read_here) -> None:
    """Refuse to remove a setting under a measurement that goes on; ``read``: see `holder_of`.
    Raises TargetError: a process that lives holds one of them."""
    holders = {each.path: holder_of(each.reason, read) for each in entries}
    held = {path: holder for path, holder in holders.items() if holder.lives}
    if not held:
        return
    first = next(iter(held.values()))
    raise TargetError(
        f"{first.reason} holds {len(held)} of these settings right now (process {first.process})",
        "it puts them back itself when it ends; --force takes them away, and what it measures"
        " meanwhile does not count",
        tuple(held),
    )


def _started(process: int, read: Read) -> int | None:
    """Tick since boot at which a process was started; None: there is none, or it has ended."""
    words = (read(f"/proc/{process}/stat") or "").rpartition(") ")[2].split()
    if len(words) <= _START or words[_STATE] in "ZX" or not words[_START].isdecimal():
        return None
    return int(words[_START])


#: Nothing of such a change is left.
_OVER = ("back", "reset")


def refuse_unsettled(
    entries: Sequence[JournalEntry], read: Read = read_here, *, address: str = LOCAL
) -> None:
    """Refuse to measure what another measurement has changed for itself.

    Args:
        read: See `holder_of`.

    Raises:
        TargetError: One that was killed left a setting changed, or one holds it right now.
    """
    held = [
        (each, holder)
        for each in entries
        for holder in (holder_of(each.reason, read),)
        if holder.process is not None and each.stand not in _OVER
    ]
    if not held:
        return
    first, holder = next((pair for pair in held if pair[1].lives), held[0])
    more = f" and {len(held) - 1} more" if len(held) > 1 else ""
    if holder.lives:
        raise TargetError(
            f"{holder.reason} has changed {first.path}{more} for itself (process {holder.process})",
            "wait for it to end",
        )
    raise TargetError(
        f"{first.path}{more} was left changed by a measurement that was killed ({holder.reason}):"
        f" {first.now}, and {first.old} before",
        f"deadbeat tune revert{target_option(address)} puts everything back",
    )


def tuned(entries: Sequence[JournalEntry]) -> list[str]:
    """What is changed on purpose, in words."""
    return sorted(
        f"{each.path} = {each.now} (was {each.old}): {each.reason}"
        for each in entries
        if each.stand not in (*_OVER, "gone") and holder_of(each.reason).process is None
    )


def with_tuning(platform: Platform, target: Target) -> Platform:
    """``platform`` with what was tuned on purpose. Raises TargetError: see `refuse_unsettled`."""
    try:
        entries = Journal(target).status()
    except TargetError as error:
        found: Any = f"unknown: {error}"
    else:
        refuse_unsettled(entries, target.read_text, address=target.address)
        found = tuned(entries)
    return attrs.evolve(platform, details={**platform.details, TUNED: found})


@contextmanager
def applied(
    target: Target,
    settings: Sequence[Setting],
    *,
    reason: str,
    journal: Journal | None = None,
    partly: bool = False,
) -> Iterator[Applied]:
    """Settings that hold for a block: journalled, written, read back; put back at its end.

    A shell on the target puts them back if this process is killed inside; whatever it could not
    stays in the journal, for ``deadbeat tune revert``.

    Args:
        reason: What for; one line, for whoever reads the journal, where this process is added.
        partly: Some of them may be impossible.

    Raises:
        TargetError: A setting is not possible here, or could not be put back at the end.
    """
    book = journal or Journal(target)
    session = new_session()
    with book.kept(session):
        try:
            done = book.apply(settings, reason=signed(reason, book.target), session=session)
            missing = done.those("skipped", "refused")
            if missing and not (partly and done.those("applied")):
                raise TargetError(
                    f"{len(missing)} of {len(settings)} settings not possible here",
                    "nothing is changed",
                    tuple(f"{each.path} = {each.wanted}: {each.reason}" for each in missing),
                )
            yield done
        finally:
            returned, option = book.revert(session=session), target_option(target.address)
            left = [each for each in returned if not each.settled and each.result != "moved"]
            if left:
                raise TargetError(
                    f"{len(left)} settings are not back",
                    f"deadbeat tune status{option} lists them; deadbeat tune revert"
                    f" --force{option} puts them back",
                    tuple(f"{each.path}: {each.reason}" for each in left),
                )
