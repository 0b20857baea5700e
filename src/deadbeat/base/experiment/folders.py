"""Where an experiment with a file for every run lives, and how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from attrs import Factory, field, frozen

from deadbeat.base.model.errors import DataError, DeadbeatError, UsageError
from deadbeat.base.model.platform import Platform, elsewhere
from deadbeat.base.model.specification import plain_of
from deadbeat.base.model.words import Json
from deadbeat.base.store.folder import OwnedFolder
from deadbeat.base.store.place import (
    CONTINUE_HINT,
    LIST_HINT,
    REPLACE_HINT,
    FolderKind,
    FolderState,
    Place,
    family,
    given_place,
    has_head,
    numbered,
    other_parameters,
)
from deadbeat.base.store.runfolder import RunFolder
from deadbeat.base.store.serial import to_plain

S = TypeVar("S", bound=RunFolder[Any, Any])
T = TypeVar("T")
F = TypeVar("F", bound=OwnedFolder)


@frozen(kw_only=True)
class Folders(Generic[F]):
    """The folders of a kind.

    Attributes:
        kind: What tells them from others. ``store``: their class.
        stand: How far one is.
        state: The class of what `stand` says.
    """

    kind: FolderKind
    store: type[F]
    stand: Callable[[F], FolderState]
    state: type[FolderState] = FolderState

    def state_of(self, path: Path) -> FolderState:
        """State of the experiment in ``path``; damage is a state, not an error."""
        return self._stood(path, lambda: self.stand(self.store.open(path)))

    def state_in(self, store: F) -> FolderState:
        """The same of one that is open: what was read of it is not read again."""
        return self._stood(store.path, lambda: self.stand(store))

    def _stood(self, path: Path, stand: Callable[[], FolderState]) -> FolderState:
        try:
            return stand()
        except DeadbeatError as error:
            return self.state(name=path.name, path=path, state="damaged", problem=str(error))

    def place(
        self,
        runs: Path,
        name: str,
        differs: Callable[[F], Iterable[str]],
        *,
        given: bool = False,
        fresh: bool = False,
        retry: bool = False,
        keep: bool = False,
    ) -> Place:
        """Where what is called ``name`` is to be measured. Folders of other kinds are passed over.

        Args:
            differs: Why what is in a folder is not what is asked now, each as a predicate (``was
                begun with ...``); only asked of folders that are not damaged.
            given: The user gave the name: it means one folder.
            fresh: Start a new one even where one could be continued.
            retry: Take the last even when it is finished.
            keep: Take the last finished one that does not differ, rather than start again.

        Raises:
            UsageError: The one to continue was begun otherwise; or there is nothing to retry; or
                the name was given, and what is there is finished, or something else.
            DataError: It is damaged.
        """
        if given and not retry and (place := given_place(runs, name, fresh, self.kind.holds)):
            return place
        known = {n: path for n, path in family(runs, name).items() if n == 1 or not given}
        begin = Place(path=runs / numbered(name, max(known, default=0) + 1), resumed=False)
        own = [known[number] for number in sorted(known, reverse=True)]
        own = [path for path in own if self.kind.holds(path) or not has_head(path)]
        if retry and not own:
            raise UsageError(f"there is no {self.kind.noun} {name} in {runs} to retry", LIST_HINT)
        if not own or (fresh and not retry):
            return begin
        for path in own if keep and not retry else ():
            if self.state_of(path).state == "finished" and not any(differs(self.store.open(path))):
                return Place(path=path, resumed=True, finished=True)
        last, *earlier = own
        state = self.state_of(last)
        if state.state == "damaged":
            cures = filter(None, (state.cure, "start again with --fresh"))
            raise DataError(f"{last} cannot be continued: {state.problem}", "; or ".join(cures))
        if state.state != "finished" or retry:
            if why := list(differs(self.store.open(last))):
                raise UsageError(f"{last} is {state.state} and {'; it '.join(why)}", CONTINUE_HINT)
            return Place(path=last, resumed=True)
        if given:
            raise UsageError(f"{last} is finished", REPLACE_HINT)
        # What was finished once, or was left for another, may lack something of just what is asked.
        for path in earlier:
            undone = self.state_of(path).state in ("unfinished", "measured")
            if undone and not any(differs(self.store.open(path))):
                return Place(path=path, resumed=True)
        return begin


@frozen(kw_only=True)
class RunFolders(Folders[S]):
    """The folders of a kind that keeps a file for every run.

    Attributes:
        read: The specification of a folder.
        planned: The runs a folder should have.
        asked_for: What a specification asks for, in a word or two.
        plain: The canonical form of a specification.
    """

    read: Callable[[Any], Any]
    planned: Callable[[S], Sequence[Any]]
    asked_for: Callable[[Any], str] = lambda spec: ""
    plain: Callable[[Any], Mapping[str, Json]] = plain_of
    stand: Callable[[S], FolderState] = field(
        init=False, default=Factory(lambda self: self._stand, takes_self=True)
    )

    def _stand(self, store: S) -> FolderState:
        planned, done, failed = self.planned(store), store.committed(), store.failed()
        return FolderState.of(
            store.path,
            complete=all(key in done or key in failed for key in planned),
            preset=self.asked_for(self.read(store.spec)),
            planned=len(planned),
            done=len(done),
            failed=len(failed),
            invalid=len(store.invalid()),
            loud=store.platform.loud,
        )

    def subject(self, made: Callable[..., T], store: S, **own: object) -> T:
        """What a comparison reads of a folder. ``made``: the kind's `Subject`; ``own``: what the
        kind alone knows of it."""
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
        **options: bool,
    ) -> Place:
        """Where ``spec`` (resolved) is to be measured on ``platform``; as `place`. ``differs``:
        what else is not as it was, each as a predicate."""

        def reasons(store: S) -> Iterator[str]:
            yield from other_parameters(self.plain(self.read(store.spec)), self.plain(spec))
            yield from elsewhere(store.platform, platform)
            yield from differs(store)

        return self.place(runs, spec.name, reasons, **options)
