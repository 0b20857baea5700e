"""What commands do with the folder of a study."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from functools import partial

from deadbeat.base.experiment.folders import Folders
from deadbeat.base.kinds.base import Begin, Begun
from deadbeat.base.kinds.observed import comparable
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.kinds.table import TableKind
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.words import count_of, shown
from deadbeat.base.report.document import records
from deadbeat.base.store.place import STUDY, STUDY_FILE, FolderState
from deadbeat.sched.study.chunks import chunk_count, lacking_words
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
from deadbeat.sched.study.runner import StudyExperiment, Threads, choose, lacking, open_store
from deadbeat.sched.study.spec import read_spec
from deadbeat.sched.study.store import StudyStore


def _stand(store: StudyStore) -> FolderState:
    spec, done = read_spec(store.spec, store.path / STUDY_FILE), len(store.finished())
    chunks = chunk_count(spec)
    return FolderState.of(
        store.path, complete=done >= chunks, preset=spec.preset, planned=chunks, done=done
    )


FOLDERS = Folders(kind=STUDY, store=StudyStore, stand=_stand)


def _part(text: str, chunks: int) -> tuple[int, int]:
    """Number and count of K/N. Raises UsageError: it is none of a study of ``chunks`` chunks."""
    found = re.fullmatch(r"([1-9][0-9]{0,6})/([1-9][0-9]{0,6})", text.strip())
    if not found:
        raise UsageError(f"--part: {shown(text)} is not K/N", "write it like 3/40")
    number, count = int(found[1]), int(found[2])
    if number > count:
        raise UsageError(
            f"--part: there is no part {number} of {count}", f"the last is {count}/{count}"
        )
    if count > chunks:
        raise UsageError(
            f"--part: this study has {count_of(chunks, 'chunk')}, {count} parts are more",
            f"at most K/{chunks}",
        )
    return number, count


def _with_part(words: Sequence[str], part: str) -> str:
    """The command with another ``--part``; "": without."""
    pairs = zip(("", *words[:-1]), words, (*words[1:], ""), strict=True)
    own = [it for before, it, after in pairs
           if not it.startswith(("--part=", *["part="] * (before == "--set")))
           and before != "--part" and it != "--part"
           and not (it == "--set" and after.startswith("part="))]  # fmt: skip
    return shlex.join(["deadbeat", *own, *["--part", part] * bool(part)])


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
    chunks = chunk_count(spec)
    typed = asked.given.get("part")
    part = (1, 1) if typed is None else _part(typed, chunks)
    place = choose(asked.runs, spec, given=asked.named, fresh=asked.fresh)
    store = open_store(place, spec)
    cells = f"{spec.total} task sets in {count_of(len(spec.cells), 'cell')} of {spec.sets}"
    cells = f"part {part[0]} of {part[1]} of {cells}" if part[1] > 1 else cells
    experiment = StudyExperiment(spec, store, Threads(asked.given.get("workers")), part)
    total, left = experiment.chunks()
    asked.announce(place, total=total, left=left, unit="chunks", details=cells)

    def report(figures: bool) -> Shown:
        path, open_ones = store.path, lacking(spec, store)
        if not open_ones:
            return KIND.report(path, figures)
        done = chunks - len(open_ones)
        plain = {"name": path.name, "path": str(path), "planned": chunks, "done": done}
        state, said = FOLDERS.state_of(path).state, []
        if part[1] > 1:
            words = lacking_words(open_ones, chunks, part[1])
            again = _with_part(asked.words, f"K/{part[1]}"), _with_part(asked.words, "")
            said = [f"{path} still lacks {words}", f"compute part K: {again[0]}",
                    f"compute all of them, or summarise what was copied: {again[1]}"]  # fmt: skip
        return Shown(kind="study", state=state, plain={**plain, "lacking": open_ones}, lines=said)

    return Begun(experiment=experiment, so_far=partial(so_far, store, spec, {}), report=report)


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
