"""``deadbeat sched study``: the same question asked of thousands of random task systems."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from deadbeat.cli._measuring import Layer, measuring
from deadbeat.cli._options import PATH, arg, opt
from deadbeat.kinds.study.sweep import Sweep
from deadbeat.model.specification import options_of

_VALUES = options_of(Sweep)


def _adjust(layer: Layer, options: Mapping[str, Any]) -> None:
    if options["as_list"]:
        shown = import_module("deadbeat.cli.results").study_presets()
        import_module("deadbeat.cli._output").print_shown(shown, as_json=options["as_json"])
        raise click.exceptions.Exit(0)
    names = layer[1]
    names.pop("preset", None)
    for option, path, _, _ in _VALUES:
        names.setdefault(path, option)


command = measuring(
    "study",
    "study",
    _VALUES,
    """Simulate and test thousands of random task systems.

    With PRESET, one of the thesis's experiments on its full grid, and its conclusions checked:
    confirmed, not confirmed, or depends (and on what). Without, a sweep over processors, tasks and
    utilisation.

    Studies live in RUNS/NAME. The same command continues one that was interrupted, and shows one
    that is complete; another study of the same name becomes NAME-2.""",
    own=(
        arg("preset", "[PRESET]", required=False),
        opt("--list", "List the presets.", to="as_list"),
        opt("--workers N", "Threads.  [all CPUs]", type=click.IntRange(1, 4096)),
        opt(
            "--scheduler tcp://HOST:PORT",
            "Compute on the Dask cluster of this scheduler.",
        ),
    ),
    file=opt(
        "--study FILE",
        "Read the sweep from a TOML file; options win over it.",
        to="file",
        type=PATH,
    ),
    machine=(),
    budget="",
    adjust=_adjust,
)
