"""A campaign as a document and as files, and what commands do with its folder.

All text of a campaign is untrusted: `report.html` escapes it, or embeds it as data that is only
ever set as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from operator import itemgetter
from pathlib import Path

import attrs
from attrs import evolve

from deadbeat.base.kinds.shown import Shown
from deadbeat.base.kinds.table import TableKind
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.finding import counts_text
from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.lateness import LateJob, causes_words
from deadbeat.base.model.traces import PARTS
from deadbeat.base.model.words import Json, capital, count_of, ns_text
from deadbeat.base.report.beside import with_beside
from deadbeat.base.report.building import spread
from deadbeat.base.report.charts import Chart
from deadbeat.base.report.document import (
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
from deadbeat.base.report.html import asset, encode, terms, write_page
from deadbeat.base.report.paper import FORMATS, Words, draw_charts, write_drawn
from deadbeat.base.store.place import REPORT_FILE, FolderState
from deadbeat.tasksets.contention import facts, tables
from deadbeat.tasksets.contention import profile_charts as profile
from deadbeat.tasksets.contention.begin import begin, follow
from deadbeat.tasksets.contention.headline import (
    below_prices,
    cases,
    group_answers,
    headline,
    next_steps,
    short_answer,
    slowdown_map,
    stress_sentence,
    unanswered,
)
from deadbeat.tasksets.contention.late import WORST, late_of, perfetto, worst_job_charts
from deadbeat.tasksets.contention.observe import COMPARABLE
from deadbeat.tasksets.contention.place import FOLDERS, state_of
from deadbeat.tasksets.contention.predicted import is_priced, predicted_charts, predicted_parts
from deadbeat.tasksets.contention.samples import speed_charts
from deadbeat.tasksets.contention.stress_charts import counter_charts, counters_note, stress_charts
from deadbeat.tasksets.contention.summarise import summarise
from deadbeat.tasksets.contention.view import CampaignView
from deadbeat.tasksets.model.results import RunKey, Summary
from deadbeat.tasksets.model.tasks import Access
from deadbeat.tasksets.prices.page import (
    price_chart,
    price_list,
    price_parts,
    price_rows,
    shown_prices,
)
from deadbeat.tasksets.prices.stage import prices_in
from deadbeat.tasksets.store.campaign import CampaignStore
from deadbeat.tasksets.store.summary import write_summary

_DIGITS = (
    "In brackets: 95 % intervals (how: docs/reference/campaign.md). Figures here carry six"
    " significant digits; summary.csv, summary.json and sets.json hold them in full."
)
_NOTHING = "Nothing was measured yet."
_LOADED = (
    "Points with more tasks a core and shorter deadlines. The figures below do not include them."
)
#: Rows of the list of prices on the first screen.
_PRICES_SHOWN = 13


def campaign_document(summary: Summary) -> Document:
    stress = summary.mode == "stress"
    if stress:
        answers = group_answers(summary)
        answer = (
            Sentence(stress_sentence(summary), answer=True, terminal=True),
            Lines([*answers.values()], heads=[*answers]),
            *_noise(summary),
        )
        sections: tuple[Section, ...] = (
            Section("answer", "How bad it gets", answer, "Answer"),
            Section("findings", "Findings", (Findings(summary.findings, summary.labels),)),
            Section("figures", "Figures", (Figures(stress_charts(summary), _NOTHING),)),
            _why_late(summary, summary),
            Section("groups", "Groups", tables.group_tables(summary)),
            Section(
                "sets",
                "Worst task sets",
                (Markup(asset("sets.html")), Note(tables.sets_note(summary))),
            ),
        )
    else:
        sections = _profile(summary)
    words = terms("stress", "profile") if stress else terms("profile")
    prices = facts.listed_prices(summary)
    data = tables.sets_data(summary) if stress else tables.page_data(summary)
    picture = tables.group_tables(summary)[0] if stress else slowdown_map(summary)
    sessions = tuple(_session(*each) for each in facts.sessions(summary))
    failed = FactList(facts.failed_runs(summary), empty="None.")
    circumstances = (
        Figures([*speed_charts(summary.sets)]),
        Subsection("Calibration", (FactList(facts.leaves(summary, "calibration")),)),
        Subsection("Environment before and after", sessions or (FactList(()),)),
        Subsection("Failed runs", (failed,)),
        Subsection("Platform", (FactList(facts.leaves(summary, "platform")),)),
        Subsection("Parameters", (FactList(facts.leaves(summary, "parameters")),)),
    )
    return Document(
        title=facts.campaign_name(summary),
        kind="contention",
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
            Section("circumstances", "Circumstances", circumstances),
            Section("glossary", "How to read this", (FactList(words, terms=True),)),
        ),
        scripts=("words.js", "sets.js" if stress else "page.js"),
        data={"deadbeat-data": encode(data)},
        draws=True,
    )


def _noise(summary: Summary) -> tuple[Part, ...]:
    """The smallest effect and what it rests on; programs, and how well points are known."""
    floor = facts.noise_floor(summary)
    words = capital(floor.text) + (f" ({floor.basis})." if floor.basis else ".")
    return Sentence(words), Lines(facts.about(summary), terminal=True, page=False)


def _profile(summary: Summary) -> tuple[Section, ...]:
    own, prices = facts.grid_of(summary), facts.listed_prices(summary)
    points = tables.point_tables(summary)
    answer: tuple[Part, ...] = (
        # above prices they stand on the first screen, too
        *([Lines(short_answer(summary)[1:])] if prices else []),
        *(Sentence(line, answer=True, terminal=True) for line in headline(summary)),
        *_noise(summary),
        *(table for table in points if not table.page),
    )
    figures = (
        Note("Click on a cell of a heat map to see its sets."),
        Figures([*profile.grid_charts(own)], _NOTHING),
        Figures(
            [*profile.core_charts(own), *profile.profile_charts(own), *profile.shared_charts(own)]
        ),
    )
    loaded = [table for table in points if table.page]
    rows: list[Part] = [Markup(asset("points.html"))]
    if summary.cells:
        title = "Compute ratio, calm and rough half, misses alone, needed deadlines"
        rows.append(Subsection(title, (tables.further_table(summary),), folded=True))
    rows.append(Note(_DIGITS))
    predicted: tuple[Part, ...] = ()
    if is_priced(summary):
        predicted = (Figures(predicted_charts(summary)), *predicted_parts(summary))
    return (
        Section("answer", "Where it starts to miss", answer, "Answer"),
        *([Section("loaded", "Loaded cores", (*loaded, Sentence(_LOADED)), "")] if loaded else []),
        *([Section("prices", "Prices of sharing", price_parts(prices))] if prices else []),
        Section("findings", "Findings", (Findings(summary.findings, summary.labels),)),
        Section("figures", "Figures", figures),
        Section("point", "One point", (Markup(asset("point.html")),)),
        Section("points", "All points", rows),
        _why_late(summary, own),
        *(
            [Section("predicted", "Predicted from prices", predicted, "Predicted")]
            * bool(predicted)
        ),
    )


def _why_late(summary: Summary, drawn: Summary) -> Section:
    charts = [*worst_job_charts(summary), *profile.split_charts(drawn), *counter_charts(summary)]
    parts = (Figures(charts), *counters_note(summary), *profile.worst_jobs(summary))
    return Section("why", "Why late", parts)


# ---------- circumstances ----------


def _session(title: str, before: Mapping[str, str], after: Mapping[str, str]) -> Part:
    """Changed values stay in sight; the others fold away."""
    every = [(key, before.get(key), after.get(key)) for key in sorted(before.keys() | after.keys())]
    changed = [row for row in every if before and after and row[1] != row[2]]
    rest = [row for row in every if row not in changed]
    cut = "The state afterwards was not recorded: the session was cut off."
    part: Part = Sentence("Nothing differs between before and after." if after else cut)
    if changed:
        part = _before_after(changed, title)
    head = f"{len(rest)} values {'that did not change' if after else 'before'}"
    folded = Subsection(head, (_before_after(rest, title),), folded=True)
    return Subsection(title, (part, *((folded,) if rest else ())))


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
    """Writes ``report.html`` into ``out_dir`` (made when missing) and returns its path. Raises
    DeadbeatError: the folder or file cannot be written."""
    return write_page(
        Path(out_dir) / REPORT_FILE, with_beside(campaign_document(summary), Path(out_dir))
    )


#: Deadline factors with figures of their own on paper; the page has all.
_LEVELS = 3


def draw_figures(summary: Summary, formats: Sequence[str] = FORMATS) -> Iterator[tuple[str, bytes]]:
    """Yields file name and content of every figure, one at a time; of a profile, of its grid."""
    words, summary = words_of(summary), facts.grid_of(summary)
    yield from draw_charts(_charts(summary), words, formats)


def _charts(summary: Summary) -> Iterator[Chart]:
    every = facts.factors(summary.cells)
    shown = [f"{factor:g}" for factor in spread(every, _LEVELS)]
    if len(shown) == len(every):
        note = ""
    else:
        words = f"{', '.join(shown[:-1])} and {shown[-1]} of {len(every)} levels"
        note = f"Drawn here: D/C {words}; report.html has all. "
    drawn: list[Chart] = [*profile.split_charts(summary, most=_LEVELS), *counter_charts(summary)]
    if summary.mode == "stress":
        drawn += stress_charts(summary, most=_LEVELS)
    else:
        prices = facts.listed_prices(summary)
        drawn += [price_chart(prices)] if prices else []
        drawn += profile.profile_charts(summary)
        drawn += profile.core_charts(summary, _LEVELS)
        drawn += profile.shared_charts(summary)
        drawn += profile.overview_charts(summary, _LEVELS)
        drawn += profile.distribution_charts(summary, _LEVELS)
        drawn += predicted_charts(summary) if is_priced(summary) else []
        # Without a choice beside it a figure is titled by what it shows.
        drawn += [evolve(chart, title="") for chart in profile.grid_charts(summary, _LEVELS)]
    for chart in drawn:
        several = "D/C" in chart.option
        yield evolve(chart, caption=f"{note}{chart.caption}") if several else chart


def words_of(summary: Summary) -> Words:
    machine = facts.platform(summary)
    origin = [facts.campaign_name(summary)]
    origin += [str(machine[key]) for key in ("name", "soc", "kernel") if machine.get(key)]
    if machine.get("preemption"):
        # An unknown model carries its reason behind a colon; the page has room for it.
        origin.append(f"preemption {str(machine['preemption']).split(':')[0]}")
    floor = facts.noise_floor(summary).text
    return Words(
        labels=", ".join(facts.labels(summary)),
        caption=f"{capital(floor)}.  {' · '.join(origin)}.",
    )


def write(store: CampaignStore, figures: bool, worst: int = WORST) -> Summary:
    """Everything that derives from the runs; the page last, because it marks the campaign done."""
    summary = summarise(store, worst=worst)
    write_summary(store, summary)
    if figures:
        write_drawn(store.path / "figures", draw_figures(summary))
    write_report(summary, store.path)
    return summary


def plain(summary: Summary, store: CampaignStore) -> dict[str, Json]:
    state = state_of(store.path)
    failed = summary.meta.get("failed") or {}
    report = store.path / REPORT_FILE
    return {
        "mix": "random" if summary.mode == "stress" else "balanced",
        "planned": state.planned,
        "done": state.done,
        "failed": [{"run": key, "reason": failed[key].get("reason", "")} for key in sorted(failed)],
        "labels": list(facts.labels(summary)),
        "origin": summary.meta.get("origin"),
        "noise_floor": attrs.asdict(summary.noise_floor) if summary.noise_floor else None,
        "precision": summary.meta.get("precision"),
        "prices": price_rows(facts.price_table(summary)),
        "points": [attrs.asdict(point) for point in summary.points],
        "rows": [cell.row(summary.mode) for cell in summary.cells],
        "report": str(report) if report.is_file() else None,
    }


def _shown(summary: Summary, _store: CampaignStore, state: FolderState, said: Shown) -> Shown:
    stand = (
        f"{state.state}: {state.done} of {state.planned} runs, {state.failed} failed;"
        f" findings: {counts_text(summary.findings)}"
    )
    return evolve(said, findings=summary.findings, lines=(stand,))


_TABLE = TableKind(
    name="contention",
    folders=FOLDERS,
    comparable=COMPARABLE,
    summarise=lambda store: CampaignView(store).summary,
    answer=headline,
    document=lambda found, _store: campaign_document(found),
    plain=plain,
    rows=lambda found: [cell.row(found.mode) for cell in found.cells],
    cases=cases,
    shown=_shown,
    empty=unanswered,
    write=write,
)


def written(store: CampaignStore, *, figures: bool, worst: int | None = None) -> Shown:
    return _TABLE.written(store, write(store, figures, worst or WORST), figures)


def _perfetto(path: Path, count: int) -> str:
    store = CampaignStore.open(path)
    return perfetto(store, late_of(store, count=count).jobs)


def _why(path: Path, count: int) -> Shown:
    store = CampaignStore.open(path)
    late = late_of(store, count=count)
    answer = {
        "causes": [attrs.asdict(job) for job in late.jobs],
        "unavailable": late.unavailable,
        "notes": list(late.notes),
        "misses": [attrs.asdict(each) for each in late.misses],
    }
    if not late.jobs:
        message = f"{path.name} has no causes"
        return Shown(
            plain=answer, unsaid=UsageError(message, "measure with --causes, then ask why")
        )
    # The worst of a run by each cause says it for the others.
    alike = grouped(late.jobs, lambda job: (job.run, _cause(job))).values()
    evidence = [
        f"{jobs[0].run} job {jobs[0].job}{f' and {len(jobs) - 1} more' * (len(jobs) > 1)}:"
        f" {jobs[0].cause}: {jobs[0].evidence}"
        for jobs in alike
        if jobs[0].evidence
    ]
    missing = [f"no scheduling events: {late.unavailable}"] if late.unavailable else []
    table = Table(
        name="late",
        title="the worst jobs; late by: response beyond the deadline",
        columns=_LATE,
        rows=late.jobs,
    )
    # What sharing costs of the objects that cores share in `runs`, a line each.
    runs = [job.run for job in late.jobs]
    price_table = prices_in(store)
    if price_table is None:
        prices = []
    else:
        sets = (store.programs.task_set(RunKey.parse(run)) for run in dict.fromkeys(runs))
        shared = {r.fragment for each in sets for r in each.resources if r.access is Access.CON}
        prices = [
            f"{p.object}: {ns_text(p.alone_ns)} an operation alone, {ns_text(p.shared_ns)} shared"
            for p in shown_prices(price_table)
            if p.object in shared and p.shared_ns is not None
        ]
    worst = late.jobs[0]
    headline = f"the worst job is number {worst.job} of {worst.run}: {worst.cause}"
    total = sum(each.misses for each in late.misses)
    every = f"Of {count_of(total, 'late job')} beside others: {causes_words(late.misses)}."
    return Shown(
        headline=headline,
        plain=answer,
        parts=(every,) * bool(total),
        tables=(table,),
        lines=(*evidence, *prices, *late.notes, *missing),
    )


def _parts(job: LateJob) -> str:
    known = ((part.replace("_", " "), job.parts_ns.get(part)) for part in PARTS)
    return (
        ", ".join(f"{name} {profile.job_time(job, ns)}" for name, ns in known if ns) or "not known"
    )


def _cause(job: LateJob) -> str:
    """``preempted: kworker``; of a row that stood behind a job: why that one was late."""
    behind = job.details.get("behind_cause")
    return (
        job.cause + (f" ({behind})" if behind else "") + (f": {job.holder}" if job.holder else "")
    )


#: What answers first: on a narrow terminal the last are left out.
_LATE = (
    said("job", lambda job: f"t{job.task} {job.job}", words=True),
    said("late by", lambda j: profile.job_time(j, j.lateness_ns) if j.lateness_ns > 0 else "-"),
    said("cause", _cause, long=True),
    said("run", lambda job: job.run, words=True),
    said("response", lambda job: profile.job_time(job, job.response_ns), spare=True),
    said("parts of the response", _parts, long=True, spare=True),
)

KIND = _TABLE.kind(
    partial(begin, write=written),
    keys=(
        *("group", "cores", "critical_cores", "sync_share", "contended_ratio"),
        *("deadline_factor", "tasks_per_core"),
    ),
    why=_why,
    perfetto=_perfetto,
    open=lambda path: CampaignView(CampaignStore.open(path), _TABLE.show),
    follow=follow,
)
