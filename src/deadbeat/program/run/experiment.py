"""How a program is run, or watched as it runs, and what each run of it says."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime

import numpy as np
from attrs import define, evolve, field

from deadbeat.base.experiment.base import FolderExperiment, Kept, Lost, Phase, Watcher
from deadbeat.base.model.errors import DeadbeatError
from deadbeat.base.model.finding import Finding, Severity
from deadbeat.base.model.words import time_text
from deadbeat.build.toolchain import Toolchain
from deadbeat.machine.settings.profile import turns
from deadbeat.machine.settings.tune import applied
from deadbeat.machine.settings.tuning_plan import plan as tuning_plan
from deadbeat.machine.targets import marks
from deadbeat.machine.targets.base import Target, is_here
from deadbeat.machine.targets.guarded import ended_words
from deadbeat.program.derive.lives import lives
from deadbeat.program.derive.outside import computed
from deadbeat.program.derive.records import HEAP, LOCKED, SLACK, Recording
from deadbeat.program.derive.replica import replica
from deadbeat.program.derive.tasks import DerivedRun, derive, names_of
from deadbeat.program.run import keeping
from deadbeat.program.run.attempts import note, note_start, read_facts, starts
from deadbeat.program.run.required import Required, counted
from deadbeat.program.run.results import (
    FIRST,
    ProgramKey,
    ProgramRun,
    ProgramStore,
    plan,
    required_of,
    runs_left,
    shell_status,
    tasks_of,
)
from deadbeat.program.run.spec import ProgramSpec
from deadbeat.program.run.traced import (
    NOTHING,
    TracedProgram,
    doubts,
    how,
    instead,
    require_named,
    traced,
)
from deadbeat.program.run.tries import ORIGINAL, Ground, ProgramChange, changes_of
from deadbeat.program.run.watching import Watched, again, alone, joined, looks, watched
from deadbeat.program.run.whatif import limits_of, placed, rule_of

#: What a program that marks nothing lacks.
_ADD = (
    "in C, #include <deadbeat.h> and put DEADBEAT_RELEASE(0, 0) and DEADBEAT_FINISH(0) around a"
    " job; in Python, put it in a block: with deadbeat.mark(0)"
)


@define(eq=False, slots=False)
class ProgramExperiment(FolderExperiment[ProgramKey, ProgramRun]):
    _folder: ProgramStore = field(alias="store", kw_only=True)
    _spec: ProgramSpec
    _target: Target | None = None  # None: a made-up one
    _toolchain: Toolchain | None = None
    _output: int | None = 2  # where its output goes
    _say: Callable[[str], None] = print
    _lacks: tuple[str, ...] = ()  # of a twin
    _changes: dict[str, ProgramChange] = field(factory=lambda: {"": ORIGINAL}, init=False)
    _base: TracedProgram = field(default=NOTHING, init=False)
    _required: tuple[Required, ...] = field(default=(), init=False)
    _left: int = field(default=1, init=False)
    _stored: list[ProgramRun] = field(factory=list, init=False)

    def seconds(self, runs: int) -> float:
        return runs * (self._spec.duration or 0)

    def decided(self) -> tuple[int, int] | None:
        """Requirements that are decided, and all."""
        if not self._spec.requirement:
            return None
        known = [each for each in self._required if each.verdict != "undecided"]
        return len(known), len(self._spec.requirement)

    def expected_left(self) -> int:
        return self._left

    def keep(self, result: ProgramRun) -> Kept[ProgramKey] | Lost[ProgramKey]:
        found, store = super().keep(result), self._folder
        store.forget_unseen(result.key)
        if self._spec.requirement:
            note(store.path.parent, read_facts(store.facts)[0], self._spec.requirement,
                 result.required)  # fmt: skip
            self._judge([*self._stored, result])
        return found

    def _judge(self, runs: list[ProgramRun]) -> None:
        self._stored, self._required = runs, required_of(self._folder, runs)
        self._left = runs_left(self._spec, self._required, runs)

    def _until_decided(self) -> Iterator[ProgramKey]:
        """Runs as long as one may decide a requirement; says what is open after the first."""
        self._judge(list(self._folder.runs()))
        seen = 0
        while self._left and not (seen and len(self._stored) == seen):  # the last has a result
            runs = self._stored
            for each in self._required if runs and not seen else ():
                if each.open:
                    self._say(f"{each.id} is open: {each.why}")
            seen = len(runs)
            yield ProgramKey(max((run.key.repeat for run in runs), default=0) + 1)

    @contextmanager
    def prepared(self, tell: Watcher) -> Iterator[None]:
        """Where changes are tried, the first run says which apply."""
        if self._spec.tries and self._target and self._toolchain:
            store = self._folder
            if FIRST in self.lacking:
                tell(Phase(name="run it as it is"))
                for run in self._run(FIRST, self._target, self._toolchain, tell):
                    store.keep(self._with_changes(run, self._target))
            first = store.load(FIRST)
            self._base = first.traced or NOTHING
            self._changes = {each.name: each for each in first.changes}
            self.planned = plan(self._spec, first.changes)
            self.lacking = store.lacking(self.planned, retry_invalid=self.retry_invalid)
            for name, reason in first.unfit.items():
                self._say(f"not tried: {name}: {reason}")
            for each in first.changes[1:]:
                self._say(f"try {each.name}{' (root)' * each.root}: {each.words}")
        yield

    def _with_changes(self, run: ProgramRun, target: Target) -> ProgramRun:
        spec, store = self._spec, self._folder
        recording = store.events(FIRST)
        if recording is None or run.traced is None:
            return run
        derived = derive(recording, deadlines=spec.deadlines)
        ground = Ground(
            found=run.traced,
            replica=evolve(replica(recording, derived), limits=limits_of(store.platform)),
            cpus=store.platform.cpus,
            target=target,
            pid=spec.pid,
            against=spec.against,
        )
        changes, unfit, lacks = changes_of(ground, spec.tries)
        return evolve(run, changes=changes, unfit=unfit, lacks=lacks)

    def measure(self, tell: Watcher) -> Generator[ProgramRun | Lost[ProgramKey]]:
        for key in self._until_decided() if self._spec.requirement else self.lacking:
            if self._target is None or self._toolchain is None:
                yield self._made_up(key)
                continue
            try:
                with self._changed(key.change, self._target):
                    yield from self._run(key, self._target, self._toolchain, tell)
            except DeadbeatError as error:
                if not self._spec.tries:
                    raise
                yield Lost(key, error)

    @contextmanager
    def _changed(self, name: str, target: Target) -> Iterator[None]:
        """With the settings of the machine of a change."""
        words = self._changes[name].settings
        if not words:
            yield
            return
        settings = tuning_plan(target, turns(words)).settings
        with applied(target, settings, reason=f"deadbeat run --try {name}", partly=True):
            yield

    def _watch(self, key: ProgramKey, target: Target, made: Toolchain) -> Watched:
        """Run it once. KeyboardInterrupt: a turn is a whole one."""
        spec, change = self._spec, self._changes[key.change]
        with ExitStack() as held:
            output = self._output
            if spec.tries:
                output = held.enter_context(self._folder.output(key)).fileno()
            if target.boot_s:
                watch = alone(spec, target, made)
            elif not spec.pid:
                ran = evolve(spec, command=change.command or spec.command)
                watch = watched(ran, output, target, made, change)
            else:
                short = evolve(spec, duration=spec.learn) if spec.keep else spec
                watch = joined(short, spec.pid, target, made, change)
        if watch.stopped is not None and spec.tries:
            raise watch.stopped
        return watch

    def _run(
        self, key: ProgramKey, target: Target, made: Toolchain, tell: Watcher
    ) -> Generator[ProgramRun]:
        spec, started = self._spec, datetime.now(UTC).isoformat()
        change, store = self._changes[key.change], self._folder
        before = store.unseen(key)
        if spec.requirement and before is None:
            note_start(store.path.parent, read_facts(store.facts)[0])
        watch = self._watch(key, target, made) if before is None else again(before)
        if spec.keep and watch.stopped is not None:
            raise watch.stopped  # it was to go on
        watch = evolve(watch, recording=lives(watch.recording))
        for name in looks(watch, again=before is not None):
            tell(Phase(name=name))
        deadlines = spec.deadlines
        try:
            derived = derive(watch.recording, deadlines=deadlines)
            seen = traced(watch.recording, deadlines, derived=derived, allow=spec.allow)
        except KeyboardInterrupt:
            if not (spec.tries or len(watch.marks.records)):
                store.keep_unseen(key, watch.recording)
            raise
        if not len(watch.marks.records) and not seen.known and not spec.requirement:
            if watch.stopped is not None:
                raise watch.stopped
            error = DeadbeatError(
                f"no job of {spec.name} was found in {watch.seconds:.1f} s"
                if watch.status is None
                else f"{spec.command[0]} ended {ended_words(watch.status)}, and no job was found",
                "; ".join(self._words(key) or [*instead(seen), _ADD]),
            )
            error.exit_status = shell_status(watch.status or 0) or error.exit_status
            raise error
        problems = [*self._problems(watch, key, derived), *self._unlike(change, seen)]
        problems += _not_held(change, watch.recording)
        if not key.change:
            problems += store.keep_seen(key, watch.recording, derived, seen)
        if spec.keep and spec.pid:
            who = keeping.followed(spec.pid[0], target)
            for line in keeping.plan(
                store, spec, watch.recording, derived, who, here=is_here(target)
            ):
                self._say(line)
        problems += doubts(seen)
        ended = ended_words(watch.status) if watch.status else ""
        begun = starts(store.path.parent, read_facts(store.facts)[0]) if spec.requirement else 0
        yield ProgramRun(
            key=key,
            started=started,
            seconds=watch.seconds,
            status=-signal.SIGINT if watch.stopped else watch.status,
            killed=watch.killed,
            tasks=tasks_of(watch.marks, spec),
            traced=seen,
            problems=tuple(problems),
            broken_off=max(begun - len(store.committed()) - 1, 0),  # they left nothing
            required=tuple(
                counted(each, seen, derived, watch.marks, watch.seconds, ended=ended)
                for each in spec.requirement
            ),
        )
        if spec.keep and not is_here(target):
            self._say(keeping.detach(store, target, made))
        require_named(seen, spec, (task.name for task in watch.marks.tasks))
        if watch.stopped is not None and spec.repeats > 1:
            raise watch.stopped

    def _unlike(self, change: ProgramChange, seen: TracedProgram) -> Iterator[Finding]:
        """Threads that did not run as the change has it: then it was not tried."""
        rules = {each.name: each for each in change.placings}
        before = {task.name: task for task in self._base.known}
        for task in seen.known:
            wanted = placed(before.get(task.name, task), rule_of(task.name, rules))
            facts = [(each.policy, each.priority, each.cpus) for each in (task, wanted)]
            if facts[0] != facts[1] and not change.command:
                text = f"{change.name}: {task.name} ran as {how(task)}, not {how(wanted)}"
                yield Finding(id="not-changed", severity="invalid", message=text)

    def _words(self, key: ProgramKey) -> list[str]:
        """The last that a program said where changes are tried."""
        last = self._folder.last_words(key)
        return [f"it said: {last}"] * bool(last)

    def _problems(self, watch: Watched, key: ProgramKey, derived: DerivedRun) -> Iterator[Finding]:
        def problem(id: str, severity: Severity, message: str) -> Finding:
            return Finding(id=id, severity=severity, message=message)

        count, status = f"{len(watch.marks.records):,}", watch.status
        if watch.stopped is not None:
            yield problem("ended-early", "info", f"interrupted after {watch.seconds:.1f} s")
        elif status is not None and (status or (self._spec.duration and not self._spec.tries)):
            itself = "by itself " * (status >= 0)
            text = f"the program ended {itself}after {watch.seconds:.1f} s {ended_words(status)}"
            text += f", {count} jobs marked" * (status < 0 and len(watch.marks.records) > 0)
            if status == -signal.SIGXCPU and derived.tracks:
                tid, took = max(
                    ((tid, computed(track)) for tid, track in derived.tracks.items()),
                    key=lambda each: each[1],
                )
                who = names_of(watch.recording.threads)[tid]
                text += f"; {who} had computed for {time_text(took)} without a wait (RLIMIT_RTTIME)"
            text += "; ".join(["", *self._words(key)]) * bool(status)
            crashed = status < 0 and bool(self._spec.tries)
            severity: Severity = "invalid" if crashed else "warning" if status else "info"
            yield problem("program-ended", severity, text)
        if status is not None and status >= 0 and watch.killed and not self._spec.tries:
            text = f"a signal ended {watch.killed:,} of the program's processes"
            yield problem("program-ended", "warning", text)
        yield from (problem("twin-lacks", "info", lack) for lack in self._lacks)
        yield from [problem("another-run", "warning", watch.beside)] * bool(watch.beside)
        for each in watch.placed.refused:
            why = os.strerror(each.error) if each.error else each.word
            text = f"{key.change}: {each.name} did not get {each.what} ({why})"
            yield problem("not-changed", "invalid", text)
        if watch.stood:
            yield problem("stood-still", "invalid", f"the program {watch.stood}")
        if watch.marks.dropped:
            text = f"{watch.marks.dropped:,} jobs after the first {count} are not recorded"
            yield problem("marks-dropped", "warning", text)

    def _made_up(self, key: ProgramKey) -> ProgramRun:
        """A task of 1 ms that mostly takes 0.2 ms."""
        draw, count = random.Random(f"program {key.text}"), 2000
        records = np.zeros(count, marks.FIELDS)
        records["release"] = 10**9 + 10**6 * np.arange(count)
        records["start"] = records["release"] + [int(draw.gauss(8e3, 1e3)) for _ in range(count)]
        took = [int(draw.lognormvariate(12.2, 0.4)) for _ in range(count)]
        records["finish"] = records["start"] + took
        task = marks.MarkedTask(number=0, name="made up", period_ns=10**6, deadline_ns=10**6)
        found = marks.Marks(tasks=(task,), records=records, dropped=0)
        wanted = self._spec.requirement
        return ProgramRun(
            key=key,
            started="",
            seconds=2.0,
            status=None,
            tasks=tasks_of(found, self._spec),
            required=tuple(counted(each, NOTHING, None, found, 2.0) for each in wanted),
        )


def _not_held(change: ProgramChange, recording: Recording) -> Iterator[Finding]:
    """What it was not given of memory and timers: then the change was not tried."""
    wanted = {"locked": LOCKED, "heap": HEAP}.get(change.memory, 0) | SLACK * bool(change.slack_ns)
    if lacking := wanted & ~recording.held:
        what = "memory" if lacking & (LOCKED | HEAP) else "timer slack"
        why = os.strerror(recording.held_error) if recording.held_error else "it is static?"
        text = f"{change.name}: the program did not get its {what} ({why})"
        yield Finding(id="not-changed", severity="invalid", message=text)
