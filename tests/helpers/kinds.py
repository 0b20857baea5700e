"""A tiny made-up run of every kind of experiment."""

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from deadbeat.cli.main import main
from helpers.campaigns import TINY_OPTIONS

_MADE_UP = ("--simulated", "--no-figures", "--name", "tiny")
#: Kind -> its command, and options that ask something else.
KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "profile": (TINY_OPTIONS, ("--set", "overrun=late")),
    "stress": (
        (
            "contention",
            "--random",
            "--quick",
            *_MADE_UP,
            "--cores",
            "2,random",
            "--sets",
            "3",
            "--duration",
            "0.1",
        ),
        ("--sync-share", "random:0.1..0.2"),
    ),
    "breakdown": (
        ("breakdown", "--quick", *_MADE_UP, "--sets", "1", "--duration", "0.1", "--set", "steps=3"),
        ("--set", "miss-share=0.02"),
    ),
    "latency": (
        ("latency", *_MADE_UP, "--loads", "idle,cpu:50", "--duration", "0.2s", "--repeats", "2"),
        ("--interval", "2ms"),
    ),
    "load": (
        ("load", *_MADE_UP, "--set", "normal=0,4", "--repeats", "1", "--duration", "0.5"),
        ("--priority", "50"),
    ),
    "run": (("run", "control", *_MADE_UP, "--repeats", "5"), ("--period", "2ms")),
}

#: A small result of every other kind.
MORE_KINDS: dict[str, tuple[str, ...]] = {
    "interfere": (
        *("interfere", "--works=matmul:20,pipe:4@shared", "--duration=2", "--repeats=2"), *_MADE_UP,
    ),
    "primitives": (
        *("primitives", "--tests=alloc", "--sizes=64", "--samples=20", "--repeats=1"), *_MADE_UP,
    ),
    "study": (
        *("sched", "study", "--processors=2", "--tasks=4", "--utilisation=0.6", "--sets=4"),
        *("--policy=g-edf", "--test=gfb", "--no-figures", "--name", "tiny"),
    ),
}  # fmt: skip


def every_folder(runs: Path) -> dict[str, Path]:
    """A small made-up result of every kind, under ``runs``."""
    commands = {**{kind: words for kind, (words, _) in KINDS.items()}, **MORE_KINDS}
    commands["contention"] = (*commands.pop("profile"), "--causes")
    for name, words in commands.items():
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            assert main((*words, "--runs", str(runs), "--name", name)) == 0, words
    return {path.name: path for path in runs.iterdir() if not path.is_symlink()}
