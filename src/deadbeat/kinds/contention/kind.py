"""What commands do with the folder of a campaign."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import attrs
from attrs import evolve

from deadbeat.kinds.base import Shown
from deadbeat.kinds.contention.begin import begin, follow
from deadbeat.kinds.contention.cause_charts import job_time
from deadbeat.kinds.contention.document import campaign_document, write_figures, write_report
from deadbeat.kinds.contention.facts import labels, price_table
from deadbeat.kinds.contention.headline import headline
from deadbeat.kinds.contention.late import WORST, late_of
from deadbeat.kinds.contention.observe import COMPARABLE
from deadbeat.kinds.contention.perfetto import perfetto
from deadbeat.kinds.contention.place import FOLDERS, state_of
from deadbeat.kinds.contention.summarise import summarise
from deadbeat.kinds.contention.view import CampaignView
from deadbeat.kinds.table import TableKind
from deadbeat.model.errors import UsageError
from deadbeat.model.finding import counts_text
from deadbeat.model.results import RunKey, Summary
from deadbeat.model.tasks import Access
from deadbeat.model.traces import PARTS, LateJob
from deadbeat.model.words import Json
from deadbeat.prices.stage import prices_in
from deadbeat.report.document import Table, said
from deadbeat.report.prices import ns_text, price_rows, shown_prices
from deadbeat.store.campaign import CampaignStore
from deadbeat.store.place import REPORT_FILE, FolderState
from deadbeat.store.summary import write_summary


def write(store: CampaignStore, figures: bool, worst: int = WORST) -> Summary:
    """Everything that derives from the runs; the page last, because it marks the campaign done."""
    summary = summarise(store, worst=worst)
    write_summary(store, summary)
    if figures:
        write_figures(summary, store.path)
    write_report(summary, store.path)
    return summary


def plain(summary: Summary, store: CampaignStore) -> dict[str, Json]:
    """What ``--json`` prints of a campaign."""
    path = store.path
    state = state_of(path)
    failed = summary.meta.get("failed") or {}
    report = path / REPORT_FILE
    return {
        "name": path.name,
        "path": str(path),
        "planned": state.planned,
        "done": state.done,
        "failed": [{"run": key, "reason": failed[key].get("reason", "")} for key in sorted(failed)],
        "labels": list(labels(summary)),
        "origin": summary.meta.get("origin"),
        "noise_floor": attrs.asdict(summary.noise_floor) if summary.noise_floor else None,
        "precision": summary.meta.get("precision"),
        "prices": price_rows(price_table(summary)),
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
    name="campaign",
    folders=FOLDERS,
    summarise=lambda store: CampaignView(store).summary,
    answer=headline,
    document=lambda found, _store: campaign_document(found),
    plain=plain,
    rows=lambda found: [cell.row(found.mode) for cell in found.cells],
    sort=lambda found: found.mode,
    shown=_shown,
    judged=lambda _found, store: {"empty": not store.committed()},
    write=write,
)


def written(store: CampaignStore, *, figures: bool, worst: int | None = None) -> Shown:
    """Everything derived, and where it is."""
    shown = _TABLE.answered(store, write(store, figures, worst or WORST))
    return evolve(shown, empty=not store.committed())


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
    }
    if not late.jobs:
        message = f"{path.name} does not say where the time of its jobs went"
        return Shown(plain=answer, unsaid=UsageError(message, "run it with --causes (or --split)"))
    evidence = [
        f"{job.run} job {job.job}: {job.cause}: {job.evidence}" for job in late.jobs if job.evidence
    ]
    missing = [f"no scheduling events: {late.unavailable}"] if late.unavailable else []
    table = Table(
        name="late",
        title="the worst jobs; late by: response beyond the deadline",
        columns=_LATE,
        rows=late.jobs,
    )
    prices = _prices_of(store, [job.run for job in late.jobs])
    return Shown(plain=answer, tables=(table,), lines=(*evidence, *prices, *late.notes, *missing))


def _prices_of(store: CampaignStore, runs: Sequence[str]) -> list[str]:
    """What sharing costs of the objects that cores share in ``runs``, a line each."""
    table = prices_in(store)
    if table is None:
        return []
    sets = (store.programs.task_set(RunKey.parse(run)) for run in dict.fromkeys(runs))
    shared = {r.fragment for each in sets for r in each.resources if r.access is Access.CON}
    return [
        f"{p.object}: {ns_text(p.alone_ns)} an operation alone, {ns_text(p.shared_ns)} shared"
        for p in shown_prices(table)
        if p.object in shared and p.shared_ns is not None
    ]


def _parts(job: LateJob) -> str:
    known = ((part.replace("_", " "), job.parts_ns.get(part)) for part in PARTS)
    return ", ".join(f"{name} {job_time(job, ns)}" for name, ns in known if ns) or "not known"


_LATE = (
    said("run", lambda job: job.run),
    said("job", lambda job: f"t{job.task} {job.job}", words=True),
    said("response", lambda job: job_time(job, job.response_ns)),
    said("late by", lambda j: job_time(j, j.lateness_ns) if j.lateness_ns > 0 else "-"),
    said("parts of the response", _parts, long=True),
    said("cause", lambda job: job.cause + (f": {job.holder}" if job.holder else ""), long=True),
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
    comparable=COMPARABLE,
    verbs=("profile", "stress"),
    follow=follow,
)
