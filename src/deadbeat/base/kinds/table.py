"""What commands do with the folders of a kind with one table of cells as result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from attrs import evolve, frozen

from deadbeat.base.experiment.folders import Folders, RunFolders
from deadbeat.base.kinds.base import Begin, Begun, ExperimentKind, Stored
from deadbeat.base.kinds.observed import more_figures
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.comparison import Comparable
from deadbeat.base.model.platform import Platform
from deadbeat.base.model.words import Json
from deadbeat.base.report.beside import with_beside
from deadbeat.base.report.document import Column, Document, Section, Table, csv_of, records
from deadbeat.base.report.html import write_result
from deadbeat.base.report.machines import Verdicted
from deadbeat.base.report.paper import Words
from deadbeat.base.store.files import free_bytes
from deadbeat.base.store.folder import OwnedFolder
from deadbeat.base.store.place import REPORT_FILE, FolderState, stage
from deadbeat.base.store.runfolder import RunFolder
from deadbeat.base.store.standing import keep_state

S = TypeVar("S", bound=RunFolder[Any, Any])
W = TypeVar("W", bound=OwnedFolder)
F = TypeVar("F")


def begun_store(
    folders: RunFolders[S],
    asked: Begin,
    spec: Any,
    platform: Platform,
    planned: Sequence[Any],
    *,
    seconds: Callable[[int], float | None],
    details: str = "",
    need: Callable[[int], int | None] = lambda left: None,
    differs: Callable[[S], Iterator[str]] = lambda store: iter(()),
    ready: Callable[[int], Mapping[str, Json]] = lambda left: {},
    made: Callable[[S], None] = lambda store: None,
) -> S:
    """Makes the folder of ``spec``, or finds the one to continue, and says what will happen.

    Args:
        seconds, need: What a number of the ``planned`` runs takes, as of `Begin.announce`.
        differs: See `RunFolders.choose`.
        ready: What is done before anything is said, with the number of lacking runs; what else the
            head of a new folder holds.
        made: What is done with a new folder.
    """
    retry = asked.retry_invalid
    place = folders.choose(
        asked.runs, spec, platform, differs=differs, **{**asked.placing, "retry": retry}
    )
    store = folders.store.open(place.path) if place.resumed else None
    left = len(store.lacking(planned, retry_invalid=retry)) if store else len(planned)
    free_bytes(place.path)  # before anything is measured for nothing
    facts = ready(left)
    asked.announce(
        place,
        total=len(planned),
        left=left,
        kind="simulated" * asked.simulated,
        details=details,
        seconds=seconds(left),
        need=need(left),
    )
    if store is None:
        store = folders.store.create(place.emptied(), folders.plain(spec), platform, **facts)
        made(store)
    return store


@frozen(kw_only=True)
class TableKind(Generic[W, F]):
    """A kind with a row for each cell.

    Attributes:
        summarise: What a folder comes to. Unless these are said, too, it has ``cells``, which the
            file of ``columns`` and `Shown.empty` are about, and ``labels``.
        answer: Result in sentences. ``document``: as a page. ``plain``: as JSON values, beside
            those of every kind. ``rows``: in Python, beside what is ``typed``.
        columns: Columns of the file of its cells; none: it is among ``files``.
        files: More files beside the report, by name.
        cases: What passed or failed, beside runs that count nowhere.
        lines: What ``deadbeat why`` says below.
        words: Labels and caption of every figure on paper.
        shown: `Shown` where a folder is shown. ``judged``: what else is said of a report;
            whatever can be refused is refused here.
        comparable: How two results are compared, and the figures that have no column above.
        write: Writes everything derived (with figures or without), and returns what it comes to;
            None: the page, the figures on it and the files above.
    """

    name: str
    folders: RunFolders[Any] | Folders[Any]
    summarise: Callable[[W], F]
    answer: Callable[[F], Sequence[str]]
    document: Callable[[F, W], Document]
    plain: Callable[[F, W], dict[str, Json]]
    rows: Callable[[F], Sequence[Mapping[str, Json]]]
    typed: Callable[[F], Any] = lambda found: found
    columns: Sequence[Column] = ()
    files: Callable[[F], Mapping[str, str | dict[str, Json]]] = lambda found: {}
    cases: Callable[[F], Iterable[Verdicted]] = lambda found: ()
    lines: Sequence[str] = ()
    words: Callable[[Any], Words] = lambda found: Words(labels=" · ".join(found.labels), caption="")
    empty: Callable[[Any], bool] = lambda found: not found.cells
    shown: Callable[[F, W, FolderState, Shown], Shown] = lambda found, store, state, said: said
    judged: Callable[[F, W], Mapping[str, Any]] = lambda found, store: {}
    comparable: Comparable[Any] | None = None
    write: Callable[[W, bool], F] | None = None

    def kind(
        self, begin: Callable[[Begin], Begun], keys: tuple[str, ...] = (), **more: Any
    ) -> ExperimentKind:
        """The row of the table of kinds; ``more``: what few kinds have."""
        usual = {
            "why": self._why if self.lines else None,
            "open": self._open,
            "comparable": self.comparable,
        }
        return ExperimentKind(
            name=self.name,
            folder=self.folders.kind,
            state_of=self.folders.state_of,
            show=self.show,
            report=self._report,
            keys=keys,
            begin=begin,
            **{**usual, **more},
        )

    def answered(self, store: W, found: F, state: FolderState) -> Shown:
        """What ``found`` says."""
        path = store.path
        page = path / REPORT_FILE
        usual = {"name": path.name, "path": str(path), "report": str(page)}
        document, plain = self.document(found, store), self.plain(found, store)
        if more := self._more(path):
            section = Section("more-figures", "More figures", (more,))
            document = evolve(document, sections=(*document.sections, section))
            plain = {**plain, "figures": [*records(more.columns, more.rows)]}
        # Whether every run counts.
        lacking = Verdicted(
            name="runs",
            group=f"{self.name}.invalid",
            verdict="failed" if state.invalid or state.failed else "passed",
            message=f"{state.invalid} of {state.done + state.failed} runs are invalid and"
            f" {state.failed} have no result, allowed: 0",
        )
        return Shown(
            kind=self.name,
            state=state.state,
            headline=" ".join(self.answer(found)),
            plain={**usual, **plain},
            document=with_beside(document, path),
            page=page,
            empty=self.empty(found),
            invalid=state.invalid,
            cases=(*self.cases(found), lacking),
        )

    def show(self, path: Path) -> Shown:
        """Show a result; see `ExperimentKind.show`."""
        store = self.folders.store.open(path)
        found = self.summarise(store)
        state = self.folders.state_in(store)
        said = evolve(self.answered(store, found, state), whole=True)
        return self.shown(found, store, state, said)

    def _why(self, path: Path, worst: int) -> Shown:
        return evolve(self.show(path), lines=self.lines)

    def _report(self, path: Path, figures: bool) -> Shown:
        store = self.folders.store.open(path)
        found = self.summarise(store) if self.write is None else self.write(store, figures)
        more = self.judged(found, store)
        return evolve(self.written(store, found, figures), **more)

    def written(self, store: W, found: Any, figures: bool) -> Shown:
        """What ``found`` says, and the files of it that are not written yet."""
        state = self.folders.state_in(store)
        said = self.answered(store, found, state)
        files: dict[str, str | dict[str, Json]] = {}
        if table := self._more(store.path):
            files["figures.csv"] = csv_of(table.columns, table.rows)
        if self.write is None:
            cells = {"summary.csv": csv_of(self.columns, found.cells)} if self.columns else {}
            files |= {**cells, "summary.json": said.plain, **self.files(found)}
        if files:
            made = cast(Document, said.document)
            drawn = made.charts if figures and self.write is None else ()
            write_result(store, made, files, words=self.words(found), charts=drawn)
        if state.state == "measured":
            state = evolve(state, state=stage(store.path, complete=True))
        keep_state(self.name, state)
        return self.answered(store, found, state)

    def _more(self, path: Path) -> Table | None:
        return more_figures(self.comparable, path) if self.comparable else None

    def _open(self, path: Path) -> Stored[W, Any]:
        store = self.folders.store.open(path)
        found = self.summarise(store)
        return Stored(show=self.show, store=store, summary=self.typed(found), rows=self.rows(found))
