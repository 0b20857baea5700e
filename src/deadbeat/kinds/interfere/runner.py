"""Carries out the runs a folder lacks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from attrs import define

from deadbeat.catalog import load_catalog
from deadbeat.experiment.base import FolderExperiment, Phase, PricesKnown, Watcher
from deadbeat.kinds.interfere.engine import ChannelEngine
from deadbeat.kinds.interfere.results import InterfereRun
from deadbeat.kinds.interfere.spec import InterfereKey, InterfereSpec
from deadbeat.prices.stage import PriceStage

#: What a run takes beside its own length: processes start and set their work up.
OVERHEAD_S = 1.0
#: Prices get such a part of the time of all repeats, s at least; a round of large memory takes one.
_PRICES, _PRICES_S = 0.2, 3.0


def price_seconds(spec: InterfereSpec) -> float:
    """What the prices of its works take; 0: none has one."""
    seconds = max(_PRICES_S, _PRICES * spec.duration * spec.repeats)
    return seconds * any(work.priced for work in spec.works)


@define(eq=False, slots=False)
class InterfereExperiment(FolderExperiment[InterfereKey, InterfereRun]):
    """One set of processes after the other."""

    _spec: InterfereSpec
    _engine: ChannelEngine

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
        seconds = price_seconds(spec)
        if seconds and self.lacking and stage.stored() is None:
            tell(Phase(name="prices"))
            tell(PricesKnown(table=stage.begin(seconds)))
        yield

    def one(self, key: InterfereKey) -> InterfereRun:
        return self._engine.run(self._spec, key)
