"""What commands do with the folder of a study."""

from __future__ import annotations

from pathlib import Path

from deadbeat.kinds.base import ExperimentKind, Shown, Stored
from deadbeat.kinds.study.chunks import chunk_count
from deadbeat.kinds.study.document import LABEL, StudyReport, study_report, write_study
from deadbeat.kinds.study.results import StudyResults, answered, columns_of
from deadbeat.kinds.study.runner import load
from deadbeat.kinds.study.spec import read_spec
from deadbeat.model.errors import DeadbeatError
from deadbeat.report.plain import records
from deadbeat.store.place import REPORT_FILE, STUDY, FolderState, stage
from deadbeat.store.study import StudyStore


def state_of(path: Path) -> FolderState:
    """State of the study in ``path``; damage is a state, not an error."""
    try:
        store = StudyStore.open(path)
        spec = read_spec(store.spec)
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


def shown(store: StudyStore, report: StudyReport, *, written: bool = True) -> Shown:
    """What a report says."""
    page = store.path / REPORT_FILE
    plain = {
        "name": store.path.name,
        "path": str(store.path),
        "digest": store.digest,
        "label": LABEL,
        **report.summary,
        "report": str(page),
    }
    lines = (f"report: {page}",) if written else ()
    return Shown(plain=plain, document=report.document, lines=lines)


def _show(path: Path) -> Shown:
    store = StudyStore.open(path)
    return shown(store, study_report(store), written=False)


def _report(path: Path, figures: bool) -> Shown:
    store = StudyStore.open(path)
    return shown(store, write_study(store, figures=figures))


def _open(path: Path) -> Stored[StudyStore, StudyResults]:
    store = StudyStore.open(path)
    spec = read_spec(store.spec)
    results = StudyResults(spec, load(spec, store))
    rows = list(records(columns_of(spec), answered(results)))
    return Stored(store=store, summary=results, rows=rows)


KIND = ExperimentKind(
    name="study",
    folder=STUDY,
    state_of=state_of,
    show=_show,
    report=_report,
    open=_open,
    listed=False,
)
