"""Which folder a campaign lives in: resumed while unfinished, a new number once finished.

The campaigns of one name are ``NAME``, ``NAME-2``, ``NAME-3``, ...: the last of them is continued
while it lacks runs or its report, after that the last before it that does and was asked the same;
after that the same command begins the next. No command ever removes or renames one.
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from attrs import frozen

from deadbeat.campaign import rounds
from deadbeat.campaign.spec import CampaignSpec, read_spec, spec_dict
from deadbeat.executors.base import Executor
from deadbeat.model.errors import DataError, DeadbeatError, UsageError
from deadbeat.model.specification import differences
from deadbeat.store.campaign import CAMPAIGN_FILE, CampaignStore
from deadbeat.store.family import entries, family, numbered
from deadbeat.store.latency import LATENCY_FILE
from deadbeat.store.load import LOAD_FILE
from deadbeat.store.origin import Origin

_LIST_HINT = "deadbeat runs lists them"
#: What else is kept beside campaigns, by the file that makes it one.
_OTHER_KINDS = {LATENCY_FILE: "latency matrix", LOAD_FILE: "load test"}
#: Written last by ``profile``: a campaign with it is finished.
REPORT_FILE = "report.html"
LATEST = "latest"


@frozen(kw_only=True)
class CampaignState:
    """A campaign as a list shows it.

    Attributes:
        state: ``finished``, ``measured`` (all runs, no report), ``unfinished`` or ``damaged``.
        programs_from: Campaign whose programs it runs; "": its own.
        planned, done, failed, rejected: Runs; 0 where damaged. Where points stop when they are
            known, ``planned`` is the most there can be until all are decided.
        problem: What is damaged.
        cure: What mends it; "": nothing does.
    """

    name: str
    path: Path
    state: str
    preset: str = ""
    programs_from: str = ""
    planned: int = 0
    done: int = 0
    failed: int = 0
    rejected: int = 0
    problem: str = ""
    cure: str = ""


@frozen(kw_only=True)
class Place:
    """The folder a command works in, and whether there is something in it to continue."""

    path: Path
    resumed: bool


def state_of(path: Path) -> CampaignState:
    """State of the campaign in ``path``; damage is a state, not an error."""
    try:
        store = CampaignStore.open(path)
        spec = read_spec(store.spec)
        planned, complete = rounds.planned(spec, store), rounds.is_complete(spec, store)
        done, failed = store.committed(), store.failed()
        origin, harm = store.load_origin(), store.damaged_run()
    except DeadbeatError as error:
        return CampaignState(name=path.name, path=path, state="damaged", problem=str(error))
    ended = "finished" if (path / REPORT_FILE).is_file() else "measured"
    state = ended if complete else "unfinished"
    return CampaignState(
        name=path.name,
        path=path,
        state="damaged" if harm else state,
        preset=spec.preset,
        programs_from=origin.name if origin else "",
        planned=planned,
        done=len(done),
        failed=len(failed),
        rejected=sum(store.rejected_counts().values()),
        problem=harm.message if harm else "",
        cure=harm.hint if harm else "",
    )


def survey(runs: Path) -> tuple[CampaignState, ...]:
    """All campaigns under ``runs``, the one begun first first."""
    return tuple(state_of(path) for path in _campaigns(runs))


def choose(
    runs: Path,
    spec: CampaignSpec,
    *,
    fresh: bool = False,
    retry_failed: bool = False,
    origin: Origin | None = None,
    source: Path | None = None,
) -> Place:
    """Where ``spec`` (resolved) is to be run.

    Args:
        fresh: Begin a new campaign even where one could be continued.
        retry_failed: Take the last campaign even when it is finished.
        origin: Whose programs are to be run; None: its own.
        source: Folder of the campaign they are of, which is never continued itself.

    Raises:
        UsageError: The one to continue was begun with other parameters or programs; or there is
            nothing to retry.
    """
    known = family(runs, spec.name)
    last = max(known, default=0)
    begin = Place(path=runs / numbered(spec.name, last + 1), resumed=False)
    if not last:
        if retry_failed:
            raise UsageError(f"there is no campaign {spec.name} in {runs} to retry", _LIST_HINT)
        return begin
    if fresh and not retry_failed:
        return begin

    def again(path: Path) -> Place | None:
        return _unfinished(path, spec, origin, source)

    path = known[last]
    state = state_of(path)
    if state.state == "damaged":
        cure = (
            f"{state.cure}; or begin anew with --fresh" if state.cure else "begin anew with --fresh"
        )
        raise DataError(f"{path} cannot be continued: {state.problem}", cure)
    if state.state == "finished" and not retry_failed:
        earlier = [known[number] for number in sorted(known, reverse=True)[1:]]
        return next((p for p in map(again, earlier) if p is not None), begin)
    if source is not None and path.resolve() == source.resolve():
        raise UsageError(
            f"{path} is {state.state}: it would be continued with programs of itself",
            "choose --name NAME, or --fresh",
        )
    store = CampaignStore.open(path)
    _check_programs(path, state.state, store.load_origin(), origin)
    changed = differences(spec_dict(read_spec(store.spec)), spec_dict(spec))
    if changed:
        raise UsageError(
            f"{path} is {state.state} and was begun with other parameters: {', '.join(changed)}",
            "repeat its command to continue it, or choose --name NAME, or --fresh",
        )
    return Place(path=path, resumed=True)


def _unfinished(
    path: Path, spec: CampaignSpec, origin: Origin | None, source: Path | None
) -> Place | None:
    """The campaign in ``path`` where it lacks something of exactly what is asked; None: it does
    not. It was finished once, or another was begun in its stead."""
    if state_of(path).state not in ("unfinished", "measured"):
        return None
    if source is not None and path.resolve() == source.resolve():
        return None
    store = CampaignStore.open(path)
    kept = store.load_origin()
    own = kept is None and origin is None
    if not own and (kept is None or origin is None or not kept.same_programs(origin)):
        return None
    if differences(spec_dict(read_spec(store.spec)), spec_dict(spec)):
        return None
    return Place(path=path, resumed=True)


def finished_like(runs: Path, spec: CampaignSpec, executor: Executor) -> Path | None:
    """The last finished campaign of ``spec`` (resolved) and its own programs on this very machine
    and kernel; None: there is none."""
    platform = executor.describe()
    for _, path in sorted(family(runs, spec.name).items(), reverse=True):
        if state_of(path).state != "finished":
            continue
        store = CampaignStore.open(path)
        calibration = store.load_calibration()
        if calibration is None or store.load_origin() is not None:
            continue
        made = calibration.platform
        same = (made.fingerprint, made.kernel) == (platform.fingerprint, platform.kernel)
        if same and not differences(spec_dict(read_spec(store.spec)), spec_dict(spec)):
            return path
    return None


def _check_programs(path: Path, state: str, kept: Origin | None, asked: Origin | None) -> None:
    """Refuses to continue a campaign with programs of another."""
    if kept is None and asked is None:
        return
    if kept is not None and asked is not None and kept.same_programs(asked):
        return
    there = f"programs of {kept.name}" if kept else "programs of its own"
    now = f"those of {asked.name} as they are now" if asked else "its own"
    raise UsageError(
        f"{path} is {state} and was begun with {there}, not with {now}",
        "repeat its command to continue it, or choose --name NAME, or --fresh",
    )


def find_campaign(runs: Path, text: str) -> Path:
    """The folder of the campaign that ``text`` names: a path, or a name under ``runs``.

    Raises:
        UsageError: There is none, but something else of that name, which is said, or the nearest.
    """
    for path in (runs / text, Path(text)):
        if (path / CAMPAIGN_FILE).is_file():
            return path.resolve() if path.is_symlink() else path
        for file, kind in _OTHER_KINDS.items():
            if (path / file).is_file():
                name = path.resolve().name
                hint = f"deadbeat show {name} and deadbeat report {name} take it"
                raise UsageError(f"{name} is a {kind}, not a campaign", hint)
    files = (CAMPAIGN_FILE, *_OTHER_KINDS)
    known = [p.name for p in sorted(entries(runs)) if any((p / file).is_file() for file in files)]
    if not known:
        raise UsageError(f"there is no campaign {text}", f"{runs} holds none: deadbeat profile")
    near = get_close_matches(text, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else _LIST_HINT
    raise UsageError(f"there is no campaign {text}", hint)


def _campaigns(runs: Path) -> list[Path]:
    found = [path for path in entries(runs) if (path / CAMPAIGN_FILE).is_file()]
    return sorted(found, key=lambda path: ((path / CAMPAIGN_FILE).stat().st_mtime_ns, path.name))
