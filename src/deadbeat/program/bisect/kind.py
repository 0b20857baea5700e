"""Which commit changed a figure: what commands do with the folder of a search."""

from __future__ import annotations

import math
import random
import re
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path

from attrs import define, evolve, field

from deadbeat.base.experiment.base import (
    FolderExperiment,
    Kept,
    Lost,
    Outcome,
    Phase,
    Todo,
    Watcher,
)
from deadbeat.base.experiment.folders import RunFolders
from deadbeat.base.kinds.base import Begin, Begun
from deadbeat.base.kinds.table import TableKind
from deadbeat.base.model.errors import DataError, DeadbeatError, RunError, UsageError
from deadbeat.base.model.specification import read
from deadbeat.base.model.words import count_of, shown
from deadbeat.base.store.folder import EXPERIMENT_FILE
from deadbeat.base.store.place import FolderKind, Place, family
from deadbeat.machine.host.environment import environment_of, platform_from_environment
from deadbeat.machine.targets.guarded import ended_words, found, said
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.machine.targets.repeated import Programs, git
from deadbeat.program.bisect.document import (
    COLUMNS,
    Bisected,
    answer,
    cases,
    document,
    summarise,
    summary_dict,
)
from deadbeat.program.bisect.repository import Trees, commits_of, kernels_of
from deadbeat.program.bisect.results import BisectKey, BisectRun, BisectStore
from deadbeat.program.bisect.search import PROOF_BLOCKS
from deadbeat.program.bisect.spec import LAB, NAME, TRACED, BisectSpec

#: Runs of a commit that may fail in a row before it is left out.
_ATTEMPTS = 3
_SCRATCH = "printed.part"
#: What finds jobs: another kind, loaded by name.
_RUN = "deadbeat.program.run.figured"
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"


@define(eq=False, slots=False)
class BisectExperiment(FolderExperiment[BisectKey, BisectRun]):
    _known: Bisected
    _source: Path
    _booted: dict[int, float] = field(factory=dict, init=False)
    _build_s: float = field(default=0.0, init=False)  # the last build took, or the last boot
    _run_s: float = field(default=0.0, init=False)
    _programs: Programs = field(init=False)
    _target: LocalTarget = field(init=False)
    _trees: Trees | None = field(default=None, init=False)  # None: the lab boots kernels

    @contextmanager
    def prepared(self, tell: Watcher) -> Iterator[None]:
        """Where the search has ended, nothing of it stays."""
        folder, spec = self._folder.path, self._known.spec
        self._learn(self._folder.runs())
        if spec.noun == "commit":
            self._trees = Trees(folder, self._source, spec.build or "")
        with LocalTarget() as self._target, Programs(folder / _SCRATCH) as self._programs:
            yield
        if self._trees and self._known.search.ended:
            self._trees.remove()

    def _learn(self, runs: Iterator[BisectRun]) -> None:
        self._known = evolve(self._known, runs=[*self._known.runs, *runs])

    def todo(self) -> Todo:
        done, left = sum(len(run.values) for run in self._known.runs), self.expected_left()
        return Todo(total=done + left, done=done, left=left)

    def expected_left(self) -> int:
        """Runs that halve what is left and prove it."""
        known, every = self.decided()
        return 2 * PROOF_BLOCKS + 4 * (every - known).bit_length()

    def decided(self) -> tuple[int, int]:
        """Commits that are ruled out, and all."""
        known, every = self._known, len(self._known.commits) - 1
        return every - len(known.named) if known.changes else 0, every

    def seconds(self, runs: int) -> float:
        return math.inf

    def kept(self) -> str:
        return count_of(self.todo().done, "run")

    def outcome(self, found: Outcome[BisectKey]) -> Outcome[BisectKey]:
        return evolve(found, complete=bool(self._known.search.ended))

    def keep(self, result: BisectRun) -> Kept[BisectKey] | Lost[BisectKey]:
        self._folder.keep(result)
        self._learn(iter([result]))
        return Kept(result.key, size=len(result.values))

    def measure(self, tell: Watcher) -> Generator[BisectRun | Lost[BisectKey]]:
        while not self._known.search.ended and self._next_s() <= self.left_s():
            yield self._block(_next_key(self._known), tell)

    def _next_s(self) -> float:
        """Time of the next block by the last one; of the first in a call: 0, so that it begins."""
        _, places = self._known.search.next()
        new = [place for place in {*places} if not self._made(place)]
        return len(new) * self._build_s + len(places) * self._run_s

    def _made(self, place: int) -> bool:
        if self._trees:
            return self._trees.built(self._known.commits[place])
        return place in self._booted

    def _make(self, place: int, tell: Watcher) -> None:
        """Builds a commit, or boots a kernel."""
        spec, commit, began = self._known.spec, self._known.commits[place], time.monotonic()
        if self._trees:
            tell(Phase(name=f"{'build' if spec.build else 'check out'} {commit}"))
            self._trees.make(commit, self._programs)
        else:
            self._booted[place] = self._figure(place)
        self._build_s = time.monotonic() - began

    def _block(self, key: BisectKey, tell: Watcher) -> BisectRun:
        """Runs its commits in an order of its own; or says which one cannot be."""
        started = datetime.now(UTC).isoformat()
        spec, commits = self._known.spec, self._known.commits
        kind, places = self._known.search.next()
        order, values, unfit, place = [*places], [], {}, -1
        random.Random(f"{spec.seed} {key.number}").shuffle(order)
        try:
            for place in dict.fromkeys(order):
                if not self._made(place):
                    self._make(place, tell)
            began = time.monotonic()
            for place in order:
                values.append(self._booted.get(place) or self._figure(place))
            self._run_s = (time.monotonic() - began) / len(order)
        except RunError as error:
            if self._trees:
                self._trees.check_room()
            if end := {0: "good", len(commits) - 1: "bad"}.get(place):
                text = f"the {end} end {commits[place]} cannot be measured: {error}"
                raise DeadbeatError(text, "check --build, the program, --metric") from None
            unfit, order, values = {str(place): str(error)}, [], []
        return BisectRun(
            key=key,
            started=started,
            kind=kind,
            commits=tuple(order),
            values=tuple(values),
            unfit=unfit,
        )

    def _figure(self, place: int, attempts: int = _ATTEMPTS) -> float:
        """One run. Raises RunError: it fails again and again."""
        spec, commit = self._known.spec, self._known.commits[place]
        words, folder = spec.command, self._source
        if self._trees:
            folder = self._trees.folder_of(commit)
        else:
            words = tuple(word.replace(NAME, commit.sha) for word in words)
        try:
            return self._once(words, folder)
        except RunError:
            if attempts == 1:
                raise
            return self._figure(place, attempts - 1)

    def _once(self, command: Sequence[str], folder: Path) -> float:
        """Raises RunError: the run has no figure."""
        spec, programs, scratch = self._known.spec, self._programs, self._programs.scratch
        word, _, name = spec.metric.partition(":")
        if word in TRACED:
            words = ("env", "-C", str(folder), *command)
            traced = import_module(_RUN).figure
            return float(traced(self._target, words, spec.duration, spec.metric, scratch))
        ran = programs.run(command, folder, scratch, spec.duration)
        if ran.ended and ran.status:
            raise RunError(f"it ended {ended_words(ran.status)}{said(scratch)}")
        if word == "wall" and not ran.ended:
            raise RunError("it did not end within --duration: its time to the end is not known")
        if word == "stdout":
            text = scratch.read_text(errors="replace")
            numbers = re.findall(rf"(?<![\w]){re.escape(name)}\s*[:=]?\s*({_NUMBER})", text)
            if not numbers:
                raise RunError(f"it prints no number behind {shown(name)}")
            value = float(numbers[-1])
        else:
            value = ran.cpu_s if word == "cpu" else ran.wall_s
        if not 0 < value < math.inf:
            raise RunError(f"{spec.figure} is {value:g}, which has no logarithm")
        return value


def _next_key(found: Bisected) -> BisectKey:
    return BisectKey(found.runs[-1].key.number + 1 if found.runs else 1)


def planned(store: BisectStore) -> list[BisectKey]:
    """What is stored, and one more where it goes on."""
    found = summarise(store)
    return [*(run.key for run in found.runs), *[_next_key(found)] * (not found.search.ended)]


FOLDERS = RunFolders(
    kind=FolderKind(EXPERIMENT_FILE, BisectStore.NOUN, "bisect"),
    store=BisectStore,
    read=partial(read, BisectSpec),
    planned=planned,
    asked_for=lambda spec: spec.metric,
)


def _check(spec: BisectSpec, source: Path, asked: Begin) -> None:
    """Says what is not measured. Raises UsageError: the program is none of each commit's."""
    program = Path(spec.command[0])
    if "/" not in spec.command[0]:
        found(spec.command[0])
    if spec.noun == "kernel":
        if not any(NAME in word for word in spec.command):
            raise UsageError(f"no word of the program has {NAME}", f"lab:{NAME} is each kernel")
        return
    if program.is_relative_to(source):
        own = program.relative_to(source)
        raise UsageError(f"{program} is one build for all commits", f"say which of each: ./{own}")
    if spec.duration and spec.metric == "cpu":
        asked.say("CPU time is compared up to --duration, where a program has not ended before")
    if git(source, "status", "--porcelain", "--untracked-files=no").strip():
        asked.say("changes that are not committed stay as they are; they are not measured")


def begin(asked: Begin) -> Begun:
    """Makes the folder of a search, or finds the one to continue."""
    source, on = Path.cwd(), asked.target
    spec = read(BisectSpec, asked.written, asked.typed, names=asked.names)
    commits = kernels_of(on, spec.range) if on else commits_of(source, spec.range)
    spec = evolve(spec, range=f"{LAB if on else ''}{commits[0].sha}..{commits[-1].sha}")
    _check(spec, source, asked)
    with LocalTarget() as target:
        environment = environment_of(target, now=datetime.now(UTC), more={})
        platform = platform_from_environment(environment, kind=target.kind, name=target.name)
    for path in family(asked.runs, spec.name).values():
        with suppress(DataError):  # is said below
            if FOLDERS.kind.holds(path) and not BisectStore.open(path).committed():
                Place(path=path, replaces=True).emptied()  # an end could not be measured
    place = FOLDERS.choose(
        asked.runs, spec, platform, differs=lambda store: iter(()), **asked.placing
    )
    store = BisectStore.open(place.path) if place.resumed else None
    total, unit = len(commits) - 1, f"{spec.noun}s"
    if store:
        total, unit = len(store.committed()), "blocks"
    asked.announce(place, total=total, left=0, unit=unit)
    if store is None:
        named = [[each.sha, each.subject] for each in commits]
        store = BisectStore.create(place.emptied(), FOLDERS.plain(spec), platform, commits=named)
    known = Bisected(spec=spec, commits=store.commits, runs=())
    return Begun(experiment=BisectExperiment(known, source, store=store, planned=[]))


KIND = TableKind(
    name="bisect",
    folders=FOLDERS,
    summarise=summarise,
    answer=answer,
    document=document,
    plain=summary_dict,
    rows=lambda found: found.cells,
    columns=COLUMNS,
    cases=cases,
).kind(begin, keys=("commit",))
