"""What is left of a command."""

from __future__ import annotations

from attrs import frozen


@frozen(kw_only=True)
class Completed:
    """A command that has ended.

    Attributes:
        argv: What was run.
        returncode: Exit status; -N when it was killed by signal N.
        stdout, stderr: What it wrote, as UTF-8 with undecodable bytes replaced.
    """

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str
