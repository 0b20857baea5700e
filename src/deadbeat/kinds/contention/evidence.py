"""The checks that a campaign is put through: functions from the evidence to findings.

A family is a module that marks its checks with `machine` or `results`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from deadbeat.model.calibration import Calibration
from deadbeat.model.figures import CellFigures, SetFigures
from deadbeat.model.finding import Finding, finding
from deadbeat.model.platform import UNDISTURBED, Platform
from deadbeat.model.results import NoiseFacts, RunKey
from deadbeat.model.words import Json
from deadbeat.store.campaign import SessionRecord
from deadbeat.store.origin import Origin


def where_it_ran(calibration: Calibration | None, origin: Origin | None) -> Platform | None:
    """The platform of a campaign: that of its calibration, unless its programs are another's."""
    if origin is not None:
        return origin.platform
    return calibration.platform if calibration else None


@frozen(kw_only=True)
class CampaignEvidence:
    """What the checks look at.

    Attributes:
        calibration: None where the campaign has none.
        sessions: Environments before and after each invocation.
        cells, sets: Of the summary.
        failed: Runs that failed, and why.
        solo_cost_ratios: Run -> per task, median solo span / C (NaN: not known).
        noise: What shows without an effect (`point.noise_floor`).
        mode: ``profile`` or ``stress``.
        overloaded: Runs whose task sets ask more of a core than it has.
        long_slots: Those of them that kept their slots long (policy late).
        origin: Whose programs were run; None: the campaign's own.
    """

    calibration: Calibration | None
    sessions: Sequence[SessionRecord]
    cells: Sequence[CellFigures]
    sets: Sequence[SetFigures]
    failed: Mapping[RunKey, Mapping[str, Any]]
    solo_cost_ratios: Mapping[RunKey, NDArray[np.float64]]
    noise: NoiseFacts
    mode: str = "profile"
    overloaded: Sequence[RunKey] = ()
    long_slots: Sequence[RunKey] = ()
    origin: Origin | None = None

    @property
    def most_cores(self) -> int:
        """The largest M; a group that draws its own is known by its sets."""
        known = [*(cell.cores for cell in self.cells), *(each.cores for each in self.sets)]
        return max(known, default=0)

    @property
    def places(self) -> str:
        """What a cell is."""
        return "groups" if self.mode == "stress" else "points"

    @property
    def more_sets(self) -> str:
        """How to get more task sets."""
        return "draw more sets" if self.mode == "stress" else "measure more replicas"

    @property
    def platform(self) -> Platform | None:
        return where_it_ran(self.calibration, self.origin)

    @property
    def undisturbed(self) -> bool:
        """Whether no host had a part in it: there is no machine to doubt."""
        return self.platform is not None and self.platform.kind in UNDISTURBED

    @property
    def last(self) -> Mapping[str, Json]:
        """The latest recorded environment; empty if none."""
        for record in reversed(self.sessions):
            found = record.after or record.before
            if found:
                return found
        return {}


#: A message, or one with the run or point that it concerns; a finding where more depends on it.
Told = str | tuple[str, str] | Finding
Check = Callable[[CampaignEvidence], Iterator[Told]]


@frozen
class Family:
    """Checks of one kind, each marked with what its findings have in common."""

    checks: list[Callable[[CampaignEvidence], Iterator[Finding]]] = field(factory=list)

    def __call__(
        self, id: str = "", cure: Callable[[CampaignEvidence], str] | None = None
    ) -> Callable[[Check], Check]:
        """Marks a check; ``id`` and ``cure``: of what it yields as words."""

        def mark(check: Check) -> Check:
            def findings(evidence: CampaignEvidence) -> Iterator[Finding]:
                for told in check(evidence):
                    if isinstance(told, Finding):
                        yield told
                        continue
                    words, where = (told, "") if isinstance(told, str) else told
                    yield finding(id, words, cure=cure and cure(evidence), where=where)

            self.checks.append(findings)
            return check

        return mark


#: Of the machine, which one that nothing disturbs does not need; and of what was run and found.
machine, results = Family(), Family()
