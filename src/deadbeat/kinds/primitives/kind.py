"""What commands do with the folder of timed primitives."""

from __future__ import annotations

from contextlib import closing

from attrs import evolve

from deadbeat.build.allocators import others
from deadbeat.executors.made import refuse_made_up
from deadbeat.kinds.base import Begin, Begun
from deadbeat.kinds.primitives.cases import PrimitiveKey, cases, plan, resolved
from deadbeat.kinds.primitives.document import COLUMNS, answer, document, files, rows, summary_dict
from deadbeat.kinds.primitives.engine import (
    HardwarePrimitives,
    PrimitiveEngine,
    SimulatedPrimitives,
)
from deadbeat.kinds.primitives.foreign import ForeignPrimitives
from deadbeat.kinds.primitives.pool import is_native, primitives
from deadbeat.kinds.primitives.results import FOLDERS, PrimitivesStore, summarise
from deadbeat.kinds.primitives.runner import PrimitivesExperiment, mean_seconds
from deadbeat.kinds.primitives.so_far import PrimitivesSoFar
from deadbeat.kinds.primitives.spec import PrimitivesSpec
from deadbeat.kinds.table import TableKind
from deadbeat.model.specification import plain_of, read
from deadbeat.targets.opening import open_target


def _engine(asked: Begin) -> PrimitiveEngine:
    if asked.simulated:
        refuse_made_up(asked.target or asked.cross, "--simulated")
        return SimulatedPrimitives()
    target = asked.held.enter_context(closing(open_target(asked.target)))
    return ForeignPrimitives(HardwarePrimitives(target, cross=asked.cross), target)


def _not_used(spec: PrimitivesSpec, planned: list[PrimitiveKey]) -> str:
    native = (primitives()[key.case.test] for key in planned if is_native(key.case.runtime))
    if not any(each.allocators for each in native):
        return ""
    left = others(spec.allocators)
    return f"allocators that are not used unless --allocators names them: {left}" if left else ""


def begin(asked: Begin) -> Begun:
    """Makes the folder of timed primitives, or finds the one to continue."""
    wanted = read(PrimitivesSpec, asked.written, asked.typed, names=asked.names)
    engine = _engine(asked)
    runnable = engine.probed(wanted)
    allocators = engine.allocators(wanted.allocators)
    topology = engine.topology()
    spec = resolved(evolve(runnable, allocators=allocators), topology)
    platform, again = engine.describe(), asked.retry_invalid
    place = FOLDERS.choose(asked.runs, spec, platform, fresh=asked.fresh, retry=again)
    planned = plan(spec, topology)
    store = PrimitivesStore.open(place.path) if place.resumed else None
    left = len(store.lacking(planned, retry_invalid=again)) if store else len(planned)
    if not (wanted.allocators or asked.simulated) and (words := _not_used(spec, planned)):
        asked.say(words)
    for name, why in cases(spec, topology)[1].items():
        asked.say(f"{name} is not run: {why}")
    experiment_seconds = left * mean_seconds(spec, planned)
    asked.announce(
        place,
        total=len(planned),
        left=left,
        made_up=asked.simulated,
        seconds=None if asked.simulated else experiment_seconds,
    )
    if store is None:
        PrimitivesStore.create(place.path, plain_of(spec), platform)
        store = PrimitivesStore.open(place.path)
    experiment = PrimitivesExperiment(spec, engine, store, planned, retry=again)
    return Begun(experiment=experiment, so_far=PrimitivesSoFar(store))


KIND = TableKind(
    name="primitives",
    folders=FOLDERS,
    summarise=summarise,
    answer=answer,
    document=document,
    plain=summary_dict,
    rows=rows,
    files=files,
    columns=COLUMNS,
).kind(begin, keys=("operation", "size", "placement", "runtime"))
