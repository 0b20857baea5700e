"""Who holds a setting for a while: its reason in the journal names the process.

A number of a process is used again, so the moment it was started stands beside it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from deadbeat.model.errors import TargetError
from deadbeat.model.tuning import Standing

_SIGNED = re.compile(r"(?P<reason>.*) \[process (?P<process>\d+), started at tick (?P<tick>\d+)\]")
#: Of proc_pid_stat(5), counted from behind the name.
_STATE, _START = 0, 19


@frozen(kw_only=True)
class Owner:
    """Of a change in the journal.

    Attributes:
        reason: What for, without the process.
        process: That holds the setting for a while; None: nobody, it is meant to last.
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


def signed(reason: str) -> str:
    """``reason`` with the process that calls this."""
    return f"{reason} [process {os.getpid()}, started at tick {_started(os.getpid())}]"


def owner_of(reason: str) -> Owner:
    """Whom a reason in the journal names; on this machine, whatever the target is."""
    match = _SIGNED.fullmatch(reason)
    if match is None:
        return Owner(reason=reason)
    process = int(match["process"])
    lives = _started(process) == int(match["tick"])
    return Owner(reason=match["reason"], process=process, lives=lives)


def refuse_held(standing: Sequence[Standing]) -> None:
    """Lets nobody pull away a setting under a measurement that goes on.

    Raises:
        TargetError: A process that lives holds one of them.
    """
    owners = {each.path: owner_of(each.reason) for each in standing}
    held = {path: owner for path, owner in owners.items() if owner.lives}
    if not held:
        return
    first = next(iter(held.values()))
    raise TargetError(
        f"{first.reason} holds {len(held)} of these settings right now (process {first.process})",
        "it puts them back itself when it ends; --force takes them away, and what it measures"
        " meanwhile does not count",
        tuple(held),
    )


def _started(process: int) -> int | None:
    """Tick since boot at which a process was started; None: there is none, or it has ended."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    words = text.rpartition(") ")[2].split()
    return None if words[_STATE] in "ZX" else int(words[_START])
