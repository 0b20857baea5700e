"""What the runs of a program showed, and where that is stored."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from attrs import asdict, evolve, field, frozen
from cattrs import Converter
from cattrs.gen import make_dict_structure_fn
from numpy.typing import NDArray

from deadbeat.base.experiment.columns import Columns
from deadbeat.base.experiment.folders import RunFolders
from deadbeat.base.model.comparison import Subject
from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.base.model.finding import Finding
from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.histogram import Histogram, pool
from deadbeat.base.model.run import StoredRun
from deadbeat.base.model.specification import read
from deadbeat.base.model.words import LABELLED, Json, loud, shown
from deadbeat.base.store.arrays import read_columns, write_columns
from deadbeat.base.store.files import output_file
from deadbeat.base.store.place import PROGRAM
from deadbeat.base.store.runfolder import RunFolder, run_converter
from deadbeat.machine.targets.marks import Marks, skipped
from deadbeat.program.derive.broken import BrokenRule
from deadbeat.program.derive.records import RECORD, RecordedThread, Recording
from deadbeat.program.derive.rules import RULES
from deadbeat.program.derive.tasks import DerivedRun, jobs_table
from deadbeat.program.derive.timeline import kept
from deadbeat.program.run.attempts import read_facts
from deadbeat.program.run.required import CountedRun, Required, judged
from deadbeat.program.run.spec import ProgramSpec
from deadbeat.program.run.traced import TracedProgram, worst_task
from deadbeat.program.run.tries import ProgramChange, Tried
from deadbeat.program.run.twin import Agreed, agreed


@frozen(order=True)
class ProgramKey:
    """``change``: what is tried in the run; "": the original runs."""

    repeat: int
    change: str = ""

    @property
    def text(self) -> str:
        return f"{self.repeat:04d}" + f"-{self.change}".replace(":", "_") * bool(self.change)

    @classmethod
    def parse(cls, text: str) -> ProgramKey:
        number, dash, change = text.partition("-")
        if not (number.isascii() and number.isdigit()) or bool(dash) != bool(change):
            raise UsageError(f"{shown(text)} names no run", "a run is called 0001 or 0001-pin")
        return cls(int(number), change.replace("_", ":"))


@frozen(kw_only=True)
class TaskRun:
    """Jobs of a task on a CPU in one run. ``period_ns``, ``deadline_ns``: 0: not known, and then
    nothing is missed or skipped. ``response``: from release to finish; ``wait``: from release to
    the mark that it has begun. ``misses``: jobs that finished after their deadline. ``skipped``:
    releases of which no job is marked, before a job here."""

    task: int
    name: str
    cpu: int
    period_ns: int
    deadline_ns: int
    response: Histogram
    wait: Histogram
    misses: int
    skipped: int


@frozen(kw_only=True)
class ProgramRun(StoredRun):
    """``tasks``: what it marked; ``traced``: what was seen of it. Of the first run where changes
    are tried, ``changes``: it, then those that apply; ``unfit``: why others do not; ``lacks``: why
    nothing is predicted. ``killed``: processes that a signal ended while it was watched. Of what a
    keeper kept, ``missed_at``: when, and how many ``misses`` it is of. ``required``: what it
    showed of requirements; ``broken_off``: runs before it that left nothing."""

    key: ProgramKey
    seconds: float
    status: int | None
    tasks: tuple[TaskRun, ...]
    traced: TracedProgram | None = None
    changes: tuple[ProgramChange, ...] = ()
    unfit: dict[str, str] = field(factory=dict)
    lacks: tuple[str, ...] = ()
    killed: int = 0
    missed_at: str = ""
    misses: int = 0
    required: tuple[CountedRun, ...] = ()
    broken_off: int = 0


@frozen(kw_only=True)
class ComparedProgram(Subject):
    runs: tuple[ProgramRun, ...] = field(repr=False)


_BY_NUMBER = ("calls", "symbols", "names", "maps")
#: Of the time of a run, in a picture of its jobs.
_STRETCHES = 200
#: Price lists of other results: loaded by name.
PRICES = "deadbeat.tasksets.prices.sharing"
#: Label of what was imported.
ELSEWHERE = "recorded elsewhere"
_EVENTS_HINT = "delete the file: the run is then without its events"


def _converter() -> Converter:
    """Reads runs of earlier versions, too, which had times from end to end in place of ages."""
    made = run_converter(ProgramKey)
    plain = make_dict_structure_fn(TracedProgram, made)

    def structured(value: Mapping[str, Json], of: type[TracedProgram]) -> TracedProgram:
        return plain({k: v for k, v in value.items() if k != "end_to_end"}, of)

    made.register_structure_hook(TracedProgram, structured)
    return made


class ProgramStore(RunFolder[ProgramKey, ProgramRun]):
    """``events/KEY.npz``: what was recorded of a run, compressed; ``jobs/KEY.npz``: its jobs."""

    KIND, NOUN, HEAD = "program", PROGRAM.noun, PROGRAM.file
    KEY, RUN = ProgramKey, ProgramRun
    CONVERTER = _converter()
    FOLDERS = (*RunFolder.FOLDERS, "events", "jobs", "output", "kept")

    def keep_events(self, key: ProgramKey, recording: Recording) -> None:
        self._keep(self._events(key), recording)

    def keep_unseen(self, key: ProgramKey, recording: Recording) -> None:
        """What was recorded of a run, until it is looked at."""
        self._keep(self._unseen(key), recording)

    def unseen(self, key: ProgramKey) -> Recording | None:
        return self._read_events(self._unseen(key))

    def forget_unseen(self, key: ProgramKey) -> None:
        self._unseen(key).unlink(missing_ok=True)

    def _keep(self, path: Path, recording: Recording) -> None:
        events, facts = recording.events, asdict(recording, filter=lambda a, _: a.name != "events")
        facts |= {name: [*facts[name].items()] for name in _BY_NUMBER}
        columns = {name: events[name] for name in RECORD.names or ()}
        columns["ns"] = np.diff(events["ns"], prepend=np.uint64(0))  # small numbers
        columns["facts"] = np.frombuffer(json.dumps(facts).encode(), np.uint8)
        with self.lock():
            write_columns(path, columns)

    def events(self, key: ProgramKey) -> Recording | None:
        """What was recorded of a run; None: nothing is kept. Raises DataError: it is damaged."""
        return self._read_events(self._events(key))

    def _read_events(self, path: Path) -> Recording | None:
        if not path.is_file():
            return None
        columns = read_columns(path, what="events", hint=_EVENTS_HINT)
        try:
            facts = json.loads(columns.pop("facts").tobytes())
            for name in ("threads", "beside"):
                threads = [{**each, "cpus": tuple(each["cpus"])} for each in facts.get(name, ())]
                facts[name] = tuple(RecordedThread(**each) for each in threads)
            facts |= {n: tuple(facts.get(n, ())) for n in ("not_seen", "event_ns", "throttled")}
            for name in ("gaps", "files", "sockets"):
                facts[name] = tuple(tuple(each) for each in facts.get(name, ()))
            facts |= {name: dict(facts.get(name, ())) for name in _BY_NUMBER}
            columns["ns"] = np.cumsum(columns["ns"], dtype=np.uint64)
            events = np.zeros(len(columns["ns"]), RECORD)
            for name in RECORD.names or ():
                events[name] = columns[name]
            return Recording(events=events, **facts)
        except (ValueError, TypeError, KeyError) as error:
            raise DataError(f"events {path} are damaged: {error!s:.80}", _EVENTS_HINT) from error

    def keep_seen(
        self, key: ProgramKey, recording: Recording, derived: DerivedRun, seen: TracedProgram
    ) -> list[Finding]:
        """What was recorded of a run, around its worst job, and all jobs; says what is cut."""
        worst = min((-each.response_ns, each.at_ns) for each in seen.late) if seen.late else (0, 0)
        part, count = kept(recording, worst[1]), len(recording.events)
        self.keep_events(key, part)
        with self.lock():
            write_columns(self.path / "jobs" / f"{key.text}.npz", jobs_table(derived))
        text = f"{len(part.events):,} of {count:,} events are kept, around the worst job"
        cut = Finding(id="events-cut", severity="info", message=text)
        return [cut] * (len(part.events) < count)

    def every_job(self) -> Columns:
        """Every job of the runs as they are, as `program.derive.tasks.jobs_table` has them, behind
        the number of its run. Raises DataError: a file of them is damaged."""
        parts = []
        for key in sorted(key for key in self.committed() if not key.change):
            path = self.path / "jobs" / f"{key.text}.npz"
            if path.is_file():
                found = read_columns(path, what="jobs", hint="delete the file")
                if found:
                    count = len(next(iter(found.values())))
                    parts.append({"run": np.repeat(key.repeat, count), **found})
        names = list(parts[0]) if parts else []
        return Columns({name: np.concatenate([each[name] for each in parts]) for name in names})

    def output(self, key: ProgramKey) -> BinaryIO:
        """File for what a program writes in a run."""
        return output_file(self._output(key))

    def last_words(self, key: ProgramKey) -> str:
        """Last line of it; "": there is none."""
        path = self._output(key)
        lines = path.read_text(errors="replace").split("\n") if path.is_file() else []
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def _output(self, key: ProgramKey) -> Path:
        return self.path / "output" / f"{key.text}.txt"

    def _events(self, key: ProgramKey) -> Path:
        return self.path / "events" / f"{key.text}.npz"

    def _unseen(self, key: ProgramKey) -> Path:
        return self.path / "events" / f"{key.text}-unseen.npz"


def shell_status(status: int) -> int:
    """An exit status as a shell has it."""
    return 128 - status if status < 0 else status


FIRST = ProgramKey(1)


def plan(spec: ProgramSpec, changes: Sequence[ProgramChange] = ()) -> list[ProgramKey]:
    """Runs in turns, each in an order of its own; before the first run its ``changes`` are not
    known."""
    if spec.tries and not changes:
        return [FIRST]
    names = [each.name for each in changes] or [""]
    keys = []
    for repeat in range(1, spec.repeats + 1):
        turn = [ProgramKey(repeat, name) for name in names]
        random.Random(f"{spec.name} {repeat}").shuffle(turn)
        keys += turn
    return sorted(keys, key=lambda key: key != FIRST)


def planned(store: ProgramStore) -> list[ProgramKey]:
    spec = read(ProgramSpec, store.spec)
    if spec.keep:
        return sorted(store.committed()) or [FIRST]
    if spec.requirement:
        runs = list(store.runs())
        last = max((run.key.repeat for run in runs), default=0)
        left = runs_left(spec, required_of(store, runs), runs)
        return [*sorted(store.committed()), *map(ProgramKey, range(last + 1, last + 1 + left))]
    known = bool(spec.tries) and FIRST in store.committed()
    return plan(spec, store.load(FIRST).changes if known else ())


FOLDERS = RunFolders(
    kind=PROGRAM, store=ProgramStore, read=partial(read, ProgramSpec), planned=planned
)


def required_of(store: ProgramStore, runs: Sequence[ProgramRun]) -> tuple[Required, ...]:
    """Its requirements, judged over all ``runs`` that count and earlier attempts."""
    wanted = read(ProgramSpec, store.spec).requirement
    if not wanted:
        return ()
    _, before = read_facts(store.facts)
    off = max((run.broken_off for run in runs), default=0)
    before = {key: evolve(each, broken_off=each.broken_off + off) for key, each in before.items()}
    proof: Any = store.facts.get("proof", ())
    bad = next((each for each in proof if each["passed"] is False), None)
    doubt = f"the self-test of deadbeat failed: {bad['words']}" if bad else ""
    return judged(wanted, [run.required for run in runs if run.valid], before, doubt)


#: Runs go on until this many times what a decision takes at half of the allowed late jobs.
_TIMES_HALF = 3


def runs_left(spec: ProgramSpec, found: Sequence[Required], runs: Sequence[ProgramRun]) -> int:
    """How many runs more decide all that can be, if it goes on so; 0: none is to follow."""
    if not runs:
        return 1
    each_s, seconds = spec.duration or 1, sum(run.seconds for run in runs)
    half_s = max((each.half_s for each in found), default=0.0)
    most_s = max(_TIMES_HALF * half_s, 2 * each_s)
    left_s = max((each.needed_s for each in found if each.needed_s is not None), default=0.0)
    left = math.ceil(max(min(left_s, most_s - seconds), 0) / each_s)
    return max(min(left, spec.repeats - len(runs)), 0)


def tasks_of(marks: Marks, spec: ProgramSpec) -> tuple[TaskRun, ...]:
    found = []
    for task in marks.tasks:
        jobs = marks.jobs(task)
        period = task.period_ns if spec.period is None else spec.period
        deadline = spec.deadline_of(task.name, task.deadline_ns) or period
        release, start, finish = (
            jobs[name].astype(np.int64) for name in ("release", "start", "finish")
        )
        response, wait = finish - release, np.maximum(start - release, 0)
        left_out = skipped(release, period)
        missed = response > deadline if deadline else np.zeros(len(jobs), bool)
        for cpu in np.unique(jobs["cpu"]).tolist():
            here = jobs["cpu"] == cpu
            found.append(
                TaskRun(
                    task=task.number,
                    name=task.name,
                    cpu=cpu,
                    period_ns=period,
                    deadline_ns=deadline,
                    response=Histogram.of(response[here]),
                    wait=Histogram.of(wait[here]),
                    misses=int(missed[here].sum()),
                    skipped=int(left_out[here].sum()),
                )
            )
    return tuple(found)


@frozen(kw_only=True)
class ProgramCell:
    """A task on a CPU, all runs pooled; ``maxima_ns``: per run."""

    task: int
    name: str
    cpu: int
    period_ns: int
    deadline_ns: int
    runs: int
    jobs: int
    misses: int
    skipped: int
    p50_ns: int
    p99_ns: int
    max_ns: int
    wait_max_ns: int
    maxima_ns: tuple[int, ...]
    response: Histogram

    @property
    def lateness_ns(self) -> int | None:
        """The greatest; negative: the closest job still met its deadline."""
        return self.max_ns - self.deadline_ns if self.deadline_ns else None


@frozen(kw_only=True)
class SeenRun:
    """What a thread did in one run; ``shown``: the answer is of this one."""

    run: int
    name: str
    jobs: int
    misses: int | None
    response_max_ns: int | None
    shown: bool


@frozen(kw_only=True)
class ThreadResponses:
    """Response times of a thread that was seen, in the run of ``traced``; ``deadline_ns``: 0: not
    known. ``over_time``: s since the run's begin, ns, whether it was late; the longest of
    each stretch, of those in time and of late ones."""

    name: str
    deadline_ns: int
    response: Histogram
    over_time: tuple[tuple[float, int, bool], ...] = ()


@frozen(kw_only=True)
class ProgramSummary:
    """What is known of a program. ``status``: its first exit status that is not 0, as a shell has
    it. ``traced``: of the run that missed most deadlines, but rules of all; None: no run has jobs.
    ``sharing``: protocol of a lock -> what sharing one costs an operation, ns. ``tried``: what
    changes did; ``agreed``: how it compares with the program that it is the twin of;
    ``kept``: as of `program.run.kept`, where it is watched for days; ``required``: requirements;
    ``killed``: a signal ended it, or a process of it."""

    name: str
    spec: ProgramSpec
    done: int
    seconds: float
    labels: tuple[str, ...]
    findings: tuple[Finding, ...]
    cells: tuple[ProgramCell, ...]
    status: int = 0
    traced: TracedProgram | None = None
    responses: tuple[ThreadResponses, ...] = ()
    seen: tuple[SeenRun, ...] = ()
    sharing: Mapping[str, float] = field(factory=dict)
    tried: tuple[Tried, ...] = ()
    agreed: tuple[Agreed, ...] = ()
    kept: Any = None
    required: tuple[Required, ...] = ()
    killed: bool = False


def originals(runs: Iterable[ProgramRun]) -> list[ProgramRun]:
    """Runs in which nothing was changed."""
    return [run for run in runs if not run.key.change]


def worst_run(store: ProgramStore) -> ProgramRun | None:
    """The one that missed most deadlines, of those that count and have jobs; windows first."""
    runs = (r for r in originals(store.runs()) if r.valid and r.traced and r.traced.known)
    return max(
        runs, key=lambda r: (bool(r.missed_at), r.traced.misses if r.traced else 0), default=None
    )


def _seen(runs: Sequence[ProgramRun], worst: ProgramRun) -> Iterator[SeenRun]:
    """The thread that is worst in ``worst``, in every run."""
    task = worst_task(worst.traced) if worst.traced else None
    name = task.name if task else ""
    for run in runs:
        for mine in run.traced.known if run.traced and run.valid else ():
            if mine.name == name:
                yield SeenRun(
                    run=run.key.repeat,
                    name=name,
                    jobs=mine.jobs,
                    misses=mine.misses,
                    response_max_ns=mine.response_max_ns,
                    shown=run.key == worst.key,
                )


def _responses(store: ProgramStore, worst: ProgramRun) -> tuple[ThreadResponses, ...]:
    jobs, found = store.every_job(), []
    for task in worst.traced.known if jobs and worst.traced else ():
        mine = (jobs["run"] == worst.key.repeat) & (jobs["thread"] == task.name)
        at, took, late = (jobs[name][mine] for name in ("release_ns", "response_ns", "late"))
        found.append(
            ThreadResponses(
                name=task.name,
                deadline_ns=task.deadline_ns or 0,
                response=Histogram.of(np.maximum(took, 0)),
                over_time=tuple(_over_time(at, took, late)),
            )
        )
    return tuple(found)


def _over_time(
    at: NDArray[Any], took: NDArray[Any], late: NDArray[Any]
) -> Iterator[tuple[float, int, bool]]:
    stretch = (at - at.min(initial=0)) * _STRETCHES // (np.ptp(at) + 1 if len(at) else 1)
    order = np.lexsort((-took, late, stretch))
    first = np.diff(stretch[order] * 2 + late[order], prepend=-1) != 0
    for place in np.sort(order[first]).tolist():
        yield float(at[place] / 1e9), int(took[place]), bool(late[place])


def _agreed(store: ProgramStore, worst: ProgramRun | None) -> tuple[Agreed, ...]:
    name = read(ProgramSpec, store.spec).twin_of
    path = PROGRAM.find(store.path.parent, name) if name else None
    first = worst_run(ProgramStore.open(path)) if path else None
    if not (worst and worst.traced and first and first.traced):
        return ()
    return agreed(first.traced, worst.traced)


def _with_rules(found: TracedProgram, runs: Iterable[ProgramRun]) -> TracedProgram:
    """With what was broken in any run."""
    pooled: dict[tuple[str, str], BrokenRule] = {}
    for each in (rule for run in runs if run.valid and run.traced for rule in run.traced.rules):
        first = pooled.get((each.rule, each.thread), evolve(each, count=0, jobs=0))
        more = evolve(first, count=first.count + each.count, jobs=first.jobs + each.jobs)
        pooled[each.rule, each.thread] = more
    rank = {rule: place for place, rule in enumerate(RULES)}
    return evolve(found, rules=tuple(sorted(pooled.values(), key=lambda each: rank[each.rule])))


def summarise(store: ProgramStore) -> ProgramSummary:
    every = list(store.runs())
    runs, worst = originals(every), worst_run(store)
    marked = (each for run in runs if run.valid for each in run.tasks if each.response.total)
    groups = grouped(marked, attrgetter("task", "name", "cpu", "period_ns", "deadline_ns"))
    cells = []
    for (task, name, cpu, period, deadline), group in sorted(groups.items()):
        response = pool([each.response for each in group])
        cells.append(
            ProgramCell(
                task=task,
                name=name,
                cpu=cpu,
                period_ns=period,
                deadline_ns=deadline,
                runs=len(group),
                jobs=response.total,
                misses=sum(each.misses for each in group),
                skipped=sum(each.skipped for each in group),
                p50_ns=response.quantile(500_000) or 0,
                p99_ns=response.quantile(990_000) or 0,
                max_ns=response.max_ns or 0,
                wait_max_ns=max(each.wait.max_ns or 0 for each in group),
                maxima_ns=tuple(each.response.max_ns or 0 for each in group),
                response=response,
            )
        )
    sharing: dict[str, float] = import_module(PRICES).sharing_of(store.path, store.platform)
    spec = read(ProgramSpec, store.spec)
    return ProgramSummary(
        name=store.path.name,
        spec=spec,
        done=len(every),
        seconds=sum(run.seconds for run in every),
        labels=(*loud({store.platform.kind} & {*LABELLED}), *[ELSEWHERE] * bool(spec.trace)),
        findings=tuple(each for run in every for each in run.problems),
        cells=tuple(cells),
        agreed=_agreed(store, worst),
        traced=_with_rules(worst.traced, runs) if worst and worst.traced else None,
        responses=_responses(store, worst) if worst else (),
        seen=tuple(_seen(runs, worst)) if worst and len(runs) > 1 and not spec.keep else (),
        sharing=sharing,
        status=next((shell_status(s) for run in runs if (s := run.status)), 0),
        required=required_of(store, runs),
        killed=any(run.killed or (run.status or 0) < 0 for run in runs),
    )
