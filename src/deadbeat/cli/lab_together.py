"""Boots of many matrices of the lab, told as of one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
from attrs import define, field

from deadbeat.cli._output import say
from deadbeat.cli._progress import Watch
from deadbeat.experiment.base import Event, Phase, RunDone, Started
from deadbeat.experiment.run import run as carry_out
from deadbeat.kinds.latency.guest import WORKERS, GuestExperiment
from deadbeat.model.words import count_of, duration
from deadbeat.store.place import point_latest


@define
class Together:
    """Matrices whose boots wait in one queue, in the order they were added.

    Attributes:
        name: What is said of them.
        kept: Boots that are stored. ``total``: of all. ``lost``: those without a result.
    """

    name: str
    experiments: list[GuestExperiment] = field(factory=list)
    kept: int = 0
    total: int = 0
    lost: int = 0
    _clock: Callable[[], float] = field(default=time.monotonic, kw_only=True)
    _first: tuple[float, int] | None = None

    def add(self, experiment: GuestExperiment) -> None:
        self.experiments.append(experiment)
        self.total += len(experiment.planned)
        self.kept += len(experiment.planned) - len(experiment.lacking)

    @property
    def kept_words(self) -> str:
        return f"{self.kept} of {self.total} boots are kept" if self.total else "nothing is lost"

    def measured(self) -> Iterator[Path]:
        """Boots what is lacking; the folder of each matrix as it is complete."""
        if not self.experiments:
            return
        what = f"{count_of(len(self.experiments), 'kernel')}, {self._left} of {self.total} boots"
        say(f"{self.name}: {what} to go, about {duration(self._eta_s())}")
        for experiment in self.experiments:
            experiment.begin()
        with Watch(self.name, unit=GuestExperiment.unit) as watch:
            watch(Started(total=self.total, done=self.kept, eta_s=self._eta_s()))
            for experiment in self.experiments:
                path = experiment.store.path
                point_latest(path.parent, path.name)
                carry_out(experiment, on_event=lambda event: self._tell(event, watch))
                yield path

    @property
    def _left(self) -> int:
        return self.total - self.kept - self.lost

    def _tell(self, event: Event, watch: Watch) -> None:
        """Passes on what became of a boot."""
        if isinstance(event, Started | Phase):
            return
        if self._first is None:
            self._first = self._clock(), self._left - 1
        if isinstance(event, RunDone):
            self.kept += 1
            event = attrs.evolve(event, done=self.kept, total=self.total, eta_s=self._eta_s())
        else:
            self.lost += 1
        watch(event)

    def _eta_s(self) -> float:
        """Seconds left: by the pace since the first boot ended, before by the plan."""
        if self._first and (ended := self._first[1] - self._left) > WORKERS:
            return self._left * (self._clock() - self._first[0]) / ended
        return sum(each.seconds(len(each.lacking)) for each in self.experiments)
