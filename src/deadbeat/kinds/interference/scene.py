"""What causes of lost time are inferred from; pure.

What is compared of runs is judged together (S. Holm, 1979): in less than one test of twenty without
any effect one comparison or more is called shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from attrs import evolve, field, frozen

from deadbeat.kinds.interference.lost import (
    PAIRS_MIN,
    LostDifference,
    difference_of,
    inside_window,
    lost_of,
)
from deadbeat.model.load import ALL, PLAIN, LoadRun
from deadbeat.model.load_summary import LostTime
from deadbeat.stats.multiple import holm

#: Lost time below this share of the window is not worth a cause.
LEAST_SHARE = 0.0005
#: Who had the CPU instead: as many are named.
NAMED = 4
#: What all comparisons of a test may err together, on the side that is looked at: a single one is
#: then shown where its 95 % interval lies above 0.
_LEVEL = 0.025

#: Parts of a run that are compared.
WAITING, SLOWER, EXECUTION = "waiting", "slower", "execution"
#: Condition before ("": nothing, the part itself), condition after, part.
_Asked = tuple[str, str, str]


@frozen(kw_only=True)
class SceneMachine:
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
        proven: Comparisons that stand among all of them; None: not judged yet (`judged`).
    """

    lost: LostTime
    here: Sequence[LoadRun]
    runs: Sequence[LoadRun]
    machine: SceneMachine
    traced: LoadRun | None
    compared: bool
    alone_ns: int | None
    proven: frozenset[_Asked] | None = None

    def share(self, part: float) -> float:
        """Of all lost time."""
        parts = (self.lost.waiting, self.lost.stopped, self.lost.slower)
        return part / sum(max(each, 0.0) for each in parts)

    def of(self, condition: str) -> list[LoadRun]:
        """The runs of a condition."""
        return [run for run in self.runs if run.key.condition == condition]

    def bound(self) -> str | None:
        """The remedy that was measured and does no more than bind the thread, as `ALL` does."""
        return next((name for name in ("smt", "pin") if self.of(name)), None)

    def judged(self) -> Scene:
        """The same, with what is shown among all comparisons that any cause may ask for."""
        asked: list[_Asked] = [
            (PLAIN, "rt-bandwidth", WAITING),
            ("", "rt-bandwidth", WAITING),
            (self.bound() or PLAIN, ALL, WAITING),
            ("", ALL, WAITING),
            ("pin", "smt", SLOWER),
            (PLAIN, "governor", SLOWER),
            (PLAIN, "pin", EXECUTION),
        ]
        found = [(each, self._compared(*each)) for each in asked]
        known = [(each, one) for each, one in found if one and one.pairs >= PAIRS_MIN]
        chances = holm([one.p for _, one in known])
        return evolve(
            self,
            proven=frozenset(
                each for (each, _), p in zip(known, chances, strict=True) if p <= _LEVEL
            ),
        )

    def less(self, before: str, after: str, part: str) -> LostDifference | None:
        """How much less of ``part`` there is under ``after`` than under ``before``, of pairs of
        runs of one repeat; None: there is no pair."""
        found = self._compared(before, after, part)
        assert self.proven is not None
        return found and evolve(found, above=(before, after, part) in self.proven)

    def left(self, condition: str, part: str) -> LostDifference | None:
        """How much of ``part`` there is under ``condition``; None: there is no run."""
        return self.less("", condition, part)

    def _compared(self, before: str, after: str, part: str) -> LostDifference | None:
        of = self._part(part)
        last = {run.key.repeat: of(run) for run in self.of(after)}
        if not before:
            return difference_of(list(last.values()))
        first = {run.key.repeat: of(run) for run in self.of(before)}
        both = sorted(first.keys() & last.keys())
        return difference_of([first[repeat] - last[repeat] for repeat in both])

    def _part(self, name: str) -> Callable[[LoadRun], float]:
        if name == SLOWER:
            return lambda run: lost_of(run, self.alone_ns).slower
        return {WAITING: waiting_share, EXECUTION: _execution_ns}[name]


def waiting_share(run: LoadRun) -> float:
    """Share of the window in which the thread was ready and did not run."""
    return lost_of(run, None).waiting


def _execution_ns(run: LoadRun) -> float:
    """CPU time of a round, mean over those in the window."""
    own = run.rounds.cpu_ns[inside_window(run)]
    return float(np.mean(own)) if len(own) else 0.0
