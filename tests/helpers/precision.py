"""Campaigns that stop each point when it is known: on the fake executor, and without one."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field

from deadbeat.tasksets.contention.precision import MeanEstimate, Precision, Sample
from deadbeat.tasksets.contention.spec import CampaignSpec, PrecisionSpec
from deadbeat.tasksets.model.results import KnownPoint, Point, RunKey, point_text
from deadbeat.tasksets.store.campaign import CampaignStore
from helpers.campaigns import begin, run, tiny_spec


def precise_spec(
    target: float = 0.008, *, sets_min: int = 5, sets_max: int = 14, **precision: Any
) -> CampaignSpec:
    """One and two cores, rho 1, alpha 0, 0.5 and 1: at alpha 0.5 sets differ, elsewhere hardly."""
    asked = {"target": target, "sets_min": sets_min, "sets_max": sets_max, **precision}
    grid = {"sync_share": [1], "contended_ratio": [0, 0.5, 1]}
    return tiny_spec({"grid": grid, "precision": asked})


def finished(folder: Path, spec: CampaignSpec) -> CampaignStore:
    """A campaign that ran to its end."""
    store = begin(folder, spec)
    run(spec, store)
    return store


@define
class Drawn:
    """A design without an executor: every set's figure is known beforehand.

    Attributes:
        values: Point -> its figures, in order of rounds; NaN: it failed.
        below: What each figure is divided by: the releases of a set where its misses are drawn.
        asked: Runs that were wanted, in order.
    """

    spec: PrecisionSpec
    values: Mapping[Point, Sequence[float]]
    below: float = 1.0
    asked: list[RunKey] = field(factory=list)

    def sample(self, key: RunKey) -> Sample:
        return float(self.values[key.point][key.replica]), self.below

    def interval(self, point: Point) -> MeanEstimate:
        """What the summary says of the sets that were run."""
        keys = sorted(key for key in self.asked if key.point == point)
        found = MeanEstimate.of(self.spec.metric, [self.sample(key) for key in keys])
        assert found is not None
        return found

    def run(self, *, most_runs: int | None = None) -> Precision:
        """As the runner goes through a plan; ``most_runs`` breaks it off."""
        rounds = range(max(map(len, self.values.values())))
        keys = [RunKey(point, round_) for round_ in rounds for point in sorted(self.values)]
        places = {key: (point_text(key.point), key.replica) for key in keys}
        stopping = Precision(self.spec, places)
        for key in keys:
            if most_runs is not None and len(self.asked) >= most_runs:
                return stopping
            if stopping.wanted(key):
                self.asked.append(key)
                sample = self.sample(key)
                stopping.learn(key, None if math.isnan(sample[0]) else sample)
        return stopping

    def points(self) -> dict[Point, KnownPoint]:
        """Outcome of each point."""
        found = self.run().record().points
        return {point: found[point_text(point)] for point in self.values}
