"""Many files and short commands of a target at once: one shell, one round trip.

The shell's own words suffice (a board may have busybox alone). What cannot be read is
missing, denied, or failed, with the system's words.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files

from attrs import field, frozen

from deadbeat.base.model.errors import TargetError
from deadbeat.base.model.refused import hint_in

#: Words of a `Reading` of a missing file, and of a missing program.
MISSING = "no such file"
NO_PROGRAM = "no such program"
_GLOB = "*?["
#: A shell without processes or files says nothing about the machine.
_LACKING = ("Cannot fork", "can't fork", "fork: retry", "Too many open files")
#: What the words of a command may begin with, comments to the shell. One that watches the machine
#: has it to itself, before anything else is read; one that only takes its time runs beside the rest
#: (one of them or a few: each is a process).
ALONE, MEANWHILE = "# alone\n", "# meanwhile\n"


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


@frozen
class Reading:
    """What a file or command gave.

    Attributes:
        text: Its content or output; None where there is none, and ``reason`` says why.
        reason: One line; "" where there is a text.
    """

    text: str | None
    reason: str = ""


@frozen(kw_only=True)
class Readings:
    """What a target gave.

    Attributes:
        files: Path -> what it held. A pattern is there as the paths that it matched.
        commands: Name -> what it wrote to its standard output.
        patterns: Pattern -> paths that it matched, in order.
    """

    files: Mapping[str, Reading] = field(factory=dict)
    commands: Mapping[str, Reading] = field(factory=dict)
    patterns: Mapping[str, tuple[str, ...]] = field(factory=dict)


@cache
def script(name: str, package: str) -> str:
    """A shell script that lies beside the modules of ``package``."""
    return files(package).joinpath(name).read_text(encoding="ascii")


def is_pattern(path: str) -> bool:
    """Whether ``path`` has characters that a shell matches file names with."""
    return any(letter in path for letter in _GLOB)


def ask(
    run: Callable[[Sequence[str]], Completed], paths: Sequence[str], commands: Mapping[str, str]
) -> Readings:
    """Reads through a shell; what a target's ``read_many`` does.

    Args:
        run: Runs a command on the target, as `Target.run`.

    Raises:
        TargetError: The shell itself failed.
    """
    mark = f"=={secrets.token_hex(8)}=="
    kinds = {path: "glob" if is_pattern(path) else "file" for path in paths}
    files = [word for path, kind in kinds.items() for word in (kind, path)]
    beside = [name for name, what in commands.items() if what.startswith(MEANWHILE)]
    first = [name for name, what in commands.items() if what.startswith(ALONE)]
    others = [name for name in commands if name not in {*beside, *first}]
    questions = [
        *_asked("command", first, commands),
        *_asked("beside", beside, commands),
        *files,
        *_asked("command", others, commands),
    ]
    words = (script("readings.sh", __package__), "sh", mark, *questions)
    done = run(("sh", "-c", *words))
    readings = _parse(done.stdout, mark)
    if readings is None:
        last = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        what = f"the shell that reads the machine's state ended early: {last}"
        raise TargetError(what, hint_in(last))
    said = "\n".join((done.stderr, *(each.reason for each in readings.files.values())))
    if lacking := next((words for words in _LACKING if words in said), ""):
        what = f"the machine's state cannot be read: {lacking}"
        raise TargetError(what, hint_in(lacking))
    unread = Reading(None, "not answered")
    return Readings(
        files={**{each: unread for each in paths if not is_pattern(each)}, **readings.files},
        commands={name: readings.commands.get(name, unread) for name in commands},
        patterns={**{each: () for each in paths if is_pattern(each)}, **readings.patterns},
    )


def _asked(kind: str, names: Sequence[str], commands: Mapping[str, str]) -> list[str]:
    return [word for name in names for word in (kind, f"{name}={commands[name]}")]


def _parse(output: str, mark: str) -> Readings | None:
    """What the script wrote; None where its end is missing."""
    files: dict[str, Reading] = {}
    commands: dict[str, Reading] = {}
    patterns: dict[str, tuple[str, ...]] = {}
    for part in output.split(f"{mark}\n")[1:]:
        kind, what, status, reason, text, *_ = (*part.split("\n", 4), *[""] * 4)
        text = text.removesuffix("\n")
        reading = Reading(text) if status == "0" else Reading(None, reason.strip())
        if kind == "end":
            return Readings(files=files, commands=commands, patterns=patterns)
        if kind == "glob":
            patterns[what] = tuple(text.splitlines())
        elif kind == "file":
            files[what] = reading
        else:
            commands[what] = reading
    return None
