"""Standard streams of the process, as they may be: closed, full, or without a reader."""

from __future__ import annotations

import io
import os
import sys
from typing import Any


class OutputError(Exception):
    """Standard output takes no more; its argument is the OSError that says why."""


class _Standard(io.FileIO):
    """Standard output fails once; standard error never does: nobody waits for what it says."""

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
    """Opens those that are closed, and has errors of writing told as above."""
    for number, stream in enumerate((sys.stdin, sys.stdout, sys.stderr)):
        if stream is None:  # a file that is opened later would get its number, and its words
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            os.set_inheritable(number, True)
    sys.stdin = sys.stdin or open(0, closefd=False, encoding="utf-8")  # noqa: SIM115
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(
            io.BufferedWriter(_Standard(number, "w", closefd=False)),
            encoding=stream.encoding if stream else "utf-8",
            errors="replace",  # what a terminal cannot show is a question mark
            line_buffering=number == 2 or os.isatty(number),
        )
        for number, stream in ((1, sys.stdout), (2, sys.stderr))
    )
