"""A load test as a document and as files; its columns are declared here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import attrs

from deadbeat.base.model import histogram
from deadbeat.base.model.comparison import PLACE, Effect, RemedyEffects
from deadbeat.base.model.histogram import QUANTILES_PPM, Histogram
from deadbeat.base.model.observations import Metric
from deadbeat.base.model.words import Json
from deadbeat.base.report.document import (
    Column,
    Document,
    FactList,
    Figures,
    Lines,
    Note,
    Part,
    Remark,
    Remarks,
    Section,
    Sentence,
    Subsection,
    Table,
    said,
)
from deadbeat.base.report.html import terms
from deadbeat.base.report.paper import Words
from deadbeat.base.stats.estimate import Estimate
from deadbeat.base.verdicts.words import effect_text, interval_text, size_text
from deadbeat.latencies.load import words
from deadbeat.latencies.load.charts import load_charts
from deadbeat.latencies.load.model import REFERENCE, Cause, LoadCell, LoadSummary, LostTime


def _plain(estimate: Estimate) -> str:
    return words.signless(estimate.value, 2)


def _part(key: str, of: str, value: Callable[[Any], Any], *, heading: str = "") -> Column:
    """A figure of a part that a cell may lack."""

    def cell_value(cell: LoadCell) -> Any:
        part = getattr(cell, of)
        return value(part) if part else None

    return Column(key=key, heading=heading, value=cell_value, format=lambda ns: f"{ns / 1e6:.3f}")


def _response(name: str) -> Column:
    """A quantile of the response times; some stand in the table."""
    ppm = QUANTILES_PPM[name]
    key = f"response_{name.replace('.', '_')}_ns"
    heading = {"p50": "p50 ms", "p99": "p99 ms"}.get(name, "")
    return _part(key, "response", lambda response: response.quantile(ppm), heading=heading)


#: Columns of a cell, in the order of summary.csv.
COLUMNS = (
    Column(key="condition", heading="condition", format=words.condition_words),
    Column(key="normal", heading="ordinary"),
    Column(key="all", heading="all threads", value=lambda c: c.normal + 1, raw=False,
           terminal=False),
    Column(key="runs"), Column(key="invalid"), Column(key="seconds"),
    Column(key="released", heading="rounds", terminal=False),
    Column(key="failures", heading="failures", terminal=False),
    Column(key="failures_per_s", heading="failures/s", format=words.ranged, interval=True),
    Column(key="involuntary_per_s", heading="involuntary/s", format=lambda e: words.ranged(e, 1),
           terminal=_plain, interval=True),
    Column(key="voluntary_per_s", heading="voluntary/s", format=_plain, terminal=False,
           interval=True),
    Column(key="moves_per_s", heading="moves/s", format=_plain, interval=True),
    Column(key="work_per_s", interval=True),
    Column(key="work_lost", heading="work lost", interval=True,
           format=lambda e: f"{words.ranged(e, 1, scale=100)} %",
           terminal=lambda e: f"{words.signless(e.value * 100, 1)} %"),
    _part("response_mean_ns", "response", attrgetter("mean_ns")),
    *map(_response, QUANTILES_PPM),
    _part("response_max_ns", "response", attrgetter("max_ns"), heading="max ms"),
    Column(key="cpu_share"),
    *(_part(f"lost_{part}", "lost", attrgetter(part)) for part in attrs.fields_dict(LostTime)),
)  # fmt: skip
_ORDER = (
    "condition", "normal", "all", "released", "failures", "failures_per_s", "response_p50_ns",
    "response_p99_ns", "response_max_ns", "involuntary_per_s", "voluntary_per_s", "moves_per_s",
    "work_lost",
)  # fmt: skip


def _smallest(effect: Effect) -> str | None:
    """The smallest change of the miss ratio that an undecided remedy would have shown."""
    cell = effect.misses
    if effect.verdict != "undecided" or effect.why or cell.baseline is None:
        return None
    if cell.smallest_effect is None or cell.smallest_effect > cell.baseline:
        return f"not even {effect_text(cell.metric, -cell.baseline)}"
    return f"±{size_text(cell.metric, cell.smallest_effect)}"


def _verdict(effect: Effect) -> str:
    if not effect.verdict:
        return "judged together"
    return f"{effect.verdict}: {effect.why}" if effect.why else effect.verdict


EFFECT_COLUMNS = (
    Column(key="condition", heading="remedy", format=words.condition_words),
    Column(key="normal", heading="ordinary", spare=True,
           value=lambda e: "any" if e.normal is None else e.normal),
    Column(key="failures_before", heading="failures/s", format="{:.2f}".format),
    Column(key="failures_after", heading="with it", format="{:.2f}".format),
    Column(key="misses", heading="miss ratio", value=words.difference),
    Column(key="smallest_effect", heading="found with 80 %", value=_smallest, terminal=False),
    Column(key="p99", heading="p99", spare=True, format=interval_text),
    Column(key="pairs", heading="pairs", value=lambda e: e.misses.pairs, terminal=False),
    Column(key="verdict", heading="verdict", value=_verdict, words=True),
)  # fmt: skip
_EFFECTS_NOTE = (
    "Verdicts err in 5 % of tests, all of a test together. A difference may exist even where none"
    " is shown. Miss ratio, p99: how they change. Found with 80 %: the smallest change of the miss"
    " ratio that this many pairs would have shown in four tests of five; not even: the end of all"
    " misses would not."
    " Occasions: where neither side has a failure, either has fewer occasions of them per second"
    " (95 %); how many failures one brings is not known."
)
_EFFECTS_HOW = (
    "Each was applied, verified, measured in turn with runs without it, and put back. Differences"
    " are of pairs of runs of one repeat, with 95 % intervals each, and judged as deadbeat compare"
    " judges. All verdicts together err in 5 % of tests without any effect; the interval of an"
    " undecided one is widened to hold zero, which these verdicts do not exclude. A remedy that was"
    " tried at several numbers of ordinary threads is judged by all these pairs together."
)


def load_document(summary: LoadSummary) -> Document:
    """What a load test says: how many deadlines are missed, what did it, what helps."""
    form, machine = words.form_of(summary), summary.platform
    known = ("machine", "processor", "kernel", "preemption model")
    parameters = [(name, words.asked(name, value)) for name, value in sorted(summary.spec.items())]
    causes = [
        Remark(
            kind="info" if cause.certainty == "unknown" else "warning",
            label=cause.certainty.capitalize(),
            text=f"{cause.title}{_weight(summary, cause, ' — {}')}.",
            detail=f"{cause.evidence}.",
        )
        for cause in summary.causes
    ]
    table = Table(
        name="load-table",
        title=form,
        columns=COLUMNS,
        order=_ORDER,
        rows=[cell for cell in summary.cells if cell.condition != REFERENCE],
        terminal=True,
        dense=True,
        hint="In brackets: 95 % intervals over runs. Percentiles are over all rounds of the runs"
        " that count. The same figures in full: summary.csv.",
    )
    did = (
        Note("With the most ordinary threads and no remedy."),
        Remarks(causes, empty=words.without_causes(summary)),
    )
    circumstances = (
        Subsection("Platform", (FactList([*machine.items()]),)),
        Subsection("Parameters", (FactList(parameters),)),
    )
    answer = [words.headline(summary), *words.resized(summary), *words.together(summary)]
    return Document(
        title=summary.name,
        kind="load",
        source="the stored results of this load test",
        labels=words.labels(summary),
        noise=form,
        answer=[*answer, *_main_cause(summary), *words.helps(summary)],
        picture=_remedied(summary),
        steps=_steps(summary),
        head=(
            *((name.capitalize(), machine[name]) for name in known),
            ("Real-time thread", form),
            ("Runs", f"{summary.done} of {summary.planned}"),
        ),
        data_files="summary.csv",
        sections=(
            Section("answer", "How many deadlines are missed", _answer(summary), "Answer"),
            Section("causes", "What took the real-time thread's time", did, "What did it"),
            Section("figures", "Figures", (Figures(load_charts(summary)),)),
            Section("table", "Table", (table,)),
            Section("remedies", "Remedies", _remedies(summary)),
            Section("circumstances", "Circumstances", circumstances),
            Section("glossary", "How to read this", (FactList(terms("load"), terms=True),)),
        ),
    )


def _answer(summary: LoadSummary) -> tuple[Part, ...]:
    """The answer, and what is wrong with runs, happened beside them, or is missing."""
    left = summary.planned - summary.done
    unfinished = [f"unfinished: {summary.done} of {summary.planned} runs"] if left > 0 else []
    beside = [summary.beside] if summary.beside else []
    causes = [
        f"cause, {each.certainty}: {each.title}{_weight(summary, each, ' ({})')}: {each.evidence}"
        for each in summary.causes
    ]
    untried = [f"not tried: {name}: {reason}" for name, reason in summary.impossible.items()]
    return (
        Sentence(words.headline(summary), answer=True, terminal=True),
        Sentence(words.threshold(summary), terminal=True),
        Lines(words.together(summary), terminal=True),
        Lines([*causes, *untried], terminal=True, page=False),
        Lines([*beside, *summary.problems, *unfinished], terminal=True),
    )


def _main_cause(summary: LoadSummary) -> list[str]:
    """The first that is known; it is the main one where no more is unexplained: by misses,
    where there are any, else by time."""
    known = [each for each in summary.causes if each.certainty != "unknown"]
    if not known:
        return []
    first = known[0]
    unknown = [each for each in summary.causes if each.certainty == "unknown"]
    if all(each.misses is None for each in summary.causes):
        left = sum(each.share or 0 for each in unknown)
        more, rest = left > (first.share or 0), f"{left * 100:.0f} % unexplained"
    elif first.misses:
        ended = sum(each.misses or 0 for each in unknown)
        more, rest = ended > first.misses, f"{ended} end without what is unexplained"
    else:
        return [f"No known cause alone explains a miss; {_share(first, '{}: ')}{first.title}."]
    part = _weight(summary, first, ": {}")
    return [f"Cause: {first.title}{part}; {rest}." if more else f"Main cause: {first.title}{part}."]


def _remedied(summary: LoadSummary) -> Table:
    """Failures per second without a remedy and with each, with the most ordinary threads."""
    most = max((cell.normal for cell in summary.cells), default=0)
    names = ("condition", "failures_per_s", "response_p50_ns", "response_p99_ns", "response_max_ns")
    return Table(
        name="screen-table",
        title=f"with {most} ordinary threads; {words.form_of(summary)}",
        columns=[
            attrs.evolve(column, spare=column.key == "response_p50_ns")
            for column in COLUMNS
            if column.key in names
        ],
        rows=[
            cell
            for cell in summary.cells
            if cell.condition != REFERENCE and cell.normal == most and cell.runs
        ],
    )


#: Knob of `deadbeat tune` -> what a remedy says that turned it.
_KNOBS = {
    "governor": "frequency governor",
    "preemption=none": "preemption model",
    "rt-bandwidth": "sched_rt_runtime_us",
    "fair-server": "fair server off",
}


def _steps(summary: LoadSummary) -> list[tuple[str, str]]:
    if summary.kind == "simulated":
        return [("deadbeat load --quick", "measure this machine")]
    better = (each.condition for each in summary.effects if each.verdict == "better")
    done = "; ".join(summary.changes.get(name, "") for name in better)
    knobs = "".join(f" --knob {knob}" for knob, words in _KNOBS.items() if words in done)
    keep = (f"deadbeat tune apply{knobs} --dry-run", "what would keep what helped")
    return [*[keep] * bool(knobs), ("deadbeat doctor", "what on this machine stands in the way")]


def _weight(summary: LoadSummary, cause: Cause, form: str) -> str:
    """``9 of 12 misses end without it, 20 % of the lost time``, in a form; "": unknown."""
    whole = words.failures_of(summary)
    share = _share(cause, "{}")
    if whole and cause.misses is not None:
        share = f"{cause.misses} of {whole} misses end without it, {share}"
    return form.format(share) if share else ""


def _share(cause: Cause, form: str) -> str:
    share = cause.share
    return "" if share is None else form.format(f"{share * 100:.0f} % of the lost time")


def _remedies(summary: LoadSummary) -> tuple[Part, ...]:
    """A row per remedy, and per number of ordinary threads where it was tried at several."""
    tried: tuple[Part, ...] = (Sentence("No remedy was tried."),)
    if summary.effects:
        tried = (
            effects_table(summary),
            Lines(power_lines(summary), terminal=True, page=False),
            Subsection("What each did", (FactList(sorted(summary.changes.items())),)),
        )
    impossible = FactList([*summary.impossible.items()], empty="Every remedy was tried.")
    return (Note(_EFFECTS_HOW), *tried, Subsection("Not tried here", (impossible,)))


def effects_table(summary: LoadSummary) -> Table:
    """What each remedy changes; a terminal has those that are judged."""
    return Table(
        name="effects-table",
        title="remedies: a verdict errs in 5 % of tests, all of them together",
        columns=EFFECT_COLUMNS,
        rows=summary.effects,
        printed=attrgetter("verdict"),
        terminal=True,
        dense=True,
        hint=_EFFECTS_NOTE,
    )


def power_lines(summary: LoadSummary) -> list[str]:
    """What each remedy of which nothing is shown could have shown, a line each."""
    lines = []
    for effect in summary.effects:
        if size := _smallest(effect):
            text = f"a change of the miss ratio of {size} would be found with 80 %"
            if size.startswith("not even"):
                text = "too few runs to find even the end of all misses with 80 %"
            lines.append(f"{words.condition_words(effect.condition)}: undecided; {text}")
    return lines


def remedies_beside(names: Sequence[str], remedies: Sequence[RemedyEffects]) -> Subsection:
    """What each remedy changes in every load test of these names."""

    def side(
        place: int, text: Callable[[Effect], str | None]
    ) -> Callable[[RemedyEffects], str | None]:
        return lambda each: text(effect) if (effect := each.effects[place]) else None

    columns = [
        said("remedy", lambda each: words.condition_words(each.condition)),
        said("ordinary", lambda each: "any" if each.normal is None else str(each.normal)),
    ]
    for place, name in enumerate(names):
        columns += [
            said(f"{name}: miss ratio", side(place, words.difference)),
            said(f"{name}: p99", side(place, lambda e: interval_text(e.p99) if e.p99 else None)),
        ]
    note = Note(
        "What each changes, with 95 % intervals, against runs of its own load test without it;"
        " below 0 is better. No verdict compares the sides here."
    )
    table = Table(
        name="remedies-table",
        title="Remedies, each against runs of its own load test without it",
        columns=columns,
        rows=remedies,
        terminal=True,
    )
    return Subsection("Remedies on each side", [note, table])


# ---------- files ----------


def summary_dict(summary: LoadSummary) -> dict[str, Json]:
    """JSON values of a summary; histograms as `model.histogram` writes them."""

    def plain(_owner: object, _field: object, value: object) -> object:
        if isinstance(value, Metric):
            return value.name
        return histogram.to_json(value) if isinstance(value, Histogram) else value

    return attrs.asdict(
        summary, filter=lambda each, _: each.name not in PLACE, value_serializer=plain
    )


def paper_words(summary: LoadSummary) -> Words:
    """Labels and caption of every figure on paper."""
    caption = (
        f"{words.form_of(summary)} · {summary.platform['processor']} · {summary.platform['kernel']}"
    )
    return Words(labels=" · ".join(words.labels(summary)), caption=caption)
