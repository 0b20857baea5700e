"""Positive controls of blame: causes of lateness made on purpose, and how often they are named.

A trial runs a few tasks with an injection and asks what the worst job of the first is put down to.
It counts when the injection shows: when that job exceeds its task's usual response by half of
what was injected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from attrs import field, frozen

from deadbeat.base.model.errors import RunError
from deadbeat.machine.trace.jobs import worst_jobs
from deadbeat.tasksets.contention.blame import BlamedRun, blame
from deadbeat.tasksets.executors.base import RunRequest, RunSettings
from deadbeat.tasksets.executors.hardware import HardwareExecutor
from deadbeat.tasksets.model.results import Point, RunKey
from deadbeat.tasksets.model.tasks import Entry, FragmentUse, Kind, Resource, Segment, Task, TaskSet
from deadbeat.tasksets.store.jobfile import read_job_table
from helpers.injection import Hog, Move, inject_options

MS = 1_000_000
#: Share of the trials in which a cause must be named rightly.
WANTED = 0.95
#: Share of the trials in which the injection must show for anything to be said of it.
DECIDED = 0.5
TRIALS = 20
_WORK, _LOCK = Entry("matmul", 16), Entry("semaphore_posix_scarce", 4096)
_PROBE_REPEATS = 100
_KEY = RunKey(Point(2, 0, 0), 0)


@frozen(kw_only=True)
class Work:
    """A task of a trial: about so much of a fragment's time, every so often.

    Attributes:
        core: None: that of its own number.
    """

    entry: Entry = _WORK
    length_ns: int = 700_000
    period_ns: int = 10 * MS
    priority: int = 70
    core: int | None = None

    @property
    def locks(self) -> bool:
        return self.entry != _WORK


@frozen(kw_only=True)
class Trial:
    """A cause that is made on purpose.

    Attributes:
        name: What it is called in words.
        tasks: On cores 0 and 1; the first is the one that is to be late.
        injection: What is done to them.
        injected_ns: By how much, at its worst.
        cause, holder: What blame must say; holder None: whatever.
        seconds: Of one run.
    """

    name: str
    tasks: tuple[Work, ...]
    injection: Mapping[str, str]
    injected_ns: int
    cause: str
    holder: str | None = None
    seconds: float = 0.4


#: The period of the hog and that of the tasks drift against each other: it hits at any moment.
_HIT = {"length_ns": 5 * MS, "period_ns": 53 * MS}
_WAITS = Work(entry=_LOCK, length_ns=3 * MS)
#: Half as often: its own jobs, which the hog hits, are then not the worst of the run.
_HOLDS = Work(entry=_LOCK, length_ns=3 * MS, period_ns=20 * MS)
#: Holds it as well, and wakes whoever waits; but it goes before the hog, which so never keeps it
#: from letting go.
_WAKES_TOO = Work(entry=_LOCK, length_ns=MS, period_ns=20 * MS, priority=86, core=1)
CONTROLS = (
    Trial(
        name="hog",
        tasks=(Work(), Work()),
        injection=inject_options(hog=Hog(core=0, **_HIT)),
        injected_ns=5 * MS,
        cause="preempted",
        holder="db-hog",
    ),
    Trial(
        name="lock holder",
        tasks=(_WAITS, _HOLDS),
        injection=inject_options(hog=Hog(core=1, **_HIT)),
        injected_ns=5 * MS,
        cause="lock",
        holder="t1 of the set",
        seconds=1.2,
    ),
    Trial(
        name="lock holder, one of two",
        tasks=(_WAITS, _HOLDS, _WAKES_TOO),
        # longer than what three that contend take of each other
        injection=inject_options(hog=Hog(core=1, length_ns=12 * MS, period_ns=53 * MS)),
        injected_ns=12 * MS,
        cause="lock",
        holder="t1 of the set",
        # every wait is some events: more than these the buffers do not hold
        seconds=0.9,
    ),
    Trial(
        name="migration",
        tasks=(Work(), Work(length_ns=4 * MS, priority=72)),
        injection=inject_options(move=Move(task=0, period_ns=50 * MS)),
        injected_ns=4 * MS,
        cause="migrated",
    ),
    Trial(
        name="throttling",
        tasks=(Work(length_ns=40 * MS, period_ns=MS), Work()),
        injection=inject_options(fair_core=0),
        injected_ns=40 * MS,
        cause="throttled",
        holder="db-fair",
        seconds=2.2,
    ),
)


@frozen(kw_only=True)
class TrialOutcome:
    """Trials of one cause.

    Attributes:
        trials: Those in which the injection showed.
        named: Of these, rightly.
        without_effect: Those in which it did not.
        otherwise: What else was named, how often.
        untraced: Why there were no events.
    """

    name: str
    trials: int
    named: int
    without_effect: int = 0
    otherwise: dict[str, int] = field(factory=dict)
    untraced: str = ""

    @property
    def passed(self) -> bool | None:
        """None: undecided. The injection showed in too few trials, or it was not named and there
        were no events that could have told."""
        if self.trials < max(1, DECIDED * (self.trials + self.without_effect)):
            return None
        named = self.named >= WANTED * self.trials
        return named if named or not self.untraced else None


def try_causes(
    executor: HardwareExecutor,
    *,
    trials: int = TRIALS,
    controls: Sequence[Trial] = CONTROLS,
) -> list[TrialOutcome]:
    """Runs ``trials`` of each of ``controls``; needs two CPUs.

    Raises:
        TargetError: No run is possible at all.
        RunError: A run failed.
    """
    repeat_ns = probe(executor)
    outcomes = []
    for control in controls:
        said: list[str | None] = []
        untraced = ""
        with executor.open(
            [RunRequest(_KEY, trial_set(control.tasks, repeat_ns))],
            trial_settings(control.seconds),
            inject=control.injection,
        ) as session:
            for _ in range(trials):
                outcome = session.run(_KEY)
                if outcome.error is not None or outcome.file is None:
                    raise outcome.error or RunError("a trial gave no result")
                run = BlamedRun("trial", read_job_table(outcome.file), trace=outcome.trace)
                untraced = outcome.trace.unavailable if outcome.trace else untraced
                said.append(verdict(run, control))
        outcomes.append(_outcome(control, said, untraced))
    return outcomes


def verdict(run: BlamedRun, control: Trial) -> str | None:
    """ "" if the worst job of the first task is named rightly, else what it was named; None: the
    injection does not show in it."""
    own = [
        late.job
        for late in worst_jobs(run.table, len(run.table.jobs))
        if late.finished and run.columns.task[late.job] == 0
    ]
    if not own:
        return None
    response = run.columns.response_ns
    usual = float(np.median(response[own]))
    job = own[0]
    if response[job] - usual < control.injected_ns / 2:
        return None
    traces = {trace.job: trace for trace in (run.trace.jobs if run.trace else ())}
    late = blame(run, job, traces.get(job))
    right = late.cause == control.cause and control.holder in (None, late.holder)
    return "" if right else f"{late.cause}: {late.holder or 'nobody'} ({late.evidence})"


def _outcome(control: Trial, said: Sequence[str | None], untraced: str) -> TrialOutcome:
    counted = [words for words in said if words is not None]
    return TrialOutcome(
        name=control.name,
        trials=len(counted),
        named=counted.count(""),
        without_effect=len(said) - len(counted),
        otherwise=dict(Counter(words for words in counted if words)),
        untraced=untraced,
    )


def trial_settings(seconds: float, *, causes: bool = True) -> RunSettings:
    """How a trial is run. Each slot is long enough for what is done to its tasks to come again: its
    first job, which it hits first, counts nowhere."""
    periods = 24 if seconds < 0.5 else 12 if seconds < 2 else 100
    return RunSettings(seconds=seconds, slot_periods=periods, split=True, causes=causes)


def probe(executor: HardwareExecutor) -> dict[Entry, float]:
    """What one repeat of each fragment takes here, ns."""
    found = {}
    for entry in (_WORK, _LOCK):
        one = Work(entry=entry, period_ns=20 * MS)
        task_set = trial_set((one, one), {entry: one.length_ns / _PROBE_REPEATS})
        with executor.open([RunRequest(_KEY, task_set)], trial_settings(0.1)) as session:
            outcome = session.run(_KEY)
        if outcome.error is not None or outcome.file is None:
            raise outcome.error or RunError("a probe gave no result")
        spans = BlamedRun("probe", read_job_table(outcome.file)).columns.solo_median_ns
        found[entry] = float(np.nanmin(spans)) / _PROBE_REPEATS
    return found


def trial_set(tasks: Sequence[Work], repeat_ns: dict[Entry, float]) -> TaskSet:
    """``tasks`` on cores 0, 1, ... or as they say; those with a lock share one object."""
    locks = {work.entry for work in tasks if work.locks}
    made = tuple(_task(number, work, repeat_ns[work.entry]) for number, work in enumerate(tasks))
    return TaskSet(
        cores=1 + max(task.core for task in made),
        tasks=made,
        resources=tuple(Resource(entry.fragment, None) for entry in locks),
        seed=1,
        generator="causes",
        sync_share=Fraction(len(locks)),
        contended_ratio=Fraction(len(locks)),
        sync_share_real=float(len(locks)),
        contended_ratio_real=float(len(locks)),
    )


def _task(number: int, work: Work, repeat_ns: float) -> Task:
    repeats = max(1, round(work.length_ns / repeat_ns))
    use = FragmentUse(work.entry, repeats, 0 if work.locks else None)
    cost_ps = work.length_ns * 1000
    kind = Kind.SY if work.locks else Kind.NS
    return Task(
        name=f"t{number}",
        core=number if work.core is None else work.core,
        wcet_ns=work.length_ns,
        period_ns=work.period_ns,
        deadline_ns=work.period_ns,
        offset_ns=0,
        priority=work.priority,
        seed=number + 1,
        segments=(Segment(kind, cost_ps, cost_ps, (use,)),),
    )
