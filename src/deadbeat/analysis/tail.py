"""Have we tested long enough? What holds of the tail whatever the distribution.

If n independent wake-ups stayed below D, fewer than about 3 / n of all do not, at 95 %; that also
holds of the largest value seen, which the data chose themselves: its true exceedance probability is
distributed as the smallest of n uniform values (S. S. Wilks, Annals of Mathematical Statistics 12,
1941). Late wake-ups come in clusters, and some runs have more of them than others: so fewer than n
count. The largest of n dependent values behaves as that of n times the extremal index independent
ones (M. R. Leadbetter, Z. Wahrscheinlichkeitstheorie 65, 1983).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from deadbeat.analysis.binomial import upper_bound, values_for
from deadbeat.analysis.latency_figures import pool
from deadbeat.model.histogram import Histogram
from deadbeat.model.latency import CpuLatency, LatencyRun
from deadbeat.model.latency_summary import TailStatement

#: Fewer gaps between late wake-ups than this do not tell how they cluster.
GAPS_MIN = 10
#: Late wake-ups a run, on average, from which runs are told apart; and runs at least.
_LATE_A_RUN, _RUNS_MIN = 10, 3


@frozen(kw_only=True)
class Part:
    """CPUs of one run that are looked at together."""

    run: LatencyRun
    cpus: tuple[CpuLatency, ...]

    @property
    def honest(self) -> list[Histogram]:
        """Corrected where that is known, else raw; a histogram per CPU."""
        return [cpu.raw if cpu.corrected is None else cpu.corrected for cpu in self.cpus]

    @property
    def uncorrected(self) -> list[CpuLatency]:
        """CPUs whose missed periods are in no histogram."""
        return [cpu for cpu in self.cpus if cpu.corrected is None]

    @property
    def wake_ups(self) -> int:
        """Wake-ups, and missed periods as far as they are known."""
        return sum(h.total for h in self.honest) + sum(cpu.missed for cpu in self.uncorrected)

    def exceeding(self, limit_ns: int) -> int:
        """How many of them were, or may have been, later than ``limit_ns``."""
        counted = sum(exceeding(histogram, limit_ns) for histogram in self.honest)
        return counted + sum(_missed(cpu, limit_ns, self.run) for cpu in self.uncorrected)


def exceeding(histogram: Histogram, limit_ns: int) -> int:
    """Values above ``limit_ns``, also those that the resolution hides below it."""
    recorded = limit_ns - (histogram.resolution_ns - 1)
    if histogram.max_ns is None or recorded >= histogram.max_ns:
        return 0
    return histogram.above(recorded) if recorded >= 0 else histogram.total


def _missed(cpu: CpuLatency, limit_ns: int, run: LatencyRun) -> int:
    """Missed periods of an engine that does not say how late they were: all that can have been.

    A period is missed because an earlier wake-up was late; its own task would have waited at least
    an interval less than that one.
    """
    longest = (cpu.raw.max_ns or 0) + cpu.raw.resolution_ns - 1 - run.interval_ns
    return cpu.missed if longest > limit_ns else 0


@frozen(kw_only=True)
class Dependence:
    """How much less than independent wake-ups tell.

    Attributes:
        factor: One effective wake-up is so many; at least 1; None: the engines do not tell when
            wake-ups were late.
        text: One line: what it rests on.
    """

    factor: float | None
    text: str


def largest(parts: Sequence[Part]) -> int | None:
    """The largest latency there can have been, ns; None without any."""
    tops = [
        cpu.raw.max_ns + cpu.raw.resolution_ns - 1
        for part in parts
        for cpu in part.cpus
        if cpu.raw.max_ns is not None
    ]
    return max(tops, default=None)


def tail_statements(parts: Sequence[Part], deadlines_ns: Sequence[int]) -> list[TailStatement]:
    """Of the largest latency seen, then of each deadline; none without a wake-up."""
    maximum = largest(parts)
    if maximum is None:
        return []
    how = dependence(parts)
    found = [_statement(parts, maximum, "maximum", how)]
    return found + [_statement(parts, limit, "deadline", how) for limit in deadlines_ns]


def _statement(parts: Sequence[Part], limit_ns: int, kind: str, how: Dependence) -> TailStatement:
    each = [part.exceeding(limit_ns) for part in parts]
    wake_ups, exceeded = sum(part.wake_ups for part in parts), sum(each)
    runs_exceeded = sum(count > 0 for count in each)
    factor = how.factor or 1.0
    effective = wake_ups / factor
    bound = upper_bound(math.ceil(exceeded / factor), effective)
    hours = sum(part.run.seconds for part in parts) / 3600
    more = None if exceeded else hours * (values_for(bound / 10) / effective - 1)
    run_bound = upper_bound(runs_exceeded, len(parts))
    found = TailStatement(
        limit_ns=limit_ns,
        kind=kind,
        wake_ups=wake_ups,
        exceeded=exceeded,
        effective=effective,
        dependence=how.text,
        bound=bound,
        runs=len(parts),
        runs_exceeded=runs_exceeded,
        run_bound=run_bound,
        hours=hours,
        hours_for_tenth=more,
        text="",
    )
    return evolve(found, text=_text(found, assumed=how.factor is None))


def _text(tail: TailStatement, *, assumed: bool) -> str:
    limit = f"{tail.limit_ns / 1000:.1f} us"
    many = f"{tail.exceeded:,}" if tail.exceeded else "none"
    seen = f"{many} of {tail.wake_ups:,} wake-ups exceeded the deadline"
    if tail.kind == "maximum":
        seen = f"that is the latest of {tail.wake_ups:,} wake-ups"
    longer = (
        "no longer test would make that ten times less: it does happen"
        if tail.hours_for_tenth is None
        else f"{duration(tail.hours_for_tenth)} more without one would make that ten times less"
    )
    condition = ", if wake-ups are independent" if assumed else ""
    return f"P(latency > {limit}) < {tail.bound:.2g} at 95 %{condition}: {seen}; {longer}"


def duration(hours: float) -> str:
    """``36 s``, ``4.5 min``, ``7.2 h`` or ``12 days``."""
    for size, unit in ((24 * 3.0, "h"), (1.0, "min"), (1 / 60, "s")):
        if hours >= size and unit == "h":
            return f"{hours / 24:.3g} days"
        if hours >= size:
            return f"{hours:.3g} h" if unit == "min" else f"{hours * 60:.3g} min"
    return f"{hours * 3600:.3g} s"


# -- how wake-ups depend on each other


def dependence(parts: Sequence[Part]) -> Dependence:
    """The worse of how late wake-ups cluster in time and of how runs differ."""
    index, between = extremal_index(parts), dispersion(parts)
    if index is None and between is None:
        return Dependence(
            factor=None,
            text="not known: the engine does not tell when wake-ups were late, and there are too"
            " few runs to compare",
        )
    clusters = 1.0 if index is None else 1 / index
    spread = 1.0 if between is None else max(1.0, between)
    if max(clusters, spread) < 1.05:
        text = "late wake-ups are as if independent"
    elif clusters >= spread:
        text = f"late wake-ups come in clusters of {clusters:.2g} (extremal index {index:.2f})"
    else:
        text = f"their number differs between runs {spread:.2g} times as much as chance would"
    return Dependence(factor=max(clusters, spread), text=text)


def extremal_index(parts: Sequence[Part]) -> float | None:
    """Reciprocal of the mean size of a cluster of late wake-ups, from the gaps between the worst.

    The intervals estimator of C. A. T. Ferro and J. Segers, J. Royal Statistical Society B 65,
    2003, equation 5, over the gaps of all runs. None with fewer than GAPS_MIN of them.
    """
    gaps = np.concatenate([np.zeros(0), *(np.diff(late_places(part)) for part in parts)])
    return intervals_estimator(gaps) if len(gaps) >= GAPS_MIN else None


def intervals_estimator(gaps: NDArray[np.float64]) -> float:
    """The estimate from gaps between exceedances, in wake-ups (from 1)."""
    if float(gaps.max()) <= 2:
        above, below = 2 * float(gaps.sum()) ** 2, len(gaps) * float((gaps**2).sum())
    else:
        above = 2 * float((gaps - 1).sum()) ** 2
        below = len(gaps) * float(((gaps - 1) * (gaps - 2)).sum())
    return max(min(1.0, above / below), 1 / (len(gaps) + 1))


def late_places(part: Part) -> NDArray[np.float64]:
    """Numbers, in order, of the wake-ups of a run that were later than the least its rings kept.

    Wake-ups of all CPUs are numbered by their due times; missed periods have numbers too. Above
    the largest of the rings' smallest values the rings miss nothing.
    """
    rings = [cpu.worst for cpu in part.cpus]
    if not rings or not all(rings):
        return np.zeros(0)
    least = max(min(late.latency_ns for late in ring) for ring in rings)
    places: set[int] = set()
    for number, ring in enumerate(rings):
        for late in ring:
            for step in range(late.missed + 1):
                if late.latency_ns - step * part.run.interval_ns >= least:
                    due = round(late.due_ns / part.run.interval_ns) + step
                    places.add(due * len(rings) + number)
    return np.array(sorted(places), dtype=np.float64)


def dispersion(parts: Sequence[Part]) -> float | None:
    """Variance of the number of late wake-ups of a run over what chance alone would make it.

    Late: above a level that ten wake-ups of a run exceed on average. None with fewer than three
    runs.
    """
    if len(parts) < _RUNS_MIN:
        return None
    wake_ups = np.array([part.wake_ups for part in parts], dtype=np.float64)
    level = _level(parts, _LATE_A_RUN * len(parts))
    if level is None or not wake_ups.all():
        return None
    counts = np.array([part.exceeding(level) for part in parts], dtype=np.float64)
    expected = wake_ups * counts.sum() / wake_ups.sum()
    if not expected.all():
        return None
    return float(((counts - expected) ** 2 / expected).sum() / (len(parts) - 1))


def _level(parts: Sequence[Part], count: int) -> int | None:
    """A latency that about ``count`` wake-ups of all parts exceed; None: there are too few."""
    whole = pool([histogram for part in parts for histogram in part.honest])
    above = np.cumsum(whole.counts[::-1])
    place = int(np.searchsorted(above, count))
    return int(whole.lows_ns()[::-1][place]) - 1 if place < len(above) else None
