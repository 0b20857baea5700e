"""What a fragment costs on a platform."""

from __future__ import annotations

from attrs import field, frozen

from deadbeat.model.platform import Platform
from deadbeat.model.tasks import Entry, Task


@frozen(kw_only=True)
class Cost:
    """Cost of one entry on one core, picoseconds.

    A use of k repeats costs first + (k-1) * repeat when it is the entry's first use in the job, and
    again + (k-1) * repeat when the entry was used earlier in the same job.

    Attributes:
        first_ps: First repeat of the first use in a job (after idle and after other fragments).
        again_ps: First repeat of a later use in the same job, other fragments in between.
        repeat_ps: Every further repeat of the same use.
        first_low_ps, first_high_ps: 95 % interval of ``first_ps``.
        again_low_ps, again_high_ps: 95 % interval of ``again_ps``.
        repeat_low_ps, repeat_high_ps: 95 % interval of ``repeat_ps``.
        samples: Quiet visits the numbers rest on.
        rejected: Visits rejected because the host was not quiet.
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

    def use_ps(self, repeats: int, *, again: bool = False) -> int:
        """Cost of one use of ``repeats`` >= 1 repeats, ps; ``again``: not the first in its job."""
        return (self.again_ps if again else self.first_ps) + (repeats - 1) * self.repeat_ps


@frozen(kw_only=True)
class Calibration:
    """Costs of entries by logical core, and the platform they belong to.

    Attributes:
        platform: Where it was made.
        basis: ``warm`` or ``cold``.
        policy: ``fifo`` or ``other``.
        layout: ``default`` (a process per core) or ``shared-address-space`` (one for all).
        pool: Name of the pool (``full``, ``quick``).
        costs: entry text -> one Cost per logical core.
        refused: entry text -> reason why it has no cost here.
        parallel_ratio: SY fragment -> cost with all cores at once, each on its own object, over
            cost alone, divided by the same ratio of pure computation beside it (worst core);
            missing when there was one core.
        compute_parallel_ratio: That ratio of pure computation: above 1 the cores share execution
            units or a power budget; None when there was one core.
        yardstick_ps: Quiet yardstick per logical core; the reference of every later window.
        cache_line_ps: Quiet cache-line round trip per pair "a-b".
        made_at: ISO 8601 time, UTC.
        seconds: How long it took.
    """

    platform: Platform
    basis: str
    policy: str
    pool: str
    costs: dict[str, tuple[Cost, ...]]
    refused: dict[str, str] = field(factory=dict)
    parallel_ratio: dict[str, float] = field(factory=dict)
    compute_parallel_ratio: float | None = None
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
        """Cost of ``entry`` on logical core ``core`` (wraps round when calibrated on fewer)."""
        costs = self.costs[str(entry)]
        return costs[core % len(costs)]
