"""Campaigns beside each other: the identical programs, and what differs between their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from attrs import asdict, evolve, field, frozen

from deadbeat.base.model.finding import Finding
from deadbeat.base.model.observations import Metric, Observations
from deadbeat.base.model.platform import EXTRAPOLATED
from deadbeat.base.model.words import Json

#: Verdicts on the second campaign against the first (the baseline); ``equal`` needs an equivalence
#: test, never by the absence of a difference.
VERDICTS = ("better", "worse", "equal", "undecided")
#: Share of lost work that may hide an effect, of a kind without rare events.
LOST_MAX = 0.005
#: What a repeat of the baseline must share with it beside its settings.
_PLACE = ("fingerprint", "kernel", "preemption")


@frozen(kw_only=True)
class Vocabulary:
    """Words for one kind of results.

    Attributes:
        units: What is paired.
        results, one: What is compared: folders with results; one of them.
        once_more: How a repeat of the baseline is made.
        find_lost: What to do where one side lost more.
        lost: What a share of lost work is a share of.
        more: What makes a comparison sharper, after a number.
        rare: What would make rare events speak.
        finish: What to do where results are missing.
        mixed: What sets simulated beside measured; "": nothing does.
    """

    units: str = "runs"
    results: str
    one: str
    once_more: str = (
        "repeat the baseline's command where it ran, under another --name, and name it with --aa"
    )
    find_lost: str
    lost: str
    more: str = "runs (--repeats)"
    rare: str
    finish: str = "repeat the commands that began them: they measure what is missing"
    mixed: str = ""

    def of(self, metric: Metric) -> Vocabulary:
        """The same of a metric that has cells of its own."""
        return evolve(self, more=f"time for it ({metric.apart})") if metric.apart else self

    @property
    def no_repeats(self) -> str:
        """Why two sessions alone decide nothing."""
        return (
            "no A/A repeats: a drift of the machine between sessions looks like an effect"
            f" or its absence; {self.once_more}"
        )


@frozen(kw_only=True)
class ComparedEffect:
    """An effect, what is known of it, and its verdict; None: not known.

    Attributes:
        effect: Difference in the metric's scale: ratio other / baseline - 1 for slowdown and delay
            ratio, other - baseline for the miss ratio; None where it is not defined.
        low, high: Interval of ``effect``, 95 % for this effect alone.
        p, p_holm: For "no difference"; as computed, and after Holm over the cells of the metric, or
            over the metrics.
        smallest_effect: Effect that such a comparison finds with a probability of 80 %, given its
            pairs and what sessions differ by; over all cells, the same in each of them. None: no
            effect at all, or too few programs differ to know.
        times_as_many: Runs times this number decide it, see `engine`; None: no number does.
    """

    metric: Metric
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    smallest_effect: float | None = None
    times_as_many: int | None = None
    verdict: str = "undecided"


#: Where a cell is, on any axis.
PLACE = ("cores", "sync_share", "contended_ratio", "deadline_factor", "group")


@frozen(kw_only=True)
class CellComparison(ComparedEffect):
    """One point (Mode 1) or one group (Mode 2) of two campaigns.

    Attributes:
        cores, sync_share, contended_ratio, deadline_factor, group: Where; None where the axis does
            not apply (a group of Mode 2 has drawn shares), ``group`` "" in Mode 1.
        pairs: Programs with a result on both sides: what everything here rests on; 0: no data.
        baseline, other: The metric's mean over these pairs (geometric of what is compared by
            ratios) in the two themselves; the effect is against baseline and A/A repeats together.
        test: ``student`` or ``poisson``: what ``p`` and the interval rest on.
    """

    cores: int
    sync_share: float | None
    contended_ratio: float | None
    deadline_factor: float
    group: str = ""
    pairs: int = 0
    baseline: float | None = None
    other: float | None = None
    test: str = ""


@frozen(kw_only=True)
class MetricComparison(ComparedEffect):
    """One metric over all cells, each counted once.

    Attributes:
        no_worse: Whether it is shown that the other is not worse by ``minimum`` or more.
        told: False where too few programs differ at all for the metric to say anything (no
            deadline missed on either side): then it is undecided.
        vote: False where it is not ``told`` and no single program differs by more than ``minimum``:
            then it does not stand in the way of ``equal``.
        capped: Why the pairs do not show how the sides compare (runs, tasks or jobs lost on one
            side; no A/A repeats), a line each; verdicts that this puts in doubt are undecided.
        minimum: Effect below which a difference is not called one (asked for).
        gate: What an effect over all cells must exceed on this machine, from runs that differ in
            nothing (A/A), so that all metrics together are rarely called different; None where it
            is not known.
        gate_basis: One line: what the gate rests on.
    """

    minimum: float
    gate: float | None
    gate_basis: str
    cells: tuple[CellComparison, ...]
    no_worse: bool = False
    told: bool = True
    vote: bool = True
    capped: tuple[str, ...] = ()


@frozen(kw_only=True)
class Comparison:
    """Two campaigns of the identical programs.

    Attributes:
        verdict: Overall: ``worse`` if a metric is worse overall or in a cell, ``better`` if some
            is better, none worse, and nothing lost that may hide it, ``equal`` if all with a vote
            are, none is capped and every cell has pairs, else ``undecided``.
        reason: One line: what decided it.
        needs: What would decide what is undecided, a line each.
        rests_on: Metrics that ``verdict`` rests on.
        undecided: Metrics that were asked for and are undecided, those without a vote included.
    """

    baseline: str
    other: str
    metrics: tuple[MetricComparison, ...]
    verdict: str
    reason: str
    needs: tuple[str, ...] = ()
    rests_on: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()


@frozen(kw_only=True)
class Effect:
    """What a remedy changes, of pairs of runs of one repeat; at ``normal`` ordinary threads.

    Attributes:
        normal: None: the pairs of every number together; percentiles are then not compared.
        failures_before, failures_after: Per second, means of the runs in pairs.
        misses, p99: The miss ratio and the 99 % quantile of the response times, compared.
        verdict: One of `VERDICTS` (5 % for all verdicts of the test together); "" at one of several
            numbers, which are judged together.
        why: Of an undecided one, where no more runs alike would help; else "".
        occasions_high: Where neither side has a failure: either has fewer occasions of failure per
            second (95 %).
    """

    condition: str
    normal: int | None
    failures_before: float
    failures_after: float
    misses: CellComparison
    p99: CellComparison | None
    verdict: str = ""
    why: str = ""
    occasions_high: float | None = None


@frozen(kw_only=True)
class RemedyEffects:
    """What one remedy changes in each of several load tests; nothing of it is a verdict.

    Attributes:
        condition: The remedy's name, or ``all``.
        normal: Ordinary threads; None: every number of them together.
        effects: In the order of the results that are compared; None where one does not have it.
    """

    condition: str
    normal: int | None
    effects: tuple[Effect | None, ...]


@frozen(kw_only=True)
class Subject:
    """A result as a comparison reads it; each kind adds what it observes.

    Attributes:
        kind: The kind of platform it ran on, see `Platform.kind`.
        platform: Where it was measured, as JSON values.
        settings: What must agree for figures to answer the same question.
        counted, stored: Runs that count, and all that are stored.
        left: What is still to come, in words; "": it is finished.
        created_at: When its first run began; None: not known.
        labels: What must show on every figure.
        beside: The program that ran beside all runs, in words; empty: none.
        commit: Of the program that was measured; "": not known.
        turns: Where it was measured in turns with others; "": by itself.
    """

    name: str
    path: str
    kind: str
    platform: Mapping[str, Json] = field(repr=False)
    settings: Mapping[str, Json] = field(factory=dict)
    counted: int
    stored: int
    left: str = ""
    created_at: str | None = None
    labels: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    turns: str = ""
    commit: str = ""

    @property
    def made_up(self) -> str:
        """``simulated`` or ``extrapolated``, where nothing was measured."""
        return self.kind if self.kind in ("simulated", EXTRAPOLATED) else ""

    def elsewhere(self, baseline: Subject) -> list[str]:
        """What forbids that it is a repeat of ``baseline``, apart from what it ran."""
        other = [key for key in _PLACE if baseline.platform.get(key) != self.platform.get(key)]
        return other + ["program beside"] * (self.beside != baseline.beside)


S = TypeVar("S", bound=Subject)


@frozen(kw_only=True)
class Aligned:
    """Observations that can stand beside each other.

    Attributes:
        tables: In the order of the subjects.
        differences: Lines ``what: A's value | B's value`` beside those of the platforms.
        parameters: What the kind adds to those of the answer.
    """

    tables: tuple[Observations, ...]
    findings: tuple[Finding, ...] = ()
    differences: tuple[str, ...] = ()
    parameters: Mapping[str, Json] = field(factory=dict)
    remedies: tuple[RemedyEffects, ...] = ()


@frozen(kw_only=True)
class Lineup:
    """What of subjects is to be compared.

    Attributes:
        subjects: The first is the baseline.
        per_cpu: Each CPU is a cell of its own.
        partial: Also what is unfinished.
    """

    subjects: tuple[Any, ...]
    repeats: tuple[Any, ...] = ()
    per_cpu: bool = False
    partial: bool = False

    @property
    def every(self) -> tuple[Any, ...]:
        return (*self.subjects, *self.repeats)


@frozen(kw_only=True)
class ComparedLook:
    """How a comparison of one kind of results looks.

    Attributes:
        terms: Kind; the page explains its terms. "": none.
        groups: Heading and axis of effects by group.
    """

    called: str = "Results"
    terms: str = ""
    groups: tuple[str, str] = ("By cell", "cell")


@frozen(kw_only=True)
class Comparable(Generic[S]):
    """One kind of results that can be compared (``comparable`` of its `ExperimentKind`).

    Attributes:
        of: Its name in the answer; "" of campaigns.
        words: For what is compared. ``lab_words``: where the lab measured it; None: the same;
            ``elsewhere_words``: where some of it was imported.
        metrics: The metrics it observes, in order of display.
        read: The result in a folder. DataError or UsageError where it cannot be read.
        align: Observations of a lineup. UsageError where they cannot be compared.
        changes: What was measured in turns in one folder, the original first.
        main: Name of the metric that a history shows unless asked; "": the first.
        overlays: Figures of the subjects over each other, the baseline first; a number: with at
            most this number of levels of each (on paper), None: all.
    """

    of: str
    noun: str
    words: Vocabulary
    metrics: tuple[Metric, ...]
    read: Callable[[Path], S]
    align: Callable[[Lineup], Aligned]
    overlays: Callable[[Sequence[S], int | None], list[Any]] = lambda subjects, levels: []
    lab_words: Vocabulary | None = None
    elsewhere_words: Vocabulary | None = None
    look: ComparedLook = ComparedLook()
    changes: Callable[[Path], tuple[S, ...]] | None = None
    main: str = ""
    per_cpu: bool = False
    cells_alike: bool = False
    lacking_max: float = 0.1

    def minimum(self, *, rare: bool) -> float:
        """Smallest effect that matters by default: for shares of rare events, or for all others."""
        return next((metric.minimum for metric in self.metrics if metric.rare == rare), LOST_MAX)


@frozen(kw_only=True)
class ChangePoint:
    """A figure of a cell changed from the result ``last`` to the next, ``first``; or drifts all the
    way from the one to the other."""

    metric: str
    cell: str
    last: str
    first: str
    before: float
    after: float
    p: float
    unit: str
    commits: tuple[str, str]
    drifts: bool = False


@frozen(kw_only=True)
class ComparisonResult:
    """What ``deadbeat compare A B [C...]`` found.

    Attributes:
        campaigns: Per campaign: ``name``, ``path``, ``kernel``, ``preemption``, ``platform``,
            ``labels``, ``runs``, ``fingerprint``; A first.
        comparisons: A with each of the others.
        differences: What differs between the platforms: lines ``what: A's value | B's value``.
        verdict: The worst of the comparisons'.
        parameters: Minimum effects, margins, resamples, seed.
        trend: Where results in the order of time changed for good; None: too few to say.
    """

    campaigns: tuple[dict[str, Json], ...]
    comparisons: tuple[Comparison, ...]
    differences: tuple[str, ...]
    findings: tuple[Finding, ...]
    labels: tuple[str, ...]
    verdict: str
    parameters: dict[str, Json] = field(factory=dict)
    trend: tuple[ChangePoint, ...] | None = None
    remedies: tuple[RemedyEffects, ...] = ()
    look: ComparedLook = ComparedLook()

    def plain(self) -> dict[str, Json]:
        """JSON values."""
        return {name: value for name, value in plain(self).items() if name != "look"}


def plain(compared: Any, *, placed: bool = True) -> dict[str, Json]:
    """JSON values of what holds comparisons; a metric becomes its name. ``placed``: with the place
    of each cell."""
    return asdict(
        compared,
        filter=lambda each, _: placed or each.name not in PLACE,
        value_serializer=lambda _, __, it: it.name if isinstance(it, Metric) else it,
    )
