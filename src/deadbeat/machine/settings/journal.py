"""The journal of changed settings, on the target itself: what was changed, and its way back.

The work is done by ``journal.sh``, in one shell on the target, so that it needs nothing else there
and holds on at any moment: a change is on the disk before the setting is touched. The same file
lies beside the journal afterwards; ``sh journal.sh revert`` does without deadbeat.
"""

from __future__ import annotations

import os
import secrets
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, cast

from attrs import evolve

from deadbeat.base.model.errors import TargetError, UsageError
from deadbeat.base.model.tuning import (
    Applied,
    Change,
    JournalEntry,
    Outcome,
    Return,
    Returned,
    Setting,
)
from deadbeat.machine.targets.base import Target
from deadbeat.machine.targets.keeper import keeping
from deadbeat.machine.targets.readings import script

#: Folder of the journal on the target; DEADBEAT_STATE names another.
STATE_FOLDER = "/var/lib/deadbeat/tune"
_SCRIPT = script("journal.sh", __package__)
_SEPARATOR = "\037"
#: What ``journal.sh status`` says of a change, in this order.
_STATUS = ("stand", "path", "old", "now", "reason", "wanted", "session", "time", "root")
#: A file of the kernel answers at once; a driver that hangs must not hang deadbeat.
_PATIENCE_S = 120.0
_WAITING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Journal:
    """Changes settings of ``target`` so that each can be put back exactly.

    Args:
        folder: Folder of the journal, on the target; None: DEADBEAT_STATE, else `STATE_FOLDER`.
        root: What stands before each path: a made-up tree instead of the machine's own files.

    Raises:
        UsageError: The folder is not absolute.
    """

    def __init__(self, target: Target, *, folder: str | None = None, root: str = "") -> None:
        self.target = target
        self.folder = folder or os.environ.get("DEADBEAT_STATE") or STATE_FOLDER
        if not self.folder.startswith("/"):
            # From another folder the same words would name another journal, an empty one.
            raise UsageError(f"DEADBEAT_STATE: {self.folder} is not absolute", "begin it with /")
        self.root = root.rstrip("/")

    def apply(
        self,
        settings: Sequence[Setting],
        *,
        reason: str,
        session: str | None = None,
        keep: Sequence[str] = (),
    ) -> Applied:
        """Journals all of ``settings``, then writes and reads back each in order.

        One that is refused, or that the kernel makes something else of, is left as it was.

        Args:
            reason: What for; one line, for whoever reads the journal.
            session: What the changes are called together; None makes a new name.
            keep: Patterns of files that change by themselves and cannot be written; how they were
                is kept, and `revert` says which are no longer so.

        Raises:
            TargetError: The journal cannot be written, or another is being applied right now.
        """
        session = session or new_session()
        if not settings:
            return Applied(session=session, changes=())
        words = [word for each in settings for word in (each.path, each.form, each.value)]
        lines = self._run(
            "apply", _SCRIPT, session, _plain(reason), self.root, " ".join(keep), *words
        )
        changes = tuple(
            Change(path=path, outcome=cast(Outcome, outcome), old=old, wanted=wanted, reason=why)
            for outcome, path, old, wanted, why in (_fields(line, 5) for line in lines)
        )
        return Applied(session=session, changes=changes)

    def revert(self, *, session: str | None = None, force: bool = False) -> tuple[Returned, ...]:
        """Puts back what was changed, last first.

        Args:
            session: Only what this application changed; None: everything.
            force: Also what another program has changed since, or a restart has reset; and
                forget what no longer exists.

        Raises:
            TargetError: The journal cannot be written, or another is being applied right now.
        """
        lines = self._run("revert", "force" if force else "-", session or "")
        return tuple(
            Returned(path=path, result=cast(Return, result), old=old, now=now, reason=why)
            for result, path, old, now, why in (_fields(line, 5) for line in lines)
        )

    def kept(self, session: str) -> AbstractContextManager[None]:
        """A block after which the changes of ``session`` are put back if this process is killed."""
        words = ("journal.sh", "revert", self.folder, "-", session)
        return keeping(self.target, f"exec >/dev/null 2>&1\n{_SCRIPT}", *words)

    def status(self) -> tuple[JournalEntry, ...]:
        """Changes that have not been put back, in their order, as they stand now."""
        rows = [_fields(line, len(_STATUS)) for line in self._run("status")]
        entries: list[dict[str, Any]] = [dict(zip(_STATUS, row, strict=True)) for row in rows]
        found = [JournalEntry(**entry) for entry in entries]
        last = {(each.root, each.path): number for number, each in enumerate(found)}
        return tuple(
            evolve(each, stand="covered") if last[each.root, each.path] > number else each
            for number, each in enumerate(found)
        )

    def _run(self, verb: str, *words: str) -> list[str]:
        # Interrupts wait: half a change would be no harm, but half a way back is of no use.
        with _uninterrupted():
            done = self.target.run(
                ("sh", "-c", _SCRIPT, "journal.sh", verb, self.folder, *words), timeout=_PATIENCE_S
            )
        if done.returncode == 127:
            if verb == "status":
                return []  # without a shell nothing was ever changed
            raise TargetError(f"{self.target.name} has no shell: no setting can be changed")
        lines = done.stdout.splitlines()
        if done.returncode != 0 or lines[-1:] != ["end"]:
            said = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
            raise TargetError(
                f"settings of {self.target.name}: {said}",
                "as root? DEADBEAT_STATE names another folder for the journal",
            )
        return lines[:-1]


def new_session() -> str:
    return secrets.token_hex(4)


def _plain(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _fields(line: str, count: int) -> list[str]:
    fields = line.split(_SEPARATOR)
    return [*fields, *[""] * count][:count]


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Keeps signals that end a command waiting, here and in what is started meanwhile.

    The kernel gives a signal that this thread blocks to another, where there is one (numpy's, say),
    and Python handles it here all the same: so its handlers wait, too.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    with ExitStack() as then:
        then.callback(_raise_all, came)
        for number in _WAITING:
            handler = signal.getsignal(number)
            if handler not in (None, signal.SIG_IGN):
                then.callback(signal.signal, number, handler)
                signal.signal(number, lambda number, _: came.append(number))
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _WAITING)
        then.callback(signal.pthread_sigmask, signal.SIG_SETMASK, before)
        yield


def _raise_all(numbers: Sequence[int]) -> None:
    for number in numbers:
        signal.raise_signal(number)
