"""What commands do with the folders of a kind whose result is one table of cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from attrs import evolve, frozen

from deadbeat.experiment.folders import RunFolders
from deadbeat.kinds.base import Begin, Begun, ExperimentKind, Shown, Stored
from deadbeat.model.platform import Platform
from deadbeat.report.document import Column, Document, csv_of
from deadbeat.report.html import write_result
from deadbeat.report.paper import Words
from deadbeat.store.place import REPORT_FILE
from deadbeat.store.runfolder import RunFolder

S = TypeVar("S", bound=RunFolder[Any, Any])
F = TypeVar("F")


@frozen(kw_only=True)
class TableKind(Generic[S, F]):
    """A kind with a row for each cell.

    Attributes:
        summarise: What a folder comes to; it has ``cells`` and ``labels``.
        answer: That in sentences. ``document``: as a page. ``plain``: as JSON values. ``rows``: for
            Python.
        columns: Of the file of its cells.
        files: More files beside the report, by name.
        fails: What ``--fail-on`` may name that is so.
        lines: What ``deadbeat why`` says below.
    """

    name: str
    folders: RunFolders[S]
    summarise: Callable[[S], F]
    answer: Callable[[F], Sequence[str]]
    document: Callable[[F, Platform], Document]
    plain: Callable[[F, S], dict[str, object]]
    rows: Callable[[F], Sequence[Mapping[str, object]]]
    columns: Sequence[Column]
    files: Callable[[F], Mapping[str, str]] = lambda found: {}
    fails: Callable[[F], frozenset[str]] = lambda found: frozenset()
    lines: Sequence[str] = ()

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

    def _answer(self, store: S, found: Any) -> Shown:
        return Shown(
            kind=self.name,
            state=self.folders.state_of(store.path).state,
            headline=" ".join(self.answer(found)),
            plain=self.plain(found, store),
            document=self.document(found, store.platform),
            page=store.path / REPORT_FILE,
            empty=not found.cells,
            fails=self.fails(found),
        )

    def _show(self, path: Path) -> Shown:
        store = self.folders.store.open(path)
        return evolve(self._answer(store, self.summarise(store)), whole=True)

    def _why(self, path: Path, worst: int) -> Shown:
        return evolve(self._show(path), lines=self.lines)

    def _report(self, path: Path, figures: bool) -> Shown:
        store = self.folders.store.open(path)
        found: Any = self.summarise(store)
        made = self.document(found, store.platform)
        plain = self.plain(found, store)
        write_result(
            store,
            made,
            {
                "summary.csv": csv_of(self.columns, found.cells),
                "summary.json": plain,
                **self.files(found),
            },
            words=Words(labels=" · ".join(found.labels), caption=""),
            charts=made.charts if figures else (),
        )
        return self._answer(store, found)

    def _open(self, path: Path) -> Stored[S, F]:
        store = self.folders.store.open(path)
        found = self.summarise(store)
        return Stored(show=self._show, store=store, summary=found, rows=self.rows(found))
