"""What the runs of a load test amount to."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

from deadbeat.model.histogram import Histogram


@frozen(kw_only=True)
class Estimate:
    """A mean over runs with its 95 % interval; None: it cannot be bounded, as with one run."""

    value: float
    low: float | None = None
    high: float | None = None


@frozen(kw_only=True)
class LostTime:
    """Where the real-time thread's time went beyond what a round takes alone, s per s of window.

    Attributes:
        waiting: It was ready, and something else had the CPU (run_delay).
        stopped: It had the CPU, and nothing moved for over 100 us: an interrupt, or the host.
        slower: The rest of its longer execution; below 0 where it was faster than alone.
        uncharged: The part of ``stopped`` that no account of the thread's holds, neither its CPU
            clock nor run_delay: time of the host or of interrupts, told by the kernel itself.
    """

    waiting: float
    stopped: float
    slower: float
    uncharged: float = 0.0


@frozen(kw_only=True)
class LoadCell:
    """All valid runs of one number of ordinary threads and one condition.

    Attributes:
        normal, condition: Which.
        runs, invalid: Runs that count, and that do not.
        seconds: Length of all windows.
        released: Rounds that count, skipped releases included; 0 of ``reference``.
        failures: Those over the deadline, and the skipped.
        failures_per_s: As an estimate; where none was seen ``high`` is 3 / ``seconds``: of
            occasions, failures in a row being one.
        response: Response times of the rounds that ran; None of ``reference``.
        involuntary_per_s, voluntary_per_s, moves_per_s: Context switches and moves between CPUs.
        work_per_s: Of all ordinary threads, thousands of additions; None without any.
        work_lost: Share of what they do without the real-time thread, of pairs of one repeat.
        cpu_share: CPU time of the real-time thread per second of window.
        lost: Where its time went; None of ``reference``, and where it was never alone.
    """

    normal: int
    condition: str
    runs: int
    invalid: int
    seconds: float
    released: int = 0
    failures: int = 0
    failures_per_s: Estimate | None = None
    response: Histogram | None = None
    involuntary_per_s: Estimate | None = None
    voluntary_per_s: Estimate | None = None
    moves_per_s: Estimate | None = None
    work_per_s: Estimate | None = None
    work_lost: Estimate | None = None
    cpu_share: float | None = None
    lost: LostTime | None = None


@frozen(kw_only=True)
class Effect:
    """What a remedy changes, of pairs of runs of one repeat; at ``normal`` ordinary threads.

    Attributes:
        condition: A remedy's name, or all of them.
        normal: None: the pairs of every number together; percentiles are then not compared.
        pairs: That have both.
        failures_before, failures_after: Per second, means.
        failures: Difference per second, after - before; without an interval where neither side has
            a failure.
        p99_ns: Difference of the 99 % quantiles of the response times of all rounds of these runs.
        verdict: ``fewer failures``, ``more failures`` (5 % for all verdicts of the test together),
            ``no difference shown``, ``no failures either way``, ``too few repeats``; "" at one of
            several numbers, which are judged together.
        could_show: Of ``no difference shown``: the smallest reduction, failures per second, that
            would have been found in 80 % of such tests; None: not even the end of all failures.
        removal_found: In which share of such tests the end of all failures would have been found;
            None: there is another verdict, or no failure before.
        occasions_high: Where neither side has a failure: either has fewer occasions of failure per
            second (95 %).
    """

    condition: str
    normal: int | None
    pairs: int
    failures_before: float
    failures_after: float
    failures: Estimate
    p99_ns: Estimate | None
    verdict: str
    could_show: float | None = None
    removal_found: float | None = None
    occasions_high: float | None = None


@frozen(kw_only=True)
class Cause:
    """Something that took time from the real-time thread.

    Attributes:
        name: ``rt-bandwidth``, ``fair-server``, ``bandwidth``, ``fair-scheduling``,
            ``other-task``, ``migration``, ``smt``, ``frequency``, ``steal``,
            ``host-or-interrupt`` or ``unknown``.
        title: For a reader.
        share: Of all its lost time; None: not told apart.
        certainty: ``shown``, ``likely`` or ``unknown``.
        evidence: One line with figures.
    """

    name: str
    title: str
    share: float | None
    certainty: str
    evidence: str


@frozen(kw_only=True)
class LoadSummary:
    """Everything that the page, the table and the JSON of a load test show.

    Attributes:
        kind: ``hardware``, ``emulated`` or ``simulated``.
        spec: The specification's canonical form.
        platform: Facts of the machine, in words.
        round_ns, deadline_ns, period_ns: In effect; ``period_ns`` None back to back.
        alone_ns: Median CPU time of a round at the fewest ordinary threads; None: no such run.
        cells: In the order of condition and number.
        effects: Of each remedy.
        causes: Of the lost time at the highest number of ordinary threads without a remedy; the
            greatest first.
        changes: Remedy -> what it did.
        impossible: Remedy -> why it was not tried.
        problems: Of the runs: what and how many.
        beside: What else happened beside runs that count, in a sentence; "" for nothing.
        planned, done: Runs.
    """

    name: str
    kind: str
    spec: dict[str, Any]
    platform: dict[str, str]
    round_ns: int
    deadline_ns: int
    period_ns: int | None
    alone_ns: int | None
    cells: tuple[LoadCell, ...]
    effects: tuple[Effect, ...] = ()
    causes: tuple[Cause, ...] = ()
    changes: dict[str, str] = field(factory=dict)
    impossible: dict[str, str] = field(factory=dict)
    problems: tuple[str, ...] = ()
    beside: str = ""
    planned: int = 0
    done: int = 0

    def cell(self, normal: int, condition: str) -> LoadCell | None:
        """The cell, or None."""
        found = (c for c in self.cells if (c.normal, c.condition) == (normal, condition))
        return next(found, None)

    @property
    def most(self) -> int:
        """The highest number of ordinary threads."""
        return max((cell.normal for cell in self.cells), default=0)
