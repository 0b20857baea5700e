"""A campaign as a document and as files: a profile, or a stress campaign.

All text of a campaign is untrusted: `report.html` escapes it, or embeds it as data that is only
ever set as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from operator import itemgetter
from pathlib import Path

from deadbeat.kinds.contention import facts
from deadbeat.kinds.contention.cause_charts import split_charts, worst_jobs
from deadbeat.kinds.contention.counter_charts import counter_charts, counters_note
from deadbeat.kinds.contention.headline import headline
from deadbeat.kinds.contention.object_charts import speed_charts
from deadbeat.kinds.contention.page_data import page_data, sets_data, sets_note
from deadbeat.kinds.contention.paper_figures import draw_figures
from deadbeat.kinds.contention.predicted import is_priced, predicted_charts, predicted_parts
from deadbeat.kinds.contention.profile_charts import (
    core_charts,
    grid_charts,
    profile_charts,
    shared_charts,
)
from deadbeat.kinds.contention.screen import below_prices, next_steps, short_answer, slowdown_map
from deadbeat.kinds.contention.stress_charts import stress_charts
from deadbeat.kinds.contention.stress_words import group_answers, stress_sentence
from deadbeat.kinds.contention.tables import further_table, group_table, point_tables
from deadbeat.kinds.contention.worst_job import worst_job_charts
from deadbeat.model.results import Summary
from deadbeat.report.beside import with_beside
from deadbeat.report.document import (
    Document,
    FactList,
    Figures,
    Findings,
    Lines,
    Markup,
    Note,
    Part,
    Section,
    Sentence,
    Subsection,
    Table,
    said,
)
from deadbeat.report.html import asset, encode, terms, write_page
from deadbeat.report.paper import write_drawn
from deadbeat.report.prices import price_list, price_parts
from deadbeat.store.place import REPORT_FILE

_DIGITS = (
    "In brackets: 95 % intervals (how: docs, metrics). Figures here carry six significant digits;"
    " summary.csv, summary.json and sets.json hold them in full."
)
_NOTHING = "Nothing was measured yet."
_LOADED = (
    "Points with more tasks a core and shorter deadlines. The figures above do not include them."
)
#: Rows of the list of prices on the first screen.
_PRICES_SHOWN = 13


def campaign_document(summary: Summary) -> Document:
    """What a campaign says: where it starts to miss, or how bad it gets."""
    stress = summary.mode == "stress"
    sections = _stress(summary) if stress else _profile(summary)
    words = terms("stress", "profile") if stress else terms("profile")
    prices = facts.listed_prices(summary)
    picture = group_table(summary) if stress else slowdown_map(summary)
    return Document(
        title=facts.campaign_name(summary),
        kind="stress" if stress else "profile",
        source="the stored results of this campaign",
        labels=facts.labels(summary),
        noise=facts.noise_floor(summary).text,
        head=facts.head_facts(summary),
        answer=short_answer(summary),
        picture=price_list(prices) if prices else picture,
        rows=_PRICES_SHOWN if prices else 8,
        below=below_prices(summary),
        steps=next_steps(summary),
        data_files="summary.csv and sets.csv" if stress else "summary.csv",
        sections=(
            *sections,
            Section("circumstances", "Circumstances", _circumstances(summary)),
            Section("glossary", "How to read this", (FactList(words, terms=True),)),
        ),
        scripts=("words.js", "sets.js" if stress else "page.js"),
        data={"deadbeat-data": encode(sets_data(summary) if stress else page_data(summary))},
        draws=True,
    )


def _noise(summary: Summary) -> Sentence:
    """The smallest effect and what it rests on."""
    floor = facts.noise_floor(summary)
    text = f"{floor.text[:1].upper()}{floor.text[1:]}"
    return Sentence(f"{text} ({floor.basis})." if floor.basis else f"{text}.")


def _profile(summary: Summary) -> tuple[Section, ...]:
    own, prices = facts.grid_of(summary), facts.listed_prices(summary)
    tables = point_tables(summary)
    answer: tuple[Part, ...] = (
        *(Sentence(line, answer=True, terminal=True) for line in headline(summary)),
        _noise(summary),
        Lines(facts.about(summary), terminal=True, page=False),
        *(table for table in tables if not table.page),
    )
    figures = (
        Note("Click on a cell of a heat map to see its sets."),
        Figures([*grid_charts(own)], _NOTHING),
        Figures([*core_charts(own), *profile_charts(own), *shared_charts(own)]),
    )
    loaded = [Subsection(table.title, (table,)) for table in tables if table.page]
    points: list[Part] = [Markup(asset("points.html"))]
    if summary.cells:
        title = "Compute ratio, calm and rough half, misses alone, needed deadlines"
        points.append(Subsection(title, (further_table(summary),), folded=True))
    points.append(Note(_DIGITS))
    return (
        Section("answer", "Where it starts to miss", answer, "Answer"),
        *([Section("prices", "Prices of sharing", price_parts(prices))] if prices else []),
        Section("findings", "Findings", (Findings(summary.findings, summary.labels),)),
        Section("figures", "Figures", figures),
        *([Section("loaded", "Loaded cores", (Sentence(_LOADED), *loaded), "")] if loaded else []),
        Section("point", "One point", (Markup(asset("point.html")),)),
        Section("points", "All points", points),
        _why(summary, own),
        *([_predicted(summary)] if is_priced(summary) else []),
    )


def _predicted(summary: Summary) -> Section:
    parts = (Figures(predicted_charts(summary)), *predicted_parts(summary))
    return Section("predicted", "Predicted from prices", parts, "Predicted")


def _stress(summary: Summary) -> tuple[Section, ...]:
    answers = group_answers(summary)
    answer = (
        Sentence(stress_sentence(summary), answer=True, terminal=True),
        Lines([*answers.values()], heads=[*answers]),
        _noise(summary),
        Lines(facts.about(summary), terminal=True, page=False),
    )
    return (
        Section("answer", "How bad it gets", answer, "Answer"),
        Section("findings", "Findings", (Findings(summary.findings, summary.labels),)),
        Section("figures", "Figures", (Figures(stress_charts(summary), _NOTHING),)),
        _why(summary, summary),
        Section("groups", "Groups", (group_table(summary),)),
        Section("sets", "Worst task sets", (Markup(asset("sets.html")), Note(sets_note(summary)))),
    )


def _why(summary: Summary, drawn: Summary) -> Section:
    charts = [*worst_job_charts(summary), *split_charts(drawn), *counter_charts(summary)]
    parts = (Figures(charts), *counters_note(summary), *worst_jobs(summary))
    return Section("why", "Why late", parts)


# ---------- circumstances ----------


def _circumstances(summary: Summary) -> tuple[Part, ...]:
    """Calibration, environment, failed runs, platform and parameters."""
    sessions = tuple(part for each in facts.sessions(summary) for part in _session(each))
    failed = FactList(facts.failed_runs(summary), empty="None.")
    return (
        Figures([*speed_charts(summary.sets)]),
        Subsection("Calibration", (FactList(facts.leaves(summary, "calibration")),)),
        Subsection("Environment before and after", sessions or (FactList(()),)),
        Subsection("Failed runs", (failed,)),
        Subsection("Platform", (FactList(facts.leaves(summary, "platform")),)),
        Subsection("Parameters", (FactList(facts.leaves(summary, "parameters")),)),
    )


def _session(record: facts.SessionFacts) -> tuple[Part, ...]:
    """Changed values stay in sight; the others fold away."""
    every = sorted(record.before.keys() | record.after.keys())
    rows = {key: (key, record.before.get(key), record.after.get(key)) for key in every}
    changed = [rows.pop(key) for key in record.changed]
    told: Part = Sentence("Nothing differs between before and after.")
    if not record.after:
        told = Sentence("The state afterwards was not recorded: the session was cut off.")
    elif changed:
        told = _before_after(changed, record.title)
    head = f"{len(rows)} values {'that did not change' if record.after else 'before'}"
    rest = Subsection(head, (_before_after([*rows.values()], record.title),), folded=True)
    return (Subsection(record.title, (told, *((rest,) if rows else ()))),)


def _before_after(rows: Sequence[tuple[str, str | None, str | None]], title: str) -> Table:
    """Values before and after; a change is marked by a word, by its amount if it has one."""
    return Table(
        name="session-table",
        title=title,
        columns=(
            said("what", itemgetter(0)),
            said("before", itemgetter(1), long=True),
            said("after", itemgetter(2), long=True),
            said("difference", _difference, words=True),
        ),
        rows=rows,
        differs=_difference,
        dense=True,
    )


def _difference(row: tuple[str, str | None, str | None]) -> str:
    _, before, after = row
    if before == after:
        return ""
    if before is None or after is None:
        return "not there before" if before is None else "not there after"
    with suppress(ValueError):
        return f"changed by {float(after) - float(before):+.6g}"
    return "changed"


# ---------- files ----------


def write_report(summary: Summary, out_dir: Path) -> Path:
    """Writes ``report.html`` into ``out_dir`` (made when missing) and returns its path.

    Raises:
        DeadbeatError: The folder or file cannot be written.
    """
    return write_page(
        Path(out_dir) / REPORT_FILE, with_beside(campaign_document(summary), Path(out_dir))
    )


def write_figures(summary: Summary, out_dir: Path) -> list[Path]:
    """Writes every figure in every format into ``out_dir``/figures and returns their paths.

    Raises:
        DeadbeatError: The folder or a file cannot be written.
    """
    return write_drawn(Path(out_dir) / "figures", draw_figures(summary))
