"""Where a real-time thread's time went, what differs between pairs of runs, and who kept its CPU:
RT bandwidth control or the fair server; pure.

A thread's CPU clock is the scheduler's account. A kernel that accounts for a host's or an
interrupt's time by itself (PARAVIRT_TIME_ACCOUNTING, IRQ_TIME_ACCOUNTING) leaves such time out of
that clock (``update_rq_clock_task`` in kernel/sched/core.c); others charge it to the thread. So it
is looked at which part of a gap the clock holds: what neither that clock nor ``run_delay`` holds
was not the thread's.

What is compared of runs is judged together (S. Holm, 1979): in less than one test of twenty without
any effect one comparison or more is called shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from deadbeat.base.model.lateness import (
    FAIR_SERVER,
    KEPT,
    SLOWER,
    STOPPED,
    THROTTLED,
    WAITING,
    cause_named,
)
from deadbeat.base.stats.intervals import student_half_width, t_cdf
from deadbeat.base.stats.multiple import holm
from deadbeat.base.verdicts.pairs import PAIRS_MIN
from deadbeat.latencies.load.model import ALL, PLAIN, Cause, LoadRun, LostTime

Floats = NDArray[np.float64]

#: What all comparisons of a test may err together, on the side that is looked at: a single one is
#: then shown where its 95 % interval lies above 0.
_LEVEL = 0.025
#: Parts of a run that are compared.
EXECUTION = "execution"
#: Condition before ("": nothing, the part itself), condition after, part.
_Asked = tuple[str, str, str]


def inside_window(run: LoadRun) -> NDArray[np.bool_]:
    """The rounds that were released in the window."""
    low, high = run.window_ns
    return (run.rounds.release_ns >= low) & (run.rounds.release_ns < high)


def lost_of(
    run: LoadRun, alone_ns: int | None, *, counted: NDArray[np.bool_] | None = None
) -> LostTime:
    """Lost time of a run, s per s of window.

    Args:
        alone_ns: CPU time that a round takes alone; None: not known, then nothing is slower.
        counted: Which rounds count; None: the ones released in the window.
    """
    rounds, scale = run.rounds, 1e9 * run.window_s
    these = inside_window(run) if counted is None else counted
    stopped, uncharged = stopped_ns(run)
    slower = 0.0
    if alone_ns is not None:
        slower = float((rounds.cpu_ns[these] - alone_ns).sum()) - (stopped - uncharged)
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
    stopped = float(np.maximum(gaps.length_ns - gaps.delay_ns, 0)[inside].sum())
    missing = np.maximum(rounds.response_ns - rounds.cpu_ns - rounds.delay_ns, 0)
    return stopped, float(np.minimum(_stopped_by_round(run, inside), missing).sum())


def _stopped_by_round(run: LoadRun, which: NDArray[np.bool_]) -> Floats:
    """Time of these gaps in which it had the CPU, ns, in the round that they began in."""
    rounds, gaps = run.rounds, run.gaps
    place = np.searchsorted(rounds.release_ns, gaps.at_ns, side="right") - 1
    known = which & (place >= 0)
    by_round = np.zeros(len(rounds), np.float64)
    np.add.at(by_round, place[known], np.maximum(gaps.length_ns - gaps.delay_ns, 0)[known])
    return by_round


def parts_of(run: LoadRun, alone_ns: int | None) -> dict[str, Floats]:
    """Where the response time of each round went beyond what it takes alone, ns: `WAITING`,
    `STOPPED`, `SLOWER`; the last is 0 where ``alone_ns`` is not known."""
    rounds = run.rounds
    response = rounds.response_ns.astype(np.float64)
    # a pause before the start may stand in the account of the round before
    waiting = np.minimum(np.maximum(rounds.delay_ns, rounds.start_ns - rounds.release_ns), response)
    still = _stopped_by_round(run, np.ones(len(run.gaps), np.bool_))
    stopped = np.minimum(still, response - waiting)
    left = np.maximum(response - waiting - stopped - (alone_ns or 0), 0)
    return {WAITING: waiting, STOPPED: stopped, SLOWER: left if alone_ns else np.zeros(len(left))}


def student_above(values: Floats) -> float:
    """Chance of a mean as large where the true one is 0 or less: Student's test, one-sided."""
    mean, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))
    if error <= abs(mean) * 1e-12:
        return 0.5 if mean == 0 else float(mean < 0)
    below = t_cdf(abs(mean) / error, len(values) - 1)
    return max(1 - below, 0.0) if mean > 0 else below


@frozen(kw_only=True)
class LostDifference:
    """Mean difference of pairs of runs with its 95 % interval, both infinite where there
    are too few of them.

    Attributes:
        p: Chance of as much where there is none or less (one-sided).
        above: Whether it is above 0 among all comparisons of its test (`Scene`).
    """

    mean: float
    low: float = -math.inf
    high: float = math.inf
    pairs: int
    p: float = 1.0
    above: bool = False

    @classmethod
    def of(cls, values: Sequence[float]) -> LostDifference | None:
        """Difference from those of pairs; None: there is no pair."""
        array = np.asarray(values, np.float64)
        if not len(array):
            return None
        mean = float(array.mean())
        if len(array) < PAIRS_MIN:
            return cls(mean=mean, pairs=len(array))
        half, p = student_half_width(array), student_above(array)
        return cls(mean=mean, low=mean - half, high=mean + half, pairs=len(array), p=p)

    def text(self, scale: float = 1.0) -> str:
        """``3.1 [2.0, 4.2]``."""
        if not math.isfinite(self.low):
            return f"{self.mean * scale:.1f} (too few pairs of runs for an interval)"
        return f"{self.mean * scale:.1f} [{self.low * scale:.1f}, {self.high * scale:.1f}]"

    @property
    def among(self) -> str:
        """Why an interval off zero shows nothing."""
        off_zero = self.low > 0 and not self.above
        return " among all comparisons of the test" if off_zero else ""


@frozen(kw_only=True)
class SceneMachine:
    """What of a platform causes are inferred from.

    Attributes:
        kernel: Major and minor number; (0, 0): not known.
        fair_server: Share that each CPU keeps for ordinary threads, where it can be read.
        siblings: CPU -> number of CPUs of its core; 0: not known.
        scaling: Whether frequencies change (there is a cpufreq driver); None: not known.
        virtual: Whether it is a virtual machine; None: not known.
    """

    kernel: tuple[int, int] = (0, 0)
    fair_server: float | None = None
    siblings: Mapping[int, int] = field(factory=dict)
    scaling: bool | None = None
    virtual: bool | None = None


@frozen(kw_only=True)
class Scene:
    """What one question is answered from.

    Attributes:
        lost: Lost time of the cell in question.
        here: Its runs.
        runs: All valid runs with as many ordinary threads.
        traced: The run with the kernel's events.
        compared: Whether what a round takes alone is of fewer ordinary threads.
        alone_ns: CPU time that a round takes alone.
        differences: Differences of all comparisons that any cause may ask for (`judged`).
    """

    lost: LostTime
    here: Sequence[LoadRun]
    runs: Sequence[LoadRun]
    machine: SceneMachine
    traced: LoadRun | None
    compared: bool
    alone_ns: int | None
    differences: Mapping[_Asked, LostDifference] = field(factory=dict)

    def share(self, part: float) -> float:
        """Share of all lost time."""
        parts = (self.lost.waiting, self.lost.stopped, self.lost.slower)
        return part / sum(max(each, 0.0) for each in parts)

    def of(self, condition: str) -> list[LoadRun]:
        """The runs of a condition."""
        return [run for run in self.runs if run.key.condition == condition]

    def bound(self) -> str | None:
        """The remedy that was measured and does no more than bind the thread, as `ALL` does."""
        return next((name for name in ("smt", "pin") if self.of(name)), None)

    def judged(self) -> Scene:
        """The same, with what is shown among all comparisons that any cause may ask for."""
        asked: list[_Asked] = [
            (PLAIN, "rt-bandwidth", WAITING),
            ("", "rt-bandwidth", WAITING),
            (self.bound() or PLAIN, ALL, WAITING),
            ("", ALL, WAITING),
            ("pin", "smt", SLOWER),
            (PLAIN, "governor", SLOWER),
            (PLAIN, "pin", EXECUTION),
        ]
        found = {each: one for each in asked if (one := self._compared(*each))}
        known = {each: one.p for each, one in found.items() if one.pairs >= PAIRS_MIN}
        chances = zip(known, holm(list(known.values())), strict=True)
        proven = {each for each, p in chances if p <= _LEVEL}
        judged = {each: evolve(one, above=each in proven) for each, one in found.items()}
        return evolve(self, differences=judged)

    def less(self, before: str, after: str, part: str) -> LostDifference | None:
        """How much less of ``part`` there is under ``after`` than under ``before`` ("": how much
        there is under ``after``), of pairs of runs of one repeat; None: there is no pair."""
        return self.differences.get((before, after, part))

    def _compared(self, before: str, after: str, part: str) -> LostDifference | None:
        last = {run.key.repeat: self._of(run, part) for run in self.of(after)}
        if not before:
            return LostDifference.of(list(last.values()))
        first = {run.key.repeat: self._of(run, part) for run in self.of(before)}
        both = sorted(first.keys() & last.keys())
        return LostDifference.of([first[repeat] - last[repeat] for repeat in both])

    def _of(self, run: LoadRun, part: str) -> float:
        """A part of a run: lost time by second of window, or the mean CPU time of a round."""
        if part != EXECUTION:
            lost = lost_of(run, self.alone_ns)
            return lost.waiting if part == WAITING else lost.slower
        own = run.rounds.cpu_ns[inside_window(run)]
        return float(np.mean(own)) if len(own) else 0.0


# ---------- who kept its CPU ----------

#: Lost time below this share of the window is not worth a cause.
LEAST_SHARE = 0.0005
#: A part of the kept time below this is noise unless it is shown.
LEAST_PART = 0.05
#: Time without a limit that must have been measured, in windows this long: both come once a second.
_FREE_S, _FREE_WINDOW_S = 6.0, 2.0


def cause_of(name: str, share: float | None, certainty: str, evidence: str) -> Cause:
    title = cause_named(name).sentence
    return Cause(name=name, title=title, share=share, certainty=certainty, evidence=evidence)


@frozen(kw_only=True)
class _Freed:
    """Runs without an RT bandwidth limit beside the same with it (conditions ``after``,
    ``before``): the waiting that goes, and that stays, as shares of the window; ``part``: what
    goes, of the waiting with the limit; 0 where that is within what runs differ by."""

    after: str
    before: str
    goes: LostDifference
    stays: LostDifference
    part: float

    @property
    def words(self) -> str:
        """Both figures."""
        before = "nothing done" if self.before == PLAIN else self.before
        return (
            f"{self.goes.text(1000)} ms disappear, {self.stays.text(1000)} ms remain"
            f" ({self.after} against {before})"
        )


def _freed(scene: Scene) -> Iterator[_Freed]:
    """Every condition that takes the limit off and leaves the fair server as it is, measured long
    enough, with the one it differs from by that most nearly."""
    bound = scene.bound()
    for after, before in (("rt-bandwidth", PLAIN), (ALL, bound or PLAIN)):
        runs = scene.of(after)
        if not runs or any(run.machine.get("rt_runtime_us") != -1 for run in runs):
            continue
        if any("fair_server" in path for run in runs for path in run.applied):
            continue
        if sum(run.window_s for run in runs) < _FREE_S or runs[0].window_s < _FREE_WINDOW_S:
            continue
        if after == ALL and bound is None and any(run.cpu not in (None, -1) for run in runs):
            continue  # bound to a CPU, and nothing bound with the limit to compare it with
        goes, stays = scene.less(before, after, WAITING), scene.less("", after, WAITING)
        if goes is None or stays is None or goes.pairs < PAIRS_MIN:
            continue
        with_it = float(np.mean([lost_of(run, None).waiting for run in scene.of(before)]))
        part = min(goes.mean / with_it, 1.0) if goes.above and with_it else 0.0
        yield _Freed(after=after, before=before, goes=goes, stays=stays, part=part)


def kept_by(
    scene: Scene, share: float, shape: str, bandwidth: float | None, server: float | None
) -> list[Cause]:
    """Who kept the time for ordinary threads: one of the two, or both by what goes without the
    limit. All comparisons without it are shown; what differs between two of them is
    no evidence."""
    freed = list(_freed(scene))
    # no two contradict one another: what goes has something in common, and what stays
    agree = all(
        max(each.low for each in intervals) <= min(each.high for each in intervals)
        for intervals in ([each.goes for each in freed], [each.stays for each in freed])
        if intervals
    )
    rt_shown = agree and any(each.goes.above for each in freed)
    if not bandwidth:
        return [cause_of(FAIR_SERVER, share, "likely", f"{shape}; RT bandwidth control is off")]
    if not server:
        text = "".join(f"; without it {each.words}" for each in freed)
        evidence = (
            f"{shape}; sched_rt_runtime_us keeps {bandwidth * 1000:.0f} ms/s, and there is no fair"
            f" server{text}"
        )
        return [cause_of(THROTTLED, share, "shown" if rt_shown else "likely", evidence)]
    if not freed:
        # Where nothing tells the two apart.
        less = scene.less(PLAIN, "rt-bandwidth", WAITING)
        if less is None:
            which = "the remedy rt-bandwidth, in runs of 2 s and repeated, distinguishes the two"
        else:
            which = f"{less.text(1000)} ms of it go with the remedy rt-bandwidth"
        certainty = "shown" if less is not None and less.above else "likely"
        return [cause_of(KEPT, share, certainty, f"{shape}; {which}")]
    text = "at sched_rt_runtime_us = -1, which leaves the fair server as it is, "
    text += "; ".join(each.words for each in freed)
    text += "" if agree else "; the two do not agree"
    # one that shows nothing, as its runs differ too much, takes nothing from one that does
    parts_shown = [each.part for each in freed if not agree or each.goes.above]
    part = float(np.mean(parts_shown or [0.0]))
    server_shown = agree and any(
        each.stays.above and each.stays.mean >= LEAST_SHARE for each in freed
    )
    known = [(THROTTLED, part, rt_shown), (FAIR_SERVER, 1 - part, server_shown)]
    # what is shown is named however small
    parts = [each for each in known if each[1] >= LEAST_PART or (each[2] and each[1] > 0)]
    parts.sort(key=lambda each: -each[1])
    # how it waited, and what shows it, is said once, with the greater of the two
    evidences = (f"{shape}; {text}", f"as said of the {parts[0][0]} above")
    return [
        cause_of(name, share * size, "shown" if shown else "likely", evidence)
        for (name, size, shown), evidence in zip(parts, evidences, strict=False)
    ]
