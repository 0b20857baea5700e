"""What a fragment costs on a platform."""

from __future__ import annotations

import math

from attrs import field, frozen

from deadbeat.base.model.errors import DataError
from deadbeat.base.model.platform import Platform
from deadbeat.tasksets.model.tasks import Entry, Task

#: A class competes for more than its object above this ratio (measurement.md).
PARALLEL_RATIO_MAX = 1.03
#: The use that gives the precision of an entry, by its cost.
REFERENCE_USE_PS = 10_000_000
#: Relative half width of a reference use's cost above which it is known badly.
WELL_KNOWN = 0.10


@frozen(kw_only=True)
class Cost:
    """Cost of one entry on one core, picoseconds: that of the calm machine.

    A use of k repeats costs first + (k-1) * repeat when it is the entry's first use in the job, and
    again + (k-1) * repeat when the entry was used earlier in the same job.

    Attributes:
        first_ps: First repeat of the first use in a job (after idle and after other fragments).
        again_ps: First repeat of a later use in the same job, other fragments in between.
        repeat_ps: Every further repeat of the same use.
        first_low_ps, first_high_ps, ...: 95 % intervals.
        samples: Visits the numbers rest on.
        rejected: Visits left out because the host was less calm.
        calm: Whether those visits lay in the host's calm state; False: they are the calmest of the
            few or disturbed ones there were, and the machine by itself may be faster.
    """

    first_ps: int
    first_low_ps: int
    first_high_ps: int
    again_ps: int
    again_low_ps: int
    again_high_ps: int
    repeat_ps: int
    repeat_low_ps: int
    repeat_high_ps: int
    samples: int
    rejected: int
    calm: bool = True

    @property
    def uncertainty(self) -> float:
        """Relative half width of the 95 % interval of a use of 10 us (one repeat if that is more).

        A use's parts come from the same visits: their errors add up.
        """
        repeats = max(REFERENCE_USE_PS / self.repeat_ps, 1.0) - 1
        first, _, repeat = self.half_widths_ps
        return (first + repeats * repeat) / (self.first_ps + repeats * self.repeat_ps)

    @property
    def known_badly(self) -> bool:
        """Not of the calm machine, or a use of 10 us is not known to within 10 %."""
        return not self.calm or self.uncertainty > WELL_KNOWN

    @property
    def half_widths_ps(self) -> tuple[float, float, float]:
        return (
            (self.first_high_ps - self.first_low_ps) / 2,
            (self.again_high_ps - self.again_low_ps) / 2,
            (self.repeat_high_ps - self.repeat_low_ps) / 2,
        )

    def use_ps(self, repeats: int, *, again: bool = False) -> int:
        """Cost of one use of ``repeats`` >= 1 repeats, ps; ``again``: not the first in its job."""
        return (self.again_ps if again else self.first_ps) + (repeats - 1) * self.repeat_ps


@frozen(kw_only=True)
class ParallelRatio:
    """Time of a block on all cores at once, each on its own object, over its time alone.

    Attributes:
        rounds: Rounds with blocks that overlapped, on which it rests. 0: a number of an earlier
            version, without an interval; it refutes nothing.
    """

    ratio: float
    low: float
    high: float
    rounds: int

    @property
    def refutes(self) -> bool:
        """Whether the class is no core-local one here, whatever the noise was."""
        return self.rounds > 0 and self.low > PARALLEL_RATIO_MAX


@frozen(kw_only=True)
class Calibration:
    """Costs of entries by logical core, and the platform they belong to.

    Attributes:
        basis: ``warm`` or ``cold``.
        policy: ``fifo`` or ``other``.
        layout: ``default`` (a process per core) or ``shared-address-space`` (one for all).
        pool: Name of the pool (``full``, ``quick``).
        costs: entry text -> one Cost per logical core; cores of one kind have the same.
        refused: entry text -> reason why it has no cost here.
        parallel_ratio: SY fragment -> all cores at once over alone, divided by the same ratio of
            pure computation beside it; missing when there was one core, or too few blocks
            overlapped to know it.
        compute_parallel_ratio: That ratio of pure computation: above 1 the cores share execution
            units or a power budget; None when it is not known.
        yardstick_ps: Quiet yardstick per logical core.
        cache_line_ps: Quiet cache-line round trip per pair "a-b".
        made_at: ISO 8601 time, UTC.
    """

    platform: Platform
    basis: str
    policy: str
    pool: str
    costs: dict[str, tuple[Cost, ...]]
    refused: dict[str, str] = field(factory=dict)
    parallel_ratio: dict[str, ParallelRatio] = field(factory=dict)
    compute_parallel_ratio: ParallelRatio | None = None
    layout: str = "default"
    yardstick_ps: tuple[int, ...] = ()
    cache_line_ps: dict[str, int] = field(factory=dict)
    made_at: str = ""
    seconds: float = 0.0

    def job_costs_ps(self, task: Task) -> tuple[tuple[int, ...], ...]:
        """Cost of every use of a job of ``task``, ps: one tuple a segment, in order."""
        used: set[Entry] = set()
        segments = []
        for segment in task.segments:
            costs = []
            for use in segment.uses:
                cost = self.cost(use.entry, task.core)
                costs.append(cost.use_ps(use.repeats, again=use.entry in used))
                used.add(use.entry)
            segments.append(tuple(costs))
        return tuple(segments)

    def cost(self, entry: Entry, core: int) -> Cost:
        """Cost of ``entry`` on logical core ``core`` (wraps round when calibrated on fewer).
        Raises DataError: it was not calibrated."""
        costs = self.costs.get(str(entry))
        if costs is None:
            raise DataError(
                f"the calibration has no cost of {entry}, which a task set uses",
                "put the calibration back with which the task sets were generated",
            )
        return costs[core % len(costs)]

    def cost_uncertainty(self, task: Task) -> float:
        """Relative half width of the 95 % interval of a job's C, from the intervals of its uses.

        The errors of one entry are the same in all its uses and add up; those of different entries
        are independent. Every task set of a campaign draws on these costs, so this part of a delay
        ratio's interval does not shrink with the number of sets; the slowdown has none of it.
        """
        half_ps: dict[Entry, float] = {}
        total_ps = 0
        for segment in task.segments:
            for use in segment.uses:
                cost = self.cost(use.entry, task.core)
                first, again, repeat = cost.half_widths_ps
                later = use.entry in half_ps
                own = (again if later else first) + (use.repeats - 1) * repeat
                half_ps[use.entry] = half_ps.get(use.entry, 0.0) + own
                total_ps += cost.use_ps(use.repeats, again=later)
        return math.hypot(*half_ps.values()) / total_ps if total_ps else 0.0
