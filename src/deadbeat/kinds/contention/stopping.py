"""When a point has enough task sets."""

from __future__ import annotations

from typing import Any, Protocol

from deadbeat.model.jobs import JobTable
from deadbeat.model.results import RunKey


class Stopping(Protocol):
    """Decides, run by run, whether more is to be learnt; deterministic in what it was told.

    The plan is offered ``passes`` times, each time whole and in order. What is wanted and was run
    in an earlier session is learnt from the store where it ``recalls``.
    """

    @property
    def recalls(self) -> bool: ...

    @property
    def passes(self) -> int: ...

    def wanted(self, key: RunKey) -> bool:
        """Whether ``key``, whose turn it is, is to be run, or was rightly run before."""

    def learn(self, key: RunKey, table: JobTable) -> None:
        """A run that was wanted was committed, in this session or an earlier one."""

    def decided(self) -> tuple[int, int] | None:
        """Points that get no further set, and all points; None: nothing is decided on the way."""

    def expected_left(self) -> int:
        """Runs still to come; only asked where something is decided."""

    def record(self) -> dict[str, Any] | None:
        """What came of it, JSON values; None: nothing to be kept."""


class FixedDesign:
    """Every run of the plan is wanted."""

    recalls = False
    passes = 1

    def wanted(self, key: RunKey) -> bool:
        return True

    def learn(self, key: RunKey, table: JobTable) -> None:
        """Nothing depends on it."""

    def decided(self) -> None:
        return None

    def expected_left(self) -> int:
        return 0

    def record(self) -> None:
        return None
