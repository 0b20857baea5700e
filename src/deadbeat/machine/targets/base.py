"""What a machine offers: a shell, a writable folder, and nothing of ours installed on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, Self

from deadbeat.base.model.errors import UnreachableError
from deadbeat.base.model.platform import LOCAL
from deadbeat.base.model.words import Json
from deadbeat.machine.targets.readings import Completed, Readings

__all__ = ["LOCAL", "Completed", "Process", "Readings", "Target", "is_here", "require_connected"]


class Process(Protocol):
    """A running command that is talked to in lines over its standard input and output."""

    def write_line(self, line: str) -> None:
        """Send one line; ``line`` has no newline. TargetError when the command is gone."""

    def read_line(self, timeout: float | None = None) -> str | None:
        """Next line without its newline; None at the end of its output.

        Args:
            timeout: Seconds to wait; None waits for ever.

        Raises:
            TargetError: No whole line arrived in time; what did arrive is kept for the next call.
        """

    def close(self, timeout: float = 5.0) -> Completed:
        """Close its input and wait for its end; ``stdout`` holds what was not read.
        Raises TargetError: it did not end in time; it has been killed."""

    def kill(self) -> None:
        """End it now (SIGKILL). Safe to call again, and after its end."""

    def stderr(self) -> str:
        """What it has written to standard error so far."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Kill it if it still runs."""
        self.kill()


class Target(Protocol):
    """A machine under test.

    Attributes:
        name: Its label: the host name, or what the user called it.
        kind: See `Platform.kind`.
        folder: An existing writable folder on it, private to this object.
        address: The word that opens it, without secrets: `LOCAL` of the machine that deadbeat runs
            on, ``ssh://user@host``.
        facts: What a figure depends on beside what the machine itself shows.
        boot_s: Time that each start of a program takes because it boots the machine, s.

    Whatever asks something of it raises UnreachableError where it cannot be reached any more.
    """

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def folder(self) -> str: ...

    @property
    def address(self) -> str: ...

    @property
    def facts(self) -> Mapping[str, Json]: ...

    @property
    def boot_s(self) -> float: ...

    def run(self, argv: Sequence[str], *, timeout: float | None = None) -> Completed:
        """Run a command to its end; a non-zero exit status is an answer, not an error.

        Args:
            argv: Program and arguments; no shell interprets them.
            timeout: Seconds until it is killed; None waits for ever.

        Raises:
            TargetError: It cannot be started, or did not end in time.
        """

    def start(self, argv: Sequence[str]) -> Process:
        """Start a command and talk to it. TargetError when it cannot be started."""

    def put(self, source: Path, destination: str) -> None:
        """Copy a file of this host to the target, keeping whether it is executable."""

    def get(self, source: str, destination: Path) -> None:
        """Copy a file of the target to this host; ``destination`` appears whole or not at all."""

    def read_text(self, path: str) -> str | None:
        """A file of the target as text; None when it is missing or cannot be read.

        A path that ends in ``.gz`` is decompressed, so that /proc/config.gz reads as text.
        """

    def read_many(
        self, paths: Sequence[str], commands: Mapping[str, str] | None = None
    ) -> Readings:
        """Many files and short commands at once; on a remote target in one round trip.

        Args:
            paths: Files; ``*``, ``?`` and ``[...]`` match file names. As `read_text`, ``.gz`` is
                decompressed.
            commands: Name -> words for a shell; its standard output is read.

        Raises:
            TargetError: Nothing at all could be read.
        """

    def close(self) -> None:
        """Kill what still runs and remove the folder. Safe to call again."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class ClosedAfterwards:
    """A target that a ``with`` block closes at its end."""

    boot_s = 0.0
    facts: Mapping[str, Json] = {}

    def close(self) -> None:
        """See `Target`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def is_here(target: Target) -> bool:
    """Whether ``target`` is the machine that deadbeat itself runs on."""
    return target.address == LOCAL


def require_connected(target: Target, folder: str) -> None:
    """Tells what failed by itself from what failed with its connection.

    Args:
        folder: Folder of the target before.

    Raises:
        UnreachableError: The connection was cut since, even if it was made again.
    """
    if is_here(target):
        return
    target.run(("true",))
    if target.folder != folder:
        raise UnreachableError(
            f"the connection to {target.name} was cut",
            "the same command continues where it stopped",
        )
