"""What a fragment costs on a platform."""

from __future__ import annotations

from attrs import field, frozen

from deadbeat.model.platform import Platform
from deadbeat.model.tasks import Entry


@frozen(kw_only=True)
class Cost:
    """Cost of one entry on one core, picoseconds; a use of k repeats costs first + (k-1) * repeat.

    Attributes:
        first_ps: First use in a job (after idle and after other fragments).
        repeat_ps: Every further repeat of the same use.
        first_low_ps, first_high_ps: 95 % interval of ``first_ps``.
        repeat_low_ps, repeat_high_ps: 95 % interval of ``repeat_ps``.
        samples: Quiet visits the numbers rest on.
        rejected: Visits rejected because the host was not quiet.
    """

    first_ps: int
    first_low_ps: int
    first_high_ps: int
    repeat_ps: int
    repeat_low_ps: int
    repeat_high_ps: int
    samples: int
    rejected: int

    def use_ps(self, repeats: int) -> int:
        """Cost of one use of ``repeats`` >= 1 repeats, ps."""
        return self.first_ps + (repeats - 1) * self.repeat_ps


@frozen(kw_only=True)
class Calibration:
    """Costs of entries by logical core, and the platform they belong to.

    Attributes:
        platform: Where it was made.
        basis: ``warm`` or ``cold``.
        policy: ``fifo`` or ``other``.
        pool: Name of the pool (``full``, ``quick``).
        costs: entry text -> one Cost per logical core.
        refused: entry text -> reason why it has no cost here.
        parallel_ratio: SY fragment -> cost with all cores at once, each on its own object, over
            cost alone (lower quartiles of the rounds, worst core); missing when only one core was used.
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
    yardstick_ps: tuple[int, ...] = ()
    cache_line_ps: dict[str, int] = field(factory=dict)
    made_at: str = ""
    seconds: float = 0.0

    def cost(self, entry: Entry, core: int) -> Cost:
        """Cost of ``entry`` on logical core ``core`` (wraps round when calibrated on fewer)."""
        costs = self.costs[str(entry)]
        return costs[core % len(costs)]
