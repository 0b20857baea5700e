"""A tiny made-up run of every kind of experiment."""

from __future__ import annotations

from helpers.campaigns import TINY_OPTIONS

_MADE_UP = ("--simulated", "--no-figures", "--name", "tiny")
#: Kind -> its command, and options that ask something else.
KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "profile": (TINY_OPTIONS, ("--overrun", "late")),
    "stress": (
        ("stress", "--quick", *_MADE_UP, "--cores", "2,random", "--sets", "3", "--duration", "0.1"),
        ("--sync-share", "random:0.1..0.2"),
    ),
    "breakdown": (
        ("breakdown", "--quick", *_MADE_UP, "--sets", "1", "--duration", "0.1", "--steps", "3"),
        ("--miss-share", "0.02"),
    ),
    "latency": (
        ("latency", *_MADE_UP, "--loads", "idle,cpu:50", "--duration", "0.2s", "--repeats", "2"),
        ("--interval", "2ms"),
    ),
    "load": (
        ("load", *_MADE_UP, "--normal", "0,4", "--repeats", "1", "--duration", "0.5"),
        ("--priority", "50"),
    ),
    "run": (("run", "control", *_MADE_UP, "--repeats", "5"), ("--period", "2ms")),
}
