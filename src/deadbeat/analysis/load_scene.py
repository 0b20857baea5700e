"""What causes of lost time are inferred from; pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attrs import field, frozen

from deadbeat.analysis.load_lost import Difference, difference_of, lost_of
from deadbeat.model.load import LoadRun
from deadbeat.model.load_summary import Lost

#: Lost time below this share of the window is not worth a cause.
LEAST_SHARE = 0.0005
#: Who had the CPU instead: as many are named.
NAMED = 4


@frozen(kw_only=True)
class Machine:
    """What of a platform causes are inferred from.

    Attributes:
        kernel: Major and minor number; (0, 0): not known.
        group_sched: Whether RT_GROUP_SCHED is built in; None: not known.
        fair_server: Share that each CPU keeps for ordinary threads, where it can be read.
        siblings: CPU -> number of CPUs of its core; empty: not known.
        scaling: Whether frequencies change (there is a cpufreq driver); None: not known.
        virtual: Whether it is a virtual machine; None: not known.
    """

    kernel: tuple[int, int] = (0, 0)
    group_sched: bool | None = None
    fair_server: float | None = None
    siblings: Mapping[str, int] = field(factory=dict)
    scaling: bool | None = None
    virtual: bool | None = None


@frozen(kw_only=True)
class Scene:
    """What one question is answered from.

    Attributes:
        lost: Of the cell in question.
        here: Its runs.
        runs: All valid runs with as many ordinary threads.
        traced: The run with the kernel's events.
        compared: Whether what a round takes alone is of fewer ordinary threads.
        alone_ns: CPU time that a round takes alone.
    """

    lost: Lost
    here: Sequence[LoadRun]
    runs: Sequence[LoadRun]
    machine: Machine
    traced: LoadRun | None
    compared: bool
    alone_ns: int | None

    def share(self, part: float) -> float:
        """Of all lost time."""
        parts = (self.lost.waiting, self.lost.stopped, self.lost.slower)
        return part / sum(max(each, 0.0) for each in parts)

    def of(self, condition: str) -> list[LoadRun]:
        """The runs of a condition."""
        return [run for run in self.runs if run.key.condition == condition]

    def less(self, before: str, after: str, part: Callable[[LoadRun], float]) -> Difference | None:
        """How much less of ``part`` there is under ``after`` than under ``before``, of pairs of
        runs of one repeat; None: there is no pair."""
        first = {run.key.repeat: part(run) for run in self.of(before)}
        last = {run.key.repeat: part(run) for run in self.of(after)}
        both = sorted(first.keys() & last.keys())
        return difference_of([first[repeat] - last[repeat] for repeat in both])

    def slower_share(self, run: LoadRun) -> float:
        return lost_of(run, self.alone_ns).slower
