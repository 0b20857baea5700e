"""Where an experiment with a file for every run lives, and how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from deadbeat.model.errors import DeadbeatError
from deadbeat.model.platform import Platform
from deadbeat.settings.standing import elsewhere
from deadbeat.store.place import (
    FolderKind,
    FolderState,
    Place,
    choose_place,
    other_parameters,
    stage,
)
from deadbeat.store.runfolder import RunFolder

S = TypeVar("S", bound=RunFolder[Any, Any])


def state_of_folder(
    path: Path,
    open_store: Callable[[Path], S],
    plan: Callable[[S], tuple[Sequence[Any], str]],
) -> FolderState:
    """State of the experiment in ``path``; damage is a state, not an error.

    Args:
        plan: The runs a folder should have, and what it was asked for in a word or two.
    """
    try:
        store = open_store(path)
        planned, preset = plan(store)
        done, failed, invalid = store.committed(), store.failed(), store.invalid()
    except DeadbeatError as error:
        return FolderState(name=path.name, path=path, state="damaged", problem=str(error))
    return FolderState(
        name=path.name,
        path=path,
        state=stage(path, complete=all(key in done or key in failed for key in planned)),
        preset=preset,
        planned=len(planned),
        done=len(done),
        failed=len(failed),
        invalid=len(invalid),
    )


def choose_folder(
    runs: Path,
    name: str,
    kind: FolderKind,
    *,
    open_store: Callable[[Path], S],
    state_of: Callable[[Path], FolderState],
    asked: Mapping[str, Any],
    spec_of: Callable[[S], Mapping[str, Any]],
    platform: Platform,
    differs: Callable[[S], Iterator[str]] = lambda store: iter(()),
    fresh: bool = False,
    retry: bool = False,
) -> Place:
    """Where a specification (resolved) is to be measured on ``platform``; as `choose_place`.

    Args:
        asked: The specification in its canonical form; ``spec_of``: likewise, that of a folder.
        differs: What else is not as it was, each as a predicate.
    """

    def reasons(path: Path) -> Iterator[str]:
        store = open_store(path)
        yield from other_parameters(spec_of(store), asked)
        yield from elsewhere(store.platform, platform)
        yield from differs(store)

    return choose_place(
        runs, name, kind, state_of=state_of, differs=reasons, fresh=fresh, retry=retry
    )
