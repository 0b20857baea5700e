"""``deadbeat sched study``: the same question asked of thousands of random task systems."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from deadbeat.cli._measuring import Layer, measuring
from deadbeat.cli._options import PATH, arg, opt
from deadbeat.model.specification import Row

_VALUES: tuple[Row, ...] = (
    ("--name", "name", "NAME", "Name of the study's folder.  [the preset's, or study]"),
    ("--seed", "seed", "N", "Everything random derives from it.  [1]"),
    ("--sets", "sets", "N", "Task sets per cell.  [the preset's, or 100]"),
    ("--ties", "ties", "LIST", "Tie rules, each for every policy: index,utilisation-desc."),
    ("--budget", "budget", "N", "Scheduling points after which a verdict is undecided.  [5000000]"),
    ("--processors", "processors", "LIST", "Values of m: 4 or 2,4,8."),
    ("--tasks", "tasks", "LIST", "Values of n: 8..20 or 8..40:4."),
    ("--utilisation", "utilisation", "LIST", "Values of U by processor: 0.5..0.95:0.05."),
    (
        "--distribution",
        "distribution",
        "LIST",
        "Of task utilisations: randfixedsum,uniform:low=0.1:high=0.5.  [randfixedsum]",
    ),
    ("--policy", "policies", "LIST", "Simulate under: g-edf,c-edf:cluster-size=4."),
    ("--test", "tests", "LIST", "Schedulability tests: gfb,rta-edf."),
    ("--metrics", "metrics", "", "Count migrations and slack in a sweep."),
)


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
