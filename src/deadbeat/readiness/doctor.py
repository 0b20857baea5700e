"""All checks on one target."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from deadbeat.model.readiness import SEVERITIES, CheckResult, Severity
from deadbeat.readiness.check import Check, all_checks, all_commands
from deadbeat.readiness.facts import Facts, gather
from deadbeat.targets.base import Target


@frozen(kw_only=True)
class Diagnosis:
    """What `examine` found.

    Attributes:
        results: One per check, in their order.
        facts: What they rest on.
    """

    results: tuple[CheckResult, ...]
    facts: Facts

    def failing(self, least: Severity) -> tuple[CheckResult, ...]:
        """Checks that failed at ``least`` or graver."""
        grave = SEVERITIES[: SEVERITIES.index(least) + 1]
        return tuple(r for r in self.results if r.status == "fail" and r.severity in grave)


def examine(
    target: Target,
    *,
    workload: str = "mixed",
    rt_cpus: Sequence[int] | None = None,
    checks: Sequence[Check] | None = None,
) -> Diagnosis:
    """Reads what the checks need at once, and asks each.

    Args:
        checks: None: all there are.

    Raises:
        TargetError: Nothing could be read.
    """
    chosen = all_checks() if checks is None else tuple(checks)
    reads = [each for check in chosen for each in check.reads]
    facts = gather(target, reads, workload=workload, rt_cpus=rt_cpus, commands=all_commands())
    return Diagnosis(results=tuple(check.run(facts) for check in chosen), facts=facts)
