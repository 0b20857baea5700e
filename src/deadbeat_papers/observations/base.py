"""What an observation is, what it is judged from, and what becomes of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any, TypeVar

from attrs import evolve, frozen
from scipy import stats

from deadbeat import (
    UNDECIDED,
    CellFigures,
    Comparison,
    Conclusion,
    Evidence,
    Judgement,
    LackingError,
    SetFigures,
    Summary,
)
from deadbeat import judge as verdict_on
from deadbeat_papers.claims import MADE_UP, VERDICTS
from deadbeat_papers.premises import OnAMachine, require

Of = TypeVar("Of", CellFigures, SetFigures)


@frozen(kw_only=True)
class Value:
    """A mean with its interval; the ends are None where there is none. ``of_sets``: too few task
    sets say how large it may be, and the upper end is the largest of them."""

    mean: float
    low: float | None
    high: float | None
    of_sets: bool = False

    def above(self, bound: float) -> bool | None:
        """Whether it lies above ``bound``; None where the interval holds it, or there is none."""
        if self.low is None or self.high is None:
            return None
        return True if self.low > bound else False if self.high <= bound else None

    def within(self, low: float, high: float) -> bool | None:
        """Whether all of it lies within; None where it reaches over an end."""
        if self.low is None or self.high is None:
            return None
        if self.high < low or self.low > high:
            return False
        return True if low <= self.low and self.high <= high else None

    def below(self, bound: float) -> bool | None:
        above = self.above(bound)
        return None if above is None else not above

    def over(self, other: Value) -> Value:
        """The ratio, with the ends of both."""
        mean = self.mean / other.mean if other.mean else math.inf
        if self.low is None or self.high is None or not other.low or not other.high:
            return Value(mean=mean, low=None, high=None)
        of_sets = self.of_sets or other.of_sets
        low, high = self.low / other.high, self.high / other.low
        return Value(mean=mean, low=low, high=high, of_sets=of_sets)

    def times(self, factor: float) -> Value:
        """In another unit."""
        low, high = (None if end is None else end * factor for end in (self.low, self.high))
        return Value(mean=self.mean * factor, low=low, high=high, of_sets=self.of_sets)

    def minus(self, other: Value) -> Value:
        """The difference, with the ends of both."""
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return Value(mean=self.mean - other.mean, low=None, high=None)
        low, high = self.low - other.high, self.high - other.low
        of_sets = self.of_sets or other.of_sets
        return Value(mean=self.mean - other.mean, low=low, high=high, of_sets=of_sets)

    @classmethod
    def mean_of(cls, every: Sequence[Value]) -> Value:
        """Mean of several, and of their ends: no narrower than any independence would allow."""
        lows = [each.low for each in every if each.low is not None]
        highs = [each.high for each in every if each.high is not None]
        known = len(lows) == len(highs) == len(every)
        return cls(
            mean=fmean(each.mean for each in every),
            low=fmean(lows) if known else None,
            high=fmean(highs) if known else None,
            of_sets=any(each.of_sets for each in every),
        )

    def __str__(self) -> str:
        if self.high == math.inf:
            return f"at least {self.mean if self.low is None else self.low:.3f}"
        if self.low is None or self.high is None:
            return f"{self.mean:.3f} (no interval)"
        up_to = "sets up to " * self.of_sets
        return f"{self.mean:.3f} [{self.low:.3f}, {up_to}{self.high:.3f}]"


def rank_correlation(pairs: Sequence[Sequence[float]]) -> Value:
    """Spearman's correlation with its 95 % interval (Fisher's z; Fieller, Hartley and Pearson
    1957)."""
    rank = float(stats.spearmanr(*zip(*pairs, strict=True)).statistic) if len(pairs) > 3 else 0.0
    if len(pairs) < 5 or math.isnan(rank):
        return Value(mean=0.0, low=None, high=None)
    z, half = math.atanh(max(-0.9999, min(rank, 0.9999))), 1.96 * math.sqrt(1.06 / (len(pairs) - 3))
    return Value(mean=rank, low=math.tanh(z - half), high=math.tanh(z + half))


@frozen(kw_only=True)
class Campaign(OnAMachine):
    name: str
    summary: Summary

    @property
    def balanced(self) -> bool:
        """Whether its sets draw every object as often; the paper's draw at random."""
        asked: Any = self.summary.meta.get("parameters") or {}
        grid = asked.get("grid") if isinstance(asked, Mapping) else None
        return isinstance(grid, Mapping) and grid.get("mix") == "balanced"

    @property
    def platform(self) -> Mapping[str, Any]:
        found = self.summary.meta.get("platform")
        return found if isinstance(found, Mapping) else {}

    @property
    def labels(self) -> tuple[str, ...]:
        return self.summary.labels

    @property
    def extrapolated(self) -> bool:
        """Whether it was replayed by prices: its costs are examples."""
        return "extrapolated" in self.summary.labels

    @property
    def cores(self) -> tuple[int, ...]:
        """Values of M it holds; a group that draws M has it in its sets only."""
        held = {*(cell.cores for cell in self.cells), *(each.cores for each in self.sets)}
        return tuple(sorted(held - {0}))

    @property
    def cells(self) -> tuple[CellFigures, ...]:
        """Its points or groups; of several deadline factors the longest, as the paper's default."""
        return _longest_factor(self.summary.cells)

    @property
    def sets(self) -> tuple[SetFigures, ...]:
        return _longest_factor(self.summary.sets)


def _longest_factor(every: Sequence[Of]) -> tuple[Of, ...]:
    longest = max((each.deadline_factor or 0.0 for each in every), default=0.0)
    return tuple([each for each in every if (each.deadline_factor or 0.0) == longest])


@frozen(kw_only=True)
class Campaigns:
    """What there is to judge from: campaigns, of one kernel each where an observation compares
    kernels; ``every``: those of another mode too. ``compare``: baseline, other -> what differs;
    raises DeadbeatError where the programs are not identical."""

    results: tuple[Campaign, ...]
    every: tuple[Campaign, ...] = ()
    compare: Callable[[Campaign, Campaign], Comparison] | None = None


@frozen(kw_only=True)
class PublishedObservation(Conclusion[Campaigns]):
    """One observation of the paper. ``cores``: core count it is about; fewer cannot show it.
    ``kernels``: how many must have run the identical programs. ``mode``: ``profile`` or ``stress``,
    the campaign it is judged from. ``campaign``: which ones show it (`ask`); "": it runs none
    itself. ``part``: letter of a part with a verdict of its own. ``premises``: `premises`.
    ``wants``: what ``--from`` must be."""

    number: int
    part: str = ""
    title: str
    cores: int = 1
    kernels: int = 1
    mode: str = "profile"
    campaign: str = ""
    premises: Sequence[str] = ()
    wants: str = "a profile campaign of random mix"


def judge(observation: PublishedObservation, given: Campaigns) -> Judgement:
    """The verdict on an observation; what is lacking is a verdict too."""
    fitting = tuple(one for one in given.results if one.summary.mode == observation.mode)
    labels = tuple(dict.fromkeys(label for result in fitting for label in result.summary.labels))
    names = tuple(result.name for result in fitting)
    try:
        _require(observation, given.results, fitting)
        require(observation.premises, fitting)
        every = given.every or given.results
        found = verdict_on(observation, evolve(given, results=fitting, every=every))
        assert found is not None, "an observation has evidence, or lacks something"
    except LackingError as lacking:
        runs = () if lacking.verdict == UNDECIDED else names
        return lack(observation, lacking.verdict, lacking.because, runs=runs, labels=labels)
    evidence = tuple(evolve(each, runs=each.runs or names) for each in found.evidence)
    made_up = any(label.lower() == "simulated" for label in labels)
    verdict = MADE_UP if made_up and found.verdict in VERDICTS else found.verdict
    return evolve(found, verdict=verdict, labels=labels, evidence=evidence)


def _require(
    observation: PublishedObservation, given: Sequence[Campaign], fitting: Sequence[Campaign]
) -> None:
    platforms: list[Any] = [one.summary.meta.get("platform") or {} for one in given]
    cpus = max((len(each.get("cpus") or ()) for each in platforms), default=0)
    if 0 < cpus < observation.cores:
        machine = f"{', '.join(one.name for one in given)}: of a machine with {cpus}"
        raise LackingError(needs_cores(observation.cores), machine)
    if not fitting:
        text = ", ".join(f"{one.name} is a {one.summary.mode} campaign" for one in given)
        how = " --random" * (observation.mode == "stress")
        of = f" on each of {observation.kernels} kernels" * (observation.kernels > 1)
        text = f"{text or 'none was given'}: deadbeat contention{how}{of}"
        raise LackingError(f"needs a {observation.mode} campaign", text)
    if empty := [result.name for result in fitting if not result.cells]:
        raise LackingError(UNDECIDED, f"{empty[0]} holds no result")
    most = min(max(result.cores, default=0) for result in fitting)
    if most < observation.cores and observation.cores > 1:
        names = " and ".join(result.name for result in fitting)
        text = f"{names} hold{'s' * (len(fitting) == 1)} at most M = {most}"
        raise LackingError(needs_cores(observation.cores), text)
    if len(fitting) < observation.kernels:
        were = "s were" if len(fitting) > 1 else " was"
        text = f"{len(fitting)} {observation.mode} campaign{were} given"
        raise LackingError(needs_kernels(observation.kernels), text)
    shared = observation.cores > 1  # tasks alone draw their objects in vain
    if balanced := [result.name for result in fitting if shared and result.balanced]:
        because = f"the paper picks objects at random, {balanced[0]} each equally often"
        because += ": deadbeat contention --set mix=random"
        raise LackingError("not judged: another mix", because)


def lack(
    observation: PublishedObservation,
    verdict: str,
    because: str,
    *,
    runs: tuple[str, ...] = (),
    labels: tuple[str, ...] = (),
) -> Judgement:
    evidence = Evidence(holds=None, figures=because, runs=runs)
    return Judgement(conclusion=observation, verdict=verdict, evidence=(evidence,), labels=labels)


def undecided(because: str, **more: Any) -> list[Evidence]:
    return [Evidence(holds=None, figures=because, **more)]


def needs_cores(cores: int) -> str:
    return f"needs >= {cores} cores"


def needs_kernels(kernels: int) -> str:
    return f"needs results of {kernels} kernels"


def lacks_input(verdict: str) -> bool:
    """Whether nothing could be judged because the campaigns for it were not given."""
    return verdict.startswith(("needs a ", "needs results of ", "not judged"))


#: The paper's Figure 4 shows these four of its sixteen surfaces.
GRID_CORES = (1, 4, 8, 16)
#: A grid of which surfaces are drawn.
SURFACE = {"sync_share": "0..1:0.25", "contended_ratio": "0..1:0.25"}
#: Sets of a point that is replayed.
REPLAYED_SETS = 40
#: Observation 5: up to four cores for critical tasks, at least twelve compute.
CRITICAL_CORES, SHIELDED_CORES = 4, 16


def ask(campaign: str, *, cores: int, quick: bool, extrapolated: bool = False) -> dict[str, object]:
    """What the campaign of that name (``grid``, ``shielding``, ``random``) asks on a machine of
    ``cores``; ``quick``: few task sets on a coarse grid, some minutes, wide intervals.
    On a machine as the paper does: a second for each set, calibrated cold.
    ``extrapolated``: many sets on that grid, of as many points as a surface needs unless it is
    ``quick``, and no prices."""
    name = "observe" if campaign == "grid" else f"observe-{campaign}"
    if extrapolated:
        asked = {**_LAYERS[campaign](cores, True), "calibration": {"pool": "full", "prices": 0}}
        if "grid" in asked:
            replicas = {"mix": "random", "replicas": 6 if quick else REPLAYED_SETS}
            asked |= {"grid": replicas if quick else {**SURFACE, **replicas}}
        return {**asked, "name": f"{name}-replayed{'-quick' * quick}"}
    layer = _LAYERS[campaign](cores, quick)
    as_there = {} if quick else {"run": {"seconds": 1}}
    return {"calibration": {"basis": "cold"}, **as_there, **layer, "name": name + "-quick" * quick}


def _grid(cores: int, quick: bool) -> dict[str, object]:
    grid = {"mix": "random", "replicas": 6 if quick else 10}
    asked = {"preset": "quick" if quick else "default", "loaded": None, "grid": grid}
    few = (1, 2) if cores < GRID_CORES[1] else GRID_CORES
    return {**asked, "cores": [count for count in few if count <= cores]}


def _shielding(cores: int, quick: bool) -> dict[str, object]:
    """With shielding and without, on the same sets; rho is drawn. Nothing is contended (alpha = 0):
    otherwise the critical tasks would wait for one another, and that would look like what
    the computing cores do to them."""
    drawn = {
        "contended_ratio": 0,
        "cores": [SHIELDED_CORES],
        "critical_cores": [0, CRITICAL_CORES],
        "sets": 24 if quick else 200,
    }
    return {"mode": "stress", "preset": "quick" if quick else "random", "stress": drawn}


def _random(cores: int, quick: bool) -> dict[str, object]:
    sets = {} if quick else {"stress": {"sets": 1000}}
    return {"mode": "stress", "preset": "quick" if quick else "random", **sets}


_LAYERS = {"grid": _grid, "shielding": _shielding, "random": _random}
