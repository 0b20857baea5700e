"""What an observation is, what it is judged from, and what becomes of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from attrs import evolve, frozen

from deadbeat import (
    UNDECIDED,
    CellFigures,
    Comparison,
    Conclusion,
    Evidence,
    Judgement,
    LackingError,
    SetFigures,
    Summary,
)
from deadbeat import judge as verdict_on

_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")

Of = TypeVar("Of", CellFigures, SetFigures)


@frozen(kw_only=True)
class Campaign:
    """A campaign that an observation is judged from."""

    name: str
    summary: Summary

    @property
    def mode(self) -> str:
        return self.summary.mode

    @property
    def balanced(self) -> bool:
        """Whether its sets draw every object as often; the paper's draw at random."""
        asked: Any = self.summary.meta.get("parameters") or {}
        return bool(asked.get("grid", {}).get("mix") == "balanced")

    @property
    def platform(self) -> Mapping[str, object]:
        found = self.summary.meta.get("platform")
        return found if isinstance(found, Mapping) else {}

    @property
    def kernel(self) -> str:
        return str(self.platform.get("kernel") or "unknown")

    @property
    def version(self) -> tuple[int, ...] | None:
        """Release of the kernel as numbers; None where it tells none."""
        match = _VERSION.search(self.kernel)
        return tuple(int(part or 0) for part in match.groups()) if match else None

    @property
    def preemption(self) -> str:
        return str(self.platform.get("preemption") or "unknown")

    @property
    def realtime(self) -> bool:
        """Whether the kernel is fully preemptible (PREEMPT_RT)."""
        return self.preemption == "rt"

    @property
    def labels(self) -> tuple[str, ...]:
        return self.summary.labels

    @property
    def cores(self) -> tuple[int, ...]:
        """Values of M it holds; a group that draws M has it in its sets only."""
        held = {*(cell.cores for cell in self.cells), *(each.cores for each in self.sets)}
        return tuple(sorted(held - {0}))

    @property
    def cells(self) -> tuple[CellFigures, ...]:
        """Its points or groups; of several deadline factors the longest, as the paper's default."""
        return _longest_factor(self.summary.cells)

    @property
    def sets(self) -> tuple[SetFigures, ...]:
        """Its task sets, likewise."""
        return _longest_factor(self.summary.sets)


def _longest_factor(every: Sequence[Of]) -> tuple[Of, ...]:
    longest = max((each.deadline_factor or 0.0 for each in every), default=0.0)
    return tuple([each for each in every if (each.deadline_factor or 0.0) == longest])


@frozen(kw_only=True)
class Campaigns:
    """What there is to judge from.

    Attributes:
        results: Campaigns; of one kernel each where an observation compares kernels.
        compare: Baseline, other -> what differs; raises DeadbeatError where the programs are not
            identical.
    """

    results: tuple[Campaign, ...]
    compare: Callable[[Campaign, Campaign], Comparison] | None = None


@frozen(kw_only=True)
class PublishedObservation(Conclusion[Campaigns]):
    """One observation of the paper.

    Attributes:
        number: The paper's.
        title: What it is about, in a few words.
        cores: Core count it is about; fewer cannot show it.
        kernels: How many kernels must have run the identical programs.
        mode: ``profile`` or ``stress``: the campaign it is judged from.
        campaign: Which campaign shows it (`campaigns`); "": it runs none itself.
    """

    number: int
    title: str
    cores: int = 1
    kernels: int = 1
    mode: str = "profile"
    campaign: str = ""


def judge(observation: PublishedObservation, given: Campaigns) -> Judgement:
    """The verdict on an observation; what is lacking is a verdict too."""
    fitting = tuple(one for one in given.results if one.mode == observation.mode)
    labels = tuple(dict.fromkeys(label for result in fitting for label in result.labels))
    names = tuple(result.name for result in fitting)
    try:
        _require(observation, given.results, fitting)
        found = verdict_on(observation, evolve(given, results=fitting))
        assert found is not None, "an observation has evidence, or lacks something"
    except LackingError as lacking:
        runs = () if lacking.verdict == UNDECIDED else names
        return lack(observation, lacking.verdict, lacking.because, runs=runs, labels=labels)
    evidence = tuple(evolve(each, runs=each.runs or names) for each in found.evidence)
    return evolve(found, labels=labels, evidence=evidence)


def _require(
    observation: PublishedObservation, given: Sequence[Campaign], fitting: Sequence[Campaign]
) -> None:
    if not fitting:
        told = ", ".join(f"{one.name} is a {one.mode} campaign" for one in given)
        raise LackingError(f"needs a {observation.mode} campaign", told or "none was given")
    if empty := [result.name for result in fitting if not result.cells]:
        raise LackingError(UNDECIDED, f"{empty[0]} holds no result")
    if balanced := [result.name for result in fitting if result.balanced]:
        because = f"{balanced[0]} draws every object as often: deadbeat profile --mix random"
        raise LackingError("not judged: another mix", because)
    most = min(max(result.cores, default=0) for result in fitting)
    if most < observation.cores and observation.cores > 1:
        names = " and ".join(result.name for result in fitting)
        told = f"{names} hold{'s' * (len(fitting) == 1)} at most M = {most}"
        raise LackingError(needs_cores(observation.cores), told)
    if len(fitting) < observation.kernels:
        were = "s were" if len(fitting) > 1 else " was"
        told = f"{len(fitting)} {observation.mode} campaign{were} given"
        raise LackingError(needs_kernels(observation.kernels), told)


def lack(
    observation: PublishedObservation,
    verdict: str,
    because: str,
    *,
    runs: tuple[str, ...] = (),
    labels: tuple[str, ...] = (),
) -> Judgement:
    """A judgement that nothing could be judged."""
    evidence = Evidence(holds=None, figures=because, runs=runs)
    return Judgement(conclusion=observation, verdict=verdict, evidence=(evidence,), labels=labels)


def undecided(because: str, **more: Any) -> list[Evidence]:
    return [Evidence(holds=None, figures=because, **more)]


def needs_cores(cores: int) -> str:
    return f"needs >= {cores} cores"


def needs_kernels(kernels: int) -> str:
    return f"needs results of {kernels} kernels"


def lacks_input(verdict: str) -> bool:
    """Whether nothing could be judged because the campaigns for it were not given."""
    return verdict.startswith(("needs a ", "needs results of ", "not judged"))
