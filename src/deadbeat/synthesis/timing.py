"""C and T of the tasks whose utilisations sum to what is asked on each core.

Utilisations come first and keep their law; T is drawn by its own law among the periods at which
C = u T, rounded, is within the bounds of C. So few draws are in vain, and none where periods are
log-uniform.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from deadbeat.model.errors import SynthesisError
from deadbeat.synthesis.parameters import SynthesisParameters
from deadbeat.synthesis.periods import PERIODS, Chooser
from deadbeat.synthesis.stream import Stream
from deadbeat.synthesis.utilisations import UTILISATION_METHODS

# Harmonic chains of a task set, and utilisations of a core for each of them.
_CHAINS = 200
_REDRAWS = 16


class Timing(NamedTuple):
    """C and T = D of a task."""

    wcet_ns: int
    period_ns: int


def nearest(value: Fraction) -> int:
    """The nearest whole number; halves go up."""
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)


def timings(parameters: SynthesisParameters, utilisation: Fraction, seed: int) -> dict[int, Timing]:
    """C and T of the critical tasks, by index.

    Raises:
        SynthesisError: None were found within the budgets of draws.
    """
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
            period_ns = choose(stream, *_periods_within(parameters, used))
            if period_ns is None:
                break
            found.append(Timing(nearest(used * period_ns), period_ns))
        else:
            return found
    return None


def _periods_within(parameters: SynthesisParameters, used: Fraction) -> tuple[int, int]:
    """The shortest and the longest T at which the nearest whole number of ``used`` T is a C."""
    half = Fraction(1, 2)
    shortest = -((half - parameters.wcet_min_ns) / used // 1)
    longest = -(-(parameters.wcet_max_ns + half) / used // 1) - 1
    return max(shortest, parameters.period_min_ns), min(longest, parameters.period_max_ns)
