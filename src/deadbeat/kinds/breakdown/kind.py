"""What commands do with the folder of a search for the breakdown utilisation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from attrs import evolve

from deadbeat.executors.made import make_catalog, make_executor
from deadbeat.experiment.programs import begun_elsewhere, usable_calibration
from deadbeat.kinds.base import Begin, Begun, ExperimentKind, Shown, Stored
from deadbeat.kinds.breakdown.document import (
    breakdown_document,
    sentence,
    summary_dict,
    write_breakdown,
)
from deadbeat.kinds.breakdown.results import Breakdown, row, summarise
from deadbeat.kinds.breakdown.search import (
    BreakdownExperiment,
    estimate_seconds,
    lacking,
    planned,
)
from deadbeat.kinds.breakdown.so_far import BreakdownSoFar
from deadbeat.kinds.breakdown.spec import BreakdownSpec, from_plain, resolve, specify, to_plain
from deadbeat.model.errors import DeadbeatError
from deadbeat.model.specification import layered
from deadbeat.store.campaign import BreakdownStore
from deadbeat.store.place import (
    BREAKDOWN,
    REPORT_FILE,
    FolderState,
    choose_place,
    other_parameters,
    stage,
)


def state_of(path: Path) -> FolderState:
    """State of the search in ``path``; damage is a state, not an error."""
    try:
        store = BreakdownStore.open(path)
        spec = from_plain(store.spec)
        left, failed, harm = lacking(spec, store), store.failed(), store.damaged_run()
    except DeadbeatError as error:
        return FolderState(name=path.name, path=path, state="damaged", problem=str(error))
    return FolderState(
        name=path.name,
        path=path,
        state="damaged" if harm else stage(path, complete=not left),
        preset=spec.preset,
        planned=planned(spec),
        done=planned(spec) - left,
        failed=len(failed),
        problem=harm.message if harm else "",
        cure=harm.hint if harm else "",
    )


def begin(asked: Begin) -> Begun:
    """Makes the folder of a search, or finds the one to continue."""
    names = asked.names
    wanted = specify(layered(BreakdownSpec, asked.written, asked.typed), names=names)
    executor = asked.held.enter_context(closing(make_executor(wanted.cpus, **asked.machine)))
    platform = executor.describe()
    spec = resolve(wanted, platform, names=names)
    catalog = make_catalog(executor)
    calibration = usable_calibration(asked.given.get("calibration"), spec, executor, catalog)

    def differs(path: Path) -> Iterator[str]:
        store = BreakdownStore.open(path)
        kept = to_plain(from_plain(store.spec))
        yield from begun_elsewhere(store, platform)
        yield from other_parameters(kept, to_plain(spec))

    place = choose_place(
        asked.runs, spec.name, BREAKDOWN, state_of=state_of, differs=differs, fresh=asked.fresh
    )
    store = BreakdownStore.open(place.path) if place.resumed else None
    runs = planned(spec)
    left = runs if store is None else lacking(spec, store)
    seconds = estimate_seconds(spec) * left / runs
    if store is None or store.load_calibration() is None:
        seconds += spec.calibration.seconds
    made_up = platform.kind == "simulated"
    asked.announce(place, total=runs, left=left, made_up=made_up, seconds=seconds)
    if store is None:
        BreakdownStore.create(place.path, to_plain(spec), spec.seed)
        store = BreakdownStore.open(place.path)
    experiment = BreakdownExperiment(spec, executor, store, catalog, calibration=calibration)
    return Begun(experiment=experiment, so_far=BreakdownSoFar(experiment.results))


def _plain(found: Breakdown, path: Path) -> dict[str, object]:
    return {**summary_dict(found), "path": str(path), "report": str(path / REPORT_FILE)}


def _show(path: Path) -> Shown:
    found = summarise(BreakdownStore.open(path))
    return evolve(_answer(found, path), whole=True)


def _answer(found: Breakdown, path: Path) -> Shown:
    """What show and report have in common."""
    return Shown(
        kind="breakdown",
        state=state_of(path).state,
        headline=sentence(found),
        plain=_plain(found, path),
        document=breakdown_document(found),
        page=path / REPORT_FILE,
    )


def _report(path: Path, figures: bool) -> Shown:
    found, _ = write_breakdown(BreakdownStore.open(path), draw=figures)
    return evolve(_answer(found, path), empty=not found.cells)


def _open(path: Path) -> Stored[BreakdownStore, Breakdown]:
    store = BreakdownStore.open(path)
    found = summarise(store)
    return Stored(show=_show, store=store, summary=found, rows=[row(cell) for cell in found.cells])


KIND = ExperimentKind(
    name="breakdown",
    folder=BREAKDOWN,
    state_of=state_of,
    show=_show,
    report=_report,
    open=_open,
    keys=("cores", "sync_share", "contended_ratio", "tasks_per_core", "priorities"),
    begin=begin,
    simulates=True,
)
