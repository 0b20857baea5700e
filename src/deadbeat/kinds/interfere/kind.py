"""What commands do with the folder of an interference matrix."""

from __future__ import annotations

from deadbeat.kinds.base import Begin, Begun
from deadbeat.kinds.interfere.document import COLUMNS, answer, document, rows, summary_dict
from deadbeat.kinds.interfere.engine import ChannelEngine, HardwareChannels, SimulatedChannels
from deadbeat.kinds.interfere.machine import machine_of
from deadbeat.kinds.interfere.observe import COMPARABLE
from deadbeat.kinds.interfere.results import FOLDERS, summarise
from deadbeat.kinds.interfere.runner import OVERHEAD_S, InterfereExperiment, price_seconds
from deadbeat.kinds.interfere.spec import QUICK, InterfereSpec, plan, resolved
from deadbeat.kinds.table import TableKind, begun_store, opened
from deadbeat.model.specification import read


def begin(asked: Begin) -> Begun:
    """Makes the folder of a matrix, or finds the one to continue."""
    typed = {name: value for name, value in asked.typed.items() if name != "preset"}
    base = QUICK if asked.given.get("quick") else {}
    wanted = read(InterfereSpec, base, asked.written, typed, names=asked.names)
    target = opened(asked)
    engine: ChannelEngine = (
        HardwareChannels(target, cross=asked.cross) if target else SimulatedChannels()
    )
    platform, cpus = engine.describe(), engine.cpus()
    machine = machine_of(platform, (wanted.cpus or cpus)[0])
    spec = resolved(wanted, cpus, machine, platform.details)
    planned, works = plan(spec), len(spec.works)
    each_s = spec.duration + OVERHEAD_S + price_seconds(spec) / len(planned)
    store = begun_store(
        FOLDERS,
        asked,
        spec,
        platform,
        planned,
        seconds=lambda left: None if asked.simulated else left * each_s,
        details=f"{works} victims beside {works} aggressors",
    )
    retry = asked.retry_invalid
    return Begun(
        experiment=InterfereExperiment(
            spec, engine, store=store, planned=planned, retry_invalid=retry
        )
    )


KIND = TableKind(
    name="interfere",
    folders=FOLDERS,
    summarise=summarise,
    answer=answer,
    document=lambda found, store: document(found, store.platform),
    plain=summary_dict,
    rows=rows,
    columns=COLUMNS,
).kind(begin, keys=("victim", "aggressor", "place"), comparable=COMPARABLE)
