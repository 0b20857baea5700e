"""Where the time of a real-time thread in rounds went, of one run; pure.

A thread's CPU clock is the scheduler's account. A kernel that accounts for a host's or an
interrupt's time by itself (PARAVIRT_TIME_ACCOUNTING, IRQ_TIME_ACCOUNTING) leaves such time out of
that clock (``update_rq_clock_task`` in kernel/sched/core.c); others charge it to the thread. So it
is looked at which part of a gap the clock holds: what neither that clock nor ``run_delay`` holds
was not the thread's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from deadbeat.model.load import LoadRun
from deadbeat.model.load_summary import LostTime
from deadbeat.stats.intervals import student_half_width, t_cdf

#: Pairs of runs that a difference needs to be shown.
PAIRS_MIN = 3


def inside_window(run: LoadRun) -> NDArray[np.bool_]:
    """The rounds that were released in the window."""
    low, high = run.window_ns
    return (run.rounds.release_ns >= low) & (run.rounds.release_ns < high)


def lost_of(
    run: LoadRun, alone_ns: int | None, *, counted: NDArray[np.bool_] | None = None
) -> LostTime:
    """Of one run, s per s of window.

    Args:
        alone_ns: CPU time that a round takes alone; None: not known, then nothing is slower.
        counted: Which rounds count; None: those released in the window.
    """
    rounds = run.rounds
    these = inside_window(run) if counted is None else counted
    stopped, uncharged = stopped_ns(run)
    execution = 0.0 if alone_ns is None else float((rounds.cpu_ns[these] - alone_ns).sum())
    slower = 0.0 if alone_ns is None else execution - (stopped - uncharged)
    scale = 1e9 * run.window_s
    return LostTime(
        waiting=float(rounds.delay_ns[these].sum()) / scale,
        stopped=stopped / scale,
        slower=slower / scale,
        uncharged=uncharged / scale,
    )


def stopped_ns(run: LoadRun) -> tuple[float, float]:
    """Time of gaps in the window in which it had the CPU, and the part of it that is in no account
    of the thread's."""
    rounds, gaps = run.rounds, run.gaps
    low, high = run.window_ns
    inside = (gaps.at_ns >= low) & (gaps.at_ns < high)
    still = np.maximum(gaps.length_ns - gaps.delay_ns, 0)
    stopped = float(still[inside].sum())
    if not len(rounds) or not stopped:
        return stopped, 0.0
    place = np.searchsorted(rounds.release_ns, gaps.at_ns, side="right") - 1
    known = inside & (place >= 0)
    by_round = np.zeros(len(rounds), np.float64)
    np.add.at(by_round, place[known], still[known])
    missing = np.maximum(rounds.response_ns - rounds.cpu_ns - rounds.delay_ns, 0)
    return stopped, float(np.minimum(by_round, missing).sum())


@frozen(kw_only=True)
class LostDifference:
    """Of pairs of runs of one repeat: their mean with its 95 % interval, both infinite where there
    are too few of them.

    Attributes:
        p: Chance of as much where there is none or less (one-sided).
        above: Whether it is above 0 among all comparisons of its test (`load_scene`).
    """

    mean: float
    low: float
    high: float
    pairs: int
    p: float = 1.0
    above: bool = False

    def text(self, scale: float = 1.0, digits: int = 1) -> str:
        """``3.1 [2.0, 4.2]``."""
        if not math.isfinite(self.low):
            return f"{self.mean * scale:.{digits}f} (too few pairs of runs for an interval)"
        low, high = self.low * scale, self.high * scale
        return f"{self.mean * scale:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def difference_of(values: Sequence[float]) -> LostDifference | None:
    """Of what pairs differ by; None: there is no pair."""
    array = np.asarray(values, np.float64)
    if not len(array):
        return None
    mean = float(array.mean())
    if len(array) < PAIRS_MIN:
        return LostDifference(mean=mean, low=-math.inf, high=math.inf, pairs=len(array))
    half = student_half_width(array)
    return LostDifference(
        mean=mean, low=mean - half, high=mean + half, pairs=len(array), p=_above_p(array)
    )


def _above_p(values: NDArray[np.float64]) -> float:
    mean, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))
    if error <= abs(mean) * 1e-12:
        return 0.0 if mean > 0 else 1.0
    below = t_cdf(abs(mean) / error, len(values) - 1)
    return max(1 - below, 0.0) if mean > 0 else below
