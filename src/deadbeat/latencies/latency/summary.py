"""A latency matrix in numbers: every cell (load x engine), every CPU, what the tail lets one say.

Maxima and percentiles are never averaged over CPUs or runs: a cell's are those of all its wake-ups,
and the CPU and the run of a maximum are named.
"""

from __future__ import annotations

from attrs import field, frozen

from deadbeat.base.model.finding import Finding
from deadbeat.base.model.histogram import QUANTILES_PPM, Histogram
from deadbeat.base.model.lateness import MissCause
from deadbeat.latencies.latency.model import LatencyKey, LatencyRun, LoadPoint
from deadbeat.machine.trace.paths import PathSplit

#: Quantities of a distribution, in order. ``max_of_a_run``: geometric mean of the maxima of the
#: runs, which has an interval; ``max`` is one sample, however long was measured, and has none.
QUANTITIES = ("min", "mean", *QUANTILES_PPM, "max", "max_of_a_run")


#: Values beyond a percentile below which it is marked: a missed period more or less moves its rank.
FEW = 10
_MEDIAN_PPM = QUANTILES_PPM["p50"]


@frozen(kw_only=True)
class Quantity:
    """One of QUANTITIES and how well it is known.

    Attributes:
        value_ns: Over all valid runs pooled; None without any, and where it overflowed.
        low_ns, high_ns: 95 % interval: the wider, on each side, of those within and between runs;
            None: not bounded on that side, or none is defined (min, max).
        runs_ns: The same of each valid run, in the order of ``LatencyRow.runs``.
    """

    name: str
    value_ns: float | None
    low_ns: float | None = None
    high_ns: float | None = None
    runs_ns: tuple[float | None, ...] = ()


@frozen(kw_only=True)
class Distribution:
    """Latencies of all valid runs pooled, and its quantities in the order of QUANTITIES."""

    histogram: Histogram = field(eq=False, repr=False)
    quantities: tuple[Quantity, ...] = ()

    def rests_on_few(self, name: str) -> bool:
        """Whether fewer than FEW values lie beyond a percentile: single ones move it."""
        share_ppm = QUANTILES_PPM.get(name)
        return (
            share_ppm is not None
            and share_ppm > _MEDIAN_PPM
            and self.histogram.total * (1_000_000 - share_ppm) < FEW * 1_000_000
        )

    def is_maximum(self, name: str) -> bool:
        """Whether no value lies beyond a percentile: the maximum would go by its name."""
        share_ppm = QUANTILES_PPM.get(name)
        later = self.histogram.total * (1_000_000 - (share_ppm or 0))
        return share_ppm is not None and later < 1_000_000

    def deepest(self) -> str:
        """The percentile furthest out that does not rest on few values; at least the median."""
        return [name for name in QUANTILES_PPM if not self.rests_on_few(name)][-1]

    def __getitem__(self, name: str) -> Quantity:
        """The quantity called ``name``; KeyError where none is."""
        return {quantity.name: quantity for quantity in self.quantities}[name]


@frozen(kw_only=True)
class TailStatement:
    """``P(latency > limit) < bound`` at 95 % confidence, whatever the distribution, on a condition.

    The confidence is that of this statement, not of several together.

    Attributes:
        kind: ``maximum`` (the largest latency seen) or ``deadline`` (asked for).
        wake_ups: Wake-ups (and, where they count, missed periods) looked at.
        effective: Wake-ups as many independent ones would tell as much: at most ``wake_ups``.
        dependence: One line: what ``effective`` rests on.
        condition: What the bound rests on beside what was measured, as a clause (``if all runs are
            like these ...``).
        bound: Upper 95 % bound of the share of wake-ups above the limit; None of nothing.
        episodes: Times that one or more wake-ups together exceeded it; None: not known.
        episodes_per_hour: Upper 95 % bound of their rate, however many wake-ups each has; None: not
            known, or more than there are periods.
        rate_condition: What ``episodes_per_hour`` rests on, as a clause.
        runs, runs_exceeded: Valid runs, and those with an exceedance.
        run_bound: Upper 95 % bound of the share of such runs with an exceedance; it holds however
            wake-ups depend on each other within a run.
        hours_for_tenth: How many hours more, without a further exceedance, make ``bound`` ten times
            less; None where ``bound`` is 1: nothing is shown.
    """

    limit_ns: int
    kind: str
    wake_ups: int
    exceeded: int
    effective: float
    dependence: str
    condition: str
    bound: float | None
    episodes: int | None
    episodes_per_hour: float | None
    rate_condition: str
    runs: int
    runs_exceeded: int
    run_bound: float | None
    hours: float
    hours_for_tenth: float | None
    text: str


@frozen(kw_only=True)
class LatencyRow:
    """One CPU of a cell, or all of them.

    Attributes:
        cpu: Which; None: all CPUs of the cell, their wake-ups pooled.
        runs: The valid runs it rests on, in order.
        hours: Time measured (CPUs measure at the same time: not times their number).
        corrected: With a value for each missed period; None: the engine cannot tell.
        exceeds_ns: What the maximum is at least, where no more is known of it.
        max_cpu, max_run: Where the maximum was; None of nothing.
        tail: For the observed maximum first, then for the deadlines.
    """

    cpu: int | None
    runs: tuple[LatencyKey, ...]
    hours: float
    expected: int
    cycles: int
    missed: int
    raw: Distribution
    corrected: Distribution | None = None
    exceeds_ns: int | None = None
    max_cpu: int | None = None
    max_run: LatencyKey | None = None
    tail: tuple[TailStatement, ...] = ()

    @property
    def unaccounted(self) -> int:
        """Wake-ups that were expected and neither measured nor known to be missed."""
        return max(self.expected - self.cycles - self.missed, 0)

    @property
    def changed(self) -> Distribution | None:
        """Corrected, where that put any value in; None where it is the raw one."""
        if self.corrected is None or self.corrected.histogram.total == self.raw.histogram.total:
            return None
        return self.corrected

    @property
    def honest(self) -> Distribution:
        """Corrected where that is known, else raw."""
        return self.raw if self.corrected is None else self.corrected


@frozen(kw_only=True)
class CellSummary:
    """One load measured by one engine.

    Attributes:
        warnings: Name of a problem that does not make a run invalid -> runs that have it.
        achieved: What the load had of the CPU time that it asked for, mean over the valid runs.
            None: it asks for none, or it is not known.
        achieved_min, achieved_max: Its range over runs.
        split: Where latency went, per CPU: the parts of all traced runs pooled, the worst of them.
        causes: Why the worst traced wake-ups of all runs and CPUs were late, the commonest first.
    """

    load: LoadPoint
    engine: str
    whole: LatencyRow
    cpus: tuple[LatencyRow, ...]
    invalid: tuple[LatencyRun, ...] = ()
    warnings: dict[str, int] = field(factory=dict)
    achieved: float | None = None
    achieved_min: float | None = None
    achieved_max: float | None = None
    split: tuple[PathSplit, ...] = ()
    causes: tuple[MissCause, ...] = ()

    @property
    def text(self) -> str:
        """``cpu-050 prober``."""
        return f"{self.load.text} {self.engine}"


@frozen(kw_only=True)
class MatrixFacts:
    """How the runs of a matrix were measured: every value that occurs, ascending; one: all alike.

    Attributes:
        engines: Name -> version.
        started: First and last; empty of no run.
    """

    interval_ns: tuple[int, ...] = ()
    priority: tuple[int, ...] = ()
    policy: tuple[str, ...] = ()
    seconds: tuple[float, ...] = ()
    cpus: tuple[int, ...] = ()
    engines: dict[str, str] = field(factory=dict)
    kinds: tuple[str, ...] = ()
    started: tuple[str, ...] = ()


@frozen(kw_only=True)
class LatencySummary:
    """A latency matrix in numbers.

    Attributes:
        cells: By profile, percentage and engine.
        labels: What must show on every figure (``simulated``, ``policy other``, ...).
        runs, invalid_runs: How many there are, and how many of them do not count.
        beside: What else happened beside those that count, in a sentence; "" for nothing.
    """

    name: str
    cells: tuple[CellSummary, ...]
    findings: tuple[Finding, ...] = ()
    labels: tuple[str, ...] = ()
    deadlines_ns: tuple[int, ...] = ()
    runs: int = 0
    invalid_runs: int = 0
    beside: str = ""
    meta: MatrixFacts = MatrixFacts()
