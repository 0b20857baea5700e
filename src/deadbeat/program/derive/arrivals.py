"""Kind of arrival of a task's jobs, by their releases: a grid is fitted, not a mean."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

KINDS = ("periodic", "sporadic", "bursty", "chained", "relative", "none")
#: A release is on the grid within this share of its period; of a periodic task this share is.
NEAR, ON_GRID = 0.05, 0.8
#: Gaps below this share of the mean one are within a burst; of bursts, from this share on.
BURST_GAP, BURSTS = 0.05, 0.15
#: This many gaps of the same multiple in a row are a second mode.
MODE_RUN = 10
#: Least gaps of n releases, for n = 2..32.
DELTA_MAX = 32
#: A release is late that comes later than this many of the shorter gaps after the one before.
_TIMELY = 1.5
_ROUNDS, _FAR = 6, 100


@frozen(kw_only=True, eq=False)
class Grid:
    """``numbers``: each release's place; ``apart``: from it, ns; ``share`` near their place."""

    period: float
    offset: float
    numbers: Numbers
    apart: NDArray[np.float64]
    share: float

    @property
    def fits(self) -> bool:
        return self.share >= ON_GRID

    @property
    def in_mode(self) -> NDArray[np.bool_]:
        """Which gaps are of a second mode: of one multiple of the period, many in a row."""
        steps = np.diff(self.numbers)
        edges = np.flatnonzero(np.diff(steps, prepend=-1))
        runs = np.diff(np.append(edges, len(steps)))
        return np.asarray((np.repeat(runs, runs) >= MODE_RUN) & (steps > 1))

    def skipped(self, seen: NDArray[np.bool_]) -> int:
        """Places between two releases at which nothing was released, other modes apart. ``seen``:
        of each two whether no record is missing between them."""
        return max(int((np.diff(self.numbers)[~self.in_mode & seen] - 1).sum()), 0)

    @property
    def near(self) -> NDArray[np.bool_]:
        """Which releases are near their place."""
        return np.asarray(np.abs(self.apart) <= NEAR * self.period)

    @property
    def jitter(self) -> int:
        """From the earliest release that is near its place to the latest."""
        near = self.apart[self.near]
        return int(np.ptp(near)) if len(near) else 0

    @property
    def mode(self) -> int:
        """Multiple of the period in long runs; 1: none."""
        return int(np.diff(self.numbers)[self.in_mode].max(initial=1))


def fit(releases: Numbers, period: int = 0) -> Grid | None:
    """The grid that most releases are on; None: fewer than three. From the median gap, and where
    a second mode has more from a smaller one. ``period``: as the kernel has it, 0: it does not."""
    gaps = np.diff(releases)
    gaps = gaps[gaps > 0]
    if len(gaps) < 2:
        return None
    firsts = [period] if period else np.quantile(gaps, [0.5, 0.15])
    found = [_fit(releases, float(first)) for first in firsts]
    return max(found, key=lambda grid: round(grid.share, 2))


def _fit(releases: Numbers, period: float) -> Grid:
    at = (releases - releases[0]).astype(float)
    steps = np.rint(np.diff(at) / period)
    if steps.max() > _FAR:  # over which a small error is a place: from the others
        close = (steps > 0) & (steps < _FAR)
        period = float(np.diff(at)[close].sum() / steps[close].sum())
        steps = np.rint(np.diff(at) / period)
    numbers = np.append(0, np.cumsum(steps))
    kept = np.ones(len(at), bool)
    offset = 0.0
    for _ in range(_ROUNDS):
        if len(np.unique(numbers[kept])) < 2:
            break
        period, offset = (float(value) for value in np.polyfit(numbers[kept], at[kept], 1))
        near = np.abs(at - offset - period * numbers) <= NEAR * period
        if near.sum() < 3 or (near == kept).all():
            break
        kept = near
    apart = at - offset - period * numbers
    near = np.abs(apart) <= NEAR * period
    near[1:] &= steps > 0
    return Grid(
        period=period,
        offset=float(releases[0]) + offset,
        numbers=numbers.astype(np.int64),
        apart=apart,
        share=float(near.mean()),
    )


def least_gaps(releases: Numbers) -> tuple[int, ...]:
    """Least time in which n releases come, n = 2..32, as far as there are n."""
    ordered = np.sort(releases)
    upto = min(DELTA_MAX, len(ordered))
    return tuple(
        int((ordered[n - 1 :] - ordered[: len(ordered) - n + 1]).min()) for n in range(2, upto + 1)
    )


def bursts(releases: Numbers, seen: NDArray[np.bool_]) -> tuple[int, Numbers] | None:
    """Most jobs of a burst, and when bursts begin; None: releases do not come in bursts. ``seen``:
    as of `Grid.skipped`."""
    gaps = np.diff(releases)
    if seen.sum() < 4:
        return None
    within = gaps < BURST_GAP * gaps[seen].mean()
    if within.mean() < BURSTS:
        return None
    begins = np.append(0, np.flatnonzero(~within) + 1)
    return int(np.diff(np.append(begins, len(releases))).max()), releases[begins]


def constant_sleep(
    sleeps: NDArray[np.float64], gaps: NDArray[np.float64], *, on_grid: bool
) -> bool:
    """Whether a thread sleeps for as long whatever it worked: not until the next of a schedule,
    which would keep ``gaps`` (from one release to the next) as long, where it is not late."""
    if len(sleeps) < 3 or np.median(sleeps) <= 0:
        return False
    timely = gaps <= _TIMELY * np.quantile(gaps, 0.15)
    of = (sleeps[timely], gaps[timely]) if timely.sum() >= 3 else (sleeps, gaps)
    spread, varied = (float(np.ptp(np.quantile(each, [0.1, 0.9]))) for each in of)
    return spread < 0.3 * varied or (not on_grid and spread <= 0.02 * float(np.median(sleeps)))
