"""What is asked, and what is stored: a file for every block of runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from statistics import median

from attrs import field, frozen

from deadbeat.base.experiment.folders import RunFolders
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.run import StoredRun
from deadbeat.base.model.specification import read
from deadbeat.base.model.words import Json, shown
from deadbeat.base.store.folder import EXPERIMENT_FILE
from deadbeat.base.store.place import FolderKind
from deadbeat.base.store.runfolder import RunFolder, run_converter
from deadbeat.program.bisect.repository import Commit
from deadbeat.program.bisect.search import Block, Next, Search
from deadbeat.program.bisect.spec import BisectSpec

#: A build that takes more blocks of runs than this is dear.
_DEAR = 10


@frozen(order=True)
class BisectKey:
    """A block of runs, by its number."""

    number: int

    @property
    def text(self) -> str:
        return f"{self.number:06d}"

    @classmethod
    def parse(cls, text: str) -> BisectKey:
        if not (text.isascii() and text.isdigit()):
            raise UsageError(f"{shown(text)} names no block", "a block is called 000001")
        return cls(int(text))


@frozen(kw_only=True)
class BisectRun(StoredRun):
    """A block. Commits are places in the row that the head has.

    Attributes:
        kind: As of `search`. ``seconds``: all that it took, with ``built``: place -> seconds.
        unfit: The commit that could not be measured, and why; then there are no runs.
    """

    key: BisectKey
    kind: str
    commits: tuple[int, ...] = ()
    values: tuple[float, ...] = ()
    seconds: float
    built: dict[str, float] = field(factory=dict)
    unfit: dict[str, str] = field(factory=dict)


class BisectStore(RunFolder[BisectKey, BisectRun]):
    KIND, NOUN = "bisect", "search among commits"
    KEY, RUN = BisectKey, BisectRun
    CONVERTER = run_converter(BisectKey)

    @classmethod
    def has_facts(cls, plain: Mapping[str, Json]) -> bool:
        """Whether two commits or more are named, and nothing else is there."""
        rows = plain.get("commits")
        if plain.keys() != {"commits"} or not isinstance(rows, list) or len(rows) < 2:
            return False
        return all(
            isinstance(row, list) and len(row) == 2 and all(isinstance(each, str) for each in row)
            for row in rows
        )

    @property
    def commits(self) -> tuple[Commit, ...]:
        return tuple(Commit(*row) for row in self.facts["commits"])


def search_of(spec: BisectSpec, count: int, runs: Sequence[BisectRun]) -> Search:
    """All that is known, between the ends that are left."""
    return Search(
        count=count,
        blocks=[Block(run.kind, run.commits, run.values) for run in runs if run.values],
        unfit=frozenset(int(place) for run in runs for place in run.unfit),
        sign=1 if spec.better == "less" else -1,
    ).narrowed()


def next_of(spec: BisectSpec, search: Search, runs: Sequence[BisectRun]) -> Next:
    """What to do; it follows from what is stored alone."""
    built = {int(place): seconds for run in runs for place, seconds in run.built.items()}
    block_s = median([*pure_s(runs), 1e-3])
    dear = bool(built) and median(built.values()) > _DEAR * block_s
    return search.next({*built}, dear=dear, over=spent_s(runs) >= spec.most)


def spent_s(runs: Iterable[BisectRun]) -> float:
    """What all took."""
    return sum(run.seconds for run in runs)


def pure_s(runs: Iterable[BisectRun]) -> list[float]:
    """What each block took without builds."""
    return [run.seconds - sum(run.built.values()) for run in runs if run.values]


def planned(store: BisectStore) -> list[BisectKey]:
    """What is stored, and one more where it goes on."""
    spec, runs = read(BisectSpec, store.spec), [*store.runs()]
    keys = [run.key for run in runs]
    more = not next_of(spec, search_of(spec, len(store.commits), runs), runs).why
    return [*keys, BisectKey(keys[-1].number + 1 if keys else 1)] if more else keys


FOLDERS = RunFolders(
    kind=FolderKind(EXPERIMENT_FILE, BisectStore.NOUN, "bisect"),
    store=BisectStore,
    read=partial(read, BisectSpec),
    planned=planned,
    asked_for=lambda spec: spec.metric,
)
