"""Extreme values of wake-up latency, behind gates: what is fitted, and why it is refused.

From the maxima of equal stretches of every run, over all its CPUs, come independent peaks above a
threshold, which are fitted by a generalised Pareto distribution (clusters as C. A. T. Ferro and J.
Segers find them, J. Royal Statistical Society B 65, 2003). Nothing is
extrapolated unless every gate holds; how each came to be is docs/explanation/extreme-values.md. A
level is no worst case: it is what is exceeded once in so many hours if nothing changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import NormalDist

import numpy as np
from attrs import evolve, frozen

from deadbeat.kinds.latency.tail import Part, intervals_estimator
from deadbeat.model.latency_summary import Extrapolation, ReturnLevel, TailGate
from deadbeat.stats.binomial import chi_squared_p
from deadbeat.stats.correlate import ranks
from deadbeat.stats.evt_fit import Fit, Floats, fit, fit_p
from deadbeat.stats.seeds import seed_of

METHOD = "peaks over threshold"
#: Independent peaks without which nothing is fitted; and as many as are used.
ENOUGH, MOST = 50, 250
#: Share of stretches above the threshold: what is aimed at, and the most.
_SHARE, _SHARE_MOST = 0.1, 0.2
#: Error of each gate: so seldom does it refuse what is in order.
_ALPHA = 0.01
#: The same of the two that ask whether the fitted law is the right one: errors there cost more.
_ALPHA_FIT = 0.05
_Z = 2.5758293035489004
#: Heavier tails have no variance worth the name: any level would be a guess.
SHAPE_MAX = 0.5
#: Lower extremal indices leave too few independent peaks for the rest to be relied on.
INDEX_MIN = 0.1
#: Levels are given for these multiples of the time measured.
MULTIPLES = (1.0, 10.0, 100.0)
_DRAWS = 199
_LARGEST_DRAWS = 499
#: Stretches of a run, at least, for a trend to be seen.
_TREND_MIN = 10


@frozen(kw_only=True, eq=False)
class Series:
    """Maxima of equal stretches, run after run.

    Attributes:
        values: Largest latency of each stretch, ns. Stretches of which no engine tells anything
            are left out: they are neither early nor late.
        run: Number of the run each is of, ascending.
        stretch_ns: Length of each.
    """

    values: Floats
    run: Floats
    stretch_ns: int

    @property
    def hours(self) -> float:
        """Of all stretches."""
        return len(self.values) * self.stretch_ns / 3.6e12

    @property
    def late(self) -> Floats:
        """1 where a stretch lies in the second half of its run."""
        first, last = (np.searchsorted(self.run, self.run, side=side) for side in ("left", "right"))
        place = np.arange(len(self.run))
        return np.asarray(2 * (place - first) >= last - first, dtype=np.float64)


@frozen(kw_only=True, eq=False)
class Peaks:
    """Independent peaks above a threshold.

    Attributes:
        series: What they are taken from.
        places: Where in it each is, in the order of time.
        threshold: What they exceed.
        index: Extremal index there.
    """

    series: Series
    places: np.ndarray
    threshold: float
    index: float

    @property
    def values(self) -> Floats:
        """Excesses over the threshold."""
        return np.asarray(self.series.values[self.places] - self.threshold, np.float64)

    @property
    def late(self) -> np.ndarray:
        """Whether each lies in the second half of its run."""
        return np.asarray(self.series.late[self.places] > 0)

    @property
    def run(self) -> Floats:
        return np.asarray(self.series.run[self.places], np.float64)

    @property
    def runs(self) -> int:
        return int(self.series.run.max(initial=-1)) + 1


def extrapolation(parts: Sequence[Part], *, seed: int = 1) -> Extrapolation:
    """Of the runs of a cell: fitted, or refused with the reason."""
    series, why = series_of(parts, seed=seed)
    if series is None:
        gate = TailGate(name="order", passed=False, text=why)
        return Extrapolation(method=METHOD, refused=why, gates=(gate, *_unseen(_GATES)))
    return extrapolated(peaks_of(series), seed=seed_of(seed, "peaks_of"))


def series_of(parts: Sequence[Part], *, seed: int = 1) -> tuple[Series | None, str]:
    """Stretches of all runs, the larger of all CPUs each; or None, and why."""
    lengths = {cpu.block_ns for part in parts for cpu in part.cpus}
    if not parts:
        return None, "no run counts"
    if 0 in lengths:
        return None, "the engine keeps no maxima in the order of time"
    if len(lengths) > 1:
        return None, "runs keep their maxima over stretches of different lengths"
    rows = []
    for part in parts:
        count = min(len(cpu.block_maxima) for cpu in part.cpus)
        row = np.max([cpu.block_maxima[:count] for cpu in part.cpus], axis=0)
        rows.append(row[row > 0])
    values = np.concatenate(rows).astype(np.float64)
    step = max(cpu.raw.resolution_ns for part in parts for cpu in part.cpus)
    if step > 1:
        # Values that are cut off to whole steps would look discrete to every test of fit.
        random = np.random.default_rng(seed_of(seed, "dither"))
        values += random.uniform(0, step, len(values))
    runs = np.repeat(np.arange(len(rows), dtype=np.float64), [len(row) for row in rows])
    return Series(values=values, run=runs, stretch_ns=lengths.pop()), ""


# -- peaks


def peaks_of(series: Series) -> Peaks:
    """Peaks of clusters above the threshold that a tenth of the stretches exceed."""
    many = len(series.values)
    wanted = min(max(_SHARE * many, 1.5 * ENOUGH), _SHARE_MOST * many, 2.0 * MOST)
    threshold = float(np.sort(series.values)[max(many - int(wanted) - 1, 0)]) if many else 0.0
    places, index = declustered(series, threshold)
    return Peaks(series=series, places=places, threshold=threshold, index=index)


def declustered(series: Series, threshold: float) -> tuple[np.ndarray, float]:
    """Places of the largest of each cluster above ``threshold``, and the extremal index.

    The number of clusters follows from the index: the longest gaps separate them.
    """
    places = np.flatnonzero(series.values > threshold)
    if len(places) < 2:
        return places, 1.0
    same = series.run[places][1:] == series.run[places][:-1]
    gaps = np.diff(places).astype(np.float64)
    index = intervals_estimator(gaps[same]) if same.any() else 1.0
    within = np.sort(gaps[same])[::-1]
    cuts = int(index * len(within))
    while 0 < cuts < len(within) and within[cuts - 1] == within[cuts]:
        cuts -= 1  # of equal gaps all separate, or none
    ends = ~same | (gaps >= (within[cuts - 1] if cuts else math.inf))
    cluster = np.concatenate([[0], np.cumsum(ends)])
    heights = series.values[places]
    order = np.lexsort((-heights, cluster))
    first = np.concatenate([[True], np.diff(cluster[order]) > 0])
    return np.sort(places[order[first]]), index


def drift(series: Series) -> tuple[float, float]:
    """Probability of such a trend within runs, and of runs that differ so much, by chance.

    All stretches speak, not the few that are extreme. The trend: ranks within each run against
    time, summed over runs (H. E. Daniels, J. Royal Statistical Society B 12, 1950, of a single
    one). Runs: variance of mean ranks (W. H. Kruskal and W. A. Wallis, JASA 47, 1952). Neighbours
    that resemble each other tell as much as (1 - r) / (1 + r) independent ones (M. S. Bartlett,
    J. Royal Statistical Society 98, 1935).
    """
    runs = np.split(series.values, np.flatnonzero(np.diff(series.run)) + 1)
    mine = [values for values in runs if len(values) >= _TREND_MIN]
    if not mine:
        return 1.0, 1.0
    within = [_ranks(values) for values in mine]
    squares = [float(each @ each) for each in within]
    products = sum(float(each[:-1] @ each[1:]) for each in within)
    lag = min(max(products / sum(squares), 0.0), 0.99) if any(squares) else 0.0
    inflation = (1 + lag) / (1 - lag)
    times = [np.arange(len(each)) - (len(each) - 1) / 2 for each in within]
    slope = sum(float(each @ time) for each, time in zip(within, times, strict=True))
    variance = sum(
        square * float(time @ time) / (len(time) - 1)
        for square, time in zip(squares, times, strict=True)
    )
    trend = math.erfc(abs(slope) / math.sqrt(2 * variance * inflation)) if variance else 1.0
    whole = _ranks(np.concatenate(mine))
    ends = np.cumsum([len(values) for values in mine])
    between = sum(float(part.sum()) ** 2 / len(part) for part in np.split(whole, ends[:-1]))
    spread = float((whole**2).mean()) * inflation
    return trend, chi_squared_p(between / spread, len(mine) - 1) if spread else 1.0


def _ranks(values: Floats) -> Floats:
    """About 0; equal values share theirs."""
    return ranks(values) - (len(values) + 1) / 2


# -- gates: each a function of the sample that says whether it holds, and with which figures

_Gate = Callable[[Peaks, int], tuple[bool, str]]


def _enough(sample: Peaks, seed: int) -> tuple[bool, str]:
    many = len(sample.places)
    return many >= ENOUGH, f"{many} independent peaks, {ENOUGH} are needed"


def _stationary(sample: Peaks, seed: int) -> tuple[bool, str]:
    """Numbers and sizes alike in all halves of all runs; no trend, and runs alike."""
    p_size, (trend, runs) = _sizes_p(sample), drift(sample.series)
    halves = (2 * sample.series.run + sample.series.late).astype(np.int64)
    stretches = np.bincount(halves, minlength=2 * sample.runs)
    counts = np.bincount(halves[sample.places], minlength=len(stretches))
    p_count = even_p(counts, stretches)
    return min(p_count, p_size, trend, runs) >= _ALPHA, (
        f"numbers of peaks p = {p_count:.2g}, halves of runs: sizes p = {p_size:.2g}; trend within"
        f" runs p = {trend:.2g}, runs alike p = {runs:.2g}"
    )


def even_p(counts: np.ndarray, weights: np.ndarray) -> float:
    """Probability of counts so far from proportion to ``weights`` by chance (K. Pearson, 1900).

    Of 50 to 250 peaks in 2 to 40 halves it errs in 0.6 to 1.2 % at 1 %.
    """
    counts, weights = counts[weights > 0], weights[weights > 0]
    expected = counts.sum() * weights / weights.sum()
    return chi_squared_p(float(((counts - expected) ** 2 / expected).sum()), len(counts) - 1)


def _sizes_p(sample: Peaks) -> float:
    """Smallest p of first against second halves, and of the first half of runs against the rest.

    Rank sums (H. B. Mann and D. R. Whitney, Annals of Mathematical Statistics 18, 1947), doubled
    for the two questions.
    """
    groups = [sample.late]
    if sample.runs > 1:
        groups.append(sample.run >= sample.runs / 2)
    return min(1.0, len(groups) * min(rank_sum_p(sample.values, group) for group in groups))


def rank_sum_p(values: Floats, group: np.ndarray) -> float:
    """Two-sided, normal approximation; 1 where a group is empty."""
    one, two = int(group.sum()), int((~group).sum())
    if not one or not two:
        return 1.0
    error = math.sqrt(one * two * (one + two + 1) / 12)
    return math.erfc(abs(float(_ranks(values)[group].sum())) / error / math.sqrt(2))


def _independent(sample: Peaks, seed: int) -> tuple[bool, str]:
    """Neighbours do not resemble each other, and clusters are not huge."""
    ranks = _ranks(sample.values)
    spread = float(ranks @ ranks)
    lag = float(ranks[:-1] @ ranks[1:]) / spread if spread else 1.0
    fine = abs(lag) * math.sqrt(len(ranks)) < _Z and sample.index >= INDEX_MIN
    return fine, f"extremal index {sample.index:.2f}, correlation of neighbours {lag:+.2f}"


def _threshold(sample: Peaks, seed: int) -> tuple[bool, str]:
    """The shape is the same at higher thresholds, as far as chance allows.

    A part of a sample differs from the whole by the difference of their variances, which are
    (1 + xi)**2 / n (R. L. Smith, Biometrika 72, 1985).
    """
    values = sample.values
    many, shape = len(values), fit(values).one()[0]
    higher = [
        values[values > level] - level
        for share in (0.7, 0.5)
        if many * share >= ENOUGH / 2
        for level in [float(np.quantile(values, 1 - share))]
    ]
    if not higher:
        return False, "too few values for other thresholds"
    others = [(fit(part).one()[0], len(part)) for part in higher]
    told = ", ".join(f"{each:+.2f}" for each in (shape, *(each for each, _ in others)))
    error = max(1 + shape, 0.5)
    alike = all(
        abs(each - shape) <= _Z * error * math.sqrt(max(1 / count - 1 / many, 1e-9))
        for each, count in others
    )
    return alike, f"shape {told} at other thresholds"


def _fits(sample: Peaks, seed: int) -> tuple[bool, str]:
    random = np.random.default_rng(seed_of(seed, "fit"))
    p = fit_p(sample.values, random=random, draws=_DRAWS)
    return p >= _ALPHA_FIT, f"Anderson-Darling p = {p:.2g}, at least {_ALPHA_FIT:g} is needed"


def _bounded_shape(sample: Peaks, seed: int) -> tuple[bool, str]:
    shape = fit(sample.values).one()[0]
    error = max(1 + shape, 0.5) / math.sqrt(len(sample.values))
    high = shape + NormalDist().inv_cdf(0.95) * error
    return shape <= SHAPE_MAX and high < 1, (
        f"shape {shape:+.2f} +- {error:.2f}, at most {SHAPE_MAX:g}"
    )


def _largest(sample: Peaks, seed: int) -> tuple[bool, str]:
    """The largest value is no stranger to the fit of all others.

    Its probability under that fit, against the same of samples drawn from it: each loses its
    largest value and is fitted anew.
    """
    random = np.random.default_rng(seed_of(seed, "largest"))
    many = len(sample.values)

    def surprise(rows: Floats) -> Floats:
        ordered = np.sort(np.atleast_2d(rows), axis=1)
        return fit(ordered[:, :-1]).survival(ordered[:, -1:])[:, 0]

    rest = np.sort(sample.values)[:-1]
    seen = float(surprise(sample.values)[0])
    others = fit(rest).draw(random, _LARGEST_DRAWS, many)
    p = float((np.count_nonzero(surprise(others) <= seen) + 1) / (_LARGEST_DRAWS + 1))
    top = float(sample.series.values.max()) / 1000
    return p >= _ALPHA_FIT, (
        f"the largest seen, {top:.1f} us, against the fit of all others: p = {p:.2g}, at least"
        f" {_ALPHA_FIT:g} is needed"
    )


def _hold_out(sample: Peaks, seed: int) -> tuple[bool, str]:
    """Each half predicts the largest of the other, within what chance allows."""
    first = sample.run < sample.runs / 2 if sample.runs > 1 else ~sample.late
    halves = sample.values[first], sample.values[~first]
    if len(halves[0]) < ENOUGH / 2 or min(map(len, halves)) < 5:
        return False, f"{len(halves[0])} and {len(halves[1])} values are too few for two halves"
    below = [
        _below(known, kept, seed_of(seed, "hold-out", number))
        for number, (known, kept) in enumerate((halves, halves[::-1]))
        if len(known) >= ENOUGH / 2
    ]
    names = ("the largest of the second half", "that of the first")
    told = ", ".join(
        f"{name}, {(sample.threshold + kept.max()) / 1000:.1f} us, was predicted to stay below"
        f" with {100 * share:.1f} %"
        for name, kept, share in zip(names, halves[::-1], below, strict=False)
    )
    error = _ALPHA / 2 / len(below)
    return all(error <= share <= 1 - error for share in below), told


def _below(known: Floats, kept: Floats, seed: int) -> float:
    """Probability, by the fit of ``known``, that as many as ``kept`` stay below its largest."""
    random = np.random.default_rng(seed)
    fitted = fit(known)
    # The uncertainty of the fit is part of the prediction.
    again = fit(fitted.draw(random, _DRAWS, len(known)))
    above = again.survival(np.array([float(kept.max())]))[:, 0]
    return float(np.mean((1 - np.clip(above, 0, 1)) ** len(kept)))


_GATES: dict[str, _Gate] = {
    "enough": _enough,
    "stationary": _stationary,
    "independent": _independent,
    "threshold": _threshold,
    "fit": _fits,
    "shape": _bounded_shape,
    "largest": _largest,
    "hold-out": _hold_out,
}


def _unseen(names: Iterable[str]) -> Iterator[TailGate]:
    return (TailGate(name=name, passed=None, text="not looked at") for name in names)


def extrapolated(sample: Peaks, *, seed: int) -> Extrapolation:
    """What a fit to the peaks says, or which gate refuses it."""
    series = sample.series
    text = f"{len(series.values):,} stretches of {series.stretch_ns / 1e6:g} ms"
    gates = [TailGate(name="order", passed=True, text=text)]
    looked = iter(_GATES.items())
    found = Extrapolation(method=METHOD, refused="", peaks=len(sample.places), hours=series.hours)
    for name, gate in looked:
        passed, text = gate(sample, seed)
        gates.append(TailGate(name=name, passed=passed, text=text))
        if not passed:
            gates += _unseen(name for name, _ in looked)
            return evolve(found, refused=f"{name}: {text}", gates=tuple(gates))
    law = fit(sample.values)
    shape, scale = law.one()
    return evolve(
        found,
        gates=tuple(gates),
        shape=shape,
        scale_ns=scale,
        location_ns=sample.threshold,
        levels=tuple(levels_of(sample, law, seed=seed)),
    )


# -- levels


def levels_of(sample: Peaks, found: Fit, *, seed: int) -> Iterator[ReturnLevel]:
    """What is exceeded once in multiples of the time measured, with 95 % intervals.

    By parametric bootstrap, the number of peaks drawn too (Poisson). No upper end is below what was
    seen.
    """
    random = np.random.default_rng(seed_of(seed, "levels"))
    many, top = len(sample.values), float(sample.values.max())
    drawn = fit(found.draw(random, _DRAWS, many))
    rate = np.maximum(random.poisson(many, _DRAWS), 1)
    for multiple in MULTIPLES:
        value = found.exceeded_with(_once(many, multiple))[0]
        low, high = np.quantile(drawn.exceeded_with(_once(rate, multiple)), [0.025, 0.975])
        yield ReturnLevel(
            hours=sample.series.hours * multiple,
            value_ns=float(value) + sample.threshold,
            low_ns=float(min(low, value)) + sample.threshold,
            # What was taken off and put on again may have been rounded down.
            high_ns=math.nextafter(float(max(high, value, top)) + sample.threshold, math.inf),
        )


def _once(many: int | Floats, multiple: float) -> Floats:
    """Probability of one of ``many`` values that happens once in ``multiple`` as many."""
    return np.asarray(1 / (np.asarray(many, np.float64) * multiple), dtype=np.float64)
