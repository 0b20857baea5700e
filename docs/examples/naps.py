"""A kind of experiment as small as one can be: how much longer than asked does a sleep take?

It needs this module and a row in `deadbeat.base.kinds.KINDS`; all else is common to all kinds:
``deadbeat naps --naps 1ms,10ms``, resume, budget, retry, ``runs``, ``show``, ``report``,
``compare``, `open`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import attrs
from attrs import frozen

from deadbeat.base.experiment import fields
from deadbeat.base.experiment.base import FolderExperiment
from deadbeat.base.experiment.folders import RunFolders
from deadbeat.base.kinds.base import Begin, Begun
from deadbeat.base.kinds.table import TableKind, begun_store
from deadbeat.base.model import rules
from deadbeat.base.model.comparison import (
    Aligned,
    Comparable,
    ComparedLook,
    Lineup,
    Subject,
    Vocabulary,
)
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.observations import Cell as Where
from deadbeat.base.model.observations import Metric, Observation, Observations
from deadbeat.base.model.platform import example_platform
from deadbeat.base.model.rules import duration_text
from deadbeat.base.model.run import StoredRun
from deadbeat.base.model.specification import keyed, read
from deadbeat.base.report.document import Column, Document, Section, Sentence, Table
from deadbeat.base.store.folder import EXPERIMENT_FILE
from deadbeat.base.store.place import FolderKind
from deadbeat.base.store.runfolder import RunFolder, run_converter


@frozen
class Naps:
    """Lengths of sleeps: ``1ms,10ms``."""

    def parse(self, value: Any) -> tuple[int, ...]:
        listed = rules.items(value, "a list of times", "1ms,10ms")
        return tuple(rules.each(listed, rules.DurationNs(1_000, 10**9).parse))

    @staticmethod
    def plain(naps: tuple[int, ...]) -> list[str]:
        return [duration_text(nap) for nap in naps]


@frozen(kw_only=True)
class NapSpec:
    """How long to sleep, and how often."""

    name: str = fields.name("Name of the folder.", "naps")
    seed: int = fields.SEED
    naps: tuple[int, ...] = keyed(
        Naps(), "--naps LIST", "Lengths of sleeps: 1ms,10ms.", default=(1_000_000,)
    )
    repeats: int = fields.repeats("Runs of each length.", 5)


@frozen(order=True)
class NapKey:
    """One run: a length, and which repeat of it."""

    nap_ns: int
    repeat: int

    @property
    def text(self) -> str:
        return f"{self.nap_ns}.{self.repeat:04d}"

    @classmethod
    def parse(cls, text: str) -> NapKey:
        length, _, repeat = text.partition(".")
        if not (length.isdigit() and repeat.isdigit()):
            raise UsageError(f"{text} names no run", "a run is called 1000000.0001")
        return cls(int(length), int(repeat))


@frozen(kw_only=True)
class NapRun(StoredRun):
    """What one run showed."""

    key: NapKey
    late_ns: int


class NapStore(RunFolder[NapKey, NapRun]):
    """The folder of an experiment."""

    KIND, NOUN = "naps", "nap experiment"
    KEY, RUN = NapKey, NapRun
    CONVERTER = run_converter(NapKey)


def mean_seconds(planned: Sequence[NapKey]) -> float:
    return mean(key.nap_ns for key in planned) / 1e9


class NapExperiment(FolderExperiment[NapKey, NapRun]):
    """What a folder lacks."""

    def seconds(self, runs: int) -> float:
        return runs * mean_seconds(self.planned)

    def one(self, key: NapKey) -> NapRun:
        started, began = datetime.now(UTC).isoformat(), time.monotonic_ns()
        time.sleep(key.nap_ns / 1e9)
        late_ns = time.monotonic_ns() - began - key.nap_ns
        return NapRun(key=key, started=started, late_ns=late_ns)


def plan(spec: NapSpec) -> list[NapKey]:
    """Every length once in each block, in an order of its own."""
    keys = []
    for repeat in range(spec.repeats):
        block = [NapKey(nap, repeat) for nap in spec.naps]
        random.Random(f"{spec.seed} {repeat}").shuffle(block)
        keys += block
    return keys


FOLDERS = RunFolders(
    kind=FolderKind(EXPERIMENT_FILE, "nap experiment", "naps"),
    store=NapStore,
    read=partial(read, NapSpec),
    planned=lambda store: plan(read(NapSpec, store.spec)),
)


def begin(asked: Begin) -> Begun:
    """Makes the folder, or finds the one to continue."""
    spec = read(NapSpec, asked.written, asked.typed, names=asked.names)
    planned = plan(spec)
    each_s = mean_seconds(planned)
    store = begun_store(
        FOLDERS, asked, spec, example_platform(), planned, seconds=lambda left: left * each_s
    )
    return Begun(experiment=NapExperiment(store=store, planned=planned))


@frozen(kw_only=True)
class Cell:
    """All runs of one length."""

    nap_ns: int
    runs: int
    worst_ns: int


@frozen
class Summary:
    """All of a folder."""

    cells: list[Cell]
    labels: tuple[str, ...] = ()

    @property
    def answer(self) -> str:
        worst = max((cell.worst_ns for cell in self.cells), default=0)
        return f"The latest of all sleeps ended {duration_text(worst)} after its time."


def summarise(store: NapStore) -> Summary:
    late: dict[int, list[int]] = {}
    for run in store.runs():
        late.setdefault(run.key.nap_ns, []).append(run.late_ns)
    cells = [Cell(nap_ns=n, runs=len(each), worst_ns=max(each)) for n, each in sorted(late.items())]
    return Summary(cells)


@frozen(kw_only=True)
class Napped(Subject):
    """A result as it is compared."""

    runs: tuple[NapRun, ...]


def napped(path: Path) -> Napped:
    store = NapStore.open(path)
    return FOLDERS.subject(Napped, store, runs=tuple(store.runs()))


def align(lineup: Lineup) -> Aligned:
    """Each run of a length is an observation; runs of one repeat are pairs."""
    return Aligned(
        tables=tuple(
            Observations(
                name=each.name,
                rows=(
                    Observation(
                        run=run.key.text,
                        cell=Where(duration_text(run.key.nap_ns)),
                        block=f"{run.key.repeat:04d}",
                        metric="late",
                        value=run.late_ns,
                    )
                    for run in each.runs
                ),
            )
            for each in lineup.every
        )
    )


COMPARABLE = Comparable(
    of="naps",
    noun="nap experiment",
    words=Vocabulary(
        results="nap experiments",
        one="nap experiment",
        find_lost="see what was lost (deadbeat show)",
        lost="of the naps never ended",
        rare="more --repeats would show more",
    ),
    metrics=(Metric(name="late", title="Lateness", unit="ns", minimum=0.1),),
    read=napped,
    align=align,
    look=ComparedLook(called="Nap experiments", groups=("By length", "sleep")),
)

COLUMNS = (
    Column(key="nap_ns", heading="sleep", format=duration_text),
    Column(key="runs", heading="runs"),
    Column(key="worst_ns", heading="latest", format=duration_text),
)


def rows(found: Summary) -> list[dict[str, object]]:
    return [attrs.asdict(cell) for cell in found.cells]


def document(found: Summary, store: NapStore) -> Document:
    table = Table(name="naps", columns=COLUMNS, rows=found.cells, terminal=True)
    parts = (Sentence(found.answer, answer=True, terminal=True), table)
    return Document(
        title=store.path.name,
        kind="naps",
        source="the stored runs",
        answer=(found.answer,),
        picture=table,
        sections=(Section("answer", "How late a sleep ends", parts, "Answer"),),
    )


KIND = TableKind(
    name="naps",
    folders=FOLDERS,
    summarise=summarise,
    answer=lambda found: [found.answer],
    document=document,
    plain=lambda found, store: {"name": store.path.name, "rows": rows(found)},
    rows=rows,
    columns=COLUMNS,
).kind(begin, spec=NapSpec, comparable=COMPARABLE)
