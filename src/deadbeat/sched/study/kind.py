"""What commands do with the folder of a study."""

from __future__ import annotations

from functools import partial

from deadbeat.base.experiment.folders import Folders
from deadbeat.base.kinds.base import Begin, Begun, Shown
from deadbeat.base.kinds.observed import comparable
from deadbeat.base.kinds.table import TableKind
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.words import count_of
from deadbeat.base.report.document import records
from deadbeat.base.store.place import STUDY, STUDY_FILE, FolderState
from deadbeat.sched.study.chunks import chunk_count
from deadbeat.sched.study.document import (
    LABEL,
    files,
    paper_words,
    short_answer,
    so_far,
    study_document,
    summarise,
    summary_dict,
)
from deadbeat.sched.study.observe import LOOK, METRICS, WORDS, labels, observe
from deadbeat.sched.study.preset import specify
from deadbeat.sched.study.results import answered, columns_of
from deadbeat.sched.study.runner import StudyExperiment, Threads, choose, open_store
from deadbeat.sched.study.spec import read_spec
from deadbeat.sched.study.store import StudyStore


def _stand(store: StudyStore) -> FolderState:
    spec, done = read_spec(store.spec, store.path / STUDY_FILE), len(store.finished())
    chunks = chunk_count(spec)
    return FolderState.of(
        store.path, complete=done >= chunks, preset=spec.preset, planned=chunks, done=done
    )


FOLDERS = Folders(kind=STUDY, store=StudyStore, stand=_stand)


def begin(asked: Begin) -> Begun:
    """Makes the folder of a study, or finds the one to continue or to show."""
    layer = {**asked.typed}
    if asked.given.get("preset") is not None:
        layer["preset"] = asked.given["preset"]
    if not layer and not asked.written:
        raise UsageError(
            "neither a preset nor a sweep is named",
            "deadbeat list studies shows the presets; a sweep needs --processors, --tasks,"
            " --utilisation and a --policy or --test",
        )
    spec = specify(asked.written, layer, names=asked.names)
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
        return Shown(kind="study", state=FOLDERS.state_of(path).state, plain=plain)

    experiment = StudyExperiment(spec, store, Threads(asked.given.get("workers")))
    return Begun(experiment=experiment, so_far=partial(so_far, store, spec), report=report)


KIND = TableKind(
    name="study",
    folders=FOLDERS,
    comparable=comparable(
        name="study",
        folders=FOLDERS,
        summarise=summarise,
        observe=observe,
        platform=lambda store: None,
        metrics=METRICS,
        words=WORDS,
        look=LOOK,
        cure="study the same scenarios with the same schedulers and tests",
        labels=labels,
    ),
    summarise=summarise,
    answer=short_answer,
    document=lambda found, _store: study_document(found),
    plain=lambda found, _: {**summary_dict(found), "digest": found.digest, "label": LABEL},
    rows=lambda found: list(records(columns_of(found.results.spec), answered(found.results))),
    files=files,
    words=paper_words,
    empty=lambda found: False,
    typed=lambda found: found.results,
).kind(
    begin,
    keys=("processors", "tasks", "utilisation_per_processor", "source", "kind", "label"),
)
