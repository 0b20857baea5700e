"""Versions of a program beside each other: a cell is a task, by name; a run is an observation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from operator import attrgetter
from pathlib import Path

from attrs import evolve, field, frozen

from deadbeat.derive.tasks import DerivedTask
from deadbeat.kinds.observed import tables_of
from deadbeat.kinds.program.results import FOLDERS, ProgramRun, ProgramStore, summarise
from deadbeat.model.comparison import Aligned, Comparable, ComparedLook, Lineup, Subject, Vocabulary
from deadbeat.model.observations import Cell, Metric, Observation, Observations


@frozen(kw_only=True)
class SeenTask:
    """A thread of a run, which was traced for ``seconds``."""

    task: DerivedTask
    seconds: float


METRICS = (
    Metric(
        name="deadline_miss_ratio",
        title="Deadline miss ratio",
        text="miss ratio",
        unit="share",
        minimum=0.005,
        log=False,
        rare=True,
        cellwise=True,
        of=lambda seen: None if seen.task.misses is None else seen.task.misses / seen.task.jobs,
    ),
    *(
        Metric(name=name, title=title, text=text, unit="ns", minimum=0.05, cellwise=True, of=of)
        for name, title, text, of in (
            (
                *("response_max", "Longest response time", "longest response"),
                attrgetter("task.response_max_ns"),
            ),
            ("c_mean", "Mean execution time", "mean C", attrgetter("task.c_mean_ns")),
            ("c_max", "Longest execution time", "longest C", attrgetter("task.c_max_ns")),
            (
                *("section_max", "Longest section of a lock", "longest section"),
                lambda seen: max((each.max_ns for each in seen.task.sections), default=None),
            ),
        )
    ),
    Metric(
        name="jobs",
        title="Jobs per second",
        text="jobs per second",
        minimum=0.01,
        higher_is_better=True,
        cellwise=True,
        of=lambda seen: seen.task.jobs / seen.seconds if seen.seconds else None,
    ),
)
WORDS = Vocabulary(
    results="measured programs",
    one="measured program",
    find_lost="see which runs are invalid, and why (deadbeat show)",
    lost="of the jobs were lost",
    rare="more --repeats, or longer runs (--duration), would show more",
)


@frozen(kw_only=True)
class ComparedProgram(Subject):
    runs: tuple[ProgramRun, ...] = field(repr=False)


def read_program(path: Path) -> ComparedProgram:
    store = ProgramStore.open(path)
    return _side(store, [*store.runs()], "")


def read_turns(path: Path) -> tuple[ComparedProgram, ...]:
    """The original, and each change that was tried in turns with it."""
    store = ProgramStore.open(path)
    every = [*store.runs()]
    changes = dict.fromkeys(["", *(run.key.change for run in every)])
    return tuple(evolve(_side(store, every, change), turns=str(path)) for change in changes)


def _side(store: ProgramStore, every: Iterable[ProgramRun], change: str) -> ComparedProgram:
    asked = {key: store.spec.get(key) for key in ("deadline", "period", "duration")}
    labels = summarise(store).labels
    mine = [run for run in every if run.key.change == change]
    runs = tuple(run for run in mine if run.valid)
    whole = FOLDERS.subject(ComparedProgram, store, settings=asked, labels=labels, runs=runs)
    name, place = (f"{text}{f':{change}' * bool(change)}" for text in (whole.name, whole.path))
    return evolve(
        whole,
        name=name,
        path=place,
        counted=len(runs),
        stored=len(mine),
        commit=str(store.facts.get("commit", "")),
    )


def align(lineup: Lineup) -> Aligned:
    """Programs with a task in common."""
    tables = [
        Observations(name=each.name, rows=(row for run in each.runs for row in observe(run)))
        for each in lineup.every
    ]
    cure = "name the threads alike (pthread_setname_np)"
    return Aligned(tables=tables_of(tables, "task", cure))


def observe(run: ProgramRun) -> Iterator[Observation]:
    """Figures of each task by metric; what it marks itself goes before what was seen."""
    found: dict[tuple[str, str], float | None] = {}
    counted: dict[str, int] = {}
    seconds = run.traced.seconds if run.traced else 0
    for task in run.traced.known if run.traced else ():
        counted[task.name] = task.jobs
        seen = SeenTask(task=task, seconds=seconds)
        found |= {(task.name, metric.name): metric.of(seen) for metric in METRICS}
    for name in {task.name for task in run.tasks}:
        mine = [task for task in run.tasks if task.name == name and task.response.total]
        jobs = sum(task.response.total for task in mine if task.deadline_ns)
        counted[name] = jobs
        found[name, METRICS[0].name] = sum(t.misses for t in mine) / jobs if jobs else None
        found[name, METRICS[1].name] = max((t.response.max_ns or 0 for t in mine), default=None)
    at = datetime.fromisoformat(run.started).timestamp() if run.started else None
    block = f"{run.key.repeat:04d}"
    for (name, metric), value in found.items():
        row, cell = f"{block} {name}", Cell(name)
        yield Observation(
            run=row, cell=cell, block=block, metric=metric, value=value,
            trials=counted.get(name, 0), at=at,
        )  # fmt: skip


COMPARABLE = Comparable(
    of="program",
    noun=ProgramStore.NOUN,
    words=WORDS,
    look=ComparedLook(called="Programs", groups=("By task", "task")),
    metrics=METRICS,
    read=read_program,
    changes=read_turns,
    align=align,
)
