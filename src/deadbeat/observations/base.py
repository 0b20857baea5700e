"""What an observation is, what it is judged from, and what becomes of it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from deadbeat.model.comparison import Comparison
from deadbeat.model.results import Summary

CONFIRMED, NOT_CONFIRMED, UNDECIDED = "confirmed", "not confirmed", "undecided"
_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")

Row = Mapping[str, Any]


@frozen(kw_only=True)
class Result:
    """A campaign that an observation is judged from."""

    name: str
    summary: Summary

    @property
    def mode(self) -> str:
        return self.summary.mode

    @property
    def platform(self) -> Mapping[str, Any]:
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
        held = [number(row.get("cores")) for row in (*self.rows, *self.sets)]
        return tuple(sorted({int(cores) for cores in held if cores}))

    @property
    def rows(self) -> tuple[Row, ...]:
        """Its rows; of several deadline factors those of the longest, as the paper's default."""
        return _longest_factor(self.summary.rows)

    @property
    def sets(self) -> tuple[Row, ...]:
        """Its task sets, likewise."""
        return _longest_factor(self.summary.sets)


def _longest_factor(rows: Sequence[Row]) -> tuple[Row, ...]:
    factors = [number(row.get("deadline_factor")) or 0.0 for row in rows]
    longest = max(factors, default=0.0)
    return tuple(row for row, factor in zip(rows, factors, strict=True) if factor == longest)


@frozen(kw_only=True)
class Evidence:
    """What there is to judge from.

    Attributes:
        results: Campaigns; of one kernel each where an observation compares kernels.
        compare: Baseline, other -> what differs; raises DeadbeatError where the programs are not
            identical.
    """

    results: tuple[Result, ...]
    compare: Callable[[Result, Result], Comparison] | None = None


@frozen(kw_only=True)
class Judgement:
    """What became of an observation.

    Attributes:
        verdict: ``confirmed``, ``not confirmed``, ``undecided`` (the data do not suffice),
            ``needs >= K cores``, or what was not given: ``needs a profile campaign``, ``needs
            results of N kernels``.
        because: One line: what decided it.
        figures: The numbers it rests on: what, value.
        runs: Campaigns it was judged from.
        labels: What must show beside it (``simulated``, ...).
    """

    verdict: str
    because: str
    figures: tuple[tuple[str, str], ...] = ()
    runs: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


@frozen(kw_only=True)
class Observation:
    """One observation of the paper.

    Attributes:
        title: What it is about, in a few words.
        statement: The paper's words, shortened.
        cores: Core count it is about; fewer cannot show it.
        kernels: How many kernels must have run the identical programs.
        mode: ``profile`` or ``stress``: the campaign it is judged from.
        campaign: Which campaign shows it (``observations.campaigns``); "": it runs none itself.
        criterion: What "confirmed" and "not confirmed" mean.
        decide: Evidence of the right mode and enough cores and kernels -> judgement.
    """

    number: int
    title: str
    statement: str
    cores: int = 1
    kernels: int = 1
    mode: str = "profile"
    campaign: str = ""
    criterion: str
    decide: Callable[[Evidence], Judgement] = field(repr=False)


def judge(observation: Observation, evidence: Evidence) -> Judgement:
    """The verdict on an observation; what is lacking is a verdict too."""
    fitting = tuple(one for one in evidence.results if one.mode == observation.mode)
    names = tuple(result.name for result in fitting)
    if not fitting:
        given = ", ".join(f"{one.name} is a {one.mode} campaign" for one in evidence.results)
        return Judgement(
            verdict=needs_campaign(observation.mode), because=given or "none was given"
        )
    labels = tuple(dict.fromkeys(label for result in fitting for label in result.labels))
    empty = [result.name for result in fitting if not result.rows]
    if empty:
        return Judgement(verdict=UNDECIDED, because=f"{empty[0]} holds no result", labels=labels)
    most = min(max(result.cores, default=0) for result in fitting)
    if most < observation.cores and observation.cores > 1:
        because = f"{' and '.join(names)} hold{'s' * (len(names) == 1)} at most M = {most}"
        found = Judgement(verdict=needs_cores(observation.cores), because=because)
    elif len(fitting) < observation.kernels:
        found = Judgement(
            verdict=needs_kernels(observation.kernels),
            because=f"{len(fitting)} {observation.mode} campaign"
            f"{'s were' if len(fitting) > 1 else ' was'} given",
        )
    else:
        found = observation.decide(Evidence(results=fitting, compare=evidence.compare))
    return Judgement(
        verdict=found.verdict,
        because=found.because,
        figures=found.figures,
        runs=found.runs or names,
        labels=labels,
    )


def needs_cores(cores: int) -> str:
    return f"needs >= {cores} cores"


def needs_campaign(mode: str) -> str:
    return f"needs a {mode} campaign"


def needs_kernels(kernels: int) -> str:
    return f"needs results of {kernels} kernels"


def lacks_input(verdict: str) -> bool:
    """Whether nothing could be judged because the campaigns for it were not given."""
    return verdict.startswith(("needs a ", "needs results of "))


def number(value: Any) -> float | None:
    """A finite number, or None for everything that is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def verdict_of(holds: Sequence[bool | None]) -> str:
    """Of several conditions (None: not known) that must all hold."""
    if any(one is False for one in holds):
        return NOT_CONFIRMED
    return CONFIRMED if all(holds) else UNDECIDED
