"""What a kind of experiment offers for its folders, whatever the command.

`deadbeat.base.kinds.KINDS` has a row for each kind; no command asks which kind a folder is.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar

from attrs import evolve, field, frozen

from deadbeat.base.experiment.base import Experiment
from deadbeat.base.experiment.columns import Columns
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.comparison import Comparable
from deadbeat.base.model.errors import DeadbeatError, UsageError
from deadbeat.base.model.finding import Finding
from deadbeat.base.model.platform import EXTRAPOLATED
from deadbeat.base.model.words import Json, duration, nearest, shown, size
from deadbeat.base.report.document import CellMap, Document, Table, records
from deadbeat.base.report.notebook import Drawing, glance
from deadbeat.base.report.paper import Words
from deadbeat.base.store.files import free_bytes
from deadbeat.base.store.place import FolderKind, FolderState, Place


class MachineOptions(TypedDict):
    """The options that name what runs task sets, as typed."""

    executor: str | None
    simulated: bool
    target: str | None
    cross: str | None


S = TypeVar("S")
T = TypeVar("T")


@frozen(kw_only=True)
class Begin:
    """What is asked of a kind that is to measure.

    Attributes:
        runs: Where results are.
        written: What a file asks for; ``typed``: what options do, which win. Both are layers of a
            specification; ``names``: what their keys are called where they were written.
        named: The user gave the name of the result.
        fresh: Start a new one, also where one could be resumed.
        keep: A finished one that answers just this is the answer.
        retry_failed, retry_invalid: Measure again what failed, or is invalid.
        simulated: Use a made-up machine.
        target: Word for the machine (`deadbeat.machine.targets.opening`); None: this one.
        budget_s: What all may take from ``started`` on; None: as long as it takes.
        cross: What builds programs for it (`Toolchain.find`); None: what is found for it.
        given: Options of the kind alone that are no part of its specification.
        words: The command as it was typed. ``as_json``: standard output is for its answer alone.
        say: Tells the person a line. ``agree``: asks for leave; UsageError where it is not given.
        held: Closes, when all is over, what is entered here.
    """

    runs: Path
    written: Mapping[str, Json] = field(factory=dict)
    typed: Mapping[str, Json] = field(factory=dict)
    names: Mapping[str, str] = field(factory=dict)
    named: bool = False
    fresh: bool = False
    keep: bool = False
    retry_failed: bool = False
    retry_invalid: bool = False
    simulated: bool = False
    target: str | None = None
    cross: str | None = None
    budget_s: float | None = None
    started: float = field(factory=time.monotonic)
    given: Mapping[str, Any] = field(factory=dict)
    words: Sequence[str] = ()
    as_json: bool = False
    say: Callable[[str], None] = field(default=lambda text: None)
    agree: Callable[[str], None] = field(default=lambda text: None)
    held: ExitStack = field(factory=ExitStack)

    def without_preset(
        self, presets: Mapping[str, Mapping[str, Json]]
    ) -> tuple[Mapping[str, Json], Mapping[str, Json]]:
        """What the preset that was typed says, and what else was typed.

        Raises:
            UsageError: There is no such preset.
        """
        name = str(self.typed.get("preset", "default"))
        if name not in {"default", *presets}:
            raise UsageError(f"--preset: {shown(name)} is not a choice", nearest(name, presets))
        rest = {key: value for key, value in self.typed.items() if key != "preset"}
        return presets.get(name, {}), rest

    @property
    def placing(self) -> dict[str, bool]:
        """What `Folders.place` is asked for."""
        retry = self.retry_failed
        return {"given": self.named, "fresh": self.fresh, "retry": retry, "keep": self.keep}

    @property
    def left_s(self) -> float | None:
        """What is left of the budget."""
        if self.budget_s is None:
            return None
        return max(0.0, self.started + self.budget_s - time.monotonic())

    def part(self, parts: int) -> Begin:
        """The same, to be measured by itself, with one of ``parts`` of what is left of the
        budget."""
        left_s = self.left_s
        budget_s = None if left_s is None else left_s / parts
        return evolve(self, budget_s=budget_s, started=time.monotonic(), held=ExitStack())

    @property
    def machine(self) -> MachineOptions:
        """What `make_executor` is asked for."""
        return {
            "executor": self.given.get("executor"),
            "simulated": self.simulated,
            "target": self.target,
            "cross": self.cross,
        }

    def announce(
        self,
        place: Place,
        *,
        total: int,
        left: int,
        unit: str = "runs",
        kind: str = "",
        details: str = "",
        seconds: float | None = None,
        need: int | None = None,
    ) -> None:
        """Says what will happen.

        Args:
            total: Runs in all, of which ``left`` are lacking; ``unit``: what they are called.
            kind: Of the platform.
            seconds: What they take, about; None: unknown. Where that may be more than the budget,
                the budget is said instead.
            need: Bytes they take on the disk.

        Raises:
            DeadbeatError: The disk has no room for them, or cannot be written.
        """
        if place.finished:
            self.say(f"{place.path} answers it already: it is not run again (--fresh)")
            return
        free = free_bytes(place.path)
        if kind in MADE_UP:
            self.say(MADE_UP[kind])
        runs = f"{total:,} {unit.removesuffix('s') if total == 1 else unit}"
        done = f"{total - left:,} of {runs} done" if place.resumed else runs
        if self.budget_s and (seconds is None or _SURE * seconds > self.budget_s):
            cost = [f"at most {duration(self.budget_s)}"]
        else:
            cost = [] if seconds is None else [f"about {duration(seconds)}"]
        cost += [] if need is None else [f"{size(need)} of disk ({size(free)} free)"]
        verb = "continue" if place.resumed else "begin"
        head = f"{verb} {place.path}, {done}"
        self.say(": ".join(filter(None, [head, details, " and ".join(cost)])))
        if (need or 0) > free:
            raise DeadbeatError(
                f"{place.path} may need {size(need or 0)}, only {size(free)} are free",
                "free space, choose another --runs, or measure less",
            )


#: A plan that may take longer than said by this factor.
_SURE = 1.25
#: Kind of a platform of which nothing is measured -> what is said.
MADE_UP = {
    "simulated": "SIMULATED: a made-up machine; nothing here says anything about this one",
    EXTRAPOLATED: "EXTRAPOLATED: replayed by stored prices on more cores; nothing is measured",
}


@frozen(kw_only=True)
class Begun:
    """An experiment that can be carried out.

    Attributes:
        beside: A program that runs beside all runs; empty: none.
        so_far: The picture of all stored runs; None: what `ExperimentKind.picture` finds.
        report: Writes everything derived (with figures or without); None: what any folder has.
        then: What this process becomes when all is said; None: it ends.
    """

    experiment: Experiment[Any, Any]
    beside: Sequence[str] = ()
    so_far: Callable[[], Table | CellMap | None] | None = None
    report: Callable[[bool], Shown] | None = None
    then: Callable[[], None] | None = None


@frozen(kw_only=True)
class ExperimentKind:
    """The operations of a kind on one of its folders.

    Attributes:
        name: In lists and ``--json``.
        folder: What tells its folders from others.
        state_of: How far one is; damage is a state, not an error.
        show: Its results. ``report``: writes everything derived (with figures or without), and
            says where. ``why``: explain the N worst; None: `show` does. ``perfetto``: the
            same as the text of a trace; None: there is none. ``samples``: writes every single one
            into a folder; None: they are not kept.
        open: Its results for whoever analyses them in Python; ``keys``: the columns of its table
            that say which row it is.
        begin: Makes or continues a folder; whatever can be refused is refused before.
        comparable: How two of its results are compared; None: they are not.
        follow: How the same is asked of a further machine, where the first has it in a folder.
        spec: For a kind with a command made of this alone: the class of its specification, with
            options in its fields.
        simulates: What it measures is compared with simulations: the scheduling core, which may
            have to be built, is there before.
    """

    name: str
    folder: FolderKind
    state_of: Callable[[Path], FolderState]
    show: Callable[[Path], Shown]
    report: Callable[[Path, bool], Shown]
    why: Callable[[Path, int], Shown] | None = None
    perfetto: Callable[[Path, int], str] | None = None
    samples: Callable[[Path, Path], Sequence[Path]] | None = None
    open: Callable[[Path], Any]
    keys: tuple[str, ...] = ()
    begin: Callable[[Begin], Begun]
    comparable: Comparable[Any] | None = None
    follow: Callable[[Begin, Path], Begin] = lambda asked, first: asked
    spec: type[Any] | None = None
    simulates: bool = False

    def picture(self, path: Path) -> Table | CellMap | None:
        """What the first screen draws of a folder; also while it is measured."""
        document = self.show(path).document
        return document.picture if document else None


class OpenedResult(ABC):
    """What `deadbeat.open` gives of every folder; a notebook shows its answer."""

    #: Says what there is, for whoever reads it.
    show: Callable[[Path], Shown]

    @property
    @abstractmethod
    def path(self) -> Path:
        """The folder."""

    @property
    @abstractmethod
    def rows(self) -> Sequence[Mapping[str, Json]]:
        """The results as a table: one mapping for each cell, point or group."""

    @cached_property
    def shown(self) -> Shown:
        """What ``deadbeat show`` answers: ``kind``, ``state``, ``headline``, ``plain``."""
        return self.show(self.path)

    @property
    def document(self) -> Document:
        """The page as sections, tables and figures.

        Raises:
            DeadbeatError: Nothing is stored yet.
        """
        if self.shown.document is None:
            raise DeadbeatError(f"{self.path} holds no result yet", "measure first")
        return self.shown.document

    @property
    def headline(self) -> str:
        """The answer in a sentence or two."""
        return self.shown.headline

    @property
    def findings(self) -> Sequence[Finding]:
        """What makes the result doubtful."""
        return self.document.findings

    @property
    def labels(self) -> Sequence[str]:
        """What must show on every figure: ``SIMULATED`` ...."""
        return self.document.labels

    @property
    def figures(self) -> dict[str, Drawing]:
        """The figures by name: a notebook shows them, ``save`` writes them."""
        document = self.document
        words = Words(labels=", ".join(document.labels), caption=document.title)
        return {chart.name: Drawing(chart, words) for chart in document.charts}

    def _repr_html_(self) -> str:
        return glance(self.document)

    @property
    def columns(self) -> Columns:
        """The table as numpy columns by name."""
        return Columns.of(self.rows)

    def table(self, name: str) -> Columns:
        """A table of the page, or ``jobs``: every one, of a kind that keeps them. Raises
        UsageError: it has none of this name."""
        if name == "jobs" and (jobs := self.every_job) is not None:
            return jobs
        found = {part.name: part for part in self.document.parts() if isinstance(part, Table)}
        if name not in found:
            raise UsageError(f"{self.path} has no table {shown(name)}", nearest(name, found))
        return Columns.of([*records(found[name].columns, found[name].rows)])

    @property
    def every_job(self) -> Columns | None:
        """Every job, where the kind keeps them."""
        return None

    @property
    def simulated(self) -> bool:
        """Whether a simulator made it: then nothing in it was measured."""
        return any(label.lower().startswith("simulated") for label in self.labels)

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame.

        Raises:
            DeadbeatError: pandas is not installed.
        """
        return self.columns.to_pandas()


@frozen(kw_only=True, repr=False)
class Stored(OpenedResult, Generic[S, T]):
    """A folder with its results.

    Attributes:
        store: The folder, with its single runs.
        summary: What they say, typed.
        rows, show: See `OpenedResult`.
    """

    store: S
    summary: T
    rows: Sequence[Mapping[str, Json]]
    show: Callable[[Path], Shown]

    @property
    def path(self) -> Path:
        return Path(getattr(self.store, "path"))  # noqa: B009  every store has a folder

    @property
    def every_job(self) -> Columns | None:
        read: Callable[[], Columns] | None = getattr(self.store, "every_job", None)
        return read() if read else None

    def __repr__(self) -> str:
        return f"<{self.path}: {self.headline}>"
