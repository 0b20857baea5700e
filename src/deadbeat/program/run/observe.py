"""Versions of a program beside each other: a cell is a task, by name; a run is an observation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from deadbeat.base.kinds.observed import tables_of
from deadbeat.base.model.comparison import (
    Aligned,
    Comparable,
    ComparedLook,
    Lineup,
    Vocabulary,
)
from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.observations import (
    MISS_RATIO,
    Cell,
    Metric,
    Observation,
    Observations,
)
from deadbeat.program.derive.tasks import DerivedTask
from deadbeat.program.run.kept import as_watched, kept_of
from deadbeat.program.run.results import (
    FOLDERS,
    ComparedProgram,
    ProgramRun,
    ProgramStore,
    TaskRun,
    summarise,
)


@frozen(kw_only=True)
class SeenTask:
    """A thread of a run, as it was traced for ``seconds`` (None: it was not), and what it marked
    itself, which goes before what was seen."""

    task: DerivedTask | None
    marks: Sequence[TaskRun]
    seconds: float

    @property
    def jobs(self) -> int:
        """Jobs that have a deadline."""
        if self.marks:
            return sum(each.response.total for each in self.marks if each.deadline_ns)
        return self.task.jobs if self.task else 0

    @property
    def miss_ratio(self) -> float | None:
        if self.marks:
            missed: int | None = sum(each.misses for each in self.marks)
        else:
            missed = self.task.misses if self.task else None
        return missed / self.jobs if missed is not None and self.jobs else None

    @property
    def response_max_ns(self) -> float | None:
        if self.marks:
            known = (each.response.max_ns or 0 for each in self.marks if each.response.total)
            return max(known, default=None)
        return self.task.response_max_ns if self.task else None


def _traced(of: Callable[[DerivedTask], float | None]) -> Callable[[SeenTask], float | None]:
    return lambda seen: of(seen.task) if seen.task else None


METRICS = (
    evolve(MISS_RATIO, cellwise=True, of=attrgetter("miss_ratio")),
    *(
        Metric(name=name, title=title, text=text, unit="ns", minimum=0.05, cellwise=True, of=of)
        for name, title, text, of in (
            (
                *("response_max", "Longest response time", "longest response"),
                attrgetter("response_max_ns"),
            ),
            ("c_mean", "Mean execution time", "mean C", _traced(attrgetter("c_mean_ns"))),
            ("c_max", "Longest execution time", "longest C", _traced(attrgetter("c_max_ns"))),
            (
                *("section_max", "Longest section of a lock", "longest section"),
                _traced(lambda task: max((each.max_ns for each in task.sections), default=None)),
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
        of=lambda seen: seen.task.jobs / seen.seconds if seen.task and seen.seconds else None,
    ),
)
#: Metrics that a thread has which marks its jobs, also where it had none.
_MARKED = ("deadline_miss_ratio", "response_max")
WORDS = Vocabulary(
    results="measured programs",
    one="measured program",
    find_lost="see which runs are invalid, and why (deadbeat show)",
    lost="of the jobs were lost",
    rare="more --repeats, or longer runs (--duration), would show more",
)
_LONGER = "record longer, import it again"
ELSEWHERE_WORDS = evolve(
    WORDS,
    once_more="record the baseline once more, import it, and name it with --aa",
    more="runs (--repeats of deadbeat run: an import is one run)",
    rare=_LONGER,
    finish=_LONGER,
)


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
    counts = kept_of(store, ())
    keys = ("deadline", "period") if counts else ("deadline", "period", "duration")
    asked = {key: store.spec.get(key) for key in keys}
    labels = summarise(store).labels
    mine = [run for run in every if run.key.change == change]
    runs = tuple(run for run in mine if run.valid)
    runs = as_watched(counts, runs) if counts else runs
    whole = FOLDERS.subject(ComparedProgram, store, settings=asked, labels=labels, runs=runs)
    name, place = (f"{text}{f':{change}' * bool(change)}" for text in (whole.name, whole.path))
    return evolve(
        whole,
        name=name,
        path=place,
        counted=len(runs),
        stored=len(runs) if counts else len(mine),
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
    """Figures of each task by metric."""
    traced = {task.name: task for task in (run.traced.known if run.traced else ())}
    marks = grouped(run.tasks, attrgetter("name"))
    seconds = run.traced.seconds if run.traced else 0
    at = datetime.fromisoformat(run.started).timestamp() if run.started else None
    block = f"{run.key.repeat:04d}"
    for name in {**traced, **marks}:
        seen = SeenTask(task=traced.get(name), marks=marks.get(name, ()), seconds=seconds)
        for metric in METRICS:
            value = metric.of(seen)
            yield Observation(
                run=f"{block} {name}",
                cell=Cell(name),
                block=block,
                metric=metric.name,
                value=value,
                trials=seen.jobs,
                at=at,
                seen=value is not None or (bool(seen.marks) and metric.name in _MARKED),
            )


def _overlays(subjects: Sequence[ComparedProgram], _levels: int | None) -> list[Any]:
    from deadbeat.program.run.charts import overlaid  # noqa: PLC0415  heavy

    return overlaid(subjects)


COMPARABLE = Comparable(
    of="program",
    noun=ProgramStore.NOUN,
    words=WORDS,
    elsewhere_words=ELSEWHERE_WORDS,
    look=ComparedLook(called="Programs", groups=("By task", "task")),
    metrics=METRICS,
    read=read_program,
    changes=read_turns,
    align=align,
    overlays=_overlays,
)
