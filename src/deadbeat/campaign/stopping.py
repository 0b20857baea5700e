"""When a point has enough task sets."""

from __future__ import annotations

from typing import Protocol

from deadbeat.model.jobs import JobTable
from deadbeat.model.results import RunKey


class Stopping(Protocol):
    """Decides, run by run, whether more is to be learnt; deterministic in what it was told."""

    def wanted(self, key: RunKey) -> bool:
        """Whether ``key``, whose turn it is, is still to be run."""

    def learn(self, key: RunKey, table: JobTable) -> None:
        """A run was committed, in this session or an earlier one."""


class FixedDesign:
    """Every run of the plan is wanted."""

    def wanted(self, key: RunKey) -> bool:
        return True

    def learn(self, key: RunKey, table: JobTable) -> None:
        """Nothing depends on it."""
