"""Which folder a campaign lives in, and how far each is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from deadbeat.experiment.folders import Folders
from deadbeat.experiment.programs import begun_elsewhere
from deadbeat.kinds.contention.plan import is_complete, planned_runs
from deadbeat.kinds.contention.spec import CampaignSpec, is_of_windows, read_spec, spec_dict
from deadbeat.model.errors import UsageError
from deadbeat.model.platform import Platform
from deadbeat.model.words import Json
from deadbeat.store.campaign import CampaignStore
from deadbeat.store.origin import Origin
from deadbeat.store.place import (
    BREAKDOWN,
    CAMPAIGN,
    LOAD_TEST,
    MATRIX,
    PROGRAM,
    FolderState,
    Place,
    no_result,
    other_parameters,
)

LATEST = "latest"


@frozen(kw_only=True)
class CampaignState(FolderState):
    """A campaign as a list shows it. Where points stop when they are known, ``planned`` is the most
    there can be until all are decided.

    Attributes:
        programs_from: Campaign whose programs it runs; "": its own.
    """

    programs_from: str = ""

    def facts(self) -> dict[str, Json]:
        return {"programs_from": self.programs_from or None}

    def words(self, kind: str) -> str:
        return self.preset + (f", programs of {self.programs_from}" * bool(self.programs_from))


def _stand(store: CampaignStore) -> CampaignState:
    spec, origin = read_spec(store.spec), store.load_origin()
    return CampaignState.of(
        store.path,
        complete=is_complete(spec, store),
        harm=store.damaged_run(),
        preset=spec.preset,
        programs_from=origin.name if origin else "",
        planned=planned_runs(spec, store),
        done=len(store.committed()),
        failed=len(store.failed()),
    )


FOLDERS = Folders(kind=CAMPAIGN, store=CampaignStore, stand=_stand, state=CampaignState)
state_of = FOLDERS.state_of


def choose(
    runs: Path,
    spec: CampaignSpec,
    *,
    platform: Platform | None = None,
    fresh: bool = False,
    retry_failed: bool = False,
    keep: bool = False,
    origin: Origin | None = None,
    source: Path | None = None,
) -> Place:
    """Where ``spec`` (resolved) is to be run.

    Args:
        platform: Where; None: on whichever it was begun.
        fresh: Begin a new campaign even where one could be continued.
        retry_failed: Take the last campaign even when it is finished.
        keep: Take a finished one of the same machine and kernel rather than begin anew.
        origin: Whose programs are to be run; None: its own.
        source: Folder of the campaign they are of, which is never continued itself.

    Raises:
        UsageError: The one to continue was begun with other parameters or programs; or there is
            nothing to retry.
        DataError: It is damaged.
    """

    def differs(store: CampaignStore) -> Iterator[str]:
        if source is not None and store.path.resolve() == source.resolve():
            yield "would be continued with programs of itself"
            return
        if is_of_windows(store.spec):
            yield "was measured by an earlier version, in windows instead of slots"
            return
        if platform is not None:
            yield from begun_elsewhere(store, platform)
            if keep and origin is None:
                yield from _calibrated_elsewhere(store, platform)
        yield from _other_programs(store.load_origin(), origin)
        yield from other_parameters(spec_dict(read_spec(store.spec)), spec_dict(spec))

    return FOLDERS.place(runs, spec.name, differs, fresh=fresh, retry=retry_failed, keep=keep)


def _calibrated_elsewhere(store: CampaignStore, platform: Platform) -> Iterator[str]:
    """Where the costs of its own programs are not those of ``platform``, as a predicate."""
    calibration = store.load_calibration()
    if calibration is None:
        yield "was never calibrated"
        return
    made = calibration.platform
    if (made.fingerprint, made.kernel) != (platform.fingerprint, platform.kernel):
        yield f"was calibrated on {made.name} ({made.kernel})"


def _other_programs(kept: Origin | None, asked: Origin | None) -> Iterator[str]:
    """How the programs of a campaign differ from those it would get now."""
    if kept is None and asked is None:
        return
    if kept is not None and asked is not None and kept.same_programs(asked):
        return
    there = f"programs of {kept.name}" if kept else "programs of its own"
    now = f"those of {asked.name} as they are now" if asked else "its own"
    yield f"was begun with {there}, not with {now}"


def find_campaign(runs: Path, text: str) -> Path:
    """The folder of the campaign that ``text`` names: a path, or a name under ``runs``.

    Raises:
        UsageError: There is none, but something else of that name, which is said, or the nearest.
    """
    if (found := CAMPAIGN.find(runs, text)) is not None:
        return found
    for kind in (MATRIX, LOAD_TEST, BREAKDOWN, PROGRAM):
        if (other := kind.find(runs, text)) is not None:
            name = other.resolve().name
            hint = f"deadbeat show {name} and deadbeat report {name} take it"
            raise UsageError(f"{name} is a {kind.noun}, not a campaign", hint)
    raise no_result(runs, text)
