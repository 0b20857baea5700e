"""Writes everything that derives from a study's chunks."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from deadbeat.kinds.study.charts import charts
from deadbeat.kinds.study.page import render_study
from deadbeat.kinds.study.preset import presets
from deadbeat.kinds.study.results import Results, table
from deadbeat.kinds.study.runner import load
from deadbeat.kinds.study.spec import read_spec
from deadbeat.kinds.study.words import LABEL, StudyWords, study_words, summary_dict
from deadbeat.model.conclusion import judge
from deadbeat.report.canvas import Words, printable
from deadbeat.report.charts_paper import draw_charts
from deadbeat.store.files import atomic_write, storing
from deadbeat.store.study import StudyStore


@frozen(kw_only=True)
class StudyReport:
    """What was written, and what it says."""

    page: Path
    words: StudyWords
    summary: dict[str, object]


def write_study(store: StudyStore, *, figures: bool = True) -> StudyReport:
    """``cells.csv``, ``summary.json``, the figures, and the page, last.

    Raises:
        DataError: A chunk is missing or damaged.
        DeadbeatError: Something cannot be written.
    """
    spec = read_spec(store.spec)
    results = Results(spec, load(spec, store))
    preset = presets().get(spec.preset)
    asked = preset.conclusions if preset else ()
    judgements = tuple(found for each in asked if (found := judge(each, results)))
    words = study_words(results, judgements, name=store.path.name)
    summary = summary_dict(results, judgements)
    store.write_cells(*table(results))
    store.write_summary(summary)
    drawn = charts(results)
    page = store.path / "report.html"
    with store.lock():
        if figures:
            folder = store.path / "figures"
            with storing(folder):
                folder.mkdir(exist_ok=True)
            origin = f"{store.path.name} · seed {spec.seed} · study {store.digest[:12]}"
            stamp = Words(labels=LABEL, caption=printable(origin))
            for name, content in draw_charts(drawn, stamp):
                atomic_write(folder / name, content)
        atomic_write(page, render_study(words, drawn).encode("utf-8", "xmlcharrefreplace"))
    return StudyReport(page=page, words=words, summary=summary)
