"""What commands do with the folder of a search for the breakdown utilisation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from deadbeat.base.experiment.folders import Folders
from deadbeat.base.kinds.base import Begin, Begun
from deadbeat.base.kinds.observed import comparable
from deadbeat.base.kinds.table import TableKind
from deadbeat.base.model.platform import Platform
from deadbeat.base.model.specification import layered
from deadbeat.base.store.place import BREAKDOWN, FolderState, other_parameters
from deadbeat.tasksets.breakdown.document import (
    breakdown_document,
    files,
    paper_words,
    sentence,
    spare_cases,
    summary_dict,
)
from deadbeat.tasksets.breakdown.observe import LOOK, METRICS, WORDS, observe
from deadbeat.tasksets.breakdown.results import row, summarise
from deadbeat.tasksets.breakdown.search import (
    BreakdownExperiment,
    estimate_seconds,
    lacking,
    planned,
)
from deadbeat.tasksets.breakdown.spec import BreakdownSpec, from_plain, resolve, specify, to_plain
from deadbeat.tasksets.executors.made import make_catalog, make_executor
from deadbeat.tasksets.executors.preparing import begun_elsewhere, usable_calibration
from deadbeat.tasksets.store.campaign import BreakdownStore


def _stand(store: BreakdownStore) -> FolderState:
    spec = from_plain(store.spec)
    whole, left = planned(spec), lacking(spec, store)
    return FolderState.of(
        store.path,
        complete=not left,
        harm=store.damaged_run(),
        preset=spec.preset,
        planned=whole,
        done=whole - left,
        failed=len(store.failed()),
        loud=platform.loud if (platform := _platform(store)) else "",
    )


FOLDERS = Folders(kind=BREAKDOWN, store=BreakdownStore, stand=_stand)


def _platform(store: BreakdownStore) -> Platform | None:
    measured = store.load_calibration()
    return measured.platform if measured else None


def begin(asked: Begin) -> Begun:
    """Makes the folder of a search, or finds the one to continue."""
    names = asked.names
    wanted = specify(layered(BreakdownSpec, asked.written, asked.typed), names=names)
    executor = asked.held.enter_context(
        closing(make_executor(wanted.cpus, runs=asked.runs, **asked.machine))
    )
    platform = executor.describe()
    spec = resolve(wanted, platform, names=names)
    catalog = make_catalog(executor)
    calibration = usable_calibration(asked.given.get("calibration"), spec, executor, catalog)

    def differs(store: BreakdownStore) -> Iterator[str]:
        kept = to_plain(from_plain(store.spec))
        yield from begun_elsewhere(store, platform)
        yield from other_parameters(kept, to_plain(spec))

    place = FOLDERS.place(asked.runs, spec.name, differs, **asked.placing)
    store = BreakdownStore.open(place.path) if place.resumed else None
    runs = planned(spec)
    left = runs if store is None else lacking(spec, store)
    seconds = estimate_seconds(spec) * left / runs
    if store is None or store.load_calibration() is None:
        seconds += spec.calibration.seconds
    made_up = platform.made_up
    known_s = None if made_up else seconds
    details = f"{runs // (spec.breakdown.steps + 1)} task sets, each made faster until it misses"
    asked.announce(
        place, total=runs, left=left, kind=platform.kind, details=details, seconds=known_s
    )
    if store is None:
        store = BreakdownStore.create(place.emptied(), to_plain(spec), spec.seed)
    experiment = BreakdownExperiment(spec, executor, store, catalog, calibration=calibration)
    return Begun(experiment=experiment)


KIND = TableKind(
    name="breakdown",
    folders=FOLDERS,
    comparable=comparable(
        name="breakdown",
        folders=FOLDERS,
        summarise=summarise,
        observe=observe,
        platform=_platform,
        metrics=METRICS,
        words=WORDS,
        look=LOOK,
        cure="measure both with the same points and tasks",
    ),
    summarise=summarise,
    answer=lambda found: [sentence(found)],
    document=lambda found, _store: breakdown_document(found),
    plain=lambda found, _store: summary_dict(found),
    rows=lambda found: [row(cell) for cell in found.cells],
    files=files,
    cases=spare_cases,
    words=paper_words,
).kind(
    begin,
    keys=("cores", "sync_share", "contended_ratio", "tasks_per_core", "priorities"),
    simulates=True,
)
