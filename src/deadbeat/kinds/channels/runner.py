"""Carries out the runs a folder lacks."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from deadbeat.experiment.base import FolderExperiment, Lost, Watcher
from deadbeat.kinds.channels.engine import ChannelEngine
from deadbeat.kinds.channels.results import InterfereRun, InterfereStore
from deadbeat.kinds.channels.spec import InterfereKey, InterfereSpec
from deadbeat.model.errors import DataError, RunError

#: What a run takes beside its own length: processes start and set their work up.
OVERHEAD_S = 1.0


class InterfereExperiment(FolderExperiment[InterfereKey, InterfereRun]):
    """One set of processes after the other."""

    def __init__(
        self,
        spec: InterfereSpec,
        engine: ChannelEngine,
        store: InterfereStore,
        planned: Sequence[InterfereKey],
        *,
        retry: bool = False,
    ) -> None:
        super().__init__(store, planned, retry_invalid=retry)
        self._spec, self._engine = spec, engine

    def seconds(self, runs: int) -> float:
        return runs * (self._spec.duration + OVERHEAD_S)

    def measure(self, tell: Watcher) -> Generator[InterfereRun | Lost[InterfereKey]]:
        for key in self.lacking:
            try:
                yield self._engine.run(self._spec, key)
            except (DataError, RunError) as error:
                yield Lost(key, error)
