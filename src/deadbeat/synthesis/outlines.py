"""What a task is before it has uses: everything that does not depend on the calibration."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from attrs import frozen

from deadbeat.synthesis.distributions import DISTRIBUTIONS
from deadbeat.synthesis.parameters import SynthesisParameters
from deadbeat.synthesis.stream import Stream
from deadbeat.synthesis.timing import Timing, nearest, timings


@frozen
class Outline:
    """Place, timing and shares of a task."""

    core: int
    wcet_ns: int
    period_ns: int
    offset_ns: int
    priority: int
    seed: int
    sync_share: Fraction
    contended_ratio: Fraction
    critical: bool


def outlines(parameters: SynthesisParameters, seed: int) -> list[Outline]:
    """One for each task, in order.

    Raises:
        SynthesisError: No utilisations within the bounds were found.
    """
    offsets, task_seeds = Stream(seed, "offset"), Stream(seed, "task seed")
    timed = _timings(parameters, seed)
    priorities = _priorities(parameters, Stream(seed, "priority"), [t.period_ns for t in timed])
    return [
        Outline(
            core=index % parameters.cores,
            wcet_ns=timing.wcet_ns,
            period_ns=timing.period_ns,
            offset_ns=offsets.below(timing.period_ns),
            priority=priorities[index],
            seed=task_seeds.word(),
            sync_share=parameters.share_of(index),
            contended_ratio=parameters.ratio_of(index),
            critical=parameters.is_critical(index % parameters.cores),
        )
        for index, timing in enumerate(timed)
    ]


def _timings(parameters: SynthesisParameters, seed: int) -> list[Timing]:
    draw, wcets = DISTRIBUTIONS[parameters.distribution], Stream(seed, "wcet")
    wcets_ns = [
        draw(wcets, parameters.wcet_min_ns, parameters.wcet_max_ns) for _ in range(parameters.tasks)
    ]
    used, factor = parameters.utilisation, Fraction(parameters.deadline_factor)
    critical = {} if used is None else timings(parameters, Fraction(used), seed)
    found = []
    for index, wcet_ns in enumerate(wcets_ns):
        core = index % parameters.cores
        if not parameters.is_critical(core):
            found.append(Timing(wcet_ns, _filling_period_ns(parameters, core, wcet_ns)))
        else:
            found.append(critical.get(index, Timing(wcet_ns, nearest(factor * wcet_ns))))
    return found


def _filling_period_ns(parameters: SynthesisParameters, core: int, wcet_ns: int) -> int:
    """T at which each task of the core has the same part of what the core is filled to; up, so
    that the core is never filled beyond it."""
    part = Fraction(parameters.fill_utilisation) / len(parameters.tasks_on(core))
    return -(-wcet_ns * part.denominator // part.numerator)


def _priorities(
    parameters: SynthesisParameters, stream: Stream, periods_ns: Sequence[int]
) -> list[int]:
    low, high = parameters.priority_low, parameters.priority_high
    if parameters.priorities == "uniform":
        return [high] * len(periods_ns)
    if parameters.priorities == "random":
        return [stream.between(low, high) for _ in periods_ns]
    # Rate-monotonic (Liu and Layland 1973): the shorter the period, the higher the priority.
    levels = high - low + 1
    spread = max(levels, len(periods_ns))
    priorities = [0] * len(periods_ns)
    by_rate = sorted(range(len(periods_ns)), key=lambda index: (periods_ns[index], index))
    for rank, index in enumerate(by_rate):
        priorities[index] = high - rank * levels // spread
    return priorities


def has_mixed_priorities(found: Sequence[Outline]) -> bool:
    """Whether critical tasks of different priority share a core; no others synchronise."""
    first: dict[int, int] = {}
    return any(
        first.setdefault(outline.core, outline.priority) != outline.priority
        for outline in found
        if outline.critical
    )
