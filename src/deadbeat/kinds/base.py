"""What a kind of experiment offers for its folders, whatever the command.

`deadbeat.kinds.KINDS` has a row for each kind; no command asks which kind a folder is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from attrs import frozen

from deadbeat.experiment.base import Experiment
from deadbeat.experiment.columns import Columns
from deadbeat.model.errors import UsageError
from deadbeat.model.finding import Finding
from deadbeat.report.document import Document, Table
from deadbeat.store.place import FolderKind, FolderState

S = TypeVar("S")
T = TypeVar("T")


@frozen(kw_only=True)
class Shown:
    """What a command says of a folder.

    Attributes:
        plain: For ``--json``.
        unsaid: Raised instead where there is nothing for a person to read.
        document: Its tables and sentences; then ``tables``, ``findings`` and ``lines``.
    """

    plain: Mapping[str, Any]
    unsaid: UsageError | None = None
    document: Document | None = None
    tables: Sequence[Table] = ()
    findings: Sequence[Finding] = ()
    lines: Sequence[str] = ()


@frozen(kw_only=True)
class Begin:
    """How an experiment is begun: where results are, and whether anew."""

    runs: Path
    fresh: bool = False


@frozen(kw_only=True)
class ExperimentKind:
    """The operations of a kind on one of its folders.

    Attributes:
        name: In lists and ``--json``.
        folder: What tells its folders from others.
        state_of: How far one is; damage is a state, not an error.
        show: Its results. ``report``: writes everything derived (with figures or without), and
            says where. ``why``: explains the worst so many; None: `show` does.
        open: Its results for whoever analyses them in Python.
        listed: Whether ``deadbeat runs`` lists it.
        spec, begin: Of a kind without a command of its own: the class of its specification, whose
            fields have options, and what makes or continues a folder for one.
    """

    name: str
    folder: FolderKind
    state_of: Callable[[Path], FolderState]
    show: Callable[[Path], Shown]
    report: Callable[[Path, bool], Shown]
    why: Callable[[Path, int], Shown] | None = None
    open: Callable[[Path], Any]
    listed: bool = True
    spec: type[Any] | None = None
    begin: Callable[[Any, Begin], Experiment[Any, Any]] | None = None


@frozen(kw_only=True)
class Stored(Generic[S, T]):
    """What `deadbeat.open` gives of a folder.

    Attributes:
        store: The folder, with its single runs.
        summary: What they say, typed.
        rows: The same as a table: one mapping for each cell.
    """

    store: S
    summary: T
    rows: Sequence[Mapping[str, Any]]

    @property
    def columns(self) -> Columns:
        """The table as numpy columns by name."""
        return Columns.of(self.rows)

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame.

        Raises:
            DeadbeatError: pandas is not installed.
        """
        return self.columns.to_pandas()
