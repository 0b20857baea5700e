"""Signals and standard streams of the process.

Every signal that ends a command ends it as Ctrl-C does: what is finished is kept. Streams may be
closed, full, or without a reader.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from deadbeat.base.model.plain import is_plain

INTERRUPTED = 128 + signal.SIGINT
#: By then a callback is over.
_LATER_S = 0.01
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class EndedError(KeyboardInterrupt):
    """A signal ended the command.

    A class of its own: where the other passes through the execution of a text (a named tuple is
    made of one), Python ends itself by SIGINT at exit, whatever the status.
    """


class Reported(KeyboardInterrupt):
    """An interrupt after the line that says what is kept."""


class Caught:
    """The first ending signal of a block; the later ones are ignored, so that it can clean up."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.unraisable = sys.unraisablehook

    def status(self, status: int) -> int:
        """The exit status of a command that would have ended with ``status``."""
        return status if self.number is None or status != INTERRUPTED else 128 + self.number

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        if self.number is not None:
            return
        self.number = number
        if number == signal.SIGHUP:
            # A terminal that was closed takes no more words, and what follows must not fail for
            # it.
            for stream in (sys.stdout, sys.stderr):
                if stream.isatty():
                    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise EndedError

    def lost(self, what: sys.UnraisableHookArgs, /) -> None:
        """Raises again, a moment later, where a callback that lets nothing through was hit."""
        if not issubclass(what.exc_type, EndedError):
            self.unraisable(what)
            return
        signal.signal(signal.SIGALRM, _raise)
        signal.setitimer(signal.ITIMER_REAL, _LATER_S)


def _raise(_number: int, _frame: FrameType | None) -> None:
    raise EndedError


@contextmanager
def interruptible(*, last: bool = False) -> Iterator[Caught]:
    """Raises KeyboardInterrupt in the block on SIGINT, SIGTERM, SIGHUP or SIGQUIT.

    A signal that the caller set to be ignored (``nohup``) stays ignored. Only the main thread can
    have handlers: in another, and in a block inside such a block, nothing changes.

    Args:
        last: The process ends with the block: what comes after it is too late to end anything.
    """
    caught = Caught()
    if threading.current_thread() is not threading.main_thread():
        yield caught
        return
    before = {number: signal.getsignal(number) for number in _ENDING}
    if any(isinstance(handler, Caught) for handler in before.values()):
        yield caught
        return
    own = [number for number in _ENDING if before[number] is not signal.SIG_IGN]
    for number in own:
        signal.signal(number, caught)
    sys.unraisablehook = caught.lost
    try:
        yield caught
    finally:
        sys.unraisablehook = caught.unraisable
        for number in own:
            signal.signal(number, signal.SIG_IGN if last else before[number])


class OutputError(Exception):
    """Standard output takes no more; its argument is the OSError that says why."""


class _Standard(io.FileIO):
    """Standard output fails once; standard error never does: no program waits for it."""

    lost = False

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if self.fileno() == 1 and not self.lost:
                self.lost = True
                raise OutputError(error) from error
            return memoryview(data).nbytes


def make_usable() -> None:
    """Open closed streams, and report errors of writing as above."""
    for number, stream in enumerate((sys.stdin, sys.stdout, sys.stderr)):
        if stream is None:  # a file that is opened later would get its number, and its words
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            os.set_inheritable(number, True)
    sys.stdin = sys.stdin or open(0, closefd=False, encoding="utf-8")  # noqa: SIM115
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(
            io.BufferedWriter(_Standard(number, "w", closefd=False)),
            encoding="ascii" if is_plain() else stream.encoding if stream else "utf-8",
            errors="replace",  # what a terminal cannot show is a question mark
            line_buffering=number == 2 or os.isatty(number),
        )
        for number, stream in ((1, sys.stdout), (2, sys.stderr))
    )
