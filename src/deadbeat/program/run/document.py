"""A measured program in words, as a picture, and as files."""

from __future__ import annotations

import shlex
from pathlib import Path

import attrs

from deadbeat.base.model import comparison
from deadbeat.base.model.platform import Platform
from deadbeat.base.model.specification import plain_of
from deadbeat.base.model.words import Json, capital, count_of, time_text
from deadbeat.base.report.document import (
    ROWS,
    Column,
    Document,
    FactList,
    Figures,
    Findings,
    Markup,
    Part,
    Section,
    Sentence,
    Table,
    flatten,
    machine_facts,
    percent,
    records,
)
from deadbeat.base.store.place import REPORT_FILE
from deadbeat.base.store.texts import shown
from deadbeat.program.run import kept, required, traced, twin
from deadbeat.program.run import tried as changes
from deadbeat.program.run.charts import ages, charts
from deadbeat.program.run.graph import chain_graph
from deadbeat.program.run.results import (
    ProgramCell,
    ProgramStore,
    ProgramSummary,
)
from deadbeat.program.run.spec import processes
from deadbeat.program.run.traced import time_column


def _maxima(cell: ProgramCell) -> str:
    low, high = min(cell.maxima_ns), max(cell.maxima_ns)
    return time_text(high) if low == high else f"{time_text(low)} to {time_text(high)}"


COLUMNS = (
    Column(key="name", heading="task", words=True),
    Column(key="cpu", heading="CPU"),
    time_column("period_ns", "period", value=lambda cell: cell.period_ns or None, spare=True),
    time_column("deadline_ns", "deadline", value=lambda cell: cell.deadline_ns or None),
    Column(key="runs", heading="runs", spare=True),
    Column(key="jobs", heading="jobs"),
    Column(key="misses", heading="misses",
           value=lambda cell: cell.misses if cell.deadline_ns else None),
    Column(key="skipped", heading="skipped", spare=True, help="releases of which no job is marked",
           value=lambda cell: cell.skipped if cell.period_ns else None),
    time_column("p50_ns", "median"),
    time_column("p99_ns", "99 %"),
    time_column("max_ns", "max"),
    Column(key="maxima", heading="max of each run", value=_maxima, raw=False, terminal=False),
    time_column("lateness_ns", "max lateness", terminal=False),
    time_column(
        "wait_max_ns", "latest start", help="from release to the first mark", terminal=False
    ),
)  # fmt: skip


def answer(found: ProgramSummary) -> tuple[str, ...]:
    return (*required.sentences(found.required), *_answer(found))


def _answer(found: ProgramSummary) -> tuple[str, ...]:
    ids = ("program-ended", "ended-early", "stood-still", "another-run", "jobs-lost")
    every = {id: [each.message for each in found.findings if each.id == id] for id in ids}
    *lines, few = (
        [
            f"{capital(text)}{f' ({len(texts)} runs alike)' * (len(texts) > 1)}."
            for text in texts[:1]
        ]
        for texts in every.values()
    )
    said = [line for each in lines for line in each]
    label = "".join(f"{each.capitalize()}: " for each in found.labels)
    if not found.cells:
        if found.traced is None:
            return (*said, "No run that counts has a job.")
        seen = found.traced
        first, *rest = traced.answer(seen, label)
        own = [*kept.answer(found.kept)] if found.kept else []
        # what a signal ended has no verdict
        said, ended = ([*said, *own], []) if found.killed else (own, said)
        if found.kept:
            read = found.kept.windows > found.kept.unread
            first = f"{'The worst window' if read else 'While it learned'}: {first}"
        said += [
            first,
            *few,
            *_runs(found),
            *changes.sentences(found.tried),
            *rest,
            *traced.verdict(seen),
        ]
        said += [twin.sentence(found.agreed, found.spec.twin_of)] * bool(found.spec.twin_of)
        said += [f"Not in it: {f.message}." for f in found.findings if f.id == twin.LACKS]
        last = (f"{capital(line).removesuffix('.')}." for line in traced.lines(seen))
        return (*said, *last, *ended)
    worst = max(found.cells, key=lambda cell: cell.max_ns)
    jobs = sum(cell.jobs for cell in found.cells if cell.deadline_ns)
    misses = sum(cell.misses for cell in found.cells)
    skipped = sum(cell.skipped for cell in found.cells)
    if jobs:
        many = f"{misses:,} of {jobs:,} jobs missed their deadline"
        many += f" ({percent(misses / jobs)})" if misses else ""
        more = f"; {count_of(skipped, 'release')} had no job" if skipped else ""
        said.append(f"{label}{many}{more}.")
        said += traced.unended(found.traced) if found.traced else ()
        said += traced.worst_rule(found.traced) if found.traced and not misses else ()
    else:
        said.append(f"{label}The program states no deadline: give --deadline TIME to count misses.")
    said.append(
        f"The longest response time is {time_text(worst.max_ns)} ({worst.name} on CPU {worst.cpu}),"
        f" a typical one {time_text(worst.p50_ns)}."
    )
    return tuple(said)


def _runs(found: ProgramSummary) -> list[str]:
    """How the runs differ, of which one is shown."""
    if not found.seen or found.tried:
        return []
    many = [each.misses for each in found.seen if each.misses is not None]
    worst = [each.response_max_ns or 0 for each in found.seen]
    place = next((each.run for each in found.seen if each.shown), 0)
    most = f" to {max(many):,}" if len({*many}) > 1 else ""
    spread = f"missed {min(many):,}{most}; " if many else ""
    ends = f"worst responses {time_text(min(worst))} to {time_text(max(worst))}"
    return [
        f"Over {len(found.seen)} runs {found.seen[0].name} {spread}{ends}; shown is run {place}."
    ]


_RUNS = (
    Column(key="run", heading="run"),
    Column(key="name", heading="thread", words=True),
    Column(key="jobs", heading="jobs"),
    Column(key="misses", heading="missed"),
    time_column("response_max_ns", "worst"),
)


def _table(found: ProgramSummary) -> Table:
    note = "Response time: from release to finish; where a program marks no release, from start."
    return Table(
        name="program", columns=COLUMNS, rows=found.cells, terminal=True, title=note, hint=note
    )


def document(found: ProgramSummary, platform: Platform, path: Path) -> Document:
    said, of = answer(found), found.traced
    command = shlex.join(found.spec.command)
    turns = max(5, 2 * found.spec.repeats)
    again = f"deadbeat run --repeats {turns} -- {command}", "how much this moves between runs"
    if of and of.known and not any(task.deadline_ns for task in of.known):
        given = f"deadbeat run --deadline {shlex.quote(traced.offer(of))} -- {command}"
        again = given, "how many jobs took longer"
    if found.spec.twin_of:
        again = f"deadbeat compare {found.spec.twin_of} {found.name}", "the twin and its original"
    if found.required:
        again = f"deadbeat export {found.name} --as evidence --out evidence", "for an assessor"
    missed = of is not None and of.misses > 0 and not found.required
    steps = [(f"deadbeat why {found.name}", "the worst jobs, one by one")] * missed
    steps += [again] * bool(command and not missed and not found.tried)
    best = changes.best_first(found.tried)
    steps = [each.last for each in best if each.last[0]][:1] + steps
    if best and best[0].verdict == "better" and best[0].placings:
        script = f"deadbeat export {found.name} --as chrt --out place.sh"
        steps.insert(1, (script, "does it from outside; --as systemd in a unit"))
    # its command is not known here
    still = [each for each in best if changes.turns_needed(each) and each.name != "version"]
    open_ = {
        f"design:{shown(path)}/{each.name.replace(':', '-')}.toml"
        if each.needs
        else each.name: changes.turns_needed(each)
        for each in still
    }
    if open_ and command:
        turns = max(open_.values()) * found.spec.repeats
        more = f"deadbeat run --try {','.join(open_)} --repeats {turns} -- {command}"
        steps.append((more, "shows misses that differ as here"))
    parts: list[Part] = [Sentence(" ".join(said), answer=True, terminal=True)]
    parts += [*[_table(found)] * bool(found.cells), *seen(found)]
    chains: list[Part] = (
        [Markup(chain_graph(of)), Figures(ages(of.paths))] if of and of.chains else []
    )
    late = traced.late_parts(of) if of else ()
    return Document(
        title=found.name,
        kind="run",
        source="the stored runs",
        labels=found.labels,
        about=f"Trace: {found.spec.trace[0]}"
        if found.spec.trace
        else f"Program: {command or processes(found.spec.pid)}",
        head=machine_facts(attrs.asdict(platform)),
        answer=said,
        picture=required.table(found.required)
        if found.required
        else _table(found)
        if found.cells or not of
        else traced.tasks_table(of, first=True),
        below=_rules(of, found.name) if of else [],
        steps=tuple(steps),
        sections=(
            Section("figures", "When and why jobs were late", (Figures(charts(found)), *late)),
            Section("answer", "Threads and locks", parts, "Threads"),
            *[Section("chains", "Chains", tuple(chains))] * bool(chains),
            *(
                Section("allowed", "What the kernel lets it do", (FactList([*each.items()]),))
                for each in [of.allowed if of else {}]
                if each
            ),
            Section("findings", "What makes this doubtful", (Findings(found.findings),)),
            Section("parameters", "Parameters", (FactList([*flatten(plain_of(found.spec))]),)),
        ),
    )


def _rules(of: traced.TracedProgram, name: str) -> list[str | Table]:
    """The gravest of the broken rules."""
    table = traced.rules_table(of)
    more = f"{len(table.rows) - ROWS} more: deadbeat show {shlex.quote(name)}"
    first = attrs.evolve(table, rows=table.rows[:ROWS])
    return [first, *[more] * (len(table.rows) > ROWS)] if table.rows else []


def seen(found: ProgramSummary) -> list[Table]:
    """What was seen of it, of changes to it, and of its twin."""
    tables = [*kept.tables(found.kept)] if found.kept else []
    tables += [required.table(found.required)] * bool(found.required)
    tables += [changes.table(found.tried)] * bool(found.tried)
    tables += changes.designs(found.tried, found.traced.tasks if found.traced else ())
    title = "Each run"
    by_run = Table(name="runs", columns=_RUNS, rows=found.seen, terminal=True, title=title)
    tables += [by_run] * bool(found.seen and not found.tried)
    tables += [twin.table(found.agreed)] * bool(found.agreed)
    tables += traced.tables(found.traced, found.sharing) if found.traced else []
    return [*{each.name: each for each in reversed(tables)}.values()][::-1]


def tasks(found: ProgramSummary) -> list[dict[str, Json]]:
    """Threads with jobs."""
    if found.traced is None:
        return []
    table = traced.tasks_table(found.traced)
    return [*records(table.columns, table.rows)]


def rows(found: ProgramSummary) -> list[dict[str, Json]]:
    return [
        {"task": cell.task, **{c.key: c.of(cell) for c in COLUMNS if c.raw}}
        | {"maxima_ns": list(cell.maxima_ns)}
        for cell in found.cells
    ]


def summary_dict(found: ProgramSummary, store: ProgramStore) -> dict[str, Json]:
    return {
        "name": found.name,
        "path": str(store.path),
        "command": list(found.spec.command),
        "planned": found.spec.repeats,
        "done": found.done,
        "seconds": found.seconds,
        "status": found.status,
        "labels": list(found.labels),
        "rows": rows(found),
        "twin": [{**attrs.asdict(each), "ratio": each.ratio} for each in found.agreed],
        "requirements": required.plain(found.required),
        "kept": attrs.asdict(found.kept) if found.kept else None,
        "tried": [comparison.plain(each, placed=False) for each in found.tried],
        **traced.plain(found.traced or traced.NOTHING, found.sharing),
        "report": str(store.path / REPORT_FILE),
    }
