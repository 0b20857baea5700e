"""What commands do with the folder of an interference matrix."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import datetime
from operator import attrgetter

from attrs import define, evolve, frozen

from deadbeat.base.experiment.base import FolderExperiment, Lost, Phase, Watcher
from deadbeat.base.kinds.base import Begin, Begun
from deadbeat.base.kinds.observed import comparable
from deadbeat.base.kinds.table import TableKind, begun_store
from deadbeat.base.model.comparison import ComparedLook, Vocabulary
from deadbeat.base.model.errors import DataError, RunError
from deadbeat.base.model.observations import Cell, Metric, Observation, observed
from deadbeat.base.model.specification import read
from deadbeat.machine.targets.opening import opened
from deadbeat.tasksets.catalog import load_catalog
from deadbeat.tasksets.interfere.document import (
    COLUMNS,
    answer,
    cases,
    document,
    place_words,
    rows,
    summary_dict,
)
from deadbeat.tasksets.interfere.engine import HardwareChannels, SimulatedChannels
from deadbeat.tasksets.interfere.results import (
    FOLDERS,
    InterfereRun,
    InterfereSummary,
    Slowdown,
    slowdowns,
    summarise,
)
from deadbeat.tasksets.interfere.spec import (
    OTHERS,
    QUICK,
    InterfereKey,
    InterfereSpec,
    machine_of,
    plan,
    resolved,
)
from deadbeat.tasksets.prices.compared import price_metric, with_prices
from deadbeat.tasksets.prices.page import known_prices
from deadbeat.tasksets.prices.stage import PriceStage

METRICS = (
    Metric(name="slowdown", title="Slowdown", minimum=0.05, of=attrgetter("value")),
    price_metric("--duration"),
)
WORDS = Vocabulary(
    results="matrices",
    one="matrix",
    find_lost="see which runs are invalid, and why (deadbeat show)",
    lost="of the slots were lost",
    rare="more --repeats would show more",
)


@frozen(kw_only=True)
class Channels:
    """A matrix, and its runs that count."""

    found: InterfereSummary
    runs: tuple[InterfereRun, ...]


def observe(matrix: Channels) -> Iterator[Observation]:
    """The slowdown of every pair in every run that counts: slots of a run share their processes and
    how memory lies. Places of one repeat are a block. The control is not compared."""
    for run in matrix.runs:
        at = datetime.fromisoformat(run.started).timestamp() if run.started else None
        for cell in slowdowns(matrix.found.spec.works, [run]):
            if cell.aggressor is not None:
                yield from observed(
                    METRICS,
                    cell,
                    run=f"{run.key.text} {_name(cell)}",
                    cell=Cell(_name(cell)),
                    block=f"{run.key.repeat:04d}",
                    at=at,
                )


def _name(cell: Slowdown) -> str:
    assert cell.aggressor is not None
    where = "" if cell.place == OTHERS else f" on {place_words(cell.place)}"
    return f"{cell.victim.text} beside {cell.aggressor.text}{where}"


COMPARABLE = comparable(
    name="interfere",
    folders=FOLDERS,
    summarise=lambda store: Channels(
        found=summarise(store), runs=tuple(run for run in store.runs() if run.valid)
    ),
    observe=observe,
    platform=lambda store: store.platform,
    metrics=METRICS,
    words=WORDS,
    look=ComparedLook(
        called="Interference matrices",
        terms="compare-interfere",
        groups=("By pair", "victim beside aggressor"),
    ),
    cure="measure both with the same --works and --aggressors",
    labels=lambda matrix: matrix.found.labels,
    settings=lambda matrix: {
        "cpus": len(matrix.found.spec.cpus or ()),
        "policy": matrix.found.spec.policy,
    },
    planned=lambda matrix: (Cell(_name(cell)) for cell in matrix.found.cells if cell.aggressor),
    beside=with_prices,
)


#: What a run takes beside its own length: processes start, set their work up, and end a round.
OVERHEAD_S = 4.0
#: Prices get such a part of the time of all repeats, s at least; a round of large memory takes one;
#: and of a budget so much.
_PRICES, _PRICES_S, _OF_BUDGET = 0.2, 3.0, 0.1


def price_seconds(spec: InterfereSpec) -> float:
    """What the prices of its works take; 0: none has one."""
    seconds = max(_PRICES_S, _PRICES * spec.duration * spec.repeats)
    return seconds * any(work.priced for work in spec.works)


@define(eq=False, slots=False)
class InterfereExperiment(FolderExperiment[InterfereKey, InterfereRun]):
    _spec: InterfereSpec
    _engine: HardwareChannels | SimulatedChannels

    def seconds(self, runs: int) -> float:
        return runs * (self._spec.duration + OVERHEAD_S)

    @contextmanager
    def prepared(self, tell: Watcher) -> Iterator[None]:
        """Prices of the objects and the memory among the works, unless they are known."""
        spec, cpus = self._spec, self._spec.cpus or self._engine.cpus()
        stage = PriceStage(
            self._engine.pricer(cpus),
            load_catalog(),
            self._folder,
            pool="",
            cores=len(cpus),
            policy=spec.policy,
            seed=spec.seed,
            given=[(found, (work.size,)) for work in spec.works if (found := work.priced)],
        )
        seconds = min(price_seconds(spec), max(_PRICES_S, _OF_BUDGET * (self.budget_s or math.inf)))
        if seconds and self.lacking and stage.stored() is None:
            tell(Phase(name="prices"))
            tell(known_prices(stage.begin(seconds)))
        yield

    def measure(self, tell: Watcher) -> Generator[InterfereRun | Lost[InterfereKey]]:
        """All repeats, shorter ones where the budget has no room: each has new processes, and the
        interval is over them."""
        beyond_s = OVERHEAD_S
        for left, key in zip(range(len(self.lacking), 0, -1), self.lacking, strict=True):
            asked_s = min(self._spec.duration, max(1.0, self.left_s() / left - beyond_s))
            began = time.monotonic()
            try:
                yield self._engine.run(evolve(self._spec, duration=asked_s), key)
            except (DataError, RunError) as error:
                yield Lost(key, error)
            # a run ends with a whole round of all pairs
            beyond_s = max(OVERHEAD_S, time.monotonic() - began - asked_s)


def begin(asked: Begin) -> Begun:
    """Makes the folder of a matrix, or finds the one to continue."""
    base, typed = asked.without_preset({"quick": QUICK})
    wanted = read(InterfereSpec, base, asked.written, typed, names=asked.names)
    target = opened(asked)
    engine = HardwareChannels(target, cross=asked.cross) if target else SimulatedChannels()
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
        seconds=lambda left: None if target is None else left * (each_s + 2 * target.boot_s),
        details=f"{works} works beside each other and beside threads that sleep",
    )
    experiment = InterfereExperiment(
        spec, engine, store=store, planned=planned, retry_invalid=asked.retry_invalid
    )
    return Begun(experiment=experiment)


KIND = TableKind(
    name="interfere",
    folders=FOLDERS,
    comparable=COMPARABLE,
    summarise=summarise,
    answer=answer,
    document=lambda found, store: document(found, store.platform),
    plain=lambda found, _store: summary_dict(found),
    rows=rows,
    columns=COLUMNS,
    cases=cases,
    empty=lambda found: not any(cell.interval for cell in found.cells),
).kind(begin, keys=("victim", "aggressor", "place"))
