"""Which commit changed a figure: what commands do with the folder of a search."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from attrs import define, evolve, field

from deadbeat.base.experiment.base import FolderExperiment, Kept, Lost, Phase, Todo, Watcher
from deadbeat.base.kinds.base import Begin, Begun
from deadbeat.base.kinds.table import TableKind
from deadbeat.base.model.errors import DataError, DeadbeatError, RunError, UsageError
from deadbeat.base.model.specification import read
from deadbeat.base.model.words import count_of, duration
from deadbeat.base.store.place import Place, family
from deadbeat.machine.host.environment import environment_of, platform_from_environment
from deadbeat.machine.targets.guarded import found
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.machine.targets.repeated import Programs
from deadbeat.program.bisect.document import (
    COLUMNS,
    answer,
    cases,
    document,
    rows,
    summarise,
    summary_dict,
)
from deadbeat.program.bisect.kernels import LAB, NAME, kernels_of
from deadbeat.program.bisect.repository import Commit, Trees, changed, commits_of
from deadbeat.program.bisect.results import (
    FOLDERS,
    BisectKey,
    BisectRun,
    BisectStore,
    next_of,
    pure_s,
    search_of,
    spent_s,
)
from deadbeat.program.bisect.running import figure
from deadbeat.program.bisect.search import Next, Search
from deadbeat.program.bisect.spec import BisectSpec

#: Runs of a commit that may fail in a row before it is left out.
_ATTEMPTS = 3
_SCRATCH = "printed.part"


@define(eq=False, slots=False)
class BisectExperiment(FolderExperiment[BisectKey, BisectRun]):
    paced = True
    _spec: BisectSpec
    _source: Path
    _commits: tuple[Commit, ...] = ()
    _runs: list[BisectRun] = field(factory=list, init=False)
    _ruled_out: int = field(default=0, init=False)
    _booted: dict[int, float] = field(factory=dict, init=False)  # of this call
    _programs: Programs = field(init=False)
    _trees: Trees | None = field(default=None, init=False)  # None: the lab boots kernels

    @contextmanager
    def prepared(self, tell: Watcher) -> Iterator[None]:
        """What is stored; where the search has ended, nothing of it stays."""
        folder = self._folder.path
        self._runs = [*self._folder.runs()]
        if not self._spec.range.startswith(LAB):
            self._trees = Trees(folder, self._source, self._spec.build or "")
            self._trees.clean()
        with Programs(folder / _SCRATCH) as self._programs:
            yield
        if self._trees and self._next().why:
            self._trees.remove()

    def _search(self) -> Search:
        return search_of(self._spec, len(self._commits), self._runs)

    def _next(self) -> Next:
        return next_of(self._spec, self._search(), self._runs)

    def todo(self) -> Todo:
        done, left = sum(len(run.values) for run in self._runs), self.expected_left()
        return Todo(total=done + left, done=done, left=left)

    def expected_left(self) -> int:
        """Runs for which there is time, about."""
        runs = sum(len(run.values) for run in self._runs)
        left_s = self._spec.most - spent_s(self._runs)
        return max(1, int(left_s * runs / max(sum(pure_s(self._runs)), 1e-3)))

    def decided(self) -> tuple[int, int]:
        """Commits that were ruled out once, and all."""
        first, last, _ = self._search().likely
        every = len(self._commits) - 1
        self._ruled_out = max(self._ruled_out, every - (last + 1 - first))
        return self._ruled_out, every

    def seconds(self, runs: int) -> float:
        return math.inf

    def kept(self) -> str:
        return count_of(sum(len(run.values) for run in self._runs), "run")

    def keep(self, result: BisectRun) -> Kept[BisectKey] | Lost[BisectKey]:
        self._runs.append(result)
        self._folder.keep(result)
        return Kept(result.key, size=len(result.values))

    def measure(self, tell: Watcher) -> Generator[BisectRun | Lost[BisectKey]]:
        while not (then := self._next()).why:
            key = BisectKey(self._runs[-1].key.number + 1 if self._runs else 1)
            yield self._block(key, then, tell)

    def _block(self, key: BisectKey, then: Next, tell: Watcher) -> BisectRun:
        """Runs its commits in an order of its own; or says which one cannot be."""
        started, began, built = datetime.now(UTC).isoformat(), time.monotonic(), {}
        spec, values, place = self._spec, [], -1
        order = [*then.commits]
        random.Random(f"{spec.seed} {key.number}").shuffle(order)
        try:
            for place in dict.fromkeys(order):
                commit = self._commits[place]
                if self._trees and not self._trees.built(commit):
                    tell(Phase(name=f"{'build' if spec.build else 'check out'} {commit}"))
                    built[str(place)] = self._trees.make(commit, self._programs)
            for place in order:
                values.append(self._figure(place))
        except RunError as error:
            ends = {0: "good", len(self._commits) - 1: "bad"}
            if place in ends:
                text = f"the {ends[place]} end {self._commits[place]} cannot be measured: {error}"
                log = self._trees and self._trees.log_of(self._commits[place])
                usual = "check --build, the program, --metric"
                hint = f"see {log}" if log and log.exists() else usual
                raise DeadbeatError(text, hint) from None
            unfit, order, values = {str(place): str(error)}, [], []
            built.pop(str(place), None)
        else:
            unfit = {}
        return BisectRun(
            key=key,
            started=started,
            kind=then.kind,
            commits=tuple(order),
            values=tuple(values),
            seconds=time.monotonic() - began,
            built=built,
            unfit=unfit,
        )

    def _figure(self, place: int) -> float:
        """One run; the lab gives the same again. Raises RunError: it fails again and again."""
        commit, spec = self._commits[place], self._spec
        folder, command = self._source, spec.command
        if self._trees:
            folder = self._trees.folder_of(commit)
        else:
            pairs = (zip(run.commits, run.values, strict=True) for run in self._runs)
            known = {**self._booted, **{each: value for pair in pairs for each, value in pair}}
            if place in known:
                return known[place]
            command = tuple(word.replace(NAME, commit.sha) for word in command)
        for attempt in range(_ATTEMPTS):
            try:
                value = figure(self._programs, spec.metric, command, folder, spec.duration)
                self._booted[place] = value
                return value
            except RunError:
                if attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError


def _check_outside(program: Path, source: Path, say: Callable[[str], None]) -> None:
    """A program that is no copy's. Raises UsageError: the repository has it."""
    if program.is_relative_to(source):
        own = program.relative_to(source)
        raise UsageError(f"{program} is one build for all commits", f"say which of each: ./{own}")
    say(f"{program} is the same for every commit: only what it reads of the copy differs")


def begin(asked: Begin) -> Begun:
    """Makes the folder of a search, or finds the one to continue."""
    source = Path.cwd()
    spec = read(BisectSpec, asked.written, asked.typed, names=asked.names)
    on = asked.target
    commits = kernels_of(spec.range, on) if on else commits_of(source, spec.range)
    if "/" not in spec.command[0]:
        found(spec.command[0])
    elif not on and Path(spec.command[0]).is_absolute():
        _check_outside(Path(spec.command[0]), source, asked.say)
    if on and not any(NAME in word for word in spec.command):
        raise UsageError(f"no word of the program has {NAME}", f"lab:{NAME} is each kernel")
    if not on and changed(source):
        asked.say("changes that are not committed stay as they are; they are not measured")
    spec = evolve(spec, range=f"{LAB if on else ''}{commits[0].sha}..{commits[-1].sha}")
    with ExitStack() as held:
        target = held.enter_context(LocalTarget())
        environment = environment_of(target, now=datetime.now(UTC), more={})
        online = environment["cpus_online"]
        cpus = online if isinstance(online, list) else []
        platform = platform_from_environment(
            environment, cpus=cpus, kind=target.kind, name=target.name
        )
    for path in family(asked.runs, spec.name).values():
        with suppress(DataError):  # is said below
            if FOLDERS.kind.holds(path) and not BisectStore.open(path).committed():
                Place(path=path, replaces=True).emptied()  # an end could not be measured
    place = FOLDERS.choose(
        asked.runs, spec, platform, differs=lambda store: iter(()), **asked.placing
    )
    store = BisectStore.open(place.path) if place.resumed else None
    done = len(store.committed()) if store else 0
    asked.announce(
        place,
        total=done if store else len(commits) - 1,
        left=0,
        unit="blocks" if store else "commits",
        details=f"at most {duration(spec.most)}",
    )
    if store is None:
        rows = [[each.sha, each.subject] for each in commits]
        store = BisectStore.create(place.emptied(), FOLDERS.plain(spec), platform, commits=rows)
    experiment = BisectExperiment(spec, source, store.commits, store=store, planned=[])
    return Begun(experiment=experiment)


KIND = TableKind(
    name="bisect",
    folders=FOLDERS,
    summarise=summarise,
    answer=answer,
    document=document,
    plain=summary_dict,
    rows=rows,
    columns=COLUMNS,
    cases=cases,
).kind(begin, keys=("commit",))
