"""The kinds of experiments, by name and by folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from deadbeat.base.kinds import KINDS
from deadbeat.base.kinds.base import ExperimentKind
from deadbeat.base.store.place import no_result


def all_kinds() -> list[ExperimentKind]:
    """Every kind."""
    return [kind_of(name) for name in KINDS]


def kind_of(name: str) -> ExperimentKind:
    """The kind of a row of `KINDS`."""
    kind = import_module(KINDS[name][0]).KIND
    assert isinstance(kind, ExperimentKind)
    return kind


def open_folder(path: Path | str) -> Any:
    """The results in ``path``: a `CampaignView`, or a `Stored` of another kind.

    Raises:
        DataError: No results are there, or they are damaged.
    """
    folder = Path(path)
    for kind in all_kinds():
        if kind.folder.holds(folder):
            return kind.open(folder)
    return all_kinds()[0].open(folder)  # which says what is wrong


def find(
    runs: Path, text: str, others: Callable[[], Sequence[str]] = tuple
) -> tuple[ExperimentKind, Path]:
    """The folder that ``text`` names, a path or a name under ``runs``, and its kind.

    Args:
        others: What else may have been meant.

    Raises:
        UsageError: There is none.
    """
    for kind in all_kinds():
        path = kind.folder.find(runs, text)
        if path is not None:
            return kind, path
    raise no_result(runs, text, others())
