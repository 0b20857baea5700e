"""The checks that a campaign is put through: one is a function from the evidence to findings.

A family is a module that marks its checks with `machine` or `results`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from deadbeat.kinds.contention.evidence import CampaignEvidence
from deadbeat.model.finding import Finding

Check = Callable[[CampaignEvidence], Iterator[Finding]]
MACHINE: list[Check] = []
RESULTS: list[Check] = []

#: Costs and yardsticks further apart than this are worth a word.
COST_TOLERANCE = 0.02


def machine(check: Check) -> Check:
    """Marks a check of the machine; a simulated one has nothing to check."""
    MACHINE.append(check)
    return check


def results(check: Check) -> Check:
    """Marks a check of what was run and found."""
    RESULTS.append(check)
    return check
