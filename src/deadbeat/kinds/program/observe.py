"""Versions of a program beside each other: a cell is a task, by name; a run is an observation."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from attrs import field, frozen

from deadbeat.kinds.program.results import FOLDERS, ProgramRun, ProgramStore, summarise
from deadbeat.model.comparison import Aligned, Comparable, ComparedLook, Lineup, Subject, Vocabulary
from deadbeat.model.errors import UsageError
from deadbeat.model.observations import Cell, Metric, Observation, Observations

METRICS = (
    Metric(name="deadline_miss_ratio", title="Deadline miss ratio", text="miss ratio",
           unit="share", minimum=0.005, log=False, rare=True),
    *(
        Metric(name=name, title=title, text=text, unit="ns", minimum=0.05)
        for name, title, text in (
            ("response_max", "Longest response time", "longest response"),
            ("c_mean", "Mean execution time", "mean C"),
            ("c_max", "Longest execution time", "longest C"),
            ("section_max", "Longest section of a lock", "longest section"),
        )
    ),
    Metric(name="jobs", title="Jobs per second", text="jobs per second", minimum=0.01,
           higher_is_better=True),
)  # fmt: skip


@frozen(kw_only=True)
class ComparedProgram(Subject):
    runs: tuple[ProgramRun, ...] = field(repr=False)


def read_program(path: Path) -> ComparedProgram:
    store = ProgramStore.open(path)
    found = summarise(store)
    spec = found.spec
    return FOLDERS.subject(
        ComparedProgram,
        store,
        settings={
            "deadline": ", ".join(f"{name or 'all'}: {ns} ns" for name, ns in spec.deadline),
            "period": spec.period,
            "duration": spec.duration,
        },
        labels=found.labels,
        runs=tuple(run for run in store.runs() if run.valid),
    )


def align(lineup: Lineup) -> Aligned:
    """Programs with a task in common."""
    tables = tuple(map(observe, lineup.every))
    for table in tables[1:]:
        if not {*tables[0].cells} & {*table.cells}:
            raise UsageError(
                f"{tables[0].name} and {table.name} have no task in common",
                "name the threads alike (pthread_setname_np)",
            )
    return Aligned(tables=tables)


def observe(program: ComparedProgram) -> Observations:
    rows = (row for run in program.runs for row in _rows(run))
    return Observations(name=program.name, rows=rows)


def _rows(run: ProgramRun) -> Iterator[Observation]:
    at = datetime.fromisoformat(run.started).timestamp() if run.started else None
    for (task, metric), value in _values(run).items():
        yield Observation(
            run=f"{run.key.text} {task}",
            cell=Cell(task),
            block=run.key.text,
            metric=metric,
            value=value,
            at=at,
        )


def _values(run: ProgramRun) -> dict[tuple[str, str], float | None]:
    """What was seen of each task, by metric; what it marks itself goes before."""
    found: dict[tuple[str, str], float | None] = {}
    for task in run.traced.known if run.traced else ():
        missed = None if task.misses is None else task.misses / task.jobs
        longest = max((each.max_ns for each in task.sections), default=None)
        rate = task.jobs / run.seconds if run.seconds else None
        values = (missed, task.response_max_ns, task.c_mean_ns, task.c_max_ns, longest, rate)
        found |= {(task.name, m.name): v for m, v in zip(METRICS, values, strict=True)}
    for name in {task.name for task in run.tasks}:
        mine = [task for task in run.tasks if task.name == name and task.response.total]
        jobs = sum(task.response.total for task in mine if task.deadline_ns)
        missed = sum(task.misses for task in mine) / jobs if jobs else None
        found[name, METRICS[0].name] = missed
        found[name, METRICS[1].name] = max((t.response.max_ns or 0 for t in mine), default=None)
    return found


COMPARABLE = Comparable(
    of="program",
    noun=ProgramStore.NOUN,
    words=Vocabulary(
        results="measured programs",
        one="measured program",
        find_lost="see which runs are invalid, and why (deadbeat show)",
        lost="of the jobs were lost",
        rare="more --repeats, or longer runs (--duration), would show more",
    ),
    look=ComparedLook(called="Programs", groups=("By task", "task")),
    metrics=METRICS,
    read=read_program,
    align=align,
)
