"""A study as a document and as files; the columns of its table are declared here."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import attrgetter

import attrs
import numpy as np
from attrs import frozen

from deadbeat.base.model.conclusion import Judgement, judge
from deadbeat.base.model.words import Json
from deadbeat.base.report.conclusions import (
    conclusion_parts,
    counted_verdicts,
    plain_conclusions,
    terminal_lines,
)
from deadbeat.base.report.document import (
    Document,
    FactList,
    Figures,
    Lines,
    Note,
    Section,
    Sentence,
    Table,
    csv_of,
    said,
)
from deadbeat.base.report.paper import Words
from deadbeat.base.stats.proportions import Count
from deadbeat.base.store.place import STUDY_FILE
from deadbeat.sched import Scheduler, policies
from deadbeat.sched import tests as test_facts
from deadbeat.sched.simulator import resolved
from deadbeat.sched.study.charts import charts
from deadbeat.sched.study.chunks import Rows
from deadbeat.sched.study.preset import presets
from deadbeat.sched.study.results import Answered, StudyResults, answered, columns_of
from deadbeat.sched.study.runner import load
from deadbeat.sched.study.spec import TEST, Source, StudySpec, SweepCell, read_spec
from deadbeat.sched.study.store import StudyStore

LABEL = "SIMULATED"
_MEANS = (
    "Verdicts are those of simulated schedules and of tests on random task sets; nothing was run."
    " They hold for the arrival model and the tie rule named."
)
_UNTESTED = "This study tests no published statement."
_FILES = "Every cell is in cells.csv next to this page, every task set in chunks/."
_FUNCTION = (
    "The results are a function of these parameters and the version of deadbeat, whatever computed"
    " them."
)


@frozen(kw_only=True)
class StudyAnswers:
    """What the stored chunks of a study say, and which published statements hold there; ``digest``:
    of what was asked."""

    name: str
    digest: str
    results: StudyResults
    judgements: tuple[Judgement, ...]


def summarise(store: StudyStore) -> StudyAnswers:
    """What the stored chunks say. Raises DataError: one is missing or damaged."""
    spec = read_spec(store.spec, store.path / STUDY_FILE)
    results = StudyResults(spec, load(spec, store))
    preset = presets().get(spec.preset)
    asked = preset.conclusions if preset else ()
    judgements = tuple(found for each in asked if (found := judge(each, results)))
    return StudyAnswers(
        name=store.path.name, digest=store.digest, results=results, judgements=judgements
    )


def study_document(found: StudyAnswers) -> Document:
    """What a study says: which statements it confirms, and every answer."""
    results, judgements = found.results, found.judgements
    spec = results.spec
    preset = presets().get(spec.preset)
    opened, regions = open_cases(results), list(results.regions())
    answers = _answers(results)
    offsets = any(source.offsets != "zero" for source in spec.sources.values())
    facts = (
        ("Title", spec.title),
        ("Task sets", f"{results.sets(results.generated)} of {spec.total} asked for"),
        ("Cells", f"{len(spec.cells)}, {spec.sets} sets each"),
        ("Seed", str(spec.seed)),
        ("Ties", ", ".join(dict.fromkeys(it.ties for it in spec.contenders.values())) or "–"),
        ("Arrivals", "periodic with offsets" if offsets else "synchronous periodic"),
    )
    return Document(
        title=found.name,
        kind="study",
        product="deadbeat sched study",
        source="the stored results of this study",
        labels=(LABEL,),
        about=preset.about if preset and spec.sets == preset.build().sets else _sweep(spec),
        head=facts,
        answer=short_answer(found),
        picture=answers,
        data_files="cells.csv",
        sections=(
            Section(
                "conclusions",
                "Conclusions checked",
                (
                    Note(_MEANS),
                    *(part for each in judgements for part in conclusion_parts(each)),
                    *(Sentence(text) for text in [_UNTESTED] if not judgements),
                ),
                "Conclusions",
            ),
            Section("figures", "Figures", (Figures(charts(results)),)),
            Section(
                "answers",
                "Answers of the whole study",
                (
                    answers,
                    *[Table(name="regions", columns=_REGIONS, rows=regions, terminal=True)]
                    * bool(regions),
                    Lines(opened),
                    Lines([f"open: {text}" for text in opened], terminal=True, page=False),
                    terminal_lines(judgements),
                    Note(_FILES),
                ),
                "Answers",
            ),
            Section(
                "circumstances", "Circumstances", (Sentence(_FUNCTION), FactList(_parameters(spec)))
            ),
        ),
    )


def short_answer(found: StudyAnswers) -> list[str]:
    if found.judgements:
        return [counted_verdicts(found.judgements)]
    # The test of a policy that is simulated is no other way to schedule.
    rows = [
        row
        for row in _whole(found.results)
        if row.count.total and row.promises and not row.label.startswith(TEST)
    ]
    if not rows:
        return ["No task set has an answer yet."]
    best, *others = sorted(rows, key=lambda row: -row.count.share)
    shares = f"{_percent(best.count)} of {best.count.total:,} task sets"
    for other in others[:1]:
        more, fewer = best.against(other)
        if more == fewer == 0:
            return [f"{best.label} and {other.label} schedule the same, the most: {shares}."]
        if Count(more, more + fewer).leaning < 1:
            two = f"{best.label} or {other.label} ({more} and {fewer} that the other does not)"
            return [f"undecided which schedules the most, {two}: {shares}."]
    return [f"{best.label} schedules the most: {shares}."]


def _answers(results: StudyResults) -> Table:
    more = _COUNTED * results.spec.metrics
    columns = (*_ANSWERS[:4], *more, *_ANSWERS[4:])
    return Table(name="answers-table", columns=columns, rows=_whole(results), terminal=True)


def _sweep(spec: StudySpec) -> str:
    axes = (
        ("m", sorted({cell.processors for cell in spec.cells})),
        ("n", sorted({cell.tasks for cell in spec.cells})),
        ("U/m", sorted({cell.load / 1000 for cell in spec.cells})),
    )
    words = [
        f"{name} {'=' if len(values) == 1 else 'from'} {values[0]:g}"
        + (f" to {values[-1]:g} ({len(values)} values)" if len(values) > 1 else "")
        for name, values in axes
    ]
    return (
        f"{', '.join(words)}; {', '.join(spec.sources)}; {spec.sets} sets in each of"
        f" {len(spec.cells)} cells."
    )


def _whole(results: StudyResults) -> list[Answered]:
    return [Answered(results.spec.cells[0], label, results) for label in results.labels()]


def _percent(count: Count) -> str | None:
    return count.text().partition(" of ")[0] if count.total else None


def _weighted(row: Answered) -> str | None:
    results = row.results
    inside, utilisation = results.decided(row.label), results.rows["utilisation"]
    whole = float(utilisation[inside].sum())
    part = float(utilisation[inside & results.yes(row.label)].sum())
    return f"{part / whole:.3f}" if whole else None


def _not_placed(row: Answered) -> int | None:
    places = row.scheduler and policies()[row.scheduler.policy].partitions
    return row.not_placed if places else None


#: Answers of the whole study: a row per scheduler and test.
_ANSWERS = (
    said(
        "scheduler or test", lambda row: TEST * (not row.scheduler) + row.title.removeprefix(TEST)
    ),
    said("sets", attrgetter("count.total"), format=str),
    said("schedulable", attrgetter("count.yes"), format=str),
    said("share [95 %]", lambda row: _percent(row.count)),
    said("of schedulable [95 %]", lambda row: _percent(row.of_schedulable), spare=True),
    said("weighted", _weighted, spare=True),
    said("undecided", attrgetter("undecided"), format=str, spare=True),
    said("not placed", _not_placed, format=str, spare=True),
)


#: Of a study that counts: means over the sets that each schedules.
_COUNTED = (
    said("migrations a set", lambda row: row.mean("migrations"), format="{:,.0f}".format),
    said("slack by period", lambda row: row.mean("slack_share_mean"), format="{:.3f}".format),
)
#: The undecided region: a row per scheduler, m and source.
_REGIONS = (
    said("scheduler", attrgetter("label")),
    said("m", attrgetter("processors"), format=str),
    said("source", lambda it: it.source if len(it.results.spec.sources) > 1 else None, spare=True),
    said("region starts at U/m", lambda it: it.edge_text()),
    said("undecided by tests", lambda it: _percent(it.share)),
    said("not placed", lambda it: it.not_placed or None, format=str, spare=True),
    said("of the placed schedulable", lambda it: _percent(it.schedulable), spare=True),
)


#: Policies of which a test searches all placements.
_SEARCHED = ("p-edf", "p-fp")


def open_cases(results: StudyResults) -> tuple[str, ...]:
    """What has no answer, and what became of it; one line each, none where nothing is open."""
    found = []
    missing = ~results.generated
    if missing.any():
        cells = np.unique(results.rows["cell"][missing])
        most = max(cells, key=lambda cell: results.sets(missing & (results.rows["cell"] == cell)))
        worst = results.spec.cells[most]
        found.append(
            f"{results.sets(missing)} of {results.spec.total} task sets do not exist or were not"
            f" found within the attempts allowed, cells concerned: {len(cells)} (most with"
            f" m = {worst.processors}, n = {worst.tasks}, U = {worst.load / 1000:g} m,"
            f" {worst.source}); they count nowhere"
        )
    for label in results.labels():
        if open_ones := results.sets(results.undecided(label)):
            why = (
                "are outside what the test is for, or undecided"
                if results.is_test(label)
                else f"were not decided within {results.spec.budget} scheduling points"
            )
            found.append(f"{label}: {open_ones} sets {why}; they are left out of its shares")
    for label, it in results.spec.contenders.items():
        asked = f"{it.policy}:partition=any"
        left = results.sets(results.generated & ~results.placed(label))
        if left and it.policy in _SEARCHED and it.partition != "any" and not results.has(asked):
            found.append(
                f"{label}: {left} sets find no place by {resolved(it).partition}; --test {asked}"
                " asks whether another placement meets all deadlines"
            )
    return tuple(found)


def _parameters(spec: StudySpec) -> tuple[tuple[str, str], ...]:
    def values(of: Callable[[SweepCell], float]) -> str:
        return ", ".join(f"{value:g}" for value in sorted(set(map(of, spec.cells))))

    def fields(it: Source | Scheduler) -> str:
        return ", ".join(f"{name} = {value}" for name, value in attrs.asdict(it).items())

    facts = {label: test_facts()[spec.test(label)[0]] for label in spec.tests}
    return (
        ("preset", spec.preset or "none"),
        ("seed", str(spec.seed)),
        ("sets per cell", str(spec.sets)),
        ("budget per verdict", f"{spec.budget} scheduling points"),
        ("processors m", values(attrgetter("processors"))),
        ("tasks n", values(attrgetter("tasks"))),
        ("U by processor", values(lambda cell: cell.load / 1000)),
        *((f"source {label}", fields(source)) for label, source in spec.sources.items()),
        *((f"scheduler {label}", fields(it)) for label, it in spec.contenders.items()),
        *((f"test {name}", f"{fact.title}; {fact.reference}") for name, fact in facts.items()),
    )


def summary_dict(found: StudyAnswers) -> dict[str, Json]:
    results = found.results
    return {
        "sets": results.spec.total,
        "generated": results.sets(results.generated),
        "answers": [
            {
                "label": row.label,
                "kind": row.kind,
                "decided": row.count.total,
                "schedulable": row.count.yes,
                "share": row.count.share if row.count.total else None,
                "low": row.count.interval.low,
                "high": row.count.interval.high,
                "undecided": row.undecided,
                **_found(row.of_schedulable),
            }
            for row in _whole(results)
        ],
        "regions": [
            {
                **{key: getattr(it, key) for key in ("label", "processors", "source")},
                "starts_at": [None if math.isinf(x) else x for x in (it.edge()[0], *it.edge()[1])],
                "undecided": it.share.yes,
                "sets": it.share.total,
                "schedulable": it.schedulable.yes,
                "not_placed": it.not_placed,
            }
            for it in results.regions()
        ],
        "conclusions": plain_conclusions(found.judgements),
        "open": list(open_cases(results)),
    }


def _found(count: Count) -> dict[str, Json]:
    """Beside an exact test: what a sufficient one accepts of the schedulable sets."""
    keys = ("share", "low", "high")
    values = (count.share, count.interval.low, count.interval.high) if count.total else ()
    return {f"{key}_of_schedulable": value for key, value in zip(keys, values, strict=False)}


def so_far(store: StudyStore, spec: StudySpec, known: dict[int, Rows]) -> Table:
    """``known``: the chunks that were read before."""
    for number in store.finished() - known.keys():
        known[number] = load(spec, store, [number])
    rows = np.concatenate([known[number] for number in sorted(known)])
    return _answers(StudyResults(spec, rows))


def files(found: StudyAnswers) -> dict[str, str | dict[str, Json]]:
    cells = csv_of(columns_of(found.results.spec), answered(found.results))
    return {"cells.csv": cells, "summary.json": summary_dict(found)}


def paper_words(found: StudyAnswers) -> Words:
    seed = found.results.spec.seed
    return Words(labels=LABEL, caption=f"{found.name} · seed {seed} · study {found.digest[:12]}")
