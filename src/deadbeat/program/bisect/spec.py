"""What is asked of a search among commits."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from deadbeat.base.experiment import fields
from deadbeat.base.model import rules
from deadbeat.base.model.specification import keyed
from deadbeat.base.model.words import nearest, shown

#: Figures of a run, in words; those of ``run`` take a thread after a colon.
METRICS = {
    "cpu": "CPU time",
    "wall": "time from start to end",
    "response": "99 % response time",
    "cost": "mean execution time of a job",
    "stdout": "",
}
TRACED = ("response", "cost")


@frozen
class FigureWord:
    """``cpu``, ``response:THREAD``, ``stdout:NAME``."""

    def parse(self, value: Any) -> str:
        word, colon, name = value.partition(":") if isinstance(value, str) else ("", "", "")
        if word not in METRICS:
            raise rules.refuse(f"{shown(value)} is no metric", nearest(word, METRICS))
        if word == "stdout" and not name:
            raise rules.refuse("stdout names no figure", "stdout:latency of a line latency 12.3")
        if colon and word not in (*TRACED, "stdout"):
            raise rules.refuse(f"{word} is of the whole program", word)
        return str(value)


def words_of(metric: str) -> str:
    """A metric in a sentence."""
    word, _, name = metric.partition(":")
    if word == "stdout":
        return name
    return METRICS[word] + f" of {name}" * bool(name)


@frozen
class ShellCommand:
    """Any text of one line."""

    def parse(self, value: Any) -> str:
        if isinstance(value, str) and value.strip() and "\0" not in value:
            return value
        raise rules.refuse(f"{shown(value)} is no command", "one for a shell: --build 'make -j4'")


@frozen(kw_only=True)
class BisectSpec:
    """Between which commits, of which program and figure, for how long."""

    name: str = fields.name("Name of the results.", "bisect")
    seed: int = fields.SEED
    range: str = keyed(ShellCommand(), "GOOD..BAD", "Commits without and with the change.")
    command: tuple[str, ...] = keyed(rules.CommandLine(), "CMD", "The program in its copy.")
    build: str | None = keyed(
        ShellCommand(),
        "--build CMD",
        "Shell command that builds a commit in its copy.",
        default=None,
    )
    metric: str = keyed(
        FigureWord(),
        "--metric M",
        "Figure: cpu or wall time, response or cost of jobs (response:THREAD), or a number that"
        " the program prints behind a word: stdout:WORD.",
        default="cpu",
    )
    better: str = fields.choice("--better less|more", "Which figure is the good one.")
    most: float = keyed(
        rules.Seconds("1", str(30 * 86400)),
        "--for TIME",
        "Time of runs and builds, at most.  [5min]",
        default=300.0,
    )
    duration: float | None = fields.duration(
        "0.01", "3600", "Time of a run; the program is ended then.  [until it ends]", None
    )
