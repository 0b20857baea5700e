"""A target made of a script: files, commands and conversations, without a process or a clock.

Public: whoever writes against :class:`deadbeat.machine.targets.base.Target` tests with it.
"""

from __future__ import annotations

import fnmatch
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from attrs import field, frozen

from deadbeat.base.model.errors import TargetError
from deadbeat.machine.targets.base import LOCAL, ClosedAfterwards, Completed, Process
from deadbeat.machine.targets.readings import MISSING, NO_PROGRAM, Reading, Readings, is_pattern


@frozen(kw_only=True)
class Conversation:
    """How a scripted command behaves when it is talked to.

    Attributes:
        greeting: Lines it writes of itself.
        answer: Lines it writes for each line it is sent; raise EOFError in it to die.
        returncode: Exit status once its input is closed.
        stderr: What it says on standard error.
    """

    greeting: tuple[str, ...] = ()
    answer: Callable[[str], Iterable[str]] = field(default=lambda line: ())
    returncode: int = 0
    stderr: str = ""


class FakeProcess(Process):
    """A scripted command that is running; see :class:`deadbeat.machine.targets.base.Process`.

    Waiting takes no time: when no line is there, ``read_line`` fails as if ``timeout`` were over.

    Attributes:
        received: Lines it was sent.
        running: Whether it has not ended yet.
    """

    def __init__(self, argv: Sequence[str], conversation: Conversation) -> None:
        self.received: list[str] = []
        self.running = True
        self._argv = tuple(argv)
        self._conversation = conversation
        self._lines = deque(conversation.greeting)
        self._returncode = conversation.returncode

    def write_line(self, line: str) -> None:
        if not self.running:
            raise TargetError(f"{self._argv[0]} no longer listens", self._conversation.stderr)
        self.received.append(line)
        try:
            self._lines.extend(self._conversation.answer(line))
        except EOFError:
            self.running = False

    def read_line(self, timeout: float | None = None) -> str | None:
        if self._lines:
            return self._lines.popleft()
        if not self.running:
            return None
        wait = "ever" if timeout is None else f"{timeout:g} s"
        raise TargetError(f"{self._argv[0]} did not answer (waited for {wait}, scripted)")

    def close(self, timeout: float = 5.0) -> Completed:
        self.running = False
        rest = "".join(f"{line}\n" for line in self._lines)
        self._lines.clear()
        return Completed(
            argv=self._argv, returncode=self._returncode, stdout=rest, stderr=self.stderr()
        )

    def kill(self) -> None:
        if self.running:
            self.running = False
            self._returncode = -9
            self._lines.clear()

    def stderr(self) -> str:
        """The scripted standard error."""
        return self._conversation.stderr


Command = Completed | Callable[[tuple[str, ...]], Completed]


class FakeTarget(ClosedAfterwards):
    """A machine made of dictionaries; see :class:`deadbeat.machine.targets.base.Target`.

    Args:
        files: Path -> content. ``put`` adds to it, ``get`` and ``read_text`` read it.
        commands: Program (``argv[0]``) -> its result, or a function of ``argv`` that gives it.
        conversations: Program -> how it behaves when started and talked to.
        outputs: Name of a command of ``read_many`` -> what it gives.
        refused: Path -> why it cannot be read (``denied: Permission denied``).

    Attributes:
        calls: Every ``argv`` that was run or started, in order.
        processes: Every process that was started, in order.
        closed: Whether :meth:`close` was called.
    """

    def __init__(
        self,
        *,
        name: str = "fake",
        kind: str = "simulated",
        folder: str = "/fake",
        address: str = LOCAL,
        files: Mapping[str, str | bytes] | None = None,
        commands: Mapping[str, Command] | None = None,
        conversations: Mapping[str, Conversation] | None = None,
        outputs: Mapping[str, str | Reading] | None = None,
        refused: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.kind = kind
        self.folder = folder
        self.address = address
        self.files: dict[str, bytes] = {
            path: content.encode() if isinstance(content, str) else content
            for path, content in (files or {}).items()
        }
        self.commands = dict(commands or {})
        self.conversations = dict(conversations or {})
        self.outputs = {
            name: given if isinstance(given, Reading) else Reading(given)
            for name, given in (outputs or {}).items()
        }
        self.refused = dict(refused or {})
        self.calls: list[tuple[str, ...]] = []
        self.processes: list[FakeProcess] = []
        self.closed = False

    def run(self, argv: Sequence[str], *, timeout: float | None = None) -> Completed:
        self.calls.append(tuple(argv))
        command = self.commands.get(argv[0])
        if command is None:
            raise TargetError(f"no program {argv[0]} here", "script it in commands=")
        return command if isinstance(command, Completed) else command(tuple(argv))

    def start(self, argv: Sequence[str]) -> FakeProcess:
        self.calls.append(tuple(argv))
        conversation = self.conversations.get(argv[0])
        if conversation is None:
            raise TargetError(f"no program {argv[0]} here", "script it in conversations=")
        process = FakeProcess(argv, conversation)
        self.processes.append(process)
        return process

    def put(self, source: Path, destination: str) -> None:
        try:
            self.files[destination] = source.read_bytes()
        except OSError as error:
            raise TargetError(f"{source} cannot be copied to {destination}") from error

    def get(self, source: str, destination: Path) -> None:
        if source not in self.files:
            raise TargetError(f"{source} cannot be copied to {destination}", "script it in files=")
        destination.write_bytes(self.files[source])

    def read_many(
        self, paths: Sequence[str], commands: Mapping[str, str] | None = None
    ) -> Readings:
        there = sorted({*self.files, *self.refused})
        patterns = {p: tuple(fnmatch.filter(there, p)) for p in paths if is_pattern(p)}
        plain = [path for path in paths if not is_pattern(path)]
        files = {}
        for path in (*plain, *(path for matched in patterns.values() for path in matched)):
            text = self.read_text(path)
            reason = self.refused.get(path, MISSING) if text is None else ""
            files[path] = Reading(text, reason)
        absent = Reading(None, NO_PROGRAM)
        given = {name: self.outputs.get(name, absent) for name in commands or ()}
        return Readings(files=files, commands=given, patterns=patterns)

    def read_text(self, path: str) -> str | None:
        """A scripted file as text (also where its name ends in .gz), or None."""
        content = None if path in self.refused else self.files.get(path)
        return None if content is None else content.decode("utf-8", errors="replace")

    def close(self) -> None:
        """End what still runs."""
        for process in self.processes:
            process.kill()
        self.closed = True
