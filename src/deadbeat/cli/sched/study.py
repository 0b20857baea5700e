"""``deadbeat sched study``: the same question asked of thousands of random task systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from deadbeat.cli._options import experiment_options, typed, value_options
from deadbeat.cli._output import print_json, print_shown, print_table, say
from deadbeat.cli._run import carry_out
from deadbeat.experiment.base import Outcome
from deadbeat.kinds.study.chunks import chunk_count
from deadbeat.kinds.study.cluster import Cluster
from deadbeat.kinds.study.document import write_study
from deadbeat.kinds.study.kind import shown
from deadbeat.kinds.study.preset import presets
from deadbeat.kinds.study.runner import Computer, StudyExperiment, Threads, choose, open_store
from deadbeat.kinds.study.sweep import Sweep, specify
from deadbeat.model.errors import UsageError
from deadbeat.model.specification import options_of
from deadbeat.store.tomlfile import read_toml

_VALUES = options_of(Sweep)


@click.command()
@click.argument("preset", required=False, metavar="[PRESET]")
@click.option("--list", "as_list", is_flag=True, help="List the presets.")
@click.option(
    "--study",
    "study_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Read the sweep from a TOML file; options win over it.",
)
@value_options(_VALUES)
@click.option("--workers", type=click.IntRange(1, 4096), metavar="N", help="Threads.  [all CPUs]")
@click.option(
    "--scheduler",
    metavar="tcp://HOST:PORT",
    help="Compute on the Dask cluster of this scheduler.",
)
@experiment_options()
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Simulate and test thousands of random task systems.

    With PRESET, one of the thesis's experiments on its full grid, and its conclusions checked:
    confirmed, not confirmed, or depends (and on what). Without, a sweep over processors, tasks and
    utilisation.

    Studies live in RUNS/NAME. The same command continues one that was interrupted, and shows one
    that is complete; another study of the same name becomes NAME-2.
    """
    if options["as_list"]:
        _list_presets(as_json=options["as_json"])
        return 0
    layer, _ = typed(_VALUES, options)
    names = {key: option for option, key, _, _ in _VALUES}
    if options["preset"] is not None:
        layer["preset"] = options["preset"]
    return _run(options, layer, names, ctx.find_root().obj or ["sched", "study"])


def _list_presets(*, as_json: bool) -> None:
    """Name, size and title of every preset."""
    known = [(preset, preset.build().total) for preset in presets().values()]
    if as_json:
        print_json(
            [
                {
                    "name": preset.name,
                    "sets": total,
                    "title": preset.title,
                    "about": preset.about,
                    "conclusions": [item.id for item in preset.conclusions],
                }
                for preset, total in known
            ]
        )
        return
    print_table(
        ["preset", "sets", "title", "conclusions"],
        (
            [preset.name, str(total), preset.title, str(len(preset.conclusions))]
            for preset, total in known
        ),
        numeric=["sets", "conclusions"],
    )


def _run(
    options: Mapping[str, Any],
    layer: Mapping[str, Any],
    names: Mapping[str, str],
    words: Sequence[str],
) -> int:
    if not layer and options["study_file"] is None:
        raise UsageError(
            "neither a preset nor a sweep is named",
            "deadbeat sched study --list shows the presets; a sweep needs --processors, --tasks,"
            " --utilisation and a --policy or --test",
        )
    file = options["study_file"]
    spec = specify(
        *(
            ()
            if file is None
            else (read_toml(file, option="--study", hint="see docs/howto/run-a-study.md"),)
        ),
        layer,
        names=names,
    )
    computer: Computer = (
        Cluster(options["scheduler"]) if options["scheduler"] else Threads(options["workers"])
    )
    store = open_store(choose(options["runs"], spec, fresh=options["fresh"]), spec)

    def begin() -> StudyExperiment:
        kept, chunks = len(store.finished()), chunk_count(spec)
        done = f"continue {store.path}, {kept} of {chunks} chunks done"
        cells = "1 cell" if len(spec.cells) == 1 else f"{len(spec.cells)} cells"
        verb = done if kept else f"begin {store.path}"
        say(f"{verb}: {spec.total} task sets in {cells} of {spec.sets}")
        return StudyExperiment(spec, store, computer)

    def answer(experiment: StudyExperiment, outcome: Outcome[int]) -> int:
        path = experiment.store.path
        if not outcome.complete:
            if options["as_json"]:
                progress = {"planned": outcome.planned, "done": outcome.done}
                print_json({"name": path.name, "path": str(path), **progress})
            return 0
        say("judge and draw")
        report = write_study(store, figures=options["figures"])
        print_shown(shown(store, report), as_json=options["as_json"])
        return 0

    return carry_out(begin, answer, options, words)
