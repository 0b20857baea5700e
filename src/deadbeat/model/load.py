"""A real-time thread in rounds among ordinary threads that compute: keys, rounds and runs."""

from __future__ import annotations

import re
from typing import Any, Self

import numpy as np
from attrs import field, fields, frozen
from numpy.typing import NDArray

from deadbeat.model.errors import UsageError
from deadbeat.model.finding import Finding
from deadbeat.model.latency import Replaced

Integers = NDArray[np.int64]

FORMS = ("back-to-back", "periodic")
#: Conditions beside the remedies: nothing done, everything done, and no real-time thread at all.
PLAIN, ALL, REFERENCE = "plain", "all", "reference"
#: As PLAIN, with the kernel's events recorded: counted nowhere, as recording costs time.
TRACED = "traced"
_KEY = re.compile(r"n([0-9]{3,4})\.([a-z][a-z0-9-]*)\.([0-9]{4})")


def _integers(values: Any) -> Integers:
    return np.asarray(values, np.int64)


@frozen(order=True)
class LoadKey:
    """One run: ``text`` is its file name.

    Attributes:
        normal: Ordinary threads.
        condition: PLAIN, a remedy's name, ALL (all that are possible at once), REFERENCE or TRACED.
        repeat: From 1.
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

    release_ns: Integers = field(converter=_integers, factory=list)
    start_ns: Integers = field(converter=_integers, factory=list)
    finish_ns: Integers = field(converter=_integers, factory=list)
    cpu_ns: Integers = field(converter=_integers, factory=list)
    delay_ns: Integers = field(converter=_integers, factory=list)
    voluntary: Integers = field(converter=_integers, factory=list)
    involuntary: Integers = field(converter=_integers, factory=list)
    cpu_start: Integers = field(converter=_integers, factory=list)
    cpu_finish: Integers = field(converter=_integers, factory=list)
    moves: Integers = field(converter=_integers, factory=list)
    skipped: Integers = field(converter=_integers, factory=list)

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

    at_ns: Integers = field(converter=_integers, factory=list)
    length_ns: Integers = field(converter=_integers, factory=list)
    delay_ns: Integers = field(converter=_integers, factory=list)
    involuntary: Integers = field(converter=_integers, factory=list)
    cpu_before: Integers = field(converter=_integers, factory=list)
    cpu_after: Integers = field(converter=_integers, factory=list)


@frozen(kw_only=True)
class LoadRun:
    """One run.

    Attributes:
        key: Which.
        started: UTC, RFC 3339.
        window_ns: Rounds released inside of it count; start and end, on the clock of `Rounds`.
        sampled_ns: Between these moments the ordinary threads' work was counted.
        rounds, gaps: What the real-time thread did; empty of a REFERENCE.
        gaps_lost: Gaps beyond those that are kept.
        normal_units: Work of each ordinary thread, thousands of additions.
        policy, priority, cpu: What the real-time thread really had (``cpu``: -1, not pinned).
        unit_ps: What a thousand additions took it just before the window.
        applied: What the condition did: path or option -> value, in words.
        machine: Read before and after: stolen ticks, frequency, RT bandwidth.
        trace: Of a TRACED run: ``waited_ns`` and ``interrupted_ns`` by name, or ``unavailable``:
            why that is not known.
        problems: What is wrong with the run.
        kind: ``hardware``, ``emulated`` or ``simulated``.
        replaced: Invalid measurements in the place of which it is, as of a `LatencyRun`.
    """

    key: LoadKey
    started: str
    window_ns: tuple[int, int]
    sampled_ns: tuple[int, int]
    rounds: Rounds = field(factory=Rounds)
    gaps: Gaps = field(factory=Gaps)
    gaps_lost: int = 0
    normal_units: tuple[int, ...] = ()
    policy: str = ""
    priority: int | None = None
    cpu: int | None = None
    unit_ps: int | None = None
    applied: dict[str, str] = field(factory=dict)
    machine: dict[str, Any] = field(factory=dict)
    trace: dict[str, Any] = field(factory=dict)
    problems: tuple[Finding, ...] = ()
    kind: str = "hardware"
    replaced: tuple[Replaced, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether its figures count."""
        return all(problem.severity != "invalid" for problem in self.problems)

    @property
    def window_s(self) -> float:
        return (self.window_ns[1] - self.window_ns[0]) / 1e9
