"""Loads of a made-up machine: nothing is started; for tests and demonstrations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deadbeat.model.errors import TargetError
from deadbeat.model.latency import LoadPoint
from deadbeat.targets.base import Target


class MadeUpLoads:
    """Every load runs and does what was asked of it; see `deadbeat.kinds.latency.load.Loads`.

    Args:
        cpus: Where it pretends to run.
        died: Text of a load -> its last words; it dies while it is measured.
        refused: Text of a load -> why it cannot be started.

    Attributes:
        running: Loads that were started and not stopped.
        judging: Whether what one achieves is being counted.
    """

    def __init__(
        self,
        cpus: tuple[int, ...],
        *,
        died: Mapping[str, str] | None = None,
        refused: Mapping[str, str] | None = None,
    ) -> None:
        self._cpus = cpus
        self._died = dict(died or {})
        self._refused = dict(refused or {})
        self.running: list[LoadPoint] = []
        self.judging = False

    def unavailable(self, target: Target, point: LoadPoint) -> str:
        """Never."""
        return ""

    def start(self, target: Target, point: LoadPoint, *, seconds: float) -> _MadeUpLoad:
        """Notes that it runs."""
        if point.text in self._refused:
            raise TargetError(self._refused[point.text], "")
        self.running.append(point)
        return _MadeUpLoad(self, point, self._cpus, self._died.get(point.text, ""))


class _MadeUpLoad:
    def __init__(
        self, loads: MadeUpLoads, point: LoadPoint, cpus: tuple[int, ...], died: str
    ) -> None:
        self._loads = loads
        self._point = point
        self._cpus = cpus
        self._died = died

    def begin(self) -> None:
        self._loads.judging = True

    def end(self) -> dict[str, Any]:
        self._loads.judging = False
        return {
            "asked": self._point.percent,
            "judged": self._point.profile == "cpu",
            "achieved": {str(cpu): self._point.percent / 100 for cpu in self._cpus},
            "computes": False,
            "commands": [],
            "workers": {},
            "throughput": {},
            "least": {},
            "died": self._died,
        }

    def stop(self) -> None:
        if self._point in self._loads.running:
            self._loads.running.remove(self._point)
