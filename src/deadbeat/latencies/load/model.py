"""A real-time thread in rounds among ordinary, computing threads: runs, and what they amount to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Self, TypedDict

from attrs import field, fields, frozen

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.histogram import Histogram, Integers, integers
from deadbeat.base.model.lazy import Later
from deadbeat.base.model.run import StoredRun
from deadbeat.base.model.traces import WorstMoment
from deadbeat.base.model.words import Json
from deadbeat.machine.trace.paths import Takers

if TYPE_CHECKING:
    import numpy as np

    from deadbeat.base.model.comparison import Effect
    from deadbeat.base.stats.estimate import Estimate
else:
    np = Later("numpy")

FORMS = ("back-to-back", "periodic")
#: Conditions beside the remedies: nothing done, everything done, and no real-time thread at all.
PLAIN, ALL, REFERENCE = "plain", "all", "reference"
#: PLAIN with the kernel's events recorded: counted nowhere, as recording costs time.
TRACED = "traced"


def several(realtime: int | str) -> str:
    """The condition of a number of real-time threads, nothing else done."""
    return f"realtime-{realtime}"


_KEY = re.compile(r"n([0-9]{3,4})\.([a-z][a-z0-9-]*)\.([0-9]{4})")


@frozen(order=True)
class LoadKey:
    """One run: ``text`` is its file name.

    Attributes:
        condition: PLAIN, a remedy's name, ALL (all that are possible at once), REFERENCE, TRACED,
            or `several` real-time threads.
    """

    normal: int
    condition: str
    repeat: int

    @property
    def text(self) -> str:
        return f"n{self.normal:03d}.{self.condition}.{self.repeat:04d}"

    @classmethod
    def parse(cls, text: str) -> LoadKey:
        """The key called ``text``. UsageError where none is."""
        match = _KEY.fullmatch(text)
        if match is None:
            raise UsageError(f"{text}: no run is called so", "a name is n002.plain.0001")
        return cls(int(match[1]), match[2], int(match[3]))


@frozen(kw_only=True, eq=False)
class _Columns:
    """Arrays of one length."""

    def __attrs_post_init__(self) -> None:
        if len({len(column) for column in self.columns().values()}) > 1:
            raise ValueError("columns differ in length")

    def columns(self) -> dict[str, Integers]:
        """Name -> column, in order."""
        return {each.name: getattr(self, each.name) for each in fields(type(self))}

    def to_json(self) -> dict[str, list[int]]:
        return {name: column.tolist() for name, column in self.columns().items()}

    @classmethod
    def of_rows(cls, rows: list[list[int]]) -> Self:
        """From rows that hold the columns in their order."""
        names = [each.name for each in fields(cls)]
        table = np.array(rows, np.int64).reshape(len(rows), len(names))
        return cls(**{name: table[:, place] for place, name in enumerate(names)})

    def __len__(self) -> int:
        return len(next(iter(self.columns().values())))


@frozen(kw_only=True, eq=False)
class Rounds(_Columns):
    """The rounds of a run, in order; times in ns after the first was due.

    Attributes:
        release_ns: When it was due; back to back: when the one before finished.
        start_ns, finish_ns: Its own clock readings; response time is finish - release.
        cpu_ns: CPU time of the thread since the end of the round before.
        delay_ns: Time it was ready and did not run (``run_delay``), likewise.
        voluntary, involuntary: Context switches, likewise.
        cpu_start, cpu_finish: Where it ran.
        moves: Times it found itself on another CPU than before.
        skipped: Releases that passed while it ran; each missed its deadline.
    """

    release_ns: Integers = field(converter=integers, factory=list)
    start_ns: Integers = field(converter=integers, factory=list)
    finish_ns: Integers = field(converter=integers, factory=list)
    cpu_ns: Integers = field(converter=integers, factory=list)
    delay_ns: Integers = field(converter=integers, factory=list)
    voluntary: Integers = field(converter=integers, factory=list)
    involuntary: Integers = field(converter=integers, factory=list)
    cpu_start: Integers = field(converter=integers, factory=list)
    cpu_finish: Integers = field(converter=integers, factory=list)
    moves: Integers = field(converter=integers, factory=list)
    skipped: Integers = field(converter=integers, factory=list)

    @property
    def response_ns(self) -> Integers:
        return self.finish_ns - self.release_ns


@frozen(kw_only=True, eq=False)
class Gaps(_Columns):
    """Stretches of work (about 20 us each) that took over 100 us longer than they should.

    Attributes:
        at_ns: Start of the stretch.
        length_ns: How much longer it took.
        delay_ns: Time the thread was ready and did not run, since the gap before.
        involuntary: Involuntary switches, likewise.
        cpu_before, cpu_after: Where it ran.
    """

    at_ns: Integers = field(converter=integers, factory=list)
    length_ns: Integers = field(converter=integers, factory=list)
    delay_ns: Integers = field(converter=integers, factory=list)
    involuntary: Integers = field(converter=integers, factory=list)
    cpu_before: Integers = field(converter=integers, factory=list)
    cpu_after: Integers = field(converter=integers, factory=list)


@frozen(kw_only=True)
class Seen:
    """What the threads of a run did.

    Attributes:
        window_ns: Rounds released inside of it count; start and end, on the clock of `Rounds`.
        sampled_ns: Between these moments the ordinary threads' work was counted.
        rounds, gaps: What the real-time thread did; empty of a REFERENCE.
        others: What further real-time threads did.
        gaps_lost: Gaps beyond those that are kept.
        normal_units: Work of each ordinary thread, thousands of additions.
        policy, priority, cpu: What the real-time thread really had (``cpu``: -1, not pinned).
        unit_ps: What a thousand additions took it just before the window.
        trace: For a TRACED run: ``waited_ns`` and ``interrupted_ns`` by name, or ``unavailable``:
            why that is not known.
    """

    window_ns: tuple[int, int]
    sampled_ns: tuple[int, int]
    rounds: Rounds = field(factory=Rounds)
    others: tuple[Rounds, ...] = ()
    gaps: Gaps = field(factory=Gaps)
    gaps_lost: int = 0
    normal_units: tuple[int, ...] = ()
    policy: str = ""
    priority: int | None = None
    cpu: int | None = None
    unit_ps: int | None = None
    trace: Takers = field(factory=Takers)


class LoadMachine(TypedDict, total=False):
    """The machine before and after a run; None: not known. Versions before wrote fewer keys.

    Attributes:
        rt_runtime_before_us, rt_runtime_us, rt_period_us: The RT bandwidth; -1: no limit.
        frequency_khz: CPU -> before and after. ``frequency_unknown``: why that is not known.
        others_ready: Threads that were ready when the run had ended.
        steal_ticks, steal_ticks_by_cpu, steal_share: What the host took.
        foreign_cpus: Work that is no part of the test, in CPUs.
    """

    rt_runtime_before_us: int | None
    rt_runtime_us: int | None
    rt_period_us: int | None
    frequency_khz: dict[str, list[int | None]] | None
    frequency_unknown: str
    others_ready: int | None
    steal_ticks: int | None
    steal_ticks_by_cpu: dict[str, int] | None
    steal_share: float | None
    foreign_cpus: float | None


@frozen(kw_only=True)
class LoadRun(Seen, StoredRun):
    """One run, with its circumstances.

    Attributes:
        key: Which.
        started: UTC, RFC 3339.
        applied: What the condition did: path or option -> value, in words.
        machine: Read before and after: stolen ticks, frequency, RT bandwidth.
        problems: What is wrong with the run.
        kind: See `Platform.kind`.
        replaced: The invalid measurements that it replaces, as in a `LatencyRun`.
    """

    key: LoadKey
    applied: dict[str, str] = field(factory=dict)
    machine: LoadMachine = field(factory=LoadMachine)
    kind: str = "hardware"

    @property
    def window_s(self) -> float:
        return (self.window_ns[1] - self.window_ns[0]) / 1e9


@frozen(kw_only=True)
class LostTime:
    """Where the real-time thread's time went beyond what a round takes alone, s per s of window.

    Attributes:
        waiting: It was ready, and something else had the CPU (run_delay).
        stopped: It had the CPU, and nothing moved for over 100 us: an interrupt, or the host.
        slower: The rest of its longer execution; below 0 where it was faster than alone.
        uncharged: The part of ``stopped`` that no account of the thread's holds, neither its CPU
            clock nor run_delay: time of the host or of interrupts, from the kernel's counters.
    """

    waiting: float
    stopped: float
    slower: float
    uncharged: float = 0.0


@frozen(kw_only=True)
class LoadCell:
    """All valid runs of one number of ordinary threads and one condition.

    Attributes:
        seconds: Length of all windows.
        released: Rounds that count, skipped releases included; 0 of ``reference``.
        failures: Occasions over the deadline, and skipped ones.
        failures_each: Failures per second of every real-time thread where there are several; None:
            it had no round in any window, as others of its priority had all CPUs.
        failures_per_s: An estimate; where none was seen ``high`` is 3 / ``seconds``: of
            occasions, failures in a row being one.
        response: Response times of the rounds that ran; None of ``reference``.
        involuntary_per_s, voluntary_per_s, moves_per_s: Context switches and moves between CPUs.
        work_per_s: Work of all ordinary threads, thousands of additions; None without any.
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
    failures_each: tuple[float | None, ...] = ()
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
class Cause:
    """Something that took time from the real-time thread.

    Attributes:
        name, title: Word and sentence of `deadbeat.base.model.lateness`.
        share: Share of all its lost time; None: not separable from the others.
        certainty: ``shown``, ``likely`` or ``unknown``.
        evidence: One line with figures.
        misses: Failures that end when this cause alone is gone: their rounds without the time it
            took keep the deadline. None: not separable from the others.
    """

    name: str
    title: str
    share: float | None
    certainty: str
    evidence: str
    misses: int | None = None


@frozen(kw_only=True)
class LoadSummary:
    """Everything that the page, the table and the JSON of a load test show.

    Attributes:
        spec: The specification's canonical form.
        platform: Facts of the machine, in words.
        round_ns, deadline_ns, period_ns: In effect; ``period_ns`` None back to back.
        alone_ns: Median CPU time of a round at the fewest ordinary threads; None: no such run.
        cells: In the order of condition and number.
        causes: Causes of lost time at the highest number of ordinary threads without remedy; first
            the one without which most misses end, then by the time it took.
        impossible: Remedy -> why it was not tried.
        problems: Problems of the runs: what and how many.
        beside: What else happened beside runs that count, in a sentence; "" for nothing.
        worst: The longest round without a remedy, over time.
    """

    name: str
    kind: str = "hardware"
    spec: dict[str, Json]
    platform: dict[str, str]
    round_ns: int
    deadline_ns: int
    period_ns: int | None
    alone_ns: int | None = None
    cells: tuple[LoadCell, ...] = ()
    effects: tuple[Effect, ...] = ()
    causes: tuple[Cause, ...] = ()
    changes: dict[str, str] = field(factory=dict)
    impossible: dict[str, str] = field(factory=dict)
    problems: tuple[str, ...] = ()
    beside: str = ""
    worst: WorstMoment | None = None
    planned: int = 0
    done: int = 0

    def cell(self, normal: int, condition: str) -> LoadCell | None:
        found = (c for c in self.cells if (c.normal, c.condition) == (normal, condition))
        return next(found, None)

    @property
    def most(self) -> int:
        """The highest number of ordinary threads."""
        return max((cell.normal for cell in self.cells), default=0)
