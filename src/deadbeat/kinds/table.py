"""What commands do with the folders of a kind whose result is one table of cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Generic, TypeVar

from attrs import evolve, frozen

from deadbeat.executors.made import refuse_made_up
from deadbeat.experiment.folders import Folders, RunFolders
from deadbeat.kinds.base import Begin, Begun, ExperimentKind, Shown, Stored
from deadbeat.model.platform import Platform
from deadbeat.report.beside import with_beside
from deadbeat.report.document import Column, Document, csv_of
from deadbeat.report.html import write_result
from deadbeat.report.paper import Words
from deadbeat.store.campaign import free_bytes
from deadbeat.store.folder import OwnedFolder
from deadbeat.store.place import REPORT_FILE, FolderState
from deadbeat.store.runfolder import RunFolder
from deadbeat.targets.base import Target
from deadbeat.targets.opening import open_target

S = TypeVar("S", bound=RunFolder[Any, Any])
W = TypeVar("W", bound=OwnedFolder)
F = TypeVar("F")


def opened(asked: Begin) -> Target | None:
    """The machine to measure on, held until all is over; None: a made-up one.

    Raises:
        UsageError: Both are asked for.
    """
    if asked.simulated:
        refuse_made_up(asked.target or asked.cross, "--simulated")
        return None
    return asked.held.enter_context(closing(open_target(asked.target)))


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
    ready: Callable[[int], Mapping[str, object]] = lambda left: {},
    made: Callable[[S], None] = lambda store: None,
) -> S:
    """Makes the folder of ``spec``, or finds the one to continue, and says what will happen.

    Args:
        seconds, need: What so many of the ``planned`` runs take, as of `Begin.announce`.
        differs: As of `RunFolders.choose`.
        ready: What is done before anything is said, where so many runs are lacking; what else the
            head of a new folder holds.
        made: What is done with a new folder.
    """
    retry = asked.retry_invalid
    place = folders.choose(
        asked.runs,
        spec,
        platform,
        differs=differs,
        fresh=asked.fresh,
        retry=retry,
        keep=asked.keep,
    )
    store = folders.store.open(place.path) if place.resumed else None
    left = len(store.lacking(planned, retry_invalid=retry)) if store else len(planned)
    free_bytes(place.path)  # before anything is measured for nothing
    facts = ready(left)
    asked.announce(
        place,
        total=len(planned),
        left=left,
        made_up=asked.simulated,
        details=details,
        seconds=seconds(left),
        need=need(left),
    )
    if store is None:
        folders.store.create(place.path, folders.plain(spec), platform, **facts)
        store = folders.store.open(place.path)
        made(store)
    return store


@frozen(kw_only=True)
class TableKind(Generic[W, F]):
    """A kind with a row for each cell.

    Attributes:
        summarise: What a folder comes to; it has ``cells`` and ``labels``.
        answer: That in sentences. ``document``: as a page. ``plain``: as JSON values. ``rows``: for
            Python.
        columns: Of the file of its cells; none: it is among ``files``.
        files: More files beside the report, by name.
        fails: What ``--fail-on`` may name that is so.
        lines: What ``deadbeat why`` says below.
        words: Labels and caption of every figure on paper.
        stand: How far a folder is, where it is shown.
        judged: What else is said of a report (`Shown`); whatever can be refused is refused here.
    """

    name: str
    folders: RunFolders[Any] | Folders[Any]
    summarise: Callable[[W], F]
    answer: Callable[[F], Sequence[str]]
    document: Callable[[F, W], Document]
    plain: Callable[[F, W], dict[str, object]]
    rows: Callable[[F], Sequence[Mapping[str, object]]]
    columns: Sequence[Column] = ()
    files: Callable[[F], Mapping[str, str | dict[str, object]]] = lambda found: {}
    fails: Callable[[F], frozenset[str]] = lambda found: frozenset()
    lines: Sequence[str] = ()
    words: Callable[[Any], Words] = lambda found: Words(labels=" · ".join(found.labels), caption="")
    stand: Callable[[FolderState], Sequence[str]] = lambda state: ()
    judged: Callable[[F, W], Mapping[str, Any]] = lambda found, store: {}

    def kind(
        self, begin: Callable[[Begin], Begun], keys: tuple[str, ...] = (), **more: Any
    ) -> ExperimentKind:
        """The row of the table of kinds; ``more``: what few kinds have."""
        return ExperimentKind(
            name=self.name,
            folder=self.folders.kind,
            state_of=self.folders.state_of,
            show=self._show,
            report=self._report,
            why=self._why if self.lines else None,
            open=self._open,
            keys=keys,
            begin=begin,
            **more,
        )

    def _answer(self, store: W, found: Any) -> Shown:
        return Shown(
            kind=self.name,
            state=self.folders.state_of(store.path).state,
            headline=" ".join(self.answer(found)),
            plain=self.plain(found, store),
            document=with_beside(self.document(found, store), store.path),
            page=store.path / REPORT_FILE,
            empty=not found.cells,
            fails=self.fails(found),
        )

    def _show(self, path: Path) -> Shown:
        store = self.folders.store.open(path)
        lines = self.stand(self.folders.state_of(path))
        return evolve(self._answer(store, self.summarise(store)), whole=True, lines=lines)

    def _why(self, path: Path, worst: int) -> Shown:
        return evolve(self._show(path), lines=self.lines)

    def _report(self, path: Path, figures: bool) -> Shown:
        store = self.folders.store.open(path)
        found: Any = self.summarise(store)
        more = self.judged(found, store)
        made = with_beside(self.document(found, store), store.path)
        plain = self.plain(found, store)
        write_result(
            store,
            made,
            {
                **({"summary.csv": csv_of(self.columns, found.cells)} if self.columns else {}),
                "summary.json": plain,
                **self.files(found),
            },
            words=self.words(found),
            charts=made.charts if figures else (),
        )
        return evolve(self._answer(store, found), **more)

    def _open(self, path: Path) -> Stored[W, F]:
        store = self.folders.store.open(path)
        found = self.summarise(store)
        return Stored(show=self._show, store=store, summary=found, rows=self.rows(found))
