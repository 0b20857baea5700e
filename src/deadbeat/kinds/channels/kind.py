"""What commands do with the folder of an interference matrix."""

from __future__ import annotations

from contextlib import closing

from deadbeat.executors.made import refuse_made_up
from deadbeat.kinds.base import Begin, Begun
from deadbeat.kinds.channels.document import COLUMNS, answer, document, rows, summary_dict
from deadbeat.kinds.channels.engine import ChannelEngine, HardwareChannels, SimulatedChannels
from deadbeat.kinds.channels.machine import machine_of
from deadbeat.kinds.channels.results import (
    FOLDERS,
    InterfereStore,
    summarise,
)
from deadbeat.kinds.channels.runner import OVERHEAD_S, InterfereExperiment
from deadbeat.kinds.channels.spec import QUICK, InterfereSpec, plan, resolved
from deadbeat.kinds.table import TableKind
from deadbeat.model.specification import plain_of, read
from deadbeat.targets.opening import open_target


def _engine(asked: Begin) -> ChannelEngine:
    if asked.simulated:
        refuse_made_up(asked.target or asked.cross, "--simulated")
        return SimulatedChannels()
    target = asked.held.enter_context(closing(open_target(asked.target)))
    return HardwareChannels(target, cross=asked.cross)


def begin(asked: Begin) -> Begun:
    """Makes the folder of a matrix, or finds the one to continue."""
    typed = {name: value for name, value in asked.typed.items() if name != "preset"}
    base = QUICK if asked.given.get("quick") else {}
    wanted = read(InterfereSpec, base, asked.written, typed, names=asked.names)
    engine = _engine(asked)
    platform, again = engine.describe(), asked.retry_invalid
    cpus = engine.cpus()
    spec = resolved(wanted, cpus, machine_of(platform, (wanted.cpus or cpus)[0]))
    place = FOLDERS.choose(asked.runs, spec, platform, fresh=asked.fresh, retry=again)
    planned = plan(spec)
    store = InterfereStore.open(place.path) if place.resumed else None
    left = len(store.lacking(planned, retry_invalid=again)) if store else len(planned)
    works = len(spec.works)
    asked.announce(
        place,
        total=len(planned),
        left=left,
        made_up=asked.simulated,
        seconds=None if asked.simulated else left * (spec.seconds + OVERHEAD_S),
        details=f"{works} victims beside {works} aggressors",
    )
    if store is None:
        InterfereStore.create(place.path, plain_of(spec), platform)
        store = InterfereStore.open(place.path)
    return Begun(experiment=InterfereExperiment(spec, engine, store, planned, retry=again))


KIND = TableKind(
    name="interfere",
    folders=FOLDERS,
    summarise=summarise,
    answer=answer,
    document=document,
    plain=summary_dict,
    rows=rows,
    columns=COLUMNS,
).kind(begin, keys=("victim", "aggressor", "place"))
