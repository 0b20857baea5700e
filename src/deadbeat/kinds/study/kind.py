"""What commands do with the folder of a study."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from deadbeat.kinds.base import Begin, Begun, ExperimentKind, Shown, Stored
from deadbeat.kinds.study.chunks import chunk_count
from deadbeat.kinds.study.cluster import Cluster
from deadbeat.kinds.study.document import LABEL, StudyReport, so_far, study_report, write_study
from deadbeat.kinds.study.preset import specify
from deadbeat.kinds.study.results import StudyResults, answered, columns_of
from deadbeat.kinds.study.runner import Computer, StudyExperiment, Threads, choose, load, open_store
from deadbeat.kinds.study.spec import read_spec
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


def shown(store: StudyStore, report: StudyReport, *, whole: bool = False) -> Shown:
    """What a report says."""
    plain = {
        "name": store.path.name,
        "path": str(store.path),
        "digest": store.digest,
        "label": LABEL,
        **report.summary,
        "report": str(store.path / REPORT_FILE),
    }
    return Shown(
        kind="study",
        state=state_of(store.path).state,
        headline=" ".join(report.document.answer),
        plain=plain,
        document=report.document,
        page=store.path / REPORT_FILE,
        whole=whole,
    )


def _show(path: Path) -> Shown:
    store = StudyStore.open(path)
    return shown(store, study_report(store), whole=True)


def _report(path: Path, figures: bool) -> Shown:
    store = StudyStore.open(path)
    return shown(store, write_study(store, figures=figures))


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
            return _report(path, figures)
        plain = {"name": path.name, "path": str(path), "planned": chunks, "done": done}
        return Shown(kind="study", state=state_of(path).state, plain=plain)

    experiment = StudyExperiment(spec, store, computer)
    return Begun(experiment=experiment, so_far=partial(so_far, store, spec), report=report)


def _open(path: Path) -> Stored[StudyStore, StudyResults]:
    store = StudyStore.open(path)
    spec = read_spec(store.spec, store.path / STUDY_FILE)
    results = StudyResults(spec, load(spec, store))
    rows = list(records(columns_of(spec), answered(results)))
    return Stored(show=_show, store=store, summary=results, rows=rows)


KIND = ExperimentKind(
    name="study",
    folder=STUDY,
    state_of=state_of,
    show=_show,
    report=_report,
    open=_open,
    keys=("processors", "tasks", "utilisation_per_processor", "source", "kind", "label"),
    begin=begin,
)
