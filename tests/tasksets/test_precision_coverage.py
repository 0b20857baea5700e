"""Truth: the mean of a large pool of simulated task sets, from which small campaigns are drawn.

A rule that stops when the interval looks tight enough stops more readily when it looks too tight.
How much of the promised 95 % that costs is measured here, with the rule, the interval and the
simulated executor of the tool.
"""

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import numpy as np
import pytest
from attrs import frozen
from helpers import seldom
from helpers.campaigns import begin, run, tiny_spec
from helpers.precision import Drawn
from numpy.typing import NDArray

from deadbeat.base.stats.intervals import bounded_interval, sets_interval, share_over_sets
from deadbeat.tasksets.contention.spec import PrecisionSpec
from deadbeat.tasksets.contention.summarise import summarise
from deadbeat.tasksets.model.results import Point

#: What 2000 campaigns of three points may show.
LOW, HIGH = 0.93, 0.97


@cache
def pool(size: int) -> dict[Point, NDArray[np.float64]]:
    """Slowdowns of the simulated executor at rho 0.5, alpha 0, 0.5 and 1, two cores."""
    grid = {"sync_share": [0.5], "contended_ratio": [0, 0.5, 1], "replicas": size}
    spec = tiny_spec({"cores": [2], "grid": grid})
    with TemporaryDirectory() as folder:
        store = begin(Path(folder), spec)
        run(spec, store)
        sets = summarise(store).sets
    found: dict[Point, list[float]] = {}
    for each in sets:
        point = Point(each.cores, 500, int(each.contended_ratio * 1000))
        found.setdefault(point, []).append(each.slowdown_mean or 0.0)
    return {point: np.array(values) for point, values in found.items()}


def coverage(asked: PrecisionSpec, trials: int, size: int = 150) -> tuple[list[float], float]:
    """Per point, share of final intervals with the pool's mean; mean number of sets of a point."""
    whole = pool(size)
    held, used = dict.fromkeys(whole, 0), 0
    random = np.random.default_rng(20260102)
    for _ in range(trials):
        chosen = random.integers(size, size=asked.sets_max)
        values = {point: known[chosen] for point, known in whole.items()}
        design = Drawn(asked, values)
        design.run()
        for point in values:
            found = design.interval(point)
            held[point] += found.low <= float(whole[point].mean()) <= found.high
        used += len(design.asked)
    return [count / trials for count in held.values()], used / trials / len(held)


#: Sets differ by a standard deviation of 4 % at alpha 0.5: it takes about 60 of them.
ASKED = PrecisionSpec(target=0.01, sets_min=30, sets_max=200)


def test_intervals_hold_what_they_promise() -> None:
    shares, sets = coverage(ASKED, trials=80, size=60)
    assert 30 < sets < 100, "the rule must have been at work"
    # 240 intervals, 95 % each: three standard errors
    assert np.mean(shares) == pytest.approx(0.95, abs=0.042)


@pytest.mark.statistical
@pytest.mark.parametrize("sets_min", [15, 30])
def test_coverage_on_the_simulated_executor(sets_min: int) -> None:
    asked = PrecisionSpec(target=0.01, sets_min=sets_min, sets_max=200)
    shares, sets = coverage(asked, trials=2000)
    assert sets_min < sets < 100
    assert LOW <= np.mean(shares) <= HIGH
    # each point alone, within three standard errors of 2000 trials
    assert all(abs(share - 0.95) <= 0.02 + 0.015 for share in shares)


@frozen
class Kinds:
    """Two kinds of task sets at one point: most suffer little, some much.

    Attributes:
        share: Of sets of the heavy kind.
        heavy: Mean of theirs; ``usual`` of the others. Slowdown beyond 1, or miss ratio.
    """

    share: float
    heavy: float
    usual: float

    @property
    def mean(self) -> float:
        return self.share * self.heavy + (1 - self.share) * self.usual

    def means(self, random: np.random.Generator, sets: int) -> NDArray[np.float64]:
        return np.where(random.random(sets) < self.share, self.heavy, self.usual)

    def slowdowns(self, random: np.random.Generator, sets: int) -> NDArray[np.float64]:
        return 1 + self.means(random, sets) * np.exp(0.3 * random.standard_normal(sets) - 0.045)

    def misses(self, random: np.random.Generator, sets: int) -> NDArray[np.float64]:
        return random.binomial(RELEASED, self.means(random, sets)).astype(float)


RELEASED = 500
POINT = Point(2, 1000, 500)
#: One set in ten suffers threefold, the others hardly: the middle of a surface on which it suffers
#: fivefold at full contention.
SUFFERING = Kinds(share=0.1, heavy=2.0, usual=0.05)
FIVEFOLD = Kinds(share=0.1, heavy=4.0, usual=0.05)
#: One set in ten misses a fifth of its deadlines, the others hardly any.
MISSING = Kinds(share=0.1, heavy=0.2, usual=0.002)


def rare_kinds(metric: str, target: float, trials: int) -> tuple[float, float]:
    """Share of final intervals that hold the truth of a world with a rare kind of set; mean number
    of sets."""
    asked = PrecisionSpec(target=target, metric=metric)
    held = used = 0
    for trial in range(trials):
        random = np.random.default_rng(trial)
        if metric == "slowdown":
            truth, below = 1 + SUFFERING.mean, 1
            values = SUFFERING.slowdowns(random, asked.sets_max)
        else:
            truth, below = MISSING.mean, RELEASED
            values = MISSING.misses(random, asked.sets_max)
        drawn = {POINT: cast(Sequence[float], values)}
        design = Drawn(asked, drawn, below=below)
        design.run()
        found = design.interval(POINT)
        held += found.low <= truth <= found.high
        used += len(design.asked)
    return held / trials, used / trials


#: At these targets sets are many enough for the cap not to hide what stopping does.
WORLDS = [("slowdown", 0.1), ("deadline_miss_ratio", 0.01)]


@pytest.mark.parametrize(("metric", "target"), WORLDS)
def test_rare_kinds_are_held(metric: str, target: float) -> None:
    share, sets = rare_kinds(metric, target, trials=200)
    assert 60 < sets < 190, "the rule must have been at work"
    # Arms that ignore the skewness hold 0.85 and 0.83 of them.
    assert 0.90 <= share <= 0.98


@pytest.mark.statistical
@pytest.mark.parametrize(("metric", "target"), WORLDS)
def test_coverage_of_rare_kinds(metric: str, target: float) -> None:
    share, _ = rare_kinds(metric, target, trials=2000)
    # No rule can know the kind that all thirty sets lack: 0.9 ** 30 = 0.04 of the campaigns.
    assert 0.915 <= share <= HIGH


@pytest.mark.parametrize("sets", [6, *seldom((3,), (10,), (30,))])
def test_whatever_is_called_95_percent_holds_it_with_few_sets(sets: int) -> None:
    """One set in ten suffers fivefold, misses a fifth of its deadlines, breaks down at a fifth."""
    held, trials, random = np.zeros(3), 400, np.random.default_rng(sets)
    released = np.full(sets, float(RELEASED))
    for _ in range(trials):
        slowdown = sets_interval(FIVEFOLD.slowdowns(random, sets))
        missed = share_over_sets(MISSING.misses(random, sets), released)
        broken = np.where(random.random(sets) < 0.1, 0.18, 0.9)
        ends = bounded_interval(broken, least=0.0, most=1.0)
        truths = 1 + FIVEFOLD.mean, MISSING.mean, 0.1 * 0.18 + 0.9 * 0.9
        found = zip((slowdown, missed, ends), truths, strict=True)
        held += [each is not None and each.low <= truth <= each.high for each, truth in found]
    print(sets, "sets: slowdown, misses, breakdown", held / trials)
    assert (held / trials >= 0.93 - 0.02).all()  # two standard errors
    assert (slowdown is not None and math.isfinite(slowdown.high)) == (sets >= 30)
