"""The seam between a load test and what runs its threads: this machine, or a made-up one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager

from attrs import field, frozen

from deadbeat.kinds.load.remedies import RemedyChange
from deadbeat.kinds.load.spec import LoadSpec
from deadbeat.model.errors import DataError
from deadbeat.model.load import REFERENCE, Gaps, LoadKey, Rounds, Seen
from deadbeat.model.platform import LOCAL, Platform
from deadbeat.model.tuning import JournalEntry, Setting
from deadbeat.targets.readings import Readings

#: With it begins the reason of every setting that a load test changes.
REASON = "deadbeat load"


@frozen(kw_only=True)
class LoadRequest:
    """One run of a resolved specification.

    Attributes:
        change: What its condition does.
        unit_ps: What a unit of work takes undisturbed.
    """

    spec: LoadSpec
    key: LoadKey
    change: RemedyChange = field(factory=RemedyChange)
    unit_ps: int

    @property
    def real_time(self) -> bool:
        """False: without the real-time thread."""
        return self.key.condition != REFERENCE

    @property
    def cpus(self) -> tuple[int, ...]:
        """CPUs that all threads may use."""
        assert self.spec.cpus is not None
        return self.spec.cpus

    @property
    def normal_cpus(self) -> tuple[int, ...]:
        """CPUs the ordinary threads keep to."""
        return self.cpus if self.change.normal_cpus is None else self.change.normal_cpus

    @property
    def units(self) -> int:
        """Work of a round, thousands of additions."""
        spec = self.spec
        return max(
            spec.additions // 1000 if spec.additions else spec.round_ns * 1000 // self.unit_ps, 1
        )


class LoadEngine(ABC):
    """Runs the threads of a load test.

    Attributes:
        kind: As `Platform.kind`.
        process: On the machine: its CPU time, with that of its children that have ended, is the
            test's own; None: not known.
        address: Of the machine.
    """

    kind: str
    process: int | None = None
    address: str = LOCAL

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

    def text(self, path: str) -> str | None:
        """A file of the machine, or None."""
        return self.read([path]).files[path].text

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
    """The result of the runtime's verb ``rounds`` (host/rounds.c). DataError where the text
    is not whole."""
    rows: dict[str, list[list[str]]] = {}
    for line in text.splitlines():
        word, *rest = line.split()
        rows.setdefault(word, []).append(rest)
    try:
        return _seen(rows)
    except (KeyError, IndexError, ValueError) as error:
        hint = "repeat the command to measure this run again"
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
