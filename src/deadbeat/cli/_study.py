"""What ``deadbeat sched study`` does; apart from its options: ``--help`` imports none of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from deadbeat.cli._options import to_repeat
from deadbeat.cli._output import Watch, print_json, print_table, say
from deadbeat.cli._signals import interruptible
from deadbeat.kinds.study.chunks import chunk_count
from deadbeat.kinds.study.cluster import Cluster
from deadbeat.kinds.study.document import LABEL, StudyReport, write_study
from deadbeat.kinds.study.place import choose, open_store
from deadbeat.kinds.study.preset import presets
from deadbeat.kinds.study.runner import Computer, Threads, run_study
from deadbeat.kinds.study.spec import StudySpec
from deadbeat.kinds.study.sweep import read_study_file, specify
from deadbeat.model.errors import UsageError
from deadbeat.report.terminal import print_document
from deadbeat.store.study import StudyStore

_INTERRUPTED = 130


def list_presets(*, as_json: bool) -> None:
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


def study(
    options: Mapping[str, Any],
    *,
    layer: Mapping[str, Any],
    names: Mapping[str, str],
    words: Sequence[str],
) -> int:
    """Runs the study the command line asks for; returns the exit status.

    Args:
        options: Those that are no part of the specification.
        layer, names: Those that are, and what they are called.
        words: The command as typed, to be named where it can be repeated.
    """
    if not layer and options["study_file"] is None:
        raise UsageError(
            "neither a preset nor a sweep is named",
            "deadbeat sched study --list shows the presets; a sweep needs --processors, --tasks,"
            " --utilisation and a --policy or --test",
        )
    file = options["study_file"]
    spec = specify(*(() if file is None else (read_study_file(file),)), layer, names=names)
    computer: Computer = (
        Cluster(options["scheduler"]) if options["scheduler"] else Threads(options["workers"])
    )
    place = choose(options["runs"], spec, fresh=options["fresh"])
    again = to_repeat(words)
    store = open_store(place, spec)
    with interruptible():
        try:
            _compute(spec, store, computer)
            say("judge and draw")
            report = write_study(store, figures=options["figures"])
        except KeyboardInterrupt:
            say(
                f"interrupted: {len(store.finished())} of {chunk_count(spec)} chunks are kept in"
                f" {store.path}; continue with: {again}"
            )
            return _INTERRUPTED
    _answer(store, report, as_json=options["as_json"])
    return 0


def _compute(spec: StudySpec, store: StudyStore, computer: Computer) -> None:
    kept = len(store.finished())
    verb = f"continue {store.path}, {kept} of {chunk_count(spec)} chunks done" if kept else (
        f"begin {store.path}"
    )  # fmt: skip
    cells = "1 cell" if len(spec.cells) == 1 else f"{len(spec.cells)} cells"
    say(f"{verb}: {spec.total} task sets in {cells} of {spec.sets}")
    with Watch(store.path.name) as watch:
        run_study(
            spec,
            store,
            computer,
            on_event=lambda event: watch.count(
                event.done, event.total, event.eta_s, unit="task sets"
            ),
        )


def _answer(store: StudyStore, report: StudyReport, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "name": store.path.name,
                "path": str(store.path),
                "digest": store.digest,
                "label": LABEL,
                **report.summary,
                "report": str(report.page),
            }
        )
        return
    print_document(report.document)
    click.echo(f"report: {report.page}")
