"""The kinds of experiments, by name and by folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deadbeat.base.kinds import KINDS
from deadbeat.base.store.folder import EXPERIMENT_FILE
from deadbeat.base.store.place import FolderKind, no_result

if TYPE_CHECKING:  # a kind is imported with the first of its folders
    from deadbeat.base.kinds.base import ExperimentKind


def kind_of(name: str) -> ExperimentKind:
    """The kind of a row of `KINDS`."""
    kind: ExperimentKind = import_module(KINDS[name][0]).KIND
    return kind


def folders_of(name: str) -> FolderKind:
    """What tells the folders of a row of `KINDS` from others."""
    file = KINDS[name][1]
    return FolderKind(file, name, name if file == EXPERIMENT_FILE else "")


def kind_at(folder: Path) -> ExperimentKind:
    """The kind of the result in ``folder``; of none one that says what is wrong."""
    return kind_of(next((name for name in KINDS if folders_of(name).holds(folder)), "contention"))


def open_folder(path: Path | str) -> Any:
    """The results in ``path``: a `CampaignView`, or a `Stored` of another kind.

    Raises:
        DataError: No results are there, or they are damaged.
    """
    return kind_at(Path(path)).open(Path(path))


def find(
    runs: Path, text: str, others: Callable[[], Sequence[str]] = tuple
) -> tuple[ExperimentKind, Path]:
    """The folder that ``text`` names, a path or a name under ``runs``, and its kind.

    Args:
        others: What else may have been meant.

    Raises:
        UsageError: There is none.
    """
    for name in KINDS:
        path = folders_of(name).find(runs, text)
        if path is not None:
            return kind_of(name), path
    raise no_result(runs, text, others())
