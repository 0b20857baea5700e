"""Where an experiment with a file for every run lives, and how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from attrs import frozen

from deadbeat.model.errors import DeadbeatError
from deadbeat.model.platform import Platform
from deadbeat.model.specification import plain_of
from deadbeat.settings.tune import elsewhere
from deadbeat.store.folder import OwnedFolder
from deadbeat.store.place import (
    FolderKind,
    FolderState,
    Place,
    choose_place,
    other_parameters,
    stage,
)
from deadbeat.store.runfolder import RunFolder
from deadbeat.store.serial import to_plain

S = TypeVar("S", bound=RunFolder[Any, Any])
T = TypeVar("T")
F = TypeVar("F", bound=OwnedFolder)


@frozen(kw_only=True)
class Folders(Generic[F]):
    """The folders of a kind: what tells them from others, their class, and how far one is."""

    kind: FolderKind
    store: type[F]
    state_of: Callable[[Path], FolderState]


@frozen(kw_only=True)
class RunFolders(Generic[S]):
    """The folders of a kind that keeps a file for every run.

    Attributes:
        kind: What tells them from others. ``store``: their class.
        read: The specification of a folder.
        planned: The runs a folder should have.
        asked_for: What a specification asks for, in a word or two.
        plain: The canonical form of a specification.
    """

    kind: FolderKind
    store: type[S]
    read: Callable[[Any], Any]
    planned: Callable[[S], Sequence[Any]]
    asked_for: Callable[[Any], str] = lambda spec: ""
    plain: Callable[[Any], Mapping[str, object]] = plain_of

    def state_of(self, path: Path) -> FolderState:
        """State of the experiment in ``path``; damage is a state, not an error."""
        try:
            store = self.store.open(path)
            planned, preset = self.planned(store), self.asked_for(self.read(store.spec))
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

    def subject(self, made: Callable[..., T], store: S, **own: object) -> T:
        """What a comparison reads of a folder.

        Args:
            made: The kind's `Subject`. ``own``: what the kind alone knows of it.
        """
        runs, planned = list(store.runs()), self.planned(store)
        left = len({*planned} - {run.key for run in runs})
        return made(
            name=store.path.resolve().name,
            path=str(store.path),
            platform=to_plain(store.platform),
            kind=store.platform.kind,
            counted=sum(run.valid for run in runs),
            stored=len(runs),
            left=f"{left} of {len(planned)} runs are missing" if left else "",
            created_at=min((run.started for run in runs if run.started), default=None),
            **own,
        )

    def choose(
        self,
        runs: Path,
        spec: Any,
        platform: Platform,
        *,
        differs: Callable[[S], Iterator[str]] = lambda store: iter(()),
        fresh: bool = False,
        retry: bool = False,
        keep: bool = False,
    ) -> Place:
        """Where ``spec`` (resolved) is to be measured on ``platform``; as `choose_place`.

        Args:
            differs: What else is not as it was, each as a predicate.
        """

        def reasons(path: Path) -> Iterator[str]:
            store = self.store.open(path)
            yield from other_parameters(self.plain(self.read(store.spec)), self.plain(spec))
            yield from elsewhere(store.platform, platform)
            yield from differs(store)

        return choose_place(
            runs,
            spec.name,
            self.kind,
            state_of=self.state_of,
            differs=reasons,
            fresh=fresh,
            retry=retry,
            keep=keep,
        )
