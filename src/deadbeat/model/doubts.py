"""Why a number may be wrong: one text per kind of finding.

The page docs/explanation/why-your-numbers-may-be-wrong.md is written from this (`tools/docs`); a
report shows the texts of its own findings, and ``deadbeat explain`` prints them.
"""

from __future__ import annotations

from deadbeat.model.doubt import Doubt
from deadbeat.model.doubts_campaigns import CAMPAIGNS
from deadbeat.model.doubts_comparisons import COMPARISONS
from deadbeat.model.doubts_latencies import LATENCIES

DOUBTS: tuple[Doubt, ...] = (*CAMPAIGNS, *COMPARISONS, *LATENCIES)


def doubt_of(finding: str) -> Doubt | None:
    """The text for a finding's identifier; None if there is none."""
    return next((doubt for doubt in DOUBTS if doubt.id == finding), None)
