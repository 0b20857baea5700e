"""What is asked of a search among commits."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from deadbeat.base.experiment import fields
from deadbeat.base.model import rules
from deadbeat.base.model.specification import keyed
from deadbeat.base.model.words import nearest, shown

#: Before a range of kernels; the place of a kernel's name in the words of the program.
LAB, NAME = "lab:", "{}"
#: Figures of a run, in words; those of ``run`` take a thread after a colon.
METRICS = {
    "cpu": "CPU time",
    "wall": "time from start to end",
    "response": "99 % response time",
    "cost": "mean execution time of a job",
    "stdout": "",
}
TRACED = ("response", "cost")


def _metric(value: Any) -> str:
    """``cpu``, ``response:THREAD``, ``stdout:NAME``."""
    word, colon, name = str(value).partition(":")
    if word not in METRICS:
        raise rules.refuse(f"{shown(value)} is no metric", nearest(word, METRICS))
    if word == "stdout" and not name:
        raise rules.refuse("stdout names no figure", "stdout:latency of a line latency 12.3")
    if colon and word not in (*TRACED, "stdout"):
        raise rules.refuse(f"{word} is of the whole program", word)
    return str(value)


def _text(value: Any) -> str:
    if isinstance(value, str) and value.strip() and "\0" not in value:
        return value
    raise rules.refuse(f"{shown(value)} is no text", "v1.2..main; --build 'make -j4'")


@frozen(kw_only=True)
class BisectSpec:
    """Between which commits, of which program and figure."""

    name: str = fields.name("Name of the results.", "bisect")
    seed: int = fields.SEED
    range: str = keyed(rules.ReadBy(_text), "GOOD..BAD", "Commits without and with the change.")
    command: tuple[str, ...] = keyed(rules.CommandLine(), "CMD", "The program in its copy.")
    build: str | None = keyed(
        rules.ReadBy(_text),
        "--build CMD",
        "Shell command that builds a commit in its copy.",
        default=None,
    )
    metric: str = keyed(
        rules.ReadBy(_metric),
        "--metric M",
        "Figure: cpu or wall time, response or cost of jobs (response:THREAD), or a number that"
        " the program prints behind a word: stdout:WORD.",
        default="cpu",
    )
    better: str = fields.choice("--better less|more", "Which figure is the good one.")
    duration: float | None = fields.duration(
        "0.01", "3600", "Time of a run; the program is ended then.  [until it ends]", None
    )

    @property
    def noun(self) -> str:
        return "kernel" if self.range.startswith(LAB) else "commit"

    @property
    def figure(self) -> str:
        """The metric in a sentence."""
        word, _, name = self.metric.partition(":")
        return name if word == "stdout" else METRICS[word] + f" of {name}" * bool(name)
