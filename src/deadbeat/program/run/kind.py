"""What is shown of the folder of a measured program."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from attrs import evolve

from deadbeat.base.kinds.shown import Shown
from deadbeat.base.kinds.table import TableKind
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.specification import read
from deadbeat.base.model.systems import TaskSystem
from deadbeat.base.model.words import count_of, time_text
from deadbeat.base.report.document import csv_of
from deadbeat.base.report.machines import Verdicted
from deadbeat.program.derive.ages import ages_of
from deadbeat.program.derive.rules import RULES
from deadbeat.program.derive.system import reduced
from deadbeat.program.run import kept, required
from deadbeat.program.run.begin import begin
from deadbeat.program.run.designed import design_text
from deadbeat.program.run.document import (
    COLUMNS,
    answer,
    document,
    rows,
    seen,
    summary_dict,
    tasks,
)
from deadbeat.program.run.exported import perfetto
from deadbeat.program.run.observe import COMPARABLE
from deadbeat.program.run.results import (
    FOLDERS,
    ProgramStore,
    ProgramSummary,
    summarise,
)
from deadbeat.program.run.spec import ProgramSpec
from deadbeat.program.run.traced import TracedProgram, worst_jobs
from deadbeat.program.run.tried import summarised


def cases(found: ProgramSummary) -> list[Verdicted]:
    """Whether tasks with a deadline kept it: those that are marked, else those that were seen."""
    known = found.cells or (found.traced.known if found.traced else ())
    rules = found.traced.rules if found.traced else ()
    return (
        [
            Verdicted(
                name=f"{each.rule}:{each.thread}",
                group="program.rules",
                weight=each.jobs,
                verdict="passed" if each.accepted else "failed",
                message=f"{each.thread} {RULES[each.rule].title} in {count_of(each.jobs, 'job')}",
            )
            for each in rules
        ]
        + [
            Verdicted(
                name=task.name,
                group="program.misses",
                weight=task.misses or 0,
                verdict="failed" if task.misses else "passed",
                message=f"{task.misses or 0:,} of {task.jobs:,} jobs, allowed: 0",
            )
            for task in known
            if task.deadline_ns
        ]
        + [
            Verdicted(
                name=f"{task.name}, its last job",
                group="program.misses",
                verdict="undecided",
                message=f"{task.name} {task.unended}",
            )
            for task in (found.traced.known if found.traced else ())
            if task.unended
        ]
        + [*_data(found.traced), *required.cases(found.required)]
    )


def _data(found: TracedProgram | None) -> Iterator[Verdicted]:
    """Whether data were young enough; of what no link was seen it is not known."""
    if found is None:
        return
    for (last, first), allowed in ages_of(found.ages).items():
        mine = [each for each in found.paths if (each.tasks[-1], each.tasks[0]) == (last, first)]
        misses, jobs = (sum(getattr(e, name) or 0 for e in mine) for name in ("misses", "jobs"))
        known = mine and not any(each.at_least or each.unknown for each in mine)
        older = f"data older than {time_text(allowed)} in {misses:,} of {count_of(jobs, 'job')}"
        yield Verdicted(
            name=f"{last}<-{first}",
            group="program.misses",
            weight=misses,
            verdict="failed" if misses else "passed" if known else "undecided",
            message=older if mine else "no link was seen",
        )


_TABLE = TableKind(
    name="run",
    folders=FOLDERS,
    comparable=COMPARABLE,
    summarise=summarised,
    answer=answer,
    document=lambda found, store: document(found, store.platform, store.path),
    plain=summary_dict,
    rows=lambda found: kept.rows(found.kept) or rows(found) or tasks(found),
    columns=COLUMNS,
    files=lambda found: {
        **{each.name + ".csv": csv_of(each.columns, each.rows) for each in seen(found)},
        **{
            f"{each.name.replace(':', '-')}.toml": design_text(each.name, design)
            for each in found.tried
            if (design := each.design)
        },
    },
    cases=cases,
    empty=lambda found: not found.cells and found.traced is None and not found.required,
    judged=lambda found, store: {"status": found.status},
)


def _why(path: Path, worst: int) -> Shown:
    """Why jobs were late, one by one."""
    store = ProgramStore.open(path)
    if read(ProgramSpec, store.spec).keep:
        return evolve(_TABLE.show(path), lines=kept.late_lines([*store.runs()], worst))
    found = summarise(store).traced
    lines = worst_jobs(found, worst) if found else ("No job of a run that counts was traced.",)
    return evolve(_TABLE.show(path), lines=lines)


def task_system(path: Path) -> tuple[TaskSystem, tuple[str, ...]]:
    """The task set of a result as a schedulability test takes it, and what was done to it.
    Raises UsageError: no job was traced."""
    found = summarise(ProgramStore.open(path)).traced
    if found is None:
        raise UsageError(f"{path.name} has no traced job", "deadbeat run -- ./program")
    less = reduced(found, name=path.name)
    return less.system, (*less.lines, *less.unproved)


KIND = _TABLE.kind(begin, keys=("task", "name"), why=_why, perfetto=perfetto)
