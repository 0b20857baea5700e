"""Machine time that stopping when it is known saves, and whether its intervals still hold.

The design it is compared with gives every point the same number of task sets: the fewest with which
each point is known at least as well as the worst point of the campaign that stopped (an oracle: who
plans it does not know that number). Worlds are made up from what was seen on machines: most sets
suffer little, some kinds much, and a set suffers at all points of its M (common random numbers);
one is recorded, a quick campaign on a two-core virtual machine, resampled by task set.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from attrs import define, field, frozen
from common import asked, report
from numpy.typing import NDArray

from deadbeat.tasksets.contention.precision import MeanEstimate, Precision, Sample
from deadbeat.tasksets.contention.spec import PrecisionSpec
from deadbeat.tasksets.model.results import KnownPoint, Point, RunKey, point_text

Floats = NDArray[np.float64]
Random = np.random.Generator
RECORDED = Path(__file__).parent / "recorded-quick.csv"
#: Seconds of a run where they were not recorded.
SECONDS = 1.0
#: Releases of a set whose misses are drawn.
RELEASED = 500


@frozen
class World:
    """Slowdowns, or misses, that can be drawn: one row per point, one column per task set.

    Attributes:
        draw: Of so many sets: slowdowns, and seconds of each run.
        truth: True mean of each point.
        below: What a figure is divided by.
    """

    points: tuple[Point, ...]
    draw: Callable[[Random, int], tuple[Floats, Floats]]
    truth: Floats
    below: float = 1.0


GRID = tuple(
    Point(cores, share, ratio)
    for cores in (1, 2)
    for share in (0, 500, 1000)
    for ratio in (0, 250, 500, 750, 1000)
)
LINE = tuple(Point(2, 1000, ratio) for ratio in (0, 500, 1000))


@frozen
class Kinds:
    """How a set suffers at full contention, beyond 1.

    Attributes:
        share: Of sets of the bad kind.
        bad: Mean of theirs; ``usual`` of the others, lognormal with ``spread``.
    """

    share: float
    bad: float
    usual: float
    spread: float

    @property
    def mean(self) -> float:
        return self.share * self.bad + (1 - self.share) * self.usual

    def draw(self, random: Random, sets: int) -> Floats:
        bad = random.random(sets) < self.share
        spread = np.where(bad, 0.3, self.spread)
        scatter = np.exp(spread * random.standard_normal(sets) - spread**2 / 2)
        return np.where(bad, self.bad, self.usual) * scatter


KINDS = {
    "alike": Kinds(0.0, 1.0, 0.6, 0.2),
    "skewed": Kinds(0.0, 1.0, 0.6, 0.8),
    "three in ten suffer threefold": Kinds(0.3, 2.0, 0.1, 0.3),
    "one in ten suffers fivefold": Kinds(0.1, 4.0, 0.1, 0.5),
}


def made_up(kinds: Kinds, points: tuple[Point, ...]) -> World:
    """A surface that grows with rho x alpha from two cores on, with 1 % of noise."""
    height = np.array(
        [(p.cores > 1) * p.sync_share * p.contended_ratio for p in points], dtype=float
    )

    def draw(random: Random, sets: int) -> tuple[Floats, Floats]:
        shape = (len(points), sets)
        own = np.exp(0.1 * random.standard_normal(shape) - 0.005)
        suffered = height[:, None] * kinds.draw(random, sets) * own
        return 1 + suffered + 0.01 * random.standard_normal(shape), np.full(shape, SECONDS)

    return World(points, draw, 1 + height * kinds.mean)


#: Share of bad sets, the miss ratio of theirs, and of the others.
MISSING = {
    "one in ten misses half": (0.1, 0.5, 0.0),
    "one in twenty misses all": (0.05, 1.0, 0.0),
    "one in ten misses a fifth, others 0.2 %": (0.1, 0.2, 0.002),
    "three in ten miss 0.3": (0.3, 0.3, 0.0),
}


def missing(share: float, bad: float, usual: float) -> World:
    """One point; jobs of a set miss independently, sets of two kinds differ."""

    def draw(random: Random, sets: int) -> tuple[Floats, Floats]:
        ratios = np.where(random.random((1, sets)) < share, bad, usual)
        return random.binomial(RELEASED, ratios).astype(float), np.full((1, sets), SECONDS)

    truth = np.array([share * bad + (1 - share) * usual])
    return World(LINE[-1:], draw, truth, below=RELEASED)


def recorded(path: Path) -> World:
    """Task sets of a campaign, drawn with replacement, the same ones at all points of an M."""
    cells: dict[Point, dict[int, tuple[float, float]]] = {}
    with path.open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            axes = (1000 * float(row[name]) for name in ("sync_share", "contended_ratio"))
            point = Point(int(row["cores"]), *map(round, axes))
            known = float(row["slowdown"]), float(row["seconds"])
            cells.setdefault(point, {})[int(row["replica"])] = known
    points = tuple(sorted(cells))
    common = sorted(set.intersection(*(set(cell) for cell in cells.values())))
    table = np.array([[cells[point][replica] for replica in common] for point in points])

    def draw(random: Random, sets: int) -> tuple[Floats, Floats]:
        chosen = random.integers(len(common), size=sets)
        return table[:, chosen, 0], table[:, chosen, 1]

    return World(points, draw, table[:, :, 0].mean(axis=1))


@define
class Trial:
    """One campaign that stops when it is known, on drawn sets."""

    spec: PrecisionSpec
    world: World
    values: Floats
    used: dict[Point, list[int]] = field(factory=dict)

    def sample(self, row: int, number: int) -> Sample:
        return float(self.values[row, number]), self.world.below

    def run(self) -> Mapping[str, KnownPoint]:
        """Goes through the plan as the runner does; the record of the points."""
        place = {point: row for row, point in enumerate(self.world.points)}
        rounds = range(self.values.shape[1])
        keys = tuple(RunKey(point, n) for n in rounds for point in self.world.points)
        places = {key: (point_text(key.point), key.replica) for key in keys}
        stopping = Precision(self.spec, places)
        for key in keys:
            if stopping.wanted(key):
                self.used.setdefault(key.point, []).append(key.replica)
                stopping.learn(key, self.sample(place[key.point], key.replica))
        return stopping.record().points

    def holds(self, row: int, sets: Sequence[int]) -> bool:
        """Whether the interval of a point, from ``sets``, holds its true mean."""
        found = self.interval(row, sets)
        return bool(found.low <= self.world.truth[row] <= found.high)

    def interval(self, row: int, sets: Sequence[int]) -> MeanEstimate:
        """Of a point, from ``sets``."""
        found = MeanEstimate.of(self.spec.metric, [self.sample(row, n) for n in sets])
        assert found is not None
        return found


def fixed_sets(trial: Trial, width: float) -> int:
    """Fewest sets at every point with which none is known less well than ``width``, by the interval
    of the tool as everywhere; its width is monotone enough to be bisected."""

    def reached(sets: int) -> bool:
        return all(
            trial.interval(row, range(sets)).width(relative=trial.spec.relative) <= width
            for row in hardest_first
        )

    spread = trial.values.std(axis=1) / trial.values.mean(axis=1)
    hardest_first = np.argsort(-spread)
    low, high = 4, int(trial.values.shape[1])
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def savings(name: str, world: World, spec: PrecisionSpec, trials: int) -> None:
    """Share of machine-seconds and of sets that the fixed design takes more."""
    sets, seconds, reached, most = [], [], [], []
    for seed in range(trials):
        random = np.random.default_rng(seed)
        values, times = world.draw(random, spec.sets_max)
        trial = Trial(spec, world, values)
        outcome = trial.run()
        widths = [point.half_width for point in outcome.values()]
        fixed = fixed_sets(trial, max(widths))
        used = sum(map(len, trial.used.values()))
        own = sum(times[row, trial.used[point]].sum() for row, point in enumerate(world.points))
        sets.append(1 - used / (fixed * len(world.points)))
        seconds.append(1 - own / times[:, :fixed].sum())
        reached.append(sum(point.stopped == "target reached" for point in outcome.values()))
        most.append(fixed)
    report(
        f"machine-seconds saved at {spec.target:g}, {name}",
        "> 0",
        round(float(np.mean(seconds)), 3),
        "share",
        {
            "sets_saved": round(float(np.mean(sets)), 3),
            "worst_trial": round(float(np.min(seconds)), 3),
            "fixed_sets": round(float(np.mean(most)), 1),
            "points": len(world.points),
            "points_reached": round(float(np.mean(reached)), 1),
            "trials": trials,
        },
    )


def coverage(name: str, world: World, spec: PrecisionSpec, trials: int) -> None:
    """Share of final intervals that hold the true mean.

    Beside it, that of a fixed design whose points have as many sets as these had on average: what
    the interval itself can do on such sets, whatever stops it.
    """
    campaigns = []
    for seed in range(trials):
        values, _ = world.draw(np.random.default_rng(10**6 + seed), spec.sets_max)
        campaigns.append(Trial(spec, world, values))
        campaigns[-1].run()
    shares, fixed, sets = [], [], []
    for row, point in enumerate(world.points):
        used = [sorted(trial.used[point]) for trial in campaigns]
        sets.append(float(np.mean([len(some) for some in used])))
        many = range(round(sets[-1]))
        shares.append(np.mean([t.holds(row, s) for t, s in zip(campaigns, used, strict=True)]))
        fixed.append(np.mean([trial.holds(row, many) for trial in campaigns]))
    report(
        f"coverage of {spec.metric} at {spec.target:g}, {name}",
        "0.93 to 0.97",
        round(float(np.mean(shares)), 4),
        "share",
        {
            "fixed": round(float(np.mean(fixed)), 4),
            "by_point": np.round(shares, 4).tolist(),
            "fixed_by_point": np.round(fixed, 4).tolist(),
            "sets": np.round(sets, 1).tolist(),
            "sets_min": spec.sets_min,
            "trials": trials,
        },
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20, help="campaigns per world")
    parser.add_argument("--coverage", type=int, default=200, help="campaigns per world")
    parser.add_argument("--sets-min", type=int, default=30)
    parser.add_argument("--pool", type=Path, default=RECORDED, help="recorded task sets")
    quick, words = asked()
    options = parser.parse_args(["--trials=1", "--coverage=2"] if quick else words)
    worlds = {name: made_up(kinds, GRID) for name, kinds in KINDS.items()}
    worlds["recorded"] = recorded(options.pool)
    for target in (0.05, 0.1):
        spec = PrecisionSpec(target=target, sets_min=options.sets_min)
        for name, world in worlds.items():
            savings(name, world, spec, options.trials)
    spec = PrecisionSpec(target=0.1, sets_min=options.sets_min)
    for name, kinds in KINDS.items():
        coverage(name, made_up(kinds, LINE), spec, options.coverage)
    for target in (0.05, 0.02, 0.01):
        spec = PrecisionSpec(target=target, metric="deadline_miss_ratio", sets_min=options.sets_min)
        for name, missed in MISSING.items():
            coverage(name, missing(*missed), spec, options.coverage)


if __name__ == "__main__":
    main()
