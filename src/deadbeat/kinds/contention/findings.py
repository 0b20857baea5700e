"""All findings of a campaign."""

from __future__ import annotations

from deadbeat.kinds.contention import findings_machine, findings_results
from deadbeat.kinds.contention.evidence import CampaignEvidence, machine, results
from deadbeat.model.finding import Finding, ordered

#: Modules whose checks are put to a campaign: to import one is to have them.
FAMILIES = (findings_machine, findings_results)


def collect_findings(evidence: CampaignEvidence) -> tuple[Finding, ...]:
    """All findings, the serious ones first."""
    checks = (*(() if evidence.undisturbed else machine.checks), *results.checks)
    found = [finding for check in checks for finding in check(evidence)]
    return tuple(ordered(found))
