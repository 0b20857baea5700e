"""What commands do with the folder of a study."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from deadbeat.experiment.folders import Folders
from deadbeat.kinds.base import Begin, Begun, Shown
from deadbeat.kinds.study.chunks import chunk_count
from deadbeat.kinds.study.cluster import Cluster
from deadbeat.kinds.study.document import (
    LABEL,
    StudyAnswers,
    files,
    paper_words,
    short_answer,
    so_far,
    study_document,
    summarise,
    summary_dict,
)
from deadbeat.kinds.study.preset import specify
from deadbeat.kinds.study.results import answered, columns_of
from deadbeat.kinds.study.runner import Computer, StudyExperiment, Threads, choose, open_store
from deadbeat.kinds.study.spec import read_spec
from deadbeat.kinds.table import TableKind
from deadbeat.model.errors import DeadbeatError, UsageError
from deadbeat.model.words import count_of
from deadbeat.report.document import records
from deadbeat.store.place import REPORT_FILE, STUDY, FolderState, stage
from deadbeat.store.study import STUDY_FILE, StudyStore


def state_of(path: Path) -> FolderState:
    """State of the study in ``path``; damage is a state, not an error."""
    try:
        store = StudyStore.open(path)
        spec = read_spec(store.spec, store.path / STUDY_FILE)
        done, chunks = len(store.finished()), chunk_count(spec)
    except DeadbeatError as error:
        return FolderState(name=path.name, path=path, state="damaged", problem=str(error))
    return FolderState(
        name=path.name,
        path=path,
        state=stage(path, complete=done >= chunks),
        preset=spec.preset,
        planned=chunks,
        done=done,
    )


def begin(asked: Begin) -> Begun:
    """Makes the folder of a study, or finds the one to continue or to show."""
    layer = {**asked.typed}
    if asked.given.get("preset") is not None:
        layer["preset"] = asked.given["preset"]
    if not layer and not asked.written:
        raise UsageError(
            "neither a preset nor a sweep is named",
            "deadbeat sched study --list shows the presets; a sweep needs --processors, --tasks,"
            " --utilisation and a --policy or --test",
        )
    spec = specify(asked.written, layer, names=asked.names)
    scheduler = asked.given.get("scheduler")
    computer: Computer = Cluster(scheduler) if scheduler else Threads(asked.given.get("workers"))
    place = choose(asked.runs, spec, fresh=asked.fresh)
    store = open_store(place, spec)
    chunks = chunk_count(spec)
    cells = f"{spec.total} task sets in {count_of(len(spec.cells), 'cell')} of {spec.sets}"
    left = chunks - len(store.finished())
    asked.announce(place, total=chunks, left=left, unit="chunks", details=cells)

    def report(figures: bool) -> Shown:
        path, done = store.path, len(store.finished())
        if done >= chunks:
            return KIND.report(path, figures)
        plain = {"name": path.name, "path": str(path), "planned": chunks, "done": done}
        return Shown(kind="study", state=state_of(path).state, plain=plain)

    experiment = StudyExperiment(spec, store, computer)
    return Begun(experiment=experiment, so_far=partial(so_far, store, spec), report=report)


def _plain(found: StudyAnswers, store: StudyStore) -> dict[str, object]:
    return {
        "name": found.name,
        "path": str(store.path),
        "digest": found.digest,
        "label": LABEL,
        **summary_dict(found),
        "report": str(store.path / REPORT_FILE),
    }


KIND = TableKind(
    name="study",
    folders=Folders(kind=STUDY, store=StudyStore, state_of=state_of),
    summarise=summarise,
    answer=short_answer,
    document=lambda found, _store: study_document(found),
    plain=_plain,
    rows=lambda found: list(records(columns_of(found.results.spec), answered(found.results))),
    files=files,
    words=paper_words,
    empty=lambda found: False,
    typed=lambda found: found.results,
).kind(begin, keys=("processors", "tasks", "utilisation_per_processor", "source", "kind", "label"))
