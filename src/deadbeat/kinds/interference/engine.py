"""The seam between a load test and what runs its threads: this machine, or a made-up one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager

from attrs import frozen

from deadbeat.model.errors import DataError
from deadbeat.model.load import Gaps, LoadKey, Rounds, Seen
from deadbeat.model.platform import Platform
from deadbeat.model.tuning import JournalEntry, Setting
from deadbeat.targets.readings import Readings

#: With it begins the reason of every setting that a load test changes.
REASON = "deadbeat load"


@frozen(kw_only=True)
class LoadRequest:
    """How one run is done.

    Attributes:
        normal: Ordinary threads.
        real_time: False: without the real-time thread.
        seconds: Length of the window.
        units: Work of a round, thousands of additions.
        unit_ps: What one takes undisturbed.
        period_ns: 0: back to back.
        cpus: CPUs that all threads may use.
        pin: CPU the real-time thread is bound to.
        normal_cpus: CPUs the ordinary threads keep to; None: ``cpus``.
        trace: Whether the kernel's events are recorded meanwhile.
        seed: Of engines that make their figures up.
    """

    key: LoadKey
    normal: int
    real_time: bool
    seconds: float
    units: int
    unit_ps: int
    period_ns: int
    policy: str
    priority: int
    cpus: tuple[int, ...]
    pin: int | None = None
    normal_cpus: tuple[int, ...] | None = None
    trace: bool = False
    seed: int = 0


class LoadEngine(ABC):
    """Runs the threads of a load test.

    Attributes:
        kind: ``hardware``, ``emulated`` or ``simulated``.
        process: On the machine: its CPU time, with that of its children that have ended, is the
            test's own; None: not known.
    """

    kind: str
    process: int | None = None

    @abstractmethod
    def cpus(self) -> tuple[int, ...]:
        """CPUs that may be used."""

    @abstractmethod
    def describe(self) -> Platform:
        """The machine as it stands now, with what was tuned on purpose."""

    @abstractmethod
    def unit_ps(self, cpus: Sequence[int], *, policy: str, priority: int) -> int:
        """What a thousand additions take undisturbed.

        Args:
            policy, priority: Of the real-time thread: what refuses it refuses this.

        Raises:
            TargetError: It cannot be measured: permission, a machine that is in use.
        """

    @abstractmethod
    def read(self, paths: Sequence[str]) -> Readings:
        """Files of the machine."""

    @abstractmethod
    def holding(
        self, settings: Sequence[Setting], *, reason: str
    ) -> AbstractContextManager[dict[str, str]]:
        """The settings, for a block: journalled, written, read back, and put back at its end.

        Gives path -> what it holds.

        Raises:
            TargetError: One is not possible here, or was not back at the end.
        """

    def standing(self) -> tuple[JournalEntry, ...]:
        """Changed settings that have not been put back, whoever changed them."""
        return ()

    @abstractmethod
    def run(self, ask: LoadRequest) -> Seen:
        """One run. The caller sleeps meanwhile.

        Raises:
            RunError: It has no result; others may.
            TargetError: No run of this kind is possible here.
        """

    def close(self) -> None:  # noqa: B027  an engine may have nothing to remove
        """Leaves nothing behind."""


def parse(text: str) -> Seen:
    """The result of the runtime's verb ``rounds`` (runtime/src/rounds.c). DataError where the text
    is not whole."""
    rows: dict[str, list[list[str]]] = {}
    for line in text.splitlines():
        word, *rest = line.split()
        rows.setdefault(word, []).append(rest)
    try:
        return _seen(rows)
    except (KeyError, IndexError, ValueError) as error:
        hint = "the run is done again when the command is repeated"
        raise DataError(f"the result of a run is damaged: {error!r}", hint) from error


def _seen(rows: dict[str, list[list[str]]]) -> Seen:
    if rows["rounds"] != [["1"]]:
        raise ValueError(f"format {rows['rounds']}")
    table, gaps = ([list(map(int, row)) for row in rows.get(name, [])] for name in ("round", "gap"))
    (end,) = rows["end"]
    if int(end[0]) != len(table):
        raise ValueError(f"{len(table)} of {end[0]} rounds")
    placed = rows.get("placed", [None])[0]
    return Seen(
        window_ns=_pair(rows["window"][0]),
        sampled_ns=_pair(rows["sampled"][0]),
        rounds=Rounds.of_rows(table),
        gaps=Gaps.of_rows(gaps),
        gaps_lost=int(rows["lost"][0][0]),
        normal_units=tuple(int(row[1]) for row in rows.get("normal", [])),
        policy=placed[0] if placed else "",
        priority=int(placed[1]) if placed else None,
        cpu=int(placed[2]) if placed else None,
        unit_ps=int(rows["unit"][0][0]) if placed else None,
    )


def _pair(words: list[str]) -> tuple[int, int]:
    first, last = map(int, words)
    return first, last
