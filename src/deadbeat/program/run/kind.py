"""What commands do with the folder of a measured program."""

from __future__ import annotations

import os
import random
import re
import shlex
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np
from attrs import asdict, define, evolve, field

from deadbeat.base.experiment.base import FolderExperiment, Kept, Lost, Phase, Watcher
from deadbeat.base.kinds.base import Begin, Begun
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.kinds.table import TableKind, begun_store
from deadbeat.base.model.errors import DeadbeatError, UsageError
from deadbeat.base.model.finding import Finding, Severity
from deadbeat.base.model.platform import Platform, example_platform
from deadbeat.base.model.specification import read
from deadbeat.base.model.systems import TaskSystem
from deadbeat.base.model.words import Json, count_of, duration, shortened, time_text
from deadbeat.base.report.document import csv_of
from deadbeat.base.report.machines import Verdicted
from deadbeat.base.store.files import read_toml, tool_hash
from deadbeat.base.store.place import PROGRAM, no_result
from deadbeat.build.programs import toolchain_of
from deadbeat.build.toolchain import Toolchain
from deadbeat.machine.host.environment import environment_of, platform_from_environment
from deadbeat.machine.settings.profile import turns
from deadbeat.machine.settings.tune import applied, with_tuning
from deadbeat.machine.settings.tuning_plan import plan as tuning_plan
from deadbeat.machine.targets import marks
from deadbeat.machine.targets.base import Target, is_here
from deadbeat.machine.targets.guarded import check_user, ended_words, found
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.machine.targets.opening import opened
from deadbeat.program.derive.ages import ages_of
from deadbeat.program.derive.lives import lives
from deadbeat.program.derive.outside import computed
from deadbeat.program.derive.records import HEAP, LOCKED, SLACK, Recording
from deadbeat.program.derive.replica import replica
from deadbeat.program.derive.rules import RULES
from deadbeat.program.derive.system import reduced
from deadbeat.program.derive.tasks import DerivedRun, DerivedTask, derive, jobs_table, names_of
from deadbeat.program.derive.timeline import kept
from deadbeat.program.derive.twin import twin_of
from deadbeat.program.run import keeping
from deadbeat.program.run import kept as keeps
from deadbeat.program.run.attempts import (
    Attempt,
    attempt,
    earlier,
    facts_of,
    note,
    note_start,
    read_facts,
    starts,
)
from deadbeat.program.run.designed import design_text
from deadbeat.program.run.designs import MOST
from deadbeat.program.run.document import (
    COLUMNS,
    answer,
    document,
    rows,
    seen,
    summary_dict,
    tasks,
)
from deadbeat.program.run.exported import perfetto, recorded
from deadbeat.program.run.imported import imported
from deadbeat.program.run.observe import COMPARABLE
from deadbeat.program.run.proving import prove
from deadbeat.program.run.required import Required, ahead, counted
from deadbeat.program.run.required import cases as required_cases
from deadbeat.program.run.results import (
    FIRST,
    FOLDERS,
    ProgramCell,
    ProgramKey,
    ProgramRun,
    ProgramStore,
    ProgramSummary,
    plan,
    required_of,
    runs_left,
    shell_status,
    summarise,
    tasks_of,
)
from deadbeat.program.run.spec import BEST, ProgramSpec, processes
from deadbeat.program.run.traced import (
    NOTHING,
    TracedProgram,
    doubts,
    how,
    instead,
    require_named,
    traced,
    worst_jobs,
)
from deadbeat.program.run.tried import summarised
from deadbeat.program.run.tries import ORIGINAL, Ground, ProgramChange, changes_of, knobs_of
from deadbeat.program.run.twin import built
from deadbeat.program.run.watching import Watched, again, alone, joined, looks, watched
from deadbeat.program.run.whatif import limits_of, placed, rule_of

#: What a program that marks nothing lacks.
ADD = (
    "in C, #include <deadbeat.h> and put DEADBEAT_RELEASE(0, 0) and DEADBEAT_FINISH(0) around a"
    " job; in Python, put it in a block: with deadbeat.mark(0)"
)

#: Without what a repository may have git run.
_GIT = (
    "git() { command git --no-optional-locks"
    ' -c core.fsmonitor=false -c core.hooksPath=/dev/null "$@"; }; '
    'cd "$1" && git rev-parse --short HEAD && git status --porcelain -uno'
)

#: A hash and a name a line.
_SUMS = """executable=$(command -v -- "$1"); shift
for file in "$executable" "$@"; do
    [ -f "$file" ] && echo "$(sha256sum <"$file" | cut -c-64) $(basename "$(readlink -f "$file")")"
done"""

#: Turns of changes, and the longest run where neither is given.
_TURNS, _TURN_S = 5, 10.0

#: What a turn takes beside the program, and a search of designs, s; about twice what it took here.
_TURN_TAKES_S, _SEARCH_TAKES_S = 2.0, 15.0

#: Runs, and their length, s, where requirements are to be decided and neither is given.
_RUNS_MOST, _RUN_S = 9_999, 10.0

#: Flag of a process in /proc/PID/stat (PF_KTHREAD).
_KERNEL_THREAD = 0x200000


@define(eq=False, slots=False)
class ProgramExperiment(FolderExperiment[ProgramKey, ProgramRun]):
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
        assert isinstance(store, ProgramStore)
        store.forget_unseen(result.key)
        if self._spec.requirement:
            note(store.path.parent, read_facts(store.facts)[0], self._spec.requirement,
                 result.required)  # fmt: skip
            self._judge([*self._stored, result])
        return found

    def _judge(self, runs: list[ProgramRun]) -> None:
        store = self._folder
        assert isinstance(store, ProgramStore)
        self._stored, self._required = runs, required_of(store, runs)
        self._left = runs_left(self._spec, self._required, runs)

    def _until_decided(self) -> Iterator[ProgramKey]:
        """Runs as long as one may decide a requirement; says what is open after the first."""
        store, seen = self._folder, 0
        assert isinstance(store, ProgramStore)
        self._judge(list(store.runs()))
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
                    assert isinstance(store, ProgramStore)
                    store.keep(self._with_changes(run, store, self._target))
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

    def _with_changes(self, run: ProgramRun, store: ProgramStore, target: Target) -> ProgramRun:
        spec, recording = self._spec, store.events(FIRST)
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
        assert isinstance(self._folder, ProgramStore)
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
        assert isinstance(store, ProgramStore)
        before = store.unseen(key)
        if spec.requirement and before is None:
            note_start(self._folder.path.parent, read_facts(self._folder.facts)[0])
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
                "; ".join(self._words(key) or [*instead(seen), ADD]),
            )
            error.exit_status = shell_status(watch.status or 0) or error.exit_status
            raise error
        problems = [*self._problems(watch, key, derived), *self._unlike(change, seen)]
        problems += _not_held(change, watch.recording)
        worst = sorted((-each.response_ns, each.at_ns) for each in seen.late)
        part = kept(watch.recording, worst[0][1] if worst else 0)
        if not key.change:
            store.keep_events(key, part)
            store.keep_jobs(key, jobs_table(derived))
        if spec.keep and spec.pid:
            who = keeping.followed(spec.pid[0], target)
            for line in keeping.plan(
                store, spec, watch.recording, derived, who, here=is_here(target)
            ):
                self._say(line)
        if len(part.events) < (count := len(watch.recording.events)):
            text = f"{len(part.events):,} of {count:,} events are kept, around the worst job"
            problems.append(Finding(id="events-cut", severity="info", message=text))
        problems += doubts(seen)
        ended = _failed(watch.status)
        yield ProgramRun(
            key=key,
            started=started,
            seconds=watch.seconds,
            status=-signal.SIGINT if watch.stopped else watch.status,
            killed=watch.killed,
            tasks=tasks_of(watch.marks, spec),
            traced=seen,
            problems=tuple(problems),
            broken_off=self._broken_off(),
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

    def _broken_off(self) -> int:
        """Runs before this one that left nothing."""
        store = self._folder
        if not self._spec.requirement:
            return 0
        begun = starts(store.path.parent, read_facts(store.facts)[0])
        return max(begun - len(store.committed()) - 1, 0)

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
        assert isinstance(self._folder, ProgramStore)
        last = self._folder.last_words(key)
        return [f"it said: {last}"] * bool(last)

    def _problems(self, watch: Watched, key: ProgramKey, derived: DerivedRun) -> Iterator[Finding]:
        def problem(id: str, severity: Severity, message: str) -> Finding:
            return Finding(id=id, severity=severity, message=message)

        count, status = f"{len(watch.marks.records):,}", watch.status
        if watch.stopped is not None:
            yield problem("ended-early", "info", f"interrupted after {watch.seconds:.1f} s")
        elif status is not None and (status or (self._spec.duration and not self._spec.tries)):
            text = f"the program ended by itself after {watch.seconds:.1f} s {ended_words(status)}"
            text += f", {count} jobs marked" * (status < 0)
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


def _failed(status: int | None) -> str:
    """How a program failed; "": it did not."""
    return ended_words(status) if status else ""


def _not_held(change: ProgramChange, recording: Recording) -> Iterator[Finding]:
    """What it was not given of memory and timers: then the change was not tried."""
    wanted = {"locked": LOCKED, "heap": HEAP}.get(change.memory, 0) | SLACK * bool(change.slack_ns)
    if lacking := wanted & ~recording.held:
        what = "memory" if lacking & (LOCKED | HEAP) else "timer slack"
        why = os.strerror(recording.held_error) if recording.held_error else "it is static?"
        text = f"{change.name}: the program did not get its {what} ({why})"
        yield Finding(id="not-changed", severity="invalid", message=text)


def begin(asked: Begin) -> Begun:
    """Makes the folder of a measured program, or finds the one to continue."""
    if path := asked.given.get("trace"):
        store = imported(asked, path)
        return Begun(
            experiment=ProgramExperiment(
                read(ProgramSpec, store.spec), store=store, planned=[FIRST]
            )
        )
    base, typed = asked.without_preset({"quick": {"duration": 10.0}})
    spec = read(ProgramSpec, base, asked.written, typed, names=asked.names)
    on = keeping.watched_before(spec, asked)
    if on is not None:
        spec = read(ProgramSpec, on.spec, asked.written, typed, names=asked.names)
        asked = evolve(asked, retry_failed=True, retry_invalid=True)
    if bool(spec.command or spec.twin_of) is bool(spec.pid):
        raise UsageError("run takes a program, or --pid", "give one of them")
    if spec.against or spec.tries:
        spec = _in_turns(spec, asked)
    target = opened(asked)
    pids, learns, locks = _process(asked, spec, on, target)
    spec = evolve(spec, stop=False)
    spec, lasts = keeping.as_begun(spec, on)
    if spec.tries and spec.pid[1:]:
        raise UsageError("--try changes one process", "give one --pid")
    if spec.tries and (target is None or target.boot_s):
        raise UsageError("--try runs a program again and again", "on a machine that runs")
    if spec.pid and target and target.boot_s:
        raise UsageError(f"--pid: {target.name} boots for a program of its own", "name that")
    spec, lacks = _as_twin(_built(spec), asked, target)
    if spec.command and target:
        found(spec.command[0], target)
    if spec.user and target:
        check_user(spec.user, target)
    words = spec.command or tuple(_comm(pid, target) for pid in pids) or (spec.name,)
    if "name" not in {*asked.written, *asked.typed}:
        spec = evolve(spec, name=f"{spec.twin_of}-twin" if spec.twin_of else _named(words))
    platform = _platform(target) if target else example_platform()
    spec = _to_decide(spec, asked)
    runs = [FIRST] if spec.requirement else plan(spec)
    if spec.keep and on is not None:
        done = sorted(on.committed())
        runs = [*done, *[ProgramKey(max(each.repeat for each in done) + 1 if done else 1)] * learns]
    exes = [f"/proc/{pid}/exe" for pid in pids if not spec.keep]  # that may be replaced
    hashes = _hashes(spec.command or exes, target)
    each_s = spec.learn if spec.keep else None if asked.simulated else spec.duration
    store = begun_store(
        FOLDERS,
        asked,
        spec,
        platform,
        runs,
        seconds=lambda left: None if each_s is None or spec.requirement else left * each_s,
        differs=lambda store: _rebuilt(store, hashes),
        ready=lambda left: {
            "commit": _commit(words, target),
            "program": hashes,
            **_before(spec, asked, target, left, attempt(spec.command, hashes, platform)),
        },
        details=f"{shortened(shlex.join(spec.command)) or processes(pids or spec.pid)},"
        f" {f'{each_s:g} s each' if each_s else 'each until it ends'}"
        f"{', again until its requirements are decided' * bool(spec.requirement)}",
    )
    experiment = ProgramExperiment(
        evolve(spec, pid=pids),
        target,
        toolchain_of(target, cross=asked.cross) if target else None,
        2 if asked.as_json else None,
        asked.say,
        lacks,
        store=store,
        planned=runs,
        retry_invalid=asked.retry_invalid,
    )
    then = None
    if spec.keep and target and is_here(target):
        locks += keeping.locked(store.path / keeping.KEPT / keeping.STATE, f"for {store.path.name}")
        then = partial(keeping.keep_on, pids, lasts, store, toolchain_of(target), locks)
    return Begun(experiment=experiment, beside=spec.beside, then=then)


def _platform(target: Target) -> Platform:
    environment = environment_of(target, now=datetime.now(UTC), more={})
    made = platform_from_environment(environment, kind=target.kind, name=target.name)
    return with_tuning(made, target)


def _to_decide(spec: ProgramSpec, asked: Begin) -> ProgramSpec:
    """How often, and for how long, it is run so that requirements are decided."""
    if not spec.requirement:
        return spec
    if spec.tries or spec.keep or spec.pid:
        raise UsageError(
            "requirements are of a program that is run", "without --try, --keep, --pid"
        )
    if "repeats" not in {*asked.written, *asked.typed}:
        spec = evolve(spec, repeats=_RUNS_MOST if any(r.share for r in spec.requirement) else 1)
    return evolve(spec, duration=spec.duration or _RUN_S)


def _built(spec: ProgramSpec) -> ProgramSpec:
    """With its program built."""
    if spec.build:
        with LocalTarget() as here:
            done = here.run(("sh", "-c", spec.build))
        if done.returncode:
            last = (done.stderr or done.stdout).strip().rpartition("\n")[2]
            raise DeadbeatError(f"{spec.build} ended {ended_words(done.returncode)}: {last}")
    return spec


def _hashes(words: Sequence[str], target: Target | None) -> dict[str, str]:
    """SHA-256 by name: the executable, wherever it is, and files among its arguments."""
    if not words:
        return {}
    with LocalTarget() as here:
        other = target is not None and not target.boot_s and found(words[0], target)
        there = target if target and other else here
        lines = there.run(("sh", "-c", _SUMS, "sh", *words)).stdout.splitlines()
    return {name: each for each, _, name in (line.partition(" ") for line in lines)}


def _rebuilt(store: ProgramStore, now: dict[str, str]) -> Iterator[str]:
    """That its runs were of other files than there are ``now``, as a predicate."""
    begun = store.facts.get("program", {})
    if other := [name for name, each in now.items() if begun.get(name, each) != each]:
        yield f"was begun with another {' and '.join(other)}"


def _before(
    spec: ProgramSpec, asked: Begin, target: Target | None, left: int, own: Attempt
) -> dict[str, Json]:
    """Says how long a decision takes; what is known of requirements, and whether this tool sees
    what is late here."""
    if not spec.requirement:
        return {}
    known = earlier(asked.runs, own, spec.requirement)
    for each in spec.requirement:
        if text := ahead(each, known[each.id]):
            asked.say(text)
    proof = prove(target, toolchain_of(target, cross=asked.cross)) if target and left else ()
    return {
        **facts_of(own, known),
        "wheel": tool_hash(),
        "proof": [asdict(each) for each in proof],
    }


def _process(
    asked: Begin, spec: ProgramSpec, on: ProgramStore | None, target: Target | None
) -> tuple[tuple[int, ...], bool, list[int]]:
    """Which processes, whether they are to be learned, and what keeps others from watching them.
    What was kept on another machine is brought here."""
    if not spec.keep or target is None:
        return spec.pid, True, []
    given = spec.pid if "pid" in {**asked.written, **asked.typed} else ()
    pids, learns = keeping.process_of(given, on, target)
    for pid in pids * learns:
        _comm(pid, target)
    if is_here(target):
        locks = [keeping.locked(Path(f"/proc/{pid}"), f"process {pid}") for pid in pids]
        return pids, learns, [each for one in locks for each in one]
    if on is not None:
        said = keeping.fetch(on, target, stop=spec.stop)
        for line in (*[said] * bool(said), *keeps.absorb(on.path, target)):
            asked.say(line)
        learns = learns and bool(said) and not spec.stop
    return pids, learns, []


def _as_twin(
    spec: ProgramSpec, asked: Begin, target: Target | None
) -> tuple[ProgramSpec, tuple[str, ...]]:
    """The twin of a result as program, made where none is given, and what it lacks."""
    if not spec.twin_of:
        return spec, ()
    if (path := PROGRAM.find(asked.runs, spec.twin_of)) is None:
        raise no_result(asked.runs, spec.twin_of)
    if spec.name == path.name:
        raise UsageError(f"--name {spec.name} is the result that it is the twin of", "name another")
    made = twin_of(*recorded(path))
    command = spec.command
    if not command:
        command = (str(built(made, toolchain_of(target, cross=asked.cross))),) if target else ("-",)
    return evolve(spec, twin_of=path.name, command=command), made.lacks


def _in_turns(spec: ProgramSpec, asked: Begin) -> ProgramSpec:
    """How often, and for how long, changes are tried, if the user lets us."""
    given = {*asked.written, *asked.typed}
    spec = evolve(
        spec,
        tries=(*spec.tries, *["version"] * (bool(spec.against) and "version" not in spec.tries)),
        duration=spec.duration or _TURN_S,
        repeats=spec.repeats if "repeats" in given else _TURNS,
    )
    for word in spec.tries:
        if word.partition(":")[0] == "tune":
            knobs_of(word.partition(":")[2])
        if word.partition(":")[0] == "design":
            read_toml(Path(word.partition(":")[2]), "a design", "name a TOML file", "mend it")
    more = MOST * any(word.startswith(BEST) for word in spec.tries)
    most, each = spec.repeats * (1 + len(spec.tries) + more), spec.duration or 0
    what = f"{processes(spec.pid)} watched" if spec.pid else f"{spec.command[0]} is run"
    asked.agree(
        f"{what} {most} times at most, for {each:g} s at most, with changes:"
        f" {duration(most * (each + _TURN_TAKES_S) + _SEARCH_TAKES_S * (more > 0))} at most"
    )
    return spec


def _comm(pid: int, target: Target | None) -> str:
    """Name of a process. Raises UsageError: there is none."""
    stat = target.read_text(f"/proc/{pid}/stat") if target else "1 (program) S 0 0 0 0 0 0"
    if not stat:
        raise UsageError(f"--pid: no process {pid} there", "check the number: ps -e")
    name, _, rest = stat.partition("(")[2].rpartition(")")
    if int(rest.split()[6]) & _KERNEL_THREAD:
        raise UsageError(f"--pid: {pid} is a thread of the kernel ({name})", "name a program's")
    return name


def _commit(command: Sequence[str], target: Target | None) -> str:
    """Commit of the program's repository, with + where that has changes; "": none. Asked as the
    owner of its folder, as a repository names programs that git runs."""
    files = [path.resolve() for path in _files(command)]
    if target is None or not is_here(target) or not files:
        return ""
    owner = files[-1].parent.stat()
    other = (f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}", "--clear-groups")
    words = ("setpriv", *other) if owner.st_uid != os.geteuid() else ("env",)
    words = (*words, "sh", "-c", f"{{ {_GIT}; }} 2>/dev/null", "sh", str(files[-1].parent))
    said = target.run(words)
    commit, *changes = said.stdout.splitlines() or [""]
    return commit + "+" * bool(changes)


def _files(command: Sequence[str]) -> Iterator[Path]:
    """Words that are files; no text that is too long for one."""
    for word in command:
        with suppress(OSError, ValueError):
            if Path(word).is_file():
                yield Path(word)


def _named(command: Sequence[str]) -> str:
    """After the last word that is a file: the script, not the interpreter or ``chrt`` before it."""
    name = [Path(command[0]), *_files(command)][-1].stem
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_")[:64]
    return "program" if plain in ("", "latest") else plain


def cases(found: ProgramSummary) -> list[Verdicted]:
    """Whether tasks with a deadline kept it: those that are marked, else those that were seen."""
    known = found.cells or (found.traced.known if found.traced else ())

    def hangs(task: ProgramCell | DerivedTask) -> str:
        return f"; it {task.unended}" if isinstance(task, DerivedTask) and task.unended else ""

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
                verdict="failed" if task.misses else "skipped" if hangs(task) else "passed",
                message=f"{task.misses or 0:,} of {task.jobs:,} jobs, allowed: 0{hangs(task)}",
            )
            for task in known
            if task.deadline_ns
        ]
        + [*_data(found.traced), *required_cases(found.required)]
    )


def _data(found: TracedProgram | None) -> Iterator[Verdicted]:
    """Whether data were young enough; of what no link was seen it is not known."""
    if found is None:
        return
    for (last, first), allowed in ages_of(found.ages).items():
        mine = [each for each in found.paths if (each.tasks[-1], each.tasks[0]) == (last, first)]
        misses, jobs = (sum(getattr(e, name) or 0 for e in mine) for name in ("misses", "jobs"))
        known = mine and not any(each.at_least for each in mine)
        older = f"data older than {time_text(allowed)} in {misses:,} of {count_of(jobs, 'job')}"
        yield Verdicted(
            name=f"{last}<-{first}",
            group="program.misses",
            weight=misses,
            verdict="failed" if misses else "passed" if known else "skipped",
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
    rows=lambda found: keeps.rows(found.kept) or rows(found) or tasks(found),
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
        return evolve(_TABLE.show(path), lines=keeps.late_lines([*store.runs()], worst))
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
