"""What a task is before it has uses: everything that does not depend on the calibration."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from attrs import frozen

from deadbeat.base.model.errors import SynthesisError
from deadbeat.tasksets.synthesis.distributions import (
    DISTRIBUTIONS,
    PERIODS,
    UTILISATION_METHODS,
    Chooser,
)
from deadbeat.tasksets.synthesis.parameters import SynthesisParameters
from deadbeat.tasksets.synthesis.stream import Stream

# Harmonic chains of a task set, and utilisations of a core for each of them.
_CHAINS = 200
_REDRAWS = 16


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
    Raises SynthesisError: no utilisations within the bounds were found."""
    offsets, task_seeds = Stream(seed, "offset"), Stream(seed, "task seed")
    named, wcets = parameters.distribution, Stream(seed, "wcet")
    draw = DISTRIBUTIONS[named] if isinstance(named, str) else named
    wcets_ns = [
        draw(wcets, parameters.wcet_min_ns, parameters.wcet_max_ns) for _ in range(parameters.tasks)
    ]
    used, factor = parameters.utilisation, Fraction(parameters.deadline_factor)
    critical = {} if used is None else timings(parameters, Fraction(used), seed)
    timed = []
    for index, wcet_ns in enumerate(wcets_ns):
        core = index % parameters.cores
        if not parameters.is_critical(core):
            # T at which each task of the core has the same part of what the core is filled to;
            # up, so that the core is never filled beyond it.
            part = Fraction(parameters.fill_utilisation) / len(parameters.tasks_on(core))
            timed.append(Timing(wcet_ns, -(-wcet_ns * part.denominator // part.numerator)))
        else:
            timed.append(critical.get(index, Timing(wcet_ns, nearest(factor * wcet_ns))))
    stream = Stream(seed, "priority")
    periods_ns = [t.period_ns for t in timed]
    low, high = parameters.priority_low, parameters.priority_high
    if parameters.priorities == "uniform":
        priorities = [high] * len(periods_ns)
    elif parameters.priorities == "random":
        priorities = [stream.between(low, high) for _ in periods_ns]
    else:
        # Rate-monotonic (Liu and Layland 1973): the shorter the period, the higher the priority.
        levels = high - low + 1
        spread = max(levels, len(periods_ns))
        priorities = [0] * len(periods_ns)
        by_rate = sorted(range(len(periods_ns)), key=lambda index: (periods_ns[index], index))
        for rank, index in enumerate(by_rate):
            priorities[index] = high - rank * levels // spread
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


def has_mixed_priorities(found: Sequence[Outline]) -> bool:
    """Whether critical tasks of different priority share a core; no others synchronise."""
    first: dict[int, int] = {}
    return any(
        first.setdefault(outline.core, outline.priority) != outline.priority
        for outline in found
        if outline.critical
    )


# -- C and T of tasks with utilisations that sum to what is asked on each core: utilisations first,
# keeping their law; T is drawn by its own law among the periods at which C = u T, rounded, is
# within the bounds of C. So few draws are in vain, and none where periods are log-uniform.


class Timing(NamedTuple):
    """C and T = D of a task."""

    wcet_ns: int
    period_ns: int


def nearest(value: Fraction) -> int:
    """The nearest whole number; halves go up."""
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)


def timings(parameters: SynthesisParameters, utilisation: Fraction, seed: int) -> dict[int, Timing]:
    """C and T of the critical tasks, by index.
    Raises SynthesisError: none were found within the budgets of draws."""
    critical = [core for core in range(parameters.cores) if parameters.is_critical(core)]
    for attempt in range(_CHAINS):
        stream = Stream(seed, "periods", attempt)
        low, high = parameters.period_min_ns, parameters.period_max_ns
        choose = PERIODS[parameters.periods](stream, low, high)
        found: dict[int, Timing] = {}
        for core in critical:
            tasks = parameters.tasks_on(core)
            timed = _of_core(parameters, utilisation, tasks, choose, (seed, attempt))
            if timed is None:
                break
            found.update(zip(tasks, timed, strict=True))
        else:
            return found
    raise SynthesisError(
        f"no {parameters.periods} periods of {parameters.period_min_ns} to "
        f"{parameters.period_max_ns} ns give every C within {parameters.wcet_min_ns} to "
        f"{parameters.wcet_max_ns} ns in {_CHAINS * _REDRAWS} draws",
        "widen the bounds of the periods or of C, or use log-uniform periods",
    )


def _of_core(
    parameters: SynthesisParameters,
    utilisation: Fraction,
    tasks: range,
    choose: Chooser,
    label: tuple[int, int],
) -> list[Timing] | None:
    """C and T of the tasks of one core; None if no draw had a period for each of them."""
    divide = UTILISATION_METHODS[parameters.utilisation_method]
    bounds = [parameters.utilisation_bounds(task) for task in tasks]
    seed, attempt = label
    for redraw in range(_REDRAWS):
        stream = Stream(seed, "utilisation", tasks[0], attempt, redraw)
        found = []
        for used in divide(stream, utilisation, bounds):
            # The shortest and the longest T at which the nearest whole number of `used` T is a C.
            half = Fraction(1, 2)
            shortest = -((half - parameters.wcet_min_ns) / used // 1)
            longest = -(-(parameters.wcet_max_ns + half) / used // 1) - 1
            shortest = max(shortest, parameters.period_min_ns)
            period_ns = choose(stream, shortest, min(longest, parameters.period_max_ns))
            if period_ns is None:
                break
            found.append(Timing(nearest(used * period_ns), period_ns))
        else:
            return found
    return None
