"""Have we tested long enough? What holds of the tail whatever the distribution.

If n independent wake-ups stayed below D, fewer than about 3 / n of all do not, at 95 %; that also
holds of the largest value seen, which the data chose themselves: its true exceedance probability is
distributed as the smallest of n uniform values (S. S. Wilks, Annals of Mathematical Statistics 12,
1941). Late wake-ups come in episodes; their number is what chance decides (Poisson), and some runs
have more of them than others: so fewer than n count. How many wake-ups an episode makes late is
known from few of them only, which the bound allows for. What further runs are like no run tells;
that they are like these is a condition which every statement names, beside the bound by runs alone.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from deadbeat.base.model.histogram import Histogram, pool
from deadbeat.base.model.words import capital, count_of, seconds_text
from deadbeat.base.stats import special
from deadbeat.base.stats.binomial import (
    ALPHA,
    chi_squared_low,
    chi_squared_p,
    compound_upper,
    poisson_upper,
    upper_bound,
)
from deadbeat.latencies.latency.model import CpuLatency, LatencyRun
from deadbeat.latencies.latency.summary import TailStatement

#: Periods without a late wake-up that end an episode: at least, and where late ones are rare.
EPISODE_GAP, EPISODE_GAP_MOST = 10, 100
#: The gap between is this share of the mean distance of late wake-ups: few of them are merged only
#: because there are many.
_GAP_SHARE = 0.25
#: Late wake-ups a run, on average, from which runs are distinguished.
_LATE_A_RUN = 10


@frozen(kw_only=True)
class Part:
    """CPUs of one run that are looked at together."""

    run: LatencyRun
    cpus: tuple[CpuLatency, ...]

    @property
    def wake_ups(self) -> int:
        """Wake-ups, and missed periods as far as they are known."""
        missed = sum(cpu.missed for cpu in self.cpus if cpu.corrected is None)
        return missed + sum(cpu.honest.total for cpu in self.cpus)

    def exceeding(self, limit_ns: int) -> int:
        """How many of them were, or may have been, later than ``limit_ns``.

        Missed periods of an engine that does not say how late they were: all that can have been. A
        period is missed because an earlier wake-up was late; its own task would have waited at
        least an interval less than that one.
        """
        waited = limit_ns + self.run.interval_ns
        missed = (
            cpu.missed
            for cpu in self.cpus
            if cpu.corrected is None and (cpu.raw.exceeds_ns is not None or _top(cpu) > waited)
        )
        return sum(missed) + sum(exceeding(cpu.honest, limit_ns) for cpu in self.cpus)


def _top(cpu: CpuLatency) -> int:
    """The largest latency there can have been, ns; 0 without any, of an unknown one the largest
    that is below it."""
    if cpu.raw.exceeds_ns is not None:
        return max(cpu.raw.exceeds_ns - 1, 0)
    return 0 if cpu.raw.max_ns is None else cpu.raw.max_ns + cpu.raw.resolution_ns - 1


def exceeding(histogram: Histogram, limit_ns: int) -> int:
    """Values above ``limit_ns``, also those that the resolution hides below it."""
    recorded = limit_ns - (histogram.resolution_ns - 1)
    if histogram.max_ns is not None and recorded >= histogram.max_ns:
        return 0
    return histogram.above(recorded) if recorded >= 0 else histogram.total


@frozen(kw_only=True)
class Dependence:
    """How much less than independent wake-ups tell.

    Attributes:
        factor: Wake-ups per effective one; at least 1; None: the engines do not record when
            wake-ups were late, and runs do not differ visibly.
        between: The part of it by which runs differ more than chance explains.
        sizes: Wake-ups of each episode above the limit; empty: none, or not known.
        unseen: Wake-ups above it that no ring holds: each may be an episode of its own.
        condition, rate_condition: See `TailStatement`.
        text: One line: how it was found.
    """

    factor: float | None
    between: float
    sizes: tuple[float, ...]
    unseen: int
    condition: str
    rate_condition: str
    text: str

    def most(self, late: int) -> float:
        """Upper 95 % bound of the expected number of late wake-ups, from the number seen."""
        if late and self.sizes:
            # Missed periods that only may have been late are in no episode.
            more = max(1.0, late / sum(self.sizes))
            return more * compound_upper(self.sizes, dispersion=self.between)
        factor = self.factor or 1.0
        return poisson_upper(late / factor) * factor


def tail_statements(parts: Sequence[Part], deadlines_ns: Sequence[int]) -> list[TailStatement]:
    """Statements on the largest latency, then on each deadline; none without a wake-up.

    Each holds at 95 % by itself, not all of them together.
    """
    tops = [_top(cpu) for part in parts for cpu in part.cpus if cpu.raw.total]
    if not tops:
        return []
    limits = [(max(tops), "maximum"), *((limit, "deadline") for limit in deadlines_ns)]
    return [_statement(parts, limit, kind) for limit, kind in limits]


def _statement(parts: Sequence[Part], limit_ns: int, kind: str) -> TailStatement:
    each = [part.exceeding(limit_ns) for part in parts]
    wake_ups, exceeded = sum(part.wake_ups for part in parts), sum(each)
    runs_exceeded = sum(count > 0 for count in each)
    how = dependence(parts, limit_ns)
    bound = min(1.0, how.most(exceeded) / wake_ups)
    hours = sum(part.run.seconds for part in parts) / 3600
    # None where it would be more than there are periods.
    if not hours:
        per_hour = None
    else:
        most = poisson_upper((len(how.sizes) + how.unseen) / how.between) * how.between / hours
        per_hour = most if most < min(3.6e12 / part.run.interval_ns for part in parts) else None
    found = TailStatement(
        limit_ns=limit_ns,
        kind=kind,
        wake_ups=wake_ups,
        exceeded=exceeded,
        effective=wake_ups / (how.factor or 1.0),
        dependence=how.text,
        condition=how.condition,
        bound=bound,
        episodes=None if how.unseen else len(how.sizes),
        episodes_per_hour=per_hour,
        rate_condition=how.rate_condition,
        runs=len(parts),
        runs_exceeded=runs_exceeded,
        run_bound=upper_bound(runs_exceeded, len(parts)),
        hours=hours,
        # The bound of a number that does not grow falls as one over the time.
        hours_for_tenth=9 * hours if bound < 1 else None,
        text="",
    )
    return evolve(found, text=_text(found))


def _text(tail: TailStatement) -> str:
    limit = f"{tail.limit_ns / 1000:.1f} us"
    many = f"{tail.exceeded:,}" if tail.exceeded else "none"
    if tail.exceeded == tail.wake_ups > 1 and tail.kind == "deadline":
        many = f"up to {many}"
    together = f", in {count_of(tail.episodes, 'episode')}" if tail.episodes else ""
    what = "it" if tail.kind == "maximum" else "the deadline"
    seen = f"{many} of {count_of(tail.wake_ups, 'wake-up')} exceeded {what}{together}"
    if tail.kind == "maximum" and not tail.exceeded:
        seen = f"it is the latest of {count_of(tail.wake_ups, 'wake-up')}"
    if tail.hours_for_tenth is None:
        parts = [f"How many wake-ups are later than {limit} is not known: {seen}"]
    else:
        bound = tail.bound or 1.0
        of = math.floor(1 / bound)
        often = f"1 wake-up in {of:,} is" if of >= 10 else f"{100 * bound:.0f} % of wake-ups are"
        more = seconds_text(tail.hours_for_tenth * 3600)
        parts = [
            f"At most {often} later than {limit} (95 %), {tail.condition}",
            f"{capital(seen)}; {more} more without a later one would make that a tenth",
        ]
    if tail.episodes_per_hour is not None:
        often = few_digits(tail.episodes_per_hour)
        parts.append(f"Later episodes come fewer than {often} times an hour {tail.rate_condition}")
    one = tail.runs == 1
    if tail.runs_exceeded == tail.runs:
        runs_text = f"{'The run' if one else f'All {tail.runs} runs'} exceeded it"
    else:
        runs = "the run did not" if one else f"{tail.runs_exceeded} of {tail.runs} runs did"
        bad = "some" if tail.run_bound is None else f"up to {100 * tail.run_bound:.0f} %"
        runs_text = f"If runs differ, {bad} of such runs exceed it ({runs})"
    return ". ".join([*parts, runs_text])


def few_digits(value: float) -> str:
    """Three digits, and whole above a hundred."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


# -- how wake-ups depend on each other


def dependence(parts: Sequence[Part], limit_ns: int) -> Dependence:
    """How many late wake-ups an episode has, times how much more runs differ than by chance."""
    sizes, rest = _sizes(parts, limit_ns)
    assumed = not rest and not sizes
    seen = _latest_size(parts) if assumed else _size(sizes)
    known, size = seen is not None, seen or 1.0
    between, note = _between(parts, limit_ns, size=size)
    together = (
        "late wake-ups counted one by one: the engine does not record when they came"
        if not known
        else f"an episode as those of the latest wake-ups: {few_digits(size)} wake-ups"
        if assumed
        else f"episodes of {few_digits(size)} wake-ups"
    )
    runs = f"all runs {'differ no more than these' if between > 1 else 'are like these'}"
    alone = "" if known else "wake-ups are independent and "
    # Not rounded up: the bound is not said of longer episodes than it was counted with.
    step = 1 if size >= 10 else 100
    most = f"{math.floor(size * step) / step:,.10g}"
    longer = f" and an episode of later ones has at most {most} wake-ups on average"
    return Dependence(
        factor=size * between if known or between > 1 else None,
        between=between,
        sizes=tuple(sizes),
        unseen=rest,
        condition=f"if {alone}{runs}{longer if known and assumed else ''}",
        rate_condition=f"if {runs}",
        text=f"{together}; {note}",
    )


def _between(parts: Sequence[Part], limit_ns: int, *, size: float) -> tuple[float, str]:
    """Factor by which runs differ more than chance explains, its upper 95 % bound; and a line.

    1 where the test of dispersion (R. A. Fisher, Statistical Methods for Research Workers, 1925)
    finds nothing at 5 %: that runs are alike is then a condition, not a finding.
    """
    spread = dispersion(parts, limit_ns)
    if spread is None:
        return 1.0, "how runs differ is not known"
    freedom = len(parts) - 1
    scaled = spread * freedom / size
    p = chi_squared_p(scaled, freedom)
    if p >= ALPHA:
        return 1.0, f"between {len(parts)} runs no more difference than by chance (p = {p:.2g})"
    high = max(1.0, scaled / chi_squared_low(freedom))
    return high, (
        f"between runs their number differs {few_digits(scaled / freedom)} times as much as by"
        f" chance, at most {few_digits(high)} times"
    )


@frozen(kw_only=True)
class Episode:
    """Wake-ups that were late together: after each other, or on several CPUs at once.

    Attributes:
        start_ns, end_ns: Due times of the first and the last, missed periods too.
        size: How many.
    """

    start_ns: int
    end_ns: int
    size: int


def episodes_above(part: Part, limit_ns: int, *, gap: float | None = None) -> list[Episode]:
    """Episodes of wake-ups above ``limit_ns`` that the rings kept, in order.

    Args:
        gap: Periods without one that end an episode; None: a share of their mean distance, between
            EPISODE_GAP and EPISODE_GAP_MOST.
    """
    interval = part.run.interval_ns
    stalls = []
    for cpu in part.cpus:
        above = limit_ns - (cpu.raw.resolution_ns - 1)
        for late in cpu.worst:
            if late.latency_ns > above:
                behind = min(late.missed, (late.latency_ns - above - 1) // interval)
                end_ns = late.due_ns + behind * interval
                stalls.append(Episode(start_ns=late.due_ns, end_ns=end_ns, size=behind + 1))
    apart = _GAP_SHARE * part.run.seconds * 1e9 / interval / max(len(stalls), 1)
    gap = min(max(apart, EPISODE_GAP), EPISODE_GAP_MOST) if gap is None else gap
    found: list[Episode] = []
    for stall in sorted(stalls, key=lambda one: one.start_ns):
        if found and stall.start_ns <= found[-1].end_ns + gap * interval:
            last = found.pop()
            end_ns = max(last.end_ns, stall.end_ns)
            stall = evolve(last, end_ns=end_ns, size=last.size + stall.size)  # noqa: PLW2901
        found.append(stall)
    return found


def complete_above(part: Part) -> int | None:
    """The least latency above which the rings miss nothing, ns; None: an engine keeps none."""
    levels = [0]
    for cpu in part.cpus:
        if cpu.cycles and not cpu.worst:
            return None
        if len(cpu.worst) < cpu.cycles:
            levels.append(min(late.latency_ns for late in cpu.worst))
    return max(levels)


def _sizes(parts: Sequence[Part], limit_ns: int) -> tuple[list[float], int]:
    """Wake-ups of each episode above the limit, and how many wake-ups above it no ring holds.

    Where a ring begins above the limit its episodes share all wake-ups above it: they are at least
    that many.
    """
    sizes: list[float] = []
    rest = 0
    for part in parts:
        level, above = complete_above(part), part.exceeding(limit_ns)
        if level is None:
            return [], sum(each.exceeding(limit_ns) for each in parts)
        found = [float(each.size) for each in episodes_above(part, max(level - 1, limit_ns))]
        if level > limit_ns and above > sum(found):
            many = max(len(found), 1)
            rest += above - int(sum(found)) if found else above - 1
            found = [above / many] * many
        sizes += found
    return sizes, rest


def _latest_size(parts: Sequence[Part]) -> float | None:
    """Wake-ups of an episode of the latest: in each run, or above where all rings are complete.

    The larger: runs without a stall must not hide how long one is. None without any. The least gap
    ends them: what comes by itself beyond the latest is too rare to be taken together.
    """
    levels = [complete_above(part) or 0 for part in parts]

    def size(above: Sequence[int]) -> float | None:
        pairs = zip(parts, above, strict=True)
        found = [episodes_above(part, level - 1, gap=EPISODE_GAP) for part, level in pairs]
        return _size([each.size for episodes in found for each in episodes])

    found = (size(levels), size([max(levels)] * len(levels)))
    return max((each for each in found if each is not None), default=None)


def _size(sizes: Sequence[float]) -> float | None:
    """Mean size of the episode that a wake-up is in."""
    return sum(size * size for size in sizes) / sum(sizes) if sizes else None


def dispersion(parts: Sequence[Part], limit_ns: int | None = None) -> float | None:
    """Variance of the number of late wake-ups of a run over what chance alone would make it.

    Late: above a level that ten wake-ups of a run exceed on average, or above ``limit_ns`` where
    more do. None of a single run.
    """
    if len(parts) < 2:
        return None
    wake_ups = np.array([part.wake_ups for part in parts], dtype=np.float64)
    whole = pool([cpu.honest for part in parts for cpu in part.cpus])
    place = int(np.searchsorted(np.cumsum(whole.counts[::-1]), _LATE_A_RUN * len(parts)))
    if place == len(whole.counts) or not wake_ups.all():
        return None
    level = int(whole.lows_ns()[::-1][place]) - 1
    level = level if limit_ns is None else min(level, limit_ns)
    counts = np.array([part.exceeding(level) for part in parts], dtype=np.float64)
    expected = wake_ups * counts.sum() / wake_ups.sum()
    if not expected.all():
        return None
    return float(((counts - expected) ** 2 / expected).sum() / (len(parts) - 1))


# -- whether late wake-ups keep a beat

#: Beats that machines have, ms, the slowest first: it counts, because its harmonics show too.
BEATS_MS = (1000, 500, 250, 200, 100, 50, 40, 25, 20, 10, 5, 4)
#: Chance of finding a beat where there is none, over all of BEATS_MS.
_ALPHA = 0.001
#: Phases of a run, and of all, without which none is looked for.
_PHASES_MIN, _PHASES_ALL_MIN = 4, 8


def beat_ms(parts: Sequence[Part]) -> int | None:
    """Period of the late wake-ups, ms: a host's quota, a tick, a watchdog; None: none is seen.

    The phases of the moments when late wake-ups begin are tested for direction (Lord Rayleigh,
    Philosophical Magazine 10, 1880): with n phases of mean resultant R, n R**2 exceeds x with
    probability about exp(-x) if there is no beat. Stalls come in groups, too, which have one cause
    and one phase: so every cycle of the period has one, that of its latest wake-up. Cycles are
    counted from the phase opposite to most, where a group is least cut in two. Runs begin at any
    moment, so each has a phase of its own, and what is summed over runs is n R**2.
    """
    known = [found for part in parts if (found := _late(part)) is not None]
    for period in BEATS_MS:
        # Probability of phases as concentrated as these without a beat.
        period_ns = period * 1_000_000
        total, counted, every = 0.0, 0, 0
        for starts, latencies, interval in known:
            if len(starts) < _PHASES_MIN or period_ns < 2 * interval:
                continue
            angles = 2 * math.pi * starts / period_ns
            opposite = cmath.phase(complex(np.exp(1j * angles).sum())) + math.pi
            cycles = np.floor((angles - opposite) / (2 * math.pi))
            order = np.lexsort((-latencies, cycles))
            first = np.concatenate([[True], np.diff(cycles[order]) > 0])
            phases = angles[order[first]]  # one of each cycle in which something was late
            if len(phases) < _PHASES_MIN:
                continue
            total += abs(complex(np.exp(1j * phases).sum())) ** 2 / len(phases)
            counted += 1
            every += len(phases)
        surprise = float(special.gammaincc(counted, total)) if every >= _PHASES_ALL_MIN else 1.0
        if surprise < _ALPHA / len(BEATS_MS):
            return period
    return None


def _late(part: Part) -> tuple[NDArray[np.float64], NDArray[np.float64], int] | None:
    """When late wake-ups began and how late they were, ns, and the interval; None: not known.

    Wake-ups that follow each other are one, on however many CPUs.
    """
    level = complete_above(part)
    if not level:
        return None
    latest = {
        late.due_ns: late.latency_ns
        for cpu in part.cpus
        for late in sorted(cpu.worst, key=lambda late: late.latency_ns)
    }
    starts = [each.start_ns for each in episodes_above(part, level - 1, gap=1)]
    return (
        np.array(starts, np.float64),
        np.array([latest[start] for start in starts], np.float64),
        part.run.interval_ns,
    )
