"""What commands do with the folder of an interference matrix."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from attrs import evolve

from deadbeat.executors.made import refuse_made_up
from deadbeat.kinds.base import Begin, Begun, ExperimentKind, Shown, Stored
from deadbeat.kinds.channels.document import COLUMNS, answer, document, rows, summary_dict
from deadbeat.kinds.channels.engine import ChannelEngine, HardwareChannels, SimulatedChannels
from deadbeat.kinds.channels.results import (
    FOLDERS,
    InterfereStore,
    InterfereSummary,
    summarise,
)
from deadbeat.kinds.channels.runner import OVERHEAD_S, InterfereExperiment
from deadbeat.kinds.channels.spec import InterfereSpec, plan, resolved
from deadbeat.model.specification import plain_of, read
from deadbeat.report.document import csv_of
from deadbeat.report.html import write_result
from deadbeat.report.paper import Words
from deadbeat.store.place import REPORT_FILE
from deadbeat.targets.opening import open_target


def _engine(asked: Begin) -> ChannelEngine:
    if asked.simulated:
        refuse_made_up(asked.target or asked.cross, "--simulated")
        return SimulatedChannels()
    target = asked.held.enter_context(closing(open_target(asked.target)))
    return HardwareChannels(target, cross=asked.cross)


def begin(asked: Begin) -> Begun:
    """Makes the folder of a matrix, or finds the one to continue."""
    wanted = read(InterfereSpec, asked.written, asked.typed, names=asked.names)
    engine = _engine(asked)
    spec = resolved(wanted, engine.cpus())
    platform, again = engine.describe(), asked.retry_invalid
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


def _answer(store: InterfereStore, found: InterfereSummary) -> Shown:
    return Shown(
        kind="interfere",
        state=FOLDERS.state_of(store.path).state,
        headline=" ".join(answer(found)),
        plain=summary_dict(found, store),
        document=document(found, store.platform),
        page=store.path / REPORT_FILE,
        empty=not found.cells,
    )


def _show(path: Path) -> Shown:
    store = InterfereStore.open(path)
    return evolve(_answer(store, summarise(store)), whole=True)


def _report(path: Path, figures: bool) -> Shown:
    store = InterfereStore.open(path)
    found = summarise(store)
    made = document(found, store.platform)
    write_result(
        store,
        made,
        {"summary.csv": csv_of(COLUMNS, found.cells), "summary.json": summary_dict(found, store)},
        words=Words(labels=" · ".join(found.labels), caption=""),
        charts=made.charts if figures else (),
    )
    return _answer(store, found)


def _open(path: Path) -> Stored[InterfereStore, InterfereSummary]:
    store = InterfereStore.open(path)
    found = summarise(store)
    return Stored(show=_show, store=store, summary=found, rows=rows(found))


KIND = ExperimentKind(
    name="interfere",
    folder=FOLDERS.kind,
    state_of=FOLDERS.state_of,
    show=_show,
    report=_report,
    open=_open,
    keys=("victim", "aggressor"),
    begin=begin,
)
